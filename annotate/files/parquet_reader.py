"""Reads a Parquet file as JSON lines, lists within rows too, no further than the limits."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

import annotate
from annotate.files.cells import shortened
from annotate.files.decoding import too_large
from annotate.files.limits import (
    MAX_COMPARISONS,
    MAX_FILE_BYTES,
    MAX_PARQUET_COLUMNS,
    MAX_PARQUET_MEMORY,
    MAX_PARQUET_SECONDS,
    MAX_PARQUET_UNFOLDED,
    BadFile,
)

SUFFIXES = (".parquet", ".pq")
MARK = b"PAR1"
BLOCK = 2**20
FEWER_COLUMNS = gettext_lazy("Keep the columns that you need, or split the file and import the parts one by one.")
MESSAGES: Mapping[str, Promise] = {
    "columns": gettext_lazy(
        "“%(name)s” has %(n)d columns, those within others counted; the limit is %(columns)d. Keep those that you need."
    ),
    "rows": gettext_lazy("“%(name)s” has %(n)d rows; the limit is %(rows)d. Split it and import the parts one by one."),
    "unfolded": gettext_lazy("“%(name)s” unpacks to %(size)d MB; the limit is %(unfolded)d MB."),
    "size": gettext_lazy("Up to row %(place)d “%(name)s” holds more than %(bytes)d MB of text, which is the limit."),
    "memory": gettext_lazy("“%(name)s” needs more than %(memory)d MB of memory to be read, which is the limit."),
    "seconds": gettext_lazy("“%(name)s” takes longer than %(seconds)d seconds to be read, which is the limit."),
    "twice": gettext_lazy("“%(name)s” has two columns “%(column)s”. Rename one of them."),
    "text": gettext_lazy(
        "The column “%(column)s” of “%(name)s” holds text in row %(place)d that is not UTF-8. Write it again as UTF-8."
    ),
    "binary": gettext_lazy(
        "The column “%(column)s” of “%(name)s” holds bytes in row %(place)d that are no text. Leave the column out; "
        "pictures and recordings come in by a zip file."
    ),
    "type": gettext_lazy(
        "The column “%(column)s” of “%(name)s” holds values of a type that is not known here (%(kind)s). Write them as "
        "texts or numbers, or leave the column out."
    ),
    "damaged": gettext_lazy(
        "“%(name)s” can't be read as Parquet (%(problem)s). Write it again, or save it as JSON lines."
    ),
}
TOO_MUCH = ("unfolded", "size", "memory", "seconds")  # which FEWER_COLUMNS helps


def is_parquet(name: str, head: bytes) -> bool:
    return name.lower().endswith(SUFFIXES) and head.startswith(MARK)


def read_parquet(file: IO[bytes], name: str) -> str:
    """Return the rows as JSON lines; the first names every column. Raises BadFile."""
    size = file.seek(0, os.SEEK_END)
    if size > MAX_FILE_BYTES:
        raise too_large(name, size)
    file.seek(0)
    limits = {
        "columns": MAX_PARQUET_COLUMNS,
        "rows": MAX_COMPARISONS,
        "unfolded": MAX_PARQUET_UNFOLDED,
        "bytes": MAX_FILE_BYTES,
        "memory": MAX_PARQUET_MEMORY,
        "seconds": MAX_PARQUET_SECONDS,
    }
    with tempfile.TemporaryFile() as copy:
        while block := file.read(BLOCK):
            copy.write(block)
        copy.seek(0)
        done = run_child(copy, limits)
    if done is None or done.returncode:
        raise refusal_of(done, name, limits)
    text = done.stdout.decode("utf-8", "surrogatepass")
    if not text:
        raise BadFile(_("“%(name)s” is empty. Put one item in each row and upload it again.") % {"name": name})
    return text


def run_child(file: IO[bytes], limits: Mapping[str, int]) -> "subprocess.CompletedProcess[bytes] | None":
    """Return the reading process when it has ended; None where it took too long."""
    command = [sys.executable, "-m", "annotate.files.parquet_child", json.dumps(limits)]
    # None of our environment, which holds secrets; one thread, whose memory the limit counts.
    known = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    try:
        return subprocess.run(  # noqa: S603  (our own module)
            command,
            stdin=file,
            capture_output=True,
            cwd=Path(annotate.__file__).parent.parent,
            env={**known, **one_thread},
            timeout=2 * limits["seconds"],
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None


def refusal_of(done: "subprocess.CompletedProcess[bytes] | None", name: str, limits: Mapping[str, int]) -> BadFile:
    refusal: dict[str, Any] = {"why": "seconds"}
    if done is not None:
        refusal = read_refusal(done)
    megabytes = {what: limits[what] // 2**20 for what in ("unfolded", "bytes", "memory")}
    values = {**limits, **megabytes, **refusal, "name": name}
    if "size" in refusal:
        values["size"] = refusal["size"] // 2**20
    if "column" in refusal:
        values["column"] = shortened(refusal["column"])
    text = str(MESSAGES[refusal["why"]]) % values
    return BadFile(f"{text} {FEWER_COLUMNS}" if refusal["why"] in TOO_MUCH else text)


def read_refusal(done: "subprocess.CompletedProcess[bytes]") -> dict[str, Any]:
    """Return why the process refused the file; where it could not say so, what ended it."""
    try:
        refusal = json.loads(done.stderr.rpartition(b"\n")[2])
    except ValueError:
        refusal = None
    if isinstance(refusal, dict) and refusal.get("why") in MESSAGES:
        return refusal
    by_kernel = {-24: "seconds", -9: "memory", -6: "memory"}  # SIGXCPU, SIGKILL, SIGABRT: std::bad_alloc
    if (why := by_kernel.get(done.returncode)) is not None:
        return {"why": why}
    return {"why": "damaged", "problem": f"{_('exit code')} {done.returncode}"}
