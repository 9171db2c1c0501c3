"""Writes an annotator's own keys."""

from annotate.models import Annotator


def set_shortcuts(*, annotator: Annotator, on: bool) -> None:
    annotator.shortcuts = on
    Annotator.objects.filter(pk=annotator.pk).update(shortcuts=on)


def set_keys(*, annotator: Annotator, chosen: dict[str, str]) -> None:
    """Set the keys that differ from labelling.keys.bindings.DEFAULTS."""
    annotator.keys = chosen
    Annotator.objects.filter(pk=annotator.pk).update(keys=chosen)
