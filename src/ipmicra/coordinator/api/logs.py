"""Log records -> one JSON object a line on stderr, for people with `jq` and for collectors."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime

import msgspec

_ORDINARY = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "color_message",
    "taskName",
}


class JsonLineFormatter(logging.Formatter):
    """Time, level, who, what, and whatever the caller gave as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "from": record.name,
            "what": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _ORDINARY}
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


def log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLineFormatter())
    root = logging.getLogger("ipmicra")
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    root.propagate = False
