"""Whether a question can be asked: its items are there, differ, share a context and are as many as a task shows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.numbers import format_integer
from annotate.files.cells import shortened, unknown_item
from annotate.files.limits import Unusable
from annotate.labelling.plan.given import MAX_PRIORITY
from annotate.models import Project

BATCH = 500


class KnownItem(NamedTuple):
    """What has to be known of an item; the context as its primary key or text."""

    pk: int
    context: Any
    is_retired: bool


def known_items(project: Project, keys: Iterable[str] | None = None) -> dict[str, KnownItem]:
    """Return the project's items by their keys: those with these keys, or all."""
    rows = project.items.order_by("pk")
    chunks = [rows]
    if keys is not None:
        wanted = sorted(set(keys))
        chunks = [rows.filter(key__in=wanted[start : start + BATCH]) for start in range(0, len(wanted), BATCH)]
    return {
        key: KnownItem(pk, context, retired is not None)
        for chunk in chunks
        for key, pk, context, retired in chunk.values_list("key", "pk", "context_id", "retired_at").iterator(2000)
    }


def check_question(k: int, keys: Sequence[str], known: Mapping[str, KnownItem]) -> tuple[int, ...]:
    """Return the items' primary keys. Raises Unusable.

    k: how many items a task shows.
    """
    if len(keys) != k:
        raise Unusable(
            ngettext(
                "The question names %(n)d item; tasks of this project show %(k)d. Name exactly %(k)d different items.",
                "The question names %(n)d items; tasks of this project show %(k)d. Name exactly %(k)d different items.",
                len(keys),
            )
            % {"n": len(keys), "k": k}
        )
    twice = next((key for place, key in enumerate(keys) if key in keys[:place]), None)
    if twice is not None:
        raise Unusable(
            _("The item “%(key)s” is named twice. Name %(n)d different items.") % {"key": shortened(twice), "n": k}
        )
    for key in keys:
        if key not in known:
            raise Unusable(unknown_item(key))
        if known[key].is_retired:
            raise Unusable(
                _("The item “%(key)s” is retired, so it is shown to nobody. Restore it first, or name another item.")
                % {"key": shortened(key)}
            )
    if len({known[key].context for key in keys}) > 1:
        raise Unusable(
            _("The items of this row have different contexts; only items of the same context are shown together.")
        )
    return tuple(known[key].pk for key in keys)


def priority_in(text: str) -> int:
    """Return the priority; 0 where nothing is said. Raises Unusable."""
    text = text.strip()
    if not text:
        return 0
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (value == int(value) if abs(value) <= MAX_PRIORITY else False):
        raise Unusable(
            _(
                "The priority “%(value)s” is not a whole number from −%(limit)s to %(limit)s. "
                "The highest is asked first."
            )
            % {"value": shortened(text), "limit": format_integer(MAX_PRIORITY)}
        )
    return int(value)
