"""`python -m annotate.files.parquet_child LIMITS`: a Parquet file on standard input, JSON lines on standard output.

A process of its own, since a file of a few kilobytes can unfold to any size: it holds itself to memory and processor
time before it looks at the file. What it refuses it says as JSON on standard error. It loads nothing of Django.
"""

import json
import math
import os
import sys
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

try:
    import resource
except ImportError:  # Windows has none: there the sizes that the file says are checked alone
    resource = None  # type: ignore[assignment]

REFUSED = 3  # exit code
STATM = Path("/proc/self/statm")
AT_A_TIME = 200  # rows
MAX_SAFE_INTEGER = 1e15  # of a number that is written without a point


class Refused(Exception):
    """why: a key of annotate.files.parquet_reader.MESSAGES; more: what its text names."""

    def __init__(self, why: str, **more: Any) -> None:
        super().__init__(why)
        self.details = {"why": why, **more}


def main(limits: dict[str, int]) -> int:
    try:
        hold(limits)
        write_rows(limits)
    except Refused as refusal:
        return refuse(**refusal.details)
    except MemoryError:
        return refuse("memory")
    except Exception as error:
        if "malloc" in str(error) or type(error).__name__ == "ArrowMemoryError":
            return refuse("memory")
        return refuse("damaged", problem=type(error).__name__)
    return 0


def refuse(why: str, **more: Any) -> int:
    sys.stderr.write(json.dumps({"why": why, **more}))
    return REFUSED


def hold(limits: dict[str, int]) -> None:
    """Hold this process to its limits, the memory counted from what the libraries take."""
    arrow = import_module("pyarrow")
    import_module("pyarrow.parquet")
    arrow.set_cpu_count(1)
    arrow.set_io_thread_count(1)
    if resource is not None:
        if STATM.exists():  # elsewhere the kernel does not hold a process to its address space
            mapped = int(STATM.read_text().split()[0]) * resource.getpagesize()
            lower(resource.RLIMIT_AS, mapped + limits["memory"])
        lower(resource.RLIMIT_CPU, limits["seconds"])


def lower(kind: int, value: int) -> None:
    """Set the soft limit, up to the hard one that the operator has set."""
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def write_rows(limits: dict[str, int]) -> None:
    """Write a line for each row, a row group's rows a few at a time. Raises Refused."""
    parquet = import_module("pyarrow.parquet")
    file = parquet.ParquetFile(sys.stdin.buffer)
    check_stated_size(file.metadata, limits)
    names = list(file.schema_arrow.names)
    if twice := [name for name in names if names.count(name) > 1]:
        raise Refused("twice", column=twice[0])
    size, place = 0, 0
    for batch in file.iter_batches(batch_size=AT_A_TIME, use_threads=False):
        for row in rows_of(batch, place):
            place += 1
            # The first row names every column; later ones leave out what is empty.
            values = {name: plain(value, place, name) for name, value in row.items()}
            present = {name: value for name, value in values.items() if place == 1 or value is not None}
            line = (json.dumps(present, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "surrogatepass")
            size += len(line)
            if size > limits["bytes"]:
                raise Refused("size", place=place)
            if place > limits["rows"]:  # more than the file says
                raise Refused("rows", n=place)
            sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def check_stated_size(metadata: Any, limits: dict[str, int]) -> None:
    """Check what the file says of itself, before any of it is unfolded. Raises Refused."""
    if metadata.num_columns > limits["columns"]:
        raise Refused("columns", n=metadata.num_columns)
    if metadata.num_rows > limits["rows"]:
        raise Refused("rows", n=metadata.num_rows)
    unfolded = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    if unfolded > limits["unfolded"]:
        raise Refused("unfolded", size=unfolded)


def rows_of(batch: Any, place: int) -> Iterator[dict[str, Any]]:
    """Yield the rows one by one, so that no more than one is there as Python's objects. Raises Refused."""
    columns = [in_microseconds(column) for column in batch.columns]
    for number in range(batch.num_rows):
        row = {}
        for name, column in zip(batch.schema.names, columns, strict=True):
            try:
                row[name] = column[number].as_py(maps_as_pydicts="strict")
            except (UnicodeDecodeError, KeyError) as error:
                raise Refused("text", column=name, place=place + number + 1) from error
        yield row


def in_microseconds(column: Any) -> Any:
    """Return moments and durations of nanoseconds as Python can hold them; others as they are."""
    arrow = import_module("pyarrow")
    if getattr(column.type, "unit", "") != "ns":
        return column
    coarser = {arrow.types.is_timestamp: arrow.timestamp("us", getattr(column.type, "tz", None))}
    coarser |= {arrow.types.is_duration: arrow.duration("us"), arrow.types.is_time: arrow.time64("us")}
    found = next((kind for is_kind, kind in coarser.items() if is_kind(column.type)), None)
    return column if found is None else column.cast(found, safe=False)


def plain(value: Any, place: int, column: str) -> Any:
    """Return a value as JSON has it: moments in ISO 8601, numbers that are none as nothing. Raises Refused."""
    if isinstance(value, float):
        return plain_number(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise Refused("binary", column=column, place=place) from error
    if isinstance(value, dict):
        return {str(name): plain(one, place, column) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, place, column) for one in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta):
        return str(value)
    raise Refused("type", column=column, kind=type(value).__name__)


def plain_number(value: float) -> float | int | str | None:
    """Return a whole number without a point, as keys are that had been read beside empty cells."""
    if math.isnan(value):
        return None
    if math.isinf(value):
        return str(value)
    return int(value) if value.is_integer() and abs(value) < MAX_SAFE_INTEGER else value


def end(code: int) -> NoReturn:
    """End this process at once, as soon as everything is written.

    On its way out Python would wait for the library's threads, and they may wait for Python's lock for good, to let go
    of the file (apache/arrow, issues 33975 and 50482): now and then a file that was read would have hung until it was
    refused.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    end(main(json.loads(sys.argv[1])))
