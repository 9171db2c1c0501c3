"""Structured logs: one JSON object a line, whatever is logged."""

import json
import logging
import sys

from annotate.core.json_logs import JsonFormatter


def formatted(message: str, *args, exc_info=None, **extra) -> dict:
    logger = logging.getLogger("annotate.test")
    record = logger.makeRecord(logger.name, logging.WARNING, "", 1, message, args, exc_info, extra=extra)
    line = JsonFormatter().format(record)
    assert "\n" not in line
    return json.loads(line)


def test_an_event_is_one_object():
    event = formatted("Fit %d of “%s”\nwas late", 3, "ä", status_code=503, where=object)
    assert event["message"] == "Fit 3 of “ä”\nwas late"
    assert (event["level"], event["logger"], event["status_code"]) == ("WARNING", "annotate.test", 503)
    assert event["where"] == "<class 'object'>"
    assert event["time"].endswith("+00:00")


def test_a_traceback_is_part_of_its_event():
    try:
        raise ValueError("no")
    except ValueError:
        event = formatted("It failed", exc_info=sys.exc_info())
    assert "ValueError: no" in event["error"]
