"""Keys that an annotator chooses: what a page says then, what is refused and why, and that nothing collides."""

import re

import pytest
from django.urls import reverse
from django.utils import translation
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.labelling.keys.bindings import DEFAULTS, Keys, is_usable
from annotate.models import Annotator
from tests.budget import examples
from tests.conftest import make_annotator
from tests.site.labelling.test_labelling import as_annotator, task_of
from tests.site.task_types import TASKS, set_task


@pytest.fixture
def otter(project) -> Annotator:
    return make_annotator(project, "Quiet Otter")


@pytest.fixture
def client(otter):
    return as_annotator(otter)


def fields(page: str) -> dict[str, str]:
    """The form's fields and their values."""
    inputs = [dict(re.findall(r'([\w-]+)="([^"]*)"', tag)) for tag in re.findall(r"<input[^>]*size=[^>]*>", page)]
    return {one["name"]: one.get("value", "") for one in inputs}


def test_the_usual_keys_differ_and_every_one_can_be_typed():
    assert len(set(DEFAULTS.values())) == len(DEFAULTS)
    assert all(map(is_usable, DEFAULTS.values()))
    assert {action: Keys().of(action) for action in DEFAULTS} == DEFAULTS


@given(st.dictionaries(st.sampled_from(sorted(DEFAULTS)), st.sampled_from([*"tgbcs1230", "", "x", "ü"]), max_size=6))
@settings(max_examples=examples(60), deadline=None)
def test_no_key_does_two_things(chosen):
    typed = [key for key in chosen.values() if key]
    if len(set(typed)) < len(typed):
        return  # the form refuses it
    keys = Keys(chosen, pair=True)
    on_the_page = [action for action in DEFAULTS if not action.isdecimal() or action in "12"]
    held = [name for action in on_the_page for name in (keys.of(action), *keys.also(action)) if name]
    assert len(set(held)) == len(held)
    assert all(keys.of(action) == key for action, key in chosen.items())


def test_arrows_follow_the_direction_of_the_page():
    with translation.override("ar"):
        assert Keys(pair=True).also("1") == ["ArrowRight", "Numpad6"]
    assert Keys(pair=True).also("1") == ["ArrowLeft", "Numpad4"]
    assert Keys(pair=False).also("1") == []


@pytest.mark.embedded
@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task[0]} {task[1]}")
def test_every_action_of_a_task_has_a_field(client, project, task):
    set_task(project, *task)
    asked = fields(client.get(reverse("keys", args=[project.pk])).content.decode())
    places = 5 if task[0] == "graded" else task[1]
    others = {"cant_judge", "skip", "undo", "help"}
    ties = {"tie", "both_good", "both_bad"} if task[1] == 2 else set()
    expected = {str(place) for place in range(1, places + 1)} | others | (ties - {"tie" if places == 5 else ""})
    assert asked == {action: DEFAULTS[action] for action in expected}


def test_chosen_keys_are_on_the_page_and_the_usual_ones_come_back(client, project, otter):
    url, page = reverse("keys", args=[project.pk]), client.get(reverse("keys", args=[project.pk])).content.decode()
    given = fields(page) | {"1": "F", "2": "j", "tie": "", "undo": "1"}
    assert client.post(url, given)["Location"] == task_of(project)
    otter.refresh_from_db()
    assert otter.keys == {"1": "f", "2": "j", "tie": "", "undo": "1"}
    client.post(task_of(project))
    task = client.get(task_of(project)).content.decode()
    assert 'data-key="f" data-also="ArrowLeft" aria-keyshortcuts="f ArrowLeft"' in task
    assert re.search(r'value="tie"[^>]*data-key="" data-also="">', task)  # no key, and none is told
    assert "Your keys are saved." in task
    assert client.post(url, {"reset": "1", **given})["Location"] == task_of(project)
    otter.refresh_from_db()
    assert otter.keys == {}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"tie": "u"}, "“u” is also the key for “Undo the last answer”. Choose a different key for one of them."),
        ({"tie": "F5"}, "“f5” has 2 characters. Type a single letter, digit or punctuation mark."),
        ({"tie": " "}, "The space bar always skips."),
        ({"tie": "\u200b"}, "can&#x27;t be typed on every keyboard."),
        ({"1": "Ä", "2": "ä"}, "“ä” is also the key for “Choose B”."),
    ],
    ids=["taken", "named", "space", "invisible", "capital"],
)
def test_a_key_that_cannot_be_is_refused_in_words_and_what_was_typed_stays(client, project, otter, change, why):
    url = reverse("keys", args=[project.pk])
    page = client.post(url, fields(client.get(url).content.decode()) | {"skip": "x"} | change).content.decode()
    assert why in page
    assert fields(page)["skip"] == "x"
    otter.refresh_from_db()
    assert otter.keys == {}


def test_a_choice_for_an_answer_that_is_not_asked_for_now_stays_unless_its_key_is_taken(client, project, otter):
    Annotator.objects.update(keys={"both_good": "y", "both_bad": "z"})
    set_task(project, "best", 3)
    url = reverse("keys", args=[project.pk])
    client.post(url, fields(client.get(url).content.decode()) | {"skip": "z"})
    otter.refresh_from_db()
    assert otter.keys == {"both_good": "y", "skip": "z"}
