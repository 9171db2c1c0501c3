"""Makes the example project of a newcomer."""

from datetime import datetime

from annotate.core.transactions import write_transaction
from annotate.demo.projects import make_example_project
from annotate.models import Membership, Project, User


def make_example(user: User, now: datetime) -> tuple[Project, bool]:
    """Return the user's example and whether it is new: everybody has at most one."""
    with write_transaction():
        User.objects.select_for_update().get(pk=user.pk)  # pressed twice, it is still made once
        owned = Membership.objects.filter(user=user, role=Membership.Role.OWNER, project__simulated=True)
        known = Project.objects.filter(pk__in=owned.values("project")).order_by("created_at").first()
        if known:
            return known, False
        return make_example_project(user, now), True
