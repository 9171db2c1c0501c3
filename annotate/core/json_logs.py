"""Writes each event of the log as one JSON object on one line, for programs that collect logs."""

import json
import logging
from datetime import UTC, datetime

# What every record has; all else was given with `extra`.
ORDINARY = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "request"}


class JsonFormatter(logging.Formatter):
    """Keys: time (ISO 8601, UTC), level, logger, message, process; error with the traceback; and what `extra` names."""

    def format(self, record: logging.LogRecord) -> str:
        event = {
            "time": datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        event |= {key: value for key, value in vars(record).items() if key not in ORDINARY}
        if record.exc_info:
            event["error"] = self.formatException(record.exc_info)
        return json.dumps(event, default=str, ensure_ascii=False)
