"""The plots of findings -> SVG and PNG files, where matplotlib is installed.

Invariant: a plot shows what the findings hold and nothing it computed itself. The same findings give the same
bytes of SVG: no date, no random names.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ipmicra.errors import HostFault
from ipmicra.lab.findings import Findings, Plot, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLE: dict[Any, Any] = {  # matplotlib types its keys one by one
    "svg.hashsalt": "ipmicra",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
}
INCHES = (6.4, 3.6)
BARS_WIDTH = 0.8


def drawn(
    findings: Findings, folder: Path, stem: str, kinds: tuple[str, ...] = ("svg", "png")
) -> list[Path]:
    """The files written: one of each kind for every plot, named after the stem and the plot."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise HostFault("drawing plots needs matplotlib: pip install 'ipmicra[lab]'") from missing
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        for plot in findings.plots:
            figure = Figure(figsize=INCHES, layout="constrained")
            _fill(figure.add_subplot(), plot)
            for kind in kinds:
                path = folder / f"{stem}-{plot.name}.{kind}"
                figure.savefig(path, metadata={"Date": None} if kind == "svg" else None, dpi=120)
                written.append(path)
    return written


def _fill(axes: Axes, plot: Plot) -> None:
    in_words = bool(plot.series) and any(isinstance(x, str) for x in plot.series[0].x)
    for number, series in enumerate(plot.series):
        if in_words:
            _bars(axes, series, number, len(plot.series))
        else:
            _line(axes, series)
    axes.set_title(plot.title, loc="left")
    axes.set_xlabel(plot.x_label)
    axes.set_ylabel(plot.y_label)
    axes.set_ylim(bottom=0)
    if len(plot.series) > 1:
        axes.legend(frameon=False)


def _line(axes: Axes, series: Series) -> None:
    x = [float(value) for value in series.x]
    style = "o" if series.points_only else "-" if len(x) > 20 else "o-"
    (line,) = axes.plot(x, series.y, style, label=series.label, markersize=4)
    if series.low:
        axes.fill_between(x, series.low, series.high, color=line.get_color(), alpha=0.15, linewidth=0)


def _bars(axes: Axes, series: Series, number: int, of: int) -> None:
    width = BARS_WIDTH / of
    places = [place + (number - (of - 1) / 2) * width for place in range(len(series.x))]
    spread = None
    if series.low:
        below = [max(0.0, y - low) for y, low in zip(series.y, series.low, strict=True)]
        above = [max(0.0, high - y) for y, high in zip(series.y, series.high, strict=True)]
        spread = [below, above]
    axes.bar(places, series.y, width, yerr=spread, label=series.label, error_kw={"linewidth": 0.8})
    axes.set_xticks(range(len(series.x)), [str(x) for x in series.x], rotation=30, ha="right")
