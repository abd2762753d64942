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
    """Time, level, logger, message, and the caller's `extra` fields."""

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


class PlainFormatter(logging.Formatter):
    """The same for people at a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, tz=UTC)
        more = {name: value for name, value in vars(record).items() if name not in _ORDINARY}
        words = " ".join(f"{name}={value}" for name, value in more.items())
        line = f"{at:%H:%M:%S} {record.levelname.lower():7} {record.getMessage()} {words}".rstrip()
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def log_to_stderr() -> None:
    """Every line of this process, libraries' too: one JSON object each, or plain text on a terminal."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainFormatter() if sys.stderr.isatty() else JsonLineFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    for name in ("ipmicra", "uvicorn", "uvicorn.error", "uvicorn.access", "litestar"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
    logging.getLogger("ipmicra").setLevel(logging.INFO)
    logging.captureWarnings(True)
