"""A person's projects: role, state and, for those who may see results, labels, annotators and the last fit."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.core.paginator import Page, Paginator
from django.db.models import Count, QuerySet

from annotate.access import SEE
from annotate.models import Annotator, Label, Membership, Project, User
from models_engine.models import Fit

PAGE_SIZE = 30


@dataclass(frozen=True)
class ProjectListRow:
    """The figures are None where the role does not show them; `fit` too where there is none yet."""

    project: Project
    role: Membership.Role
    n_labels: int | None = None
    n_annotators: int | None = None
    fit: Fit | None = None

    @property
    def sees_results(self) -> bool:
        return self.role in SEE


def projects_of(user: User, number: str | None, *, archived: bool = False) -> tuple[Page, list[ProjectListRow]]:
    """Return the page of this number and its lines, the latest project first: those in the archive, or the others."""
    memberships = user.memberships.filter(project__archived_at__isnull=not archived)
    memberships = memberships.select_related("project").order_by("-project__created_at", "-pk")
    page = Paginator(memberships, PAGE_SIZE).get_page(number)
    ids = [membership.project_id for membership in page if membership.role in SEE]
    n_labels = count_by_project(Label.objects.filter(project__in=ids, voided_at=None))
    n_annotators = count_by_project(Annotator.objects.filter(project__in=ids))
    published = Fit.objects.filter(project_id__in=ids, criterion=1, published=True)
    fits = {fit.project_id: fit for fit in published.defer("arrays")}
    lines = []
    for membership in page:
        project, role = membership.project, Membership.Role(membership.role)
        if role not in SEE:
            lines.append(ProjectListRow(project, role))
            continue
        line = (n_labels.get(project.pk, 0), n_annotators.get(project.pk, 0), fits.get(project.pk))
        lines.append(ProjectListRow(project, role, *line))
    return page, lines


def latest_project(user: User | AnonymousUser) -> Project | None:
    """Return the latest project whose results the person may see and that is not in the archive."""
    if not isinstance(user, User):
        return None
    found = user.memberships.filter(role__in=SEE, project__archived_at=None).select_related("project")
    latest = found.order_by("-project__created_at", "-pk").first()
    return latest.project if latest else None


def count_by_project(rows: QuerySet[Label] | QuerySet[Annotator]) -> dict[UUID, int]:
    """Return how many rows each project has."""
    return dict(rows.order_by().values_list("project").annotate(n=Count("pk")))
