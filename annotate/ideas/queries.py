"""Reads ideas: those that wait, those of one annotator, and which items say something similar."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from annotate.ideas.similarity import MAX_TEXTS, SimilarTexts
from annotate.labelling.special_tasks import conflicting_items
from annotate.models import Annotator, Idea, Item, Project

MAX_SIMILAR = 3  # shown beside a text


@dataclass(frozen=True)
class SimilarItem:
    """similarity: 0 to 1, the cosine between the texts."""

    item: Item
    similarity: float


@dataclass(frozen=True)
class IdeaRow:
    idea: Idea
    similar: list[SimilarItem]


class ItemSearch:
    """The project's active items, the latest MAX_TEXTS of them, to look for texts like others."""

    def __init__(self, project: Project, hidden: Collection[int] = ()) -> None:
        """hidden: items, by primary key, that are not to be found."""
        active = project.items.filter(retired_at=None).only("pk", "key", "name", "kind", "body", "project_id")
        self.items = [item for item in active.order_by("-pk")[:MAX_TEXTS] if item.pk not in hidden]
        self.texts = SimilarTexts([item.body for item in self.items])

    def find(self, text: str) -> list[SimilarItem]:
        return [SimilarItem(self.items[one.place], one.cosine) for one in self.texts.find(text, MAX_SIMILAR)]


def similar_items(annotator: Annotator, text: str) -> list[SimilarItem]:
    """Return what an annotator is told of, before they send a text: nothing that they must never be shown."""
    return ItemSearch(annotator.project, conflicting_items(annotator)).find(text)


def n_waiting(project: Project) -> int:
    return project.ideas.filter(state=Idea.State.WAITING).count()


def ideas_in(project: Project, state: str) -> QuerySet[Idea]:
    """Return the project's ideas in this state, or all; those that wait in the order they came, else the latest
    first."""
    ideas = project.ideas.select_related("annotator", "item")
    if state:
        ideas = ideas.filter(state=state)
    return ideas.order_by("pk" if state == Idea.State.WAITING else "-pk")


def with_similar(project: Project, ideas: Sequence[Idea]) -> list[IdeaRow]:
    """Return the ideas, each that waits with the items that say something similar; the items are read once."""
    if not any(idea.state == Idea.State.WAITING for idea in ideas):
        return [IdeaRow(idea, []) for idea in ideas]
    search = ItemSearch(project)
    return [IdeaRow(idea, search.find(idea.text) if idea.state == Idea.State.WAITING else []) for idea in ideas]


def own_ideas(annotator: Annotator) -> QuerySet[Idea]:
    """Return what this annotator has proposed, the latest first."""
    return Idea.objects.filter(annotator=annotator).select_related("item").order_by("-pk")
