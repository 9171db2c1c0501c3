"""Defines the export table of deviations from the preregistration."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from annotate.files.columns import Column, Kind, Row
from annotate.models import Deviation, Membership, Project
from annotate.plan_values import canonical

COLUMNS = [
    Column("field", _("Name of the value of the plan, as in the preregistration's JSON.")),
    Column("before", _("What it was, as JSON.")),
    Column("after", _("What it became, as JSON.")),
    Column("at", _("When it was changed, server time (UTC)."), Kind.MOMENT),
    Column("by", _("Role of the member who changed it; empty if they are no member any more.")),
    Column("n_labels", _("Labels that counted then."), Kind.INTEGER),
    Column("reason", _("The reason given; empty if none was.")),
]


def rows(project: Project) -> Iterator[Row]:
    roles: dict[int | None, str] = dict(Membership.objects.filter(project=project).values_list("user_id", "role"))
    for one in Deviation.objects.filter(project=project).order_by("at", "pk").iterator(500):
        before, after = canonical(one.before), canonical(one.after)
        yield [one.field, before, after, one.at, roles.get(one.actor_id, ""), one.n_labels, one.reason]
