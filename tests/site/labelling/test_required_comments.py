"""Required comments: an answer without one is refused with all that was given, a skip needs none."""

import pytest

from tests.conftest import make_annotator
from tests.site.labelling.test_eligibility import set_up
from tests.site.labelling.test_known_items import shown_to
from tests.site.labelling.test_labelling import as_annotator, submit_url, task_of
from tests.site.pages import HTMX


@pytest.mark.parametrize("criteria", [[], [{"name": "Clear", "question": "?"}, {"name": "Right", "question": "?"}]])
def test_an_answer_needs_a_comment_and_a_skip_does_not(project, criteria):
    set_up(project, comments=True, comment_required=True, criteria=criteria, outcomes=["skip"])
    otter = make_annotator(project, "Quiet Otter")
    client, shown = as_annotator(otter), shown_to(otter)
    assert "Add a comment (required)" in client.get(task_of(project)).content.decode()
    answer = {"answer": "each", "answer_1": "a", "answer_2": "b"} if criteria else {"answer": "a"}
    refused = client.post(submit_url(shown), answer, headers=HTMX)
    assert (refused.status_code, otter.labels.count()) == (400, 0)
    assert "asks for a comment with each answer" in refused.content.decode()
    client.post(submit_url(shown), answer | {"comment": "Better argued"})
    assert otter.labels.get().comment == "Better argued"
    client.post(submit_url(shown_to(otter)), {"answer": "skip"})
    assert otter.labels.count() == 2


def test_without_comments_none_is_required(project):
    set_up(project, comments=False, comment_required=True)
    otter = make_annotator(project, "Quiet Otter")
    as_annotator(otter).post(submit_url(shown_to(otter)), {"answer": "a"})
    assert otter.labels.count() == 1
