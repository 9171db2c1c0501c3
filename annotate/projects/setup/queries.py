"""How far a project's set-up is: its steps, each a page of the project, which of them are done and which comes next."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.models import Membership, ParticipationRules, Project
from annotate.projects.actions import n_comparable

# The pages that belong to each step; the first is where it leads.
PAGES = {
    "question": ["project-settings", "settings-answers", "settings-amount", "settings-ranking"],
    "items": ["items-import", "items", "comparisons-import", "counts-import", "features-import", "import-job"],
    "checks": ["quality", "known-sets", "never-shown"],
    "people": ["share", "entry", "members", "participants"],
    "open": ["setup"],
}


@dataclass(frozen=True)
class SetupStep:
    """`needed`: the project can't be opened without it."""

    name: str
    page: str
    title: str
    text: str
    done: bool
    needed: bool


@dataclass(frozen=True)
class SetupState:
    steps: list[SetupStep]
    n_items: int

    @property
    def following(self) -> SetupStep:
        """Return the first step that is needed and not done, else the last."""
        return next((step for step in self.steps if step.needed and not step.done), self.steps[-1])

    def after(self, page: str) -> SetupStep | None:
        """Return the step behind the one that this page belongs to; None behind the last and elsewhere."""
        places = [place for place, step in enumerate(self.steps) if page in PAGES[step.name]]
        return self.steps[places[0] + 1] if places and places[0] + 1 < len(self.steps) else None

    def at(self, page: str) -> str:
        return next((step.name for step in self.steps if page in PAGES[step.name]), "")


def items_found(n_items: int, k: int) -> str:
    if n_items < k:
        text = ngettext("%(n)d item; you need at least %(limit)d", "%(n)d items; you need at least %(limit)d", n_items)
    else:
        text = _("%(n)d items (%(limit)d are enough to start)")
    return text % {"n": n_items, "limit": k}


def setup_state(project: Project) -> SetupState:
    n_items = n_comparable(project)
    has_items = n_items >= project.k
    invited = ParticipationRules.objects.filter(project=project).exists()
    invited = invited or Membership.objects.filter(project=project).exclude(role=Membership.Role.OWNER).exists()
    found = items_found(n_items, project.k)
    checks = any((project.min_seconds, project.break_every, project.gold_every, project.repeat_percent))
    checks = checks or project.practice_pass is not None
    texts = {
        "question": (_("Question and answers"), project.question, True, True),
        "items": (_("Items"), found, has_items, True),
        "checks": (
            _("Quality checks"),
            _("Reading time, breaks, practice, gold questions."),
            checks,
            False,
        ),
        "people": (
            _("People"),
            _("Who may take part, your team, invitations. The join link works without any of them."),
            invited,
            False,
        ),
        "open": (
            _("Preview and open"),
            _("Preview the task as annotators see it, then open the project."),
            project.state != "draft",
            True,
        ),
    }
    if project.archived_at:
        texts = {}
    return SetupState(
        [SetupStep(name, PAGES[name][1 if name == "items" and has_items else 0], *texts[name]) for name in texts],
        n_items,
    )
