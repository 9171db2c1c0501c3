"""Ideas: the search for similar items tells nobody of items that they must not be shown."""

from annotate.ideas.queries import similar_items
from annotate.models import Annotator, ConflictOfInterest
from tests.conftest import make_annotator


def test_items_of_a_conflict_of_interest_are_not_found(project):
    annotator = make_annotator(project, "Otter")
    assert next(one.item.key for one in similar_items(annotator, "Text number 3")) == "item-3"
    ConflictOfInterest.objects.create(annotator=annotator, item=project.items.get(key="item-3"))
    Annotator.objects.update(has_never_shown=True)
    annotator.refresh_from_db()
    found = [one.item.key for one in similar_items(annotator, "Text number 3")]
    assert "item-3" not in found
    assert found
