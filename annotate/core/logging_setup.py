"""What the site logs, and how: the value of the setting LOGGING."""

from typing import Any


def logging_config(form: str, *, level: str) -> dict[str, Any]:
    """Return the settings of the log: on the console, without secrets. form: "line" for people, "json" for programs."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
            "json": {"()": "annotate.core.json_logs.JsonFormatter"},
        },
        "filters": {"redact": {"()": "annotate.core.log_filters.RedactSecrets"}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": form, "filters": ["redact"]}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {"axes": {"level": "WARNING"}},
    }
