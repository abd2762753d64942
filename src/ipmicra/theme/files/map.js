/* Crawlers, subnets and the round trips between them on a world map. Comes in: /map.json and a world outline. */
"use strict";
(async () => {
  const NEAR_MS = 50, MIDDLE_MS = 150, REFRESH_MS = 10000;
  const svg = document.getElementById("map");
  const land = await (await fetch(svg.dataset.land)).json();
  const outline = topojson.feature(land, land.objects.land);
  let atlas = { crawlers: [], subnets: [] };

  function element(name, attributes, parent = svg) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent.append(made);
    return made;
  }

  function titled(made, text) {
    element("title", {}, made).textContent = text;
  }

  function nearness(ms) {
    if (ms === null) return "unknown";
    return ms < NEAR_MS ? "near" : ms < MIDDLE_MS ? "middle" : "far";
  }

  function point(spot) { return [spot[1], spot[0]]; }

  function draw() {
    const width = Math.max(300, svg.clientWidth);
    const projection = d3.geoNaturalEarth1().rotate([-11, 0]).fitWidth(width, { type: "Sphere" });
    const top = projection([11, 82])[1], bottom = projection([11, -57])[1];
    svg.setAttribute("viewBox", `0 ${top} ${width} ${bottom - top}`);
    svg.replaceChildren();
    const path = d3.geoPath(projection);
    element("path", { class: "grid-lines", d: path(d3.geoGraticule10()) });
    element("path", { class: "land", d: path(outline) });
    const homes = new Map(atlas.crawlers.filter((c) => c.at).map((c) => [c.name, c]));
    const placed = atlas.subnets.filter((s) => s.at);
    for (const subnet of placed) {
      const home = homes.get(subnet.crawler);
      if (!home) continue;
      const line = { type: "LineString", coordinates: [point(home.at), point(subnet.at)] };
      element("path", { class: `arc ${nearness(subnet.round_trip_ms)}`, d: path(line) ?? "" });
    }
    const small = width < 600 ? 0.75 : 1;
    for (const subnet of placed) {
      const [x, y] = projection(point(subnet.at));
      const radius = small * Math.min(9, 2.6 + Math.sqrt(subnet.sites) * 0.9);
      const ms = subnet.round_trip_ms === null ? "round trip unknown" : `${subnet.round_trip_ms.toFixed(1)} ms`;
      titled(element("circle", { class: `subnet ${nearness(subnet.round_trip_ms)}`, cx: x, cy: y, r: radius }),
        `${subnet.range}, ${subnet.country}: ${subnet.crawler}, ${ms}, ${subnet.sites} sites`);
    }
    for (const crawler of homes.values()) {
      const [x, y] = projection(point(crawler.at));
      titled(element("circle", { class: `crawler ${crawler.awake ? "" : "asleep"}`, cx: x, cy: y, r: 7 * small }),
        `${crawler.name}: ${crawler.sites} sites`);
      element("text", { x: x + 10 * small, y: y - 7 * small }).textContent = crawler.name;
    }
  }

  async function refresh() {
    try { atlas = await (await fetch("/map.json")).json(); draw(); } catch { /* the next time */ }
  }

  await refresh();
  svg.dataset.state = "drawn";
  addEventListener("resize", draw);
  setInterval(() => { if (!document.hidden) refresh(); }, REFRESH_MS);
})();
