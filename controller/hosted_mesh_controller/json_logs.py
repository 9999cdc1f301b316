"""Logs as one JSON object on each line, on standard error."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final

_FACTS: Final = "facts"


def facts(**values: Any) -> dict[str, Any]:
    """The argument `extra` of a log call. The fields are apart: a record has attributes such as `name` of its own."""
    return {_FACTS: values}


class JsonFormatter(logging.Formatter):
    """Time, level, logger and message, and the record's extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in getattr(record, _FACTS, {}).items() if key not in line}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def adopt(name: str) -> None:
    """Sends the logs of a library with handlers of its own the same way."""
    logger = logging.getLogger(name)
    logger.handlers.clear()
    logger.propagate = True


def set_up() -> None:
    """Sends all logs of this process to standard error in this form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        adopt(name)
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # one line for each request of the watches
    logging.getLogger("uvicorn.access").disabled = True  # the interface logs requests itself, without their queries
