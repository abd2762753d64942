"""How many pages does one core crawl in a second of its time, against Scrapy, Crawlee and wget?

Real documentation trees from Debian packages, one site each, behind nginx on loopback with gzip on; the
server on one core, the contestant on the other. Everyone crawls the same sites from the same start pages,
and the server's log must show that everyone fetched every page. Starting a program costs about a second:
each contestant also crawls a site of one page, and "net" leaves that out for all alike. All take turns in
several rounds, and the best of each counts. Two processes get both cores, the server's too; of theirs
"resident" is the larger one's. Sites are divided among them by their addresses, so --copies makes more
sites of the same trees, as crawls have them. With --close the server hangs up after every answer: a new
connection, and with --tls a handshake, for each page, as if each were its own site. "HTML/home" is bytes
of HTML over bytes of packages, where packages are made.

    python -m benchmarks crawl --pages 5000
    python -m benchmarks crawl --only 'ipmicra crawl' 'wget -r' --tls
    python -m benchmarks crawl --pages 700 --tls --close
    python -m benchmarks crawl --copies 4 --only 'ipmicra crawl' 'ipmicra crawl, two processes'
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.crawl_parts.contests import (
    CONTESTANTS,
    TWO_PROCESSES,
    Command,
    Cost,
    Task,
    folder_of,
    fresh_folder,
    run,
)
from benchmarks.crawl_parts.documentation_sites import (
    START_PAGE,
    DocumentationSite,
    documentation_sites,
)
from benchmarks.crawl_parts.web_server import PORT, TLS_PORT, Served, address_of, serving

SERVER_CORE, CLIENT_CORE = 0, 1


class Result(NamedTuple):
    name: str
    cost: Cost
    start_up: Cost
    pages: int
    missing: int
    repeated: int
    html_per_home: float  # 0 without packages

    def better_of(self, other: Result) -> Result:
        """The one that fetched more, or as much in less time; of the starts the cheaper one."""
        better = min(self, other, key=lambda result: (result.missing, result.cost.cpu_seconds))
        start_up = min(self.start_up, other.start_up, key=lambda cost: cost.cpu_seconds)
        return better._replace(start_up=start_up)

    @property
    def net_pages_per_cpu_second(self) -> float:
        return (self.pages - 1) / max(1e-9, self.cost.cpu_seconds - self.start_up.cpu_seconds)


def main() -> None:
    wishes = _wishes()
    console = Console(width=150)
    with tempfile.TemporaryDirectory(prefix="ipmicra-crawl-") as folder:
        work = Path(folder)
        work.chmod(0o755)  # nginx's worker is another user
        sites = documentation_sites(wishes.cache, wishes.pages) * wishes.copies
        tiny = _tiny_site(work / "tiny")
        with serving([*sites, tiny], work, SERVER_CORE, wishes.close) as served:
            results = _best_of(wishes.rounds, wishes.only, served, work, wishes.tls, console)
    how = f"{'HTTPS' if wishes.tls else 'HTTP'}{', a connection a page' if wishes.close else ''}"
    console.print(_table(results, sum(len(site.pages) for site in sites), how))


def _wishes() -> argparse.Namespace:
    layout = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser("crawl", description=__doc__, formatter_class=layout)
    data = Path(os.environ.get("IPMICRA_DATA", "~/.cache/ipmicra")).expanduser()
    parser.add_argument("--pages", type=int, default=5000, help="pages in all sites together")
    parser.add_argument("--rounds", type=int, default=3, help="in which all take turns; the best counts")
    parser.add_argument("--copies", type=int, default=1, help="addresses at which each tree is served")
    parser.add_argument("--only", nargs="+", default=list(CONTESTANTS), choices=list(CONTESTANTS))
    parser.add_argument("--tls", action="store_true", help="over HTTPS")
    parser.add_argument("--close", action="store_true", help="a new connection for each page")
    parser.add_argument("--cache", type=Path, default=data / "documentation-sites")
    return parser.parse_args()


def _tiny_site(folder: Path) -> DocumentationSite:
    folder.mkdir()
    (folder / START_PAGE).write_text("<title>tiny</title><p>one page")
    return DocumentationSite("tiny", folder, (START_PAGE,))


def _best_of(
    rounds: int, names: list[str], served: Served, work: Path, tls: bool, console: Console
) -> list[Result]:
    """Each contestant's crawl, and its start, at the machine's best: its speed changes all the time."""
    best: dict[str, Result] = {}
    for _ in range(rounds):
        for name in names:
            result = _contest(name, served, work, tls, console)
            best[name] = result.better_of(best[name]) if name in best else result
    return list(best.values())


def _contest(name: str, served: Served, work: Path, tls: bool, console: Console) -> Result:
    *urls, tiny_url = served.start_urls(tls)
    start_up = _run(CONTESTANTS[name], [tiny_url], served, work, name)
    served.begin_log()
    cost = _run(CONTESTANTS[name], urls, served, work, name)
    seen = served.pages_in_log()
    tiny_page = (address_of(len(served.sites) - 1), f"/{START_PAGE}")
    wanted = served.pages() - {tiny_page}
    fetched = wanted & seen.keys()
    repeated = sum(count - 1 for page, count in seen.items() if page in wanted)
    html_per_home = _html_bytes(served) / home if (home := _home_bytes(work, name)) else 0.0
    missing = len(wanted) - len(fetched)
    result = Result(name, cost, start_up, len(fetched), missing, repeated, html_per_home)
    if result.missing:
        console.print(f"{name} ended with {cost.exit_code}: {_last_words(work)}", highlight=False)
    return result


def _run(command: Command, urls: list[str], served: Served, work: Path, name: str) -> Cost:
    task = Task(urls, _pattern(), fresh_folder(work, name), served.authority)
    cores = f"{SERVER_CORE},{CLIENT_CORE}" if name == TWO_PROCESSES else str(CLIENT_CORE)
    return run(command(task), task, cores, work / "contestant.log")


def _html_bytes(served: Served) -> int:
    *sites, _tiny = served.sites
    return sum((site.root / page).stat().st_size for site in sites for page in site.pages)


def _home_bytes(work: Path, name: str) -> int:
    """Of the packages that the contestant left."""
    return sum(path.stat().st_size for path in folder_of(work, name).rglob("*.package"))


def _last_words(work: Path) -> str:
    return (work / "contestant.log").read_text(errors="replace")[-2000:]


def _pattern() -> str:
    """Pages of the sites, and nothing else: no queries, pictures or places elsewhere."""
    return rf"^https?://127\.0\.1\.[0-9]+:({PORT}|{TLS_PORT})/[^?#]*\.html$"


def _table(results: list[Result], pages: int, how: str) -> Table:
    table = Table(title=f"{pages} pages over {how}; server on core 0, contestant on core 1")
    for column in (
        "contestant",
        "net pages/CPU-s",
        "of ours",
        "gross",
        "pages/s",
        "CPU s",
        "start-up s",
    ):
        table.add_column(column, justify="left" if column == "contestant" else "right")
    for column in ("resident MB", "missing", "repeated", "HTML/home"):
        table.add_column(column, justify="right")
    best = results[0].net_pages_per_cpu_second
    for result in results:
        table.add_row(*_row(result, best))
    return table


def _row(result: Result, ours: float) -> list[str]:
    cost = result.cost
    return [
        result.name,
        f"{result.net_pages_per_cpu_second:,.0f}",
        f"{result.net_pages_per_cpu_second / ours:.2f}",
        f"{result.pages / cost.cpu_seconds:,.0f}",
        f"{result.pages / cost.wall_seconds:,.0f}",
        f"{cost.cpu_seconds:.1f}",
        f"{result.start_up.cpu_seconds:.1f}",
        f"{cost.resident_mb:.0f}",
        str(result.missing),
        str(result.repeated),
        f"{result.html_per_home:.1f}" if result.html_per_home else "",
    ]
