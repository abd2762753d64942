/* Figures and curves that keep themselves fresh. Comes in: /live (events) or /figures (when /live is full). */
"use strict";
(() => {
  const state = document.getElementById("live");
  const charts = [];

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function short(value) {
    return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value);
  }

  function draw(box) {
    const data = JSON.parse(box.dataset.points);
    const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    const plot = new uPlot({
      width: box.clientWidth, height: box.clientHeight, legend: { show: false }, cursor: { y: false },
      scales: { y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.15 : 1] } },
      axes: [
        { ...axis, values: "{HH}:{mm}" },
        { ...axis, size: 56, values: (_, ticks) => ticks.map(short) },
      ],
      series: [{}, { stroke: colour("--accent"), width: 2, fill: colour("--accent-soft"), points: { show: false } }],
    }, data, box);
    charts.push({ box, data, plot, place: Number(box.dataset.place) });
  }

  function drawAll() {
    while (charts.length) {
      const { box, data, plot } = charts.pop();
      box.dataset.points = JSON.stringify(data);
      plot.destroy();
    }
    document.querySelectorAll(".chart").forEach(draw);
  }

  function show(news) {
    for (const [key, text] of Object.entries(news.texts)) {
      const place = document.querySelector(`[data-figure="${key}"]`);
      if (place && place.textContent !== text) place.textContent = text;
    }
    for (const { data, plot, place } of charts) {
      if (data[0].length && data[0][data[0].length - 1] >= news.point[0]) continue;
      data[0].push(news.point[0]);
      data[1].push(news.point[place]);
      while (data[0].length > 600) { data[0].shift(); data[1].shift(); }
      plot.setData(data);
    }
    state.dataset.state = "on";
    state.textContent = "live";
  }

  async function ask() {
    try {
      show(await (await fetch("/figures")).json());
      state.textContent = "every 10 seconds";
    } catch { delete state.dataset.state; }
  }

  drawAll();
  addEventListener("resize", () => charts.forEach(({ box, plot }) => plot.setSize({ width: box.clientWidth, height: box.clientHeight })));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  const source = new EventSource("/live");
  source.onmessage = (event) => show(JSON.parse(event.data));
  source.onerror = () => {
    delete state.dataset.state;
    state.textContent = "waiting for the coordinator";
    if (source.readyState === EventSource.CLOSED) setInterval(ask, 10000);
  };
})();
