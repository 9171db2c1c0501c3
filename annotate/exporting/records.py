"""A run record as it is sent: the .zip that an engine process made, part by part."""

from collections.abc import Iterator

from annotate.models import RunRecord, RunRecordPart


def chunks(record: RunRecord) -> Iterator[bytes]:
    """The .zip, one row in memory at a time."""
    for number in RunRecordPart.objects.filter(record=record).order_by("number").values_list("number", flat=True):
        part = RunRecordPart.objects.get(record=record, number=number)
        yield bytes(part.data)
