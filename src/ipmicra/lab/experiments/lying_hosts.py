"""Hosts that lie, alone or together, among sites that change: which are revoked, and after how many
pages?

Each group plays the coordinator's own rules (`jury`, `trust`). A host is compared fifty times per day.
"""

from __future__ import annotations

from ipmicra.lab.findings import (
    Findings,
    FindingsColumn,
    FindingsRow,
    Plot,
    Series,
    Tabulated,
    prose,
)
from ipmicra.lab.harness import ExperimentHarness
from ipmicra.lab.simulation.lying_hosts import HostGroup, LyingHostsTrial

TITLE = "Lying hosts: found out, without dismissing honest ones"
PAPER = """
The papers trust every crawler. A system in which strangers lend machines cannot.
"""

HOSTS = 20
LIARS = (1, 4, 8)  # 5, 20 and 40 % of twenty
DYNAMIC_SHARES = (0.0, 0.2, 0.4, 0.6)
ALTERED_SHARES = (0.01, 0.1, 0.5)
COMPARISONS_PER_DRAW = 80  # of each host
COMPARED_SHARE = 0.005  # of pages: the default of coordinator.compared_share
COMPARISONS_PER_YEAR = 50 * 365
COLUMNS = [
    FindingsColumn("liars", "liars", ".0%"),
    FindingsColumn("together", "colluding"),
    FindingsColumn("pages altered", "altered", ".0%"),
    FindingsColumn("dynamic sites", "dynamic", ".0%"),
    FindingsColumn("liars found out", "found", ".0%"),
    FindingsColumn("pages until then (median)", "pages"),
    FindingsColumn("honest hosts dismissed", "honest", ",.0f"),
    FindingsColumn("highest suspicion of an honest host", "suspicion", ".2f"),
    FindingsColumn("looks per comparison", "looks", ".2f"),
]


def run(harness: ExperimentHarness) -> Findings:
    rows = [
        _row(HostGroup(HOSTS, liars, altered, colluding, dynamic), harness)
        for liars in LIARS
        for colluding in ((False, True) if liars > 1 else (False,))
        for altered in ALTERED_SHARES
        for dynamic in DYNAMIC_SHARES
    ]
    honest = sum(float(row["honest"]) for row in rows)
    years = sum(float(row["years"]) for row in rows)
    series = [
        Series(
            f"{altered:.0%} altered",
            [f"{share:.0%}" for share in DYNAMIC_SHARES],
            [float(row["found"]) for row in rows if _is(row, 0.2, False, altered)],
        )
        for altered in ALTERED_SHARES
    ]
    return harness.findings(
        "lying-hosts",
        tables=[Tabulated("All crowds", COLUMNS, rows)],
        plots=[
            Plot("found", "Liars found out, 20 % of hosts, each alone", "dynamic sites", "share", series)
        ],
        verdict=[
            prose(f"""In {years:,.0f} years of honest hosts {honest:,.0f} were dismissed. Pages until a liar
            is found out are its comparisons times {1 / COMPARED_SHARE:,.0f}, since one page in
            {1 / COMPARED_SHARE:,.0f} is compared. A host that alters one page in a hundred is found out only
            where most sites are still: a change by itself explains its pages elsewhere.""")
        ],
        figures={"honest_dismissed": honest, "honest_years": years},
    )


def _row(group: HostGroup, harness: ExperimentHarness) -> FindingsRow:
    comparisons = COMPARISONS_PER_DRAW * harness.draw_count
    played = LyingHostsTrial(group, harness.seed).play(comparisons)
    pages = sorted(count for host, count in played.dismissed.items() if host < group.liars)
    return {
        "liars": group.liars / group.hosts,
        "colluding": "yes" if group.colluding else "no",
        "altered": group.altered_share,
        "dynamic": group.dynamic_share,
        "found": len(pages) / group.liars,
        "pages": f"{pages[len(pages) // 2] / COMPARED_SHARE:,.0f}" if pages else "not found out",
        "honest": float(len(played.dismissed) - len(pages)),
        "suspicion": played.honest_suspicion_max,
        "looks": played.looks / sum(played.compared.values()),
        "years": (group.hosts - group.liars) * comparisons / COMPARISONS_PER_YEAR,
    }


def _is(row: FindingsRow, liars: float, colluding: bool, altered: float) -> bool:
    return (row["liars"], row["colluding"], row["altered"]) == (
        liars,
        "yes" if colluding else "no",
        altered,
    )
