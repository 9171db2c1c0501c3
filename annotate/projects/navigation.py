"""Lists the pages of a project in groups, as its navigation shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotate.access import MANAGE, OWN, SEE
from annotate.criteria import Criterion
from annotate.models import Project


@dataclass(frozen=True)
class Page:
    """`url_name`: where its link leads; `others`: names of addresses that belong to it; `by_criterion`: it tells of
    one criterion, which its link keeps; `of_several`: only projects with named criteria have it; `needs_competitors`:
    only where items name them."""

    url_name: str
    title: str | Promise
    roles: frozenset[str]
    others: Sequence[str] = ()
    by_criterion: bool = False
    of_several: bool = False
    needs_competitors: bool = False

    @property
    def url_names(self) -> set[str]:
        return {self.url_name, *self.others}


@dataclass(frozen=True)
class Group:
    """about: what the tour says of it."""

    title: str | Promise
    about: str | Promise
    pages: Sequence[Page]
    is_button: bool = False


@dataclass(frozen=True)
class Link:
    """`current`: "page" for the page itself, "true" for what contains it, "" elsewhere."""

    title: str | Promise
    address: str
    current: str
    is_button: bool = False
    n_waiting: int = 0  # things there that wait for a decision
    about: str | Promise = ""  # of a group of several pages: what the tour says of it


@dataclass(frozen=True)
class Navigation:
    groups: list[Link]
    pages: list[Link]  # of the group that the page belongs to

    @property
    def stop(self) -> "TourStop | None":
        """Return where the tour is on this page; None on one that it does not visit."""
        visited = [group for group in self.groups if group.about]
        here = next((place for place, group in enumerate(visited) if group.current), None)
        if here is None:
            return None
        following = visited[here + 1] if here + 1 < len(visited) else None
        return TourStop(visited[here], here + 1, len(visited), following)


@dataclass(frozen=True)
class TourStop:
    group: Link
    number: int
    n_stops: int
    following: Link | None

    @property
    def next_address(self) -> str:
        return tour_address(self.following.address) if self.following else ""


def tour_address(address: str) -> str:
    return f"{address}{'&' if '?' in address else '?'}tour=1"


IMPORTS = ("items-import", "captions", "comparisons-import", "counts-import", "features-import", "import-job")
GOLD_SETS = ("known-set-new", "known-set-change")
GROUPS = (
    Group(
        _("Results"),
        _(
            "The ranking says who leads and how sure that is: each line is where the true score lies 9 times "
            "in 10. Groups shows who differs from whom."
        ),
        (
            Page("leaderboard", _("Leaderboard"), SEE, by_criterion=True, needs_competitors=True),
            Page("ranking", _("Ranking"), SEE, ("item",), by_criterion=True),
            Page("overall", _("Overall"), SEE, of_several=True),
            Page("tastes", _("Groups"), SEE, ("cohorts",), by_criterion=True),
            Page("grades", _("Grades"), SEE, by_criterion=True),
            Page("scale", _("Scaled scores"), SEE, by_criterion=True),
            Page("report", _("Report"), SEE, by_criterion=True),
            Page("results-links", _("Results links"), OWN),
        ),
    ),
    Group(
        _("People"),
        _(
            "How much everybody answered, and whose answers you should check. Nobody is left out unless you "
            "decide so; you can undo it."
        ),
        (
            Page(
                "annotators",
                _("Annotators"),
                SEE,
                ("annotator", "annotator-erase", "annotators-import"),
                by_criterion=True,
            ),
            Page("machines", _("Machines"), SEE, by_criterion=True),
            Page("annotator-tags", _("Tags"), MANAGE),
            Page("bulk-exclusion", _("Exclude many answers"), MANAGE),
            Page("never-shown", _("Conflicts of interest"), MANAGE),
            Page("ideas", _("Ideas"), MANAGE, ("idea-decide",)),
            Page("comments", _("Comments"), MANAGE),
            Page("participants", _("Who took part"), MANAGE),
            Page("retention", _("Data protection"), MANAGE),
        ),
    ),
    Group(
        _("Trust and progress"),
        _(
            "“Can I trust this?” checks what a result needs: enough answers, agreement, reliability. "
            "Progress says how many answers your goal still needs."
        ),
        (
            Page("trust", _("Can I trust this?"), SEE, by_criterion=True),
            Page("progress", _("Progress"), SEE, by_criterion=True),
            Page("goal", _("Goal and cost"), MANAGE, by_criterion=True),
            Page("methods", _("Methods"), SEE, by_criterion=True),
            Page("preregistration", _("Preregistration"), SEE),
        ),
    ),
    Group(
        _("Set up"),
        _(
            "Write the question, add what is compared, and look at the task as people will see it. A draft "
            "shows which step is next."
        ),
        (
            Page("setup", _("Steps"), MANAGE),
            Page("project-settings", _("Question"), MANAGE),
            Page("settings-answers", _("Answers"), MANAGE),
            Page("settings-amount", _("How many answers"), MANAGE),
            Page("policy", _("Which questions"), MANAGE),
            Page("items", _("Items"), MANAGE, IMPORTS),
            Page("questions", _("Given questions"), MANAGE, ("questions-import",)),
            Page("settings-participants", _("Ideas and results"), MANAGE),
            Page("languages", _("Languages"), MANAGE, ("translation",)),
            Page("quality", _("Quality checks"), MANAGE),
            Page("known-sets", _("Right answers"), MANAGE, GOLD_SETS),
            Page("preview", _("Preview"), SEE),
        ),
    ),
    Group(
        _("More"),
        _(
            "Export your data, see every change in the log, add members, compare estimators, duplicate or "
            "archive the project."
        ),
        (
            Page("engine", _("Engine"), SEE, ("compare",), by_criterion=True),
            Page("settings-ranking", _("Ranking rules"), MANAGE),
            Page("exports", _("Export"), SEE, by_criterion=True),
            Page("log", _("Log"), MANAGE),
            Page("members", _("Members"), OWN),
            Page("webhooks", _("Webhooks"), MANAGE),
            Page("project-manage", _("This project"), MANAGE, ("project-clone", "project-delete")),
        ),
    ),
    Group(
        _("Invite"),
        _("Open the project, then share its link or print its QR code. Say who may take part, and how many."),
        (
            Page("share", _("Invite people"), MANAGE),
            Page("expected-people", _("People you expect"), MANAGE, ("expected-send",)),
            Page("entry", _("Who may take part"), MANAGE),
            Page("embedding", _("Embed"), OWN),
        ),
        is_button=True,
    ),
)


def navigation(
    project: Project, role: str, here: str, criterion: Criterion | None = None, waiting: Mapping[str, int] | None = None
) -> Navigation:
    """Return the groups and pages that the role may see; `here` is the name of the page's address.

    Links to pages about one criterion keep `criterion`. waiting: by page, how many things wait there.
    """
    waiting = waiting or {}
    query = criterion.query if criterion else ""
    visible = [(group, [page for page in group.pages if _is_shown(page, project, role, here)]) for group in GROUPS]
    groups, current = [], []
    for group, pages in visible:
        if not pages:
            continue
        is_here = any(here in page.url_names for page in pages)
        title = group.title if len(pages) > 1 else pages[0].title
        n_waiting = sum(waiting.get(page.url_name, 0) for page in pages)
        address = _address(project, pages[0], query)
        about = group.about if len(pages) > 1 else ""
        groups.append(Link(title, address, "true" if is_here else "", group.is_button, n_waiting, about))
        if is_here:
            current = [_link(project, page, here, query, waiting.get(page.url_name, 0)) for page in pages]
    return Navigation(groups, current if len(current) > 1 else [])


def _is_shown(page: Page, project: Project, role: str, here: str) -> bool:
    if page.needs_competitors and not project.has_competitors and here not in page.url_names:
        return False
    return role in page.roles and (bool(project.criteria) or not page.of_several or here in page.url_names)


def _link(project: Project, page: Page, here: str, query: str, n_waiting: int) -> Link:
    current = "page" if here == page.url_name else "true" if here in page.others else ""
    return Link(page.title, _address(project, page, query), current, n_waiting=n_waiting)


def _address(project: Project, page: Page, query: str) -> str:
    return reverse(page.url_name, args=[project.pk]) + (query if page.by_criterion else "")
