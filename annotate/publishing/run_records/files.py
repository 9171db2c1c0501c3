"""Reads a run record's .zip file in parts."""

from collections.abc import Iterator

from annotate.models import RunRecord, RunRecordPart


def read_chunks(record: RunRecord) -> Iterator[bytes]:
    """Yield the .zip, one row in memory at a time."""
    for number in RunRecordPart.objects.filter(record=record).order_by("number").values_list("number", flat=True):
        part = RunRecordPart.objects.get(record=record, number=number)
        yield bytes(part.data)
