"""Numbers and times -> short texts for people. Invariant: no I/O."""

from __future__ import annotations

from datetime import UTC, datetime

_THOUSANDS = ("", " k", " M", " G", " T", " P", " E", " Z")
_SPANS = ((86_400, "d"), (3_600, "h"), (60, "min"))
UNKNOWN = "–"


def number(value: float | None, digits: int = 0) -> str:
    """12,345 or 3.21."""
    return UNKNOWN if value is None else f"{value:,.{digits}f}"


def short(value: float | None, unit: str = "") -> str:
    """3.2 M and the unit, with three significant digits."""
    if value is None:
        return UNKNOWN
    size, step = abs(value), 0
    while size >= 999.5 and step < len(_THOUSANDS) - 1:
        size, step = size / 1000, step + 1
    digits = 0 if step == 0 and float(value).is_integer() else max(0, 2 - len(str(int(size))) + 1)
    sign = "−" if value < 0 else ""
    prefix = _THOUSANDS[step] if not unit or _THOUSANDS[step] else " "
    return f"{sign}{size:.{min(digits, 2)}f}{prefix}{unit}".rstrip()


def percent(share: float | None, digits: int = 0) -> str:
    return UNKNOWN if share is None else f"{share * 100:.{digits}f} %"


def milliseconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1f} ms" if value < 100 else f"{value:,.0f} ms"


def span(seconds: float | None) -> str:
    """3 min, 2 h, 5 d."""
    if seconds is None:
        return UNKNOWN
    for size, name in _SPANS:
        if seconds >= size:
            return f"{seconds / size:.0f} {name}"
    return f"{max(0.0, seconds):.0f} s"


def ago(moment_s: float | None, now_s: float) -> str:
    return "never" if moment_s is None else f"{span(now_s - moment_s)} ago"


def moment(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s, tz=UTC):%Y-%m-%d %H:%M:%S} UTC"


def plural(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
