"""Setting a project up: what it starts from, nothing lost on the way back, the steps and which of them is next."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.urls import reverse

from annotate.dashboard.goal.forms import GoalForm
from annotate.labelling.plan.actions import draw_plan
from annotate.models import Item, Project
from annotate.projects.forms import ProjectForm
from annotate.projects.participant_settings.forms import ParticipantForm
from annotate.projects.policy.forms import PolicyForm
from annotate.projects.quality_settings.forms import QualityForm
from annotate.projects.setup.estimates import design_of, n_held, share_of_checks
from annotate.projects.setup.presets import PRESETS
from models_engine.analysis.plan_design import expected_reliability
from tests.conftest import NOW, answer_one, make_annotator, make_items
from tests.site.pages import page, signed_in
from tests.site.projects.test_projects import VALID

CREATE = "/projects/new/"


@pytest.mark.embedded
@pytest.mark.parametrize("key", sorted(PRESETS))
def test_every_start_makes_a_project_as_it_says(alice, key):
    client, start = signed_in(alice), PRESETS[key]
    shown = client.get(CREATE, {"start": key})
    form = shown.context["form"]
    data = {bound.html_name: bound.value() for bound in form if bound.value() not in (None, False)}
    made = client.post(CREATE, {**data, "name": "Mine", "start": key, "question": data.get("question") or "Which?"})
    project = Project.objects.get()
    assert made["Location"] == reverse("items-import", args=[project.pk])
    for name, value in {**start.values, **start.goal, **start.checks, **start.policy}.items():
        assert getattr(project, name) == value, name
    assert project.state == "draft"


def test_starts_name_nothing_but_settings_of_the_two_pages(db):
    for start in PRESETS.values():
        assert start.settings.keys() <= set(ProjectForm.Meta.fields)
        assert start.checks.keys() <= set(QualityForm.Meta.fields)
        assert start.participants.keys() <= set(ParticipantForm.Meta.fields)
        assert start.policy.keys() <= set(PolicyForm.Meta.fields)
        project = Project(**{"name": "x", "question": "y", **start.values, **start.goal, **start.checks})
        project.full_clean(exclude=["id"])


@pytest.mark.django_db
@pytest.mark.parametrize("start", PRESETS.values(), ids=lambda start: start.key)
def test_every_start_sets_all_that_decides_how_it_ends(db, start):
    assert {"overlap", "top_k", "estimator"} <= start.settings.keys()
    project = Project(**{"name": "x", "question": "y", **start.values, **start.goal})
    assert project.goal_value, "a goal without its value is not met by anything"
    assert GoalForm({**start.goal, "price_per": "label", "currency": "EUR"}, instance=project).is_valid()


def test_essays_end_at_a_reliability_and_blank_chooses_the_estimator_itself():
    assert PRESETS["essays"].settings["estimator"] == "BradleyTerry"
    assert PRESETS["essays"].goal == {"goal": "reliability", "goal_reliability": 0.8}
    assert PRESETS["blank"].settings["estimator"] == "Automatic"


@pytest.mark.parametrize("start", PRESETS.values(), ids=lambda start: start.key)
def test_the_example_of_a_start_reaches_its_goal(start):
    design, goal = design_of(start), start.goal
    assert start.example.n_people * start.example.answers_each <= n_held(start), "nobody is sent away"
    if goal["goal"] == "reliability":
        assert expected_reliability(design) >= goal["goal_reliability"]
    elif goal["goal"] == "comparisons":
        assert design.n_labels * 2 / design.n_items >= goal["goal_comparisons"]


def test_checks_of_a_start_are_subtracted_from_what_it_gives():
    assert share_of_checks(PRESETS["severity"]) == pytest.approx(1 / 15 + 0.1)
    design = design_of(PRESETS["severity"])
    assert design.n_labels == 8 * (160 - 27)


@pytest.mark.slow
def test_a_public_poll_shuts_nobody_out_and_spreads_its_answers(alice):
    client, start = signed_in(alice), PRESETS["poll"]
    shown = client.get(CREATE, {"start": "poll"}).content.decode()
    assert "With 15 items, people can answer without a limit." in shown
    values = {**start.values, **start.goal, **start.checks, "name": "Parks", "state": "open"}
    project = Project.objects.create(**values)
    make_items(project, 6)
    for i in range(12):
        person = make_annotator(project, f"Citizen {i}")
        for second in range(5):
            answer_one(person, now=NOW + timedelta(seconds=second))
    shown = project.items.values_list("n_taken", flat=True)
    # Nobody is shown a pair twice, so that the last pairs of a person are not always those of the least shown items.
    assert max(shown) - min(shown) <= 4, "60 answers about six items, each in nearly as many"
    assert project.item_sets.filter(n_taken__gt=0).count() > 10, "not the same few pairs for everybody"


def test_planned_sets_without_a_limit_are_shown_again_when_all_have_been(project):
    Project.objects.update(overlap=1000, n_sets=4)
    draw_plan(project)
    for i in range(3):
        person = make_annotator(Project.objects.get(), f"Citizen {i}")
        for second in range(4):
            answer_one(person, now=NOW + timedelta(seconds=second))
    assert list(project.item_sets.filter(place__isnull=False).values_list("n_taken", flat=True)) == [3] * 4


@pytest.mark.slow
def test_the_cards_give_an_example_and_the_forms_say_what_it_holds_and_takes(alice):
    client = signed_in(alice)
    cards = client.get(CREATE).content.decode()
    assert "For example 30 items and 8 people, about 50 minutes each: reliability about 0.8" in cards
    assert "For example 200 items and 10 people, about 60 minutes each: every item is shown about 7 times." in cards
    assert cards.count("For example") == len(PRESETS)
    essays = client.get(CREATE, {"start": "essays"}).content.decode()
    pairs = "With 30 items, people can give at most 435 answers."
    assert pairs in essays, "30 essays make 435 pairs, each for one annotator"
    assert "8 people × 36 answers, about 50 minutes each: reliability about 0.8" in essays
    assert "about 7 hours of people&#x27;s time in all" in essays, "8 x 36 answers of 1.4 minutes: 403 minutes"
    assert "Scores are known to about 17 points either way. Of the 10 best items, about 8" in essays
    translation = client.get(CREATE, {"start": "translation"}).content.decode()
    held = "With 200 items, people can give at most 900 answers."
    assert held in translation, "50 sources of 4 translations make 6 pairs each, three times"
    assert "Scores are known" not in translation, "every prompt has a ranking of its own"


def test_what_a_start_has_set_is_folded_and_opened_where_it_is_refused(alice):
    client = signed_in(alice)
    folded = {"amount": "Change how many answers are asked", "ranking": "Change how the ranking is computed and shown"}
    shown = client.get(CREATE, {"start": "essays"}).content.decode()
    for words in folded.values():
        assert f'<details class="disclosure"><summary>{words}' in shown
    refused = client.post(CREATE, typed_form(client, "essays", name="Essays", overlap="0", state="")).content.decode()
    assert f'<details class="disclosure" open><summary>{folded["amount"]}' in refused
    assert f'<details class="disclosure"><summary>{folded["ranking"]}' in refused


def typed_form(client, start, **changes):
    """Return what the browser sends of the form of a start, with these changes."""
    context = client.get(CREATE, {"start": start}).context
    fields = [*context["form"], *context["size"]]
    data = {bound.html_name: bound.value() for bound in fields if bound.value() not in (None, False)}
    return {**data, "start": start, **changes}


def gives(client, start, **changes):
    sent = typed_form(client, start, figures="1", **changes)
    return client.post(CREATE, sent, headers={"HX-Request": "true"}).content.decode()


def test_a_best_worst_study_uses_the_words_of_its_field(alice):
    client = signed_in(alice)
    shown = client.get(CREATE, {"start": "best-worst"}).content.decode()
    for words in ("Best-worst scaling study", "Most intense", "Least intense", "twice as many sets as items"):
        assert words in shown
    start = PRESETS["best-worst"]
    assert (start.goal["goal"], start.settings["task_type"]) == ("reliability", "best_worst")
    assert share_of_checks(start) == pytest.approx(1 / 20 + 0.05)


@pytest.mark.slow
@pytest.mark.embedded
def test_what_a_start_gives_follows_what_is_chosen_below(alice):
    client, start = signed_in(alice), PRESETS["best-worst"]
    design = design_of(start)
    usual = gives(client, "best-worst")
    assert f"reliability about {expected_reliability(design):.2f}" in usual
    assert "With 200 items, people can answer without a limit." in usual
    planned = gives(client, "best-worst", n_sets="400", overlap="3")
    assert "With 200 items, people can give at most 1,200 answers." in planned
    assert "fewer than these people would give" in planned, "20 people give 1,600 answers"
    fewer = gives(client, "best-worst", **{"size-n_people": "10", "size-answers_each": "40"})
    smaller = replace(design, n_people=10, answers_each=40, checks_each=4)
    assert (
        f"10 people × 40 answers, about 10 minutes each: reliability about {expected_reliability(smaller):.2f}" in fewer
    )
    assert "about 7 hours of people&#x27;s time" in usual, "20 x 80 answers of a quarter of a minute"
    assert "about 2 hours of people&#x27;s time" in fewer
    few = gives(client, "best-worst", **{"size-n_people": "2", "size-answers_each": "40"})
    assert "about 20 minutes of people&#x27;s time in all" in few
    pairs = gives(client, "best-worst", task_type="pair")
    assert f"reliability about {expected_reliability(replace(design, kind='pairs', k=2)):.2f}" in pairs
    larger_sets = gives(client, "best-worst", k="5")
    assert f"reliability about {expected_reliability(replace(design, k=5)):.2f}" in larger_sets


def test_contexts_grow_with_the_number_of_items(alice):
    shown = gives(signed_in(alice), "translation", **{"size-n_items": "400"})
    more = "With 400 items, people can give at most 1,800 answers."
    assert more in shown, "100 sources of 4 translations make 6 pairs each, 3 times"
    assert "on 100 prompts or contexts" in shown


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"size-n_items": "3"}, "there is nothing to compare"),
        ({"size-answers_each": "0"}, "20 people × 80 answers"),
        ({"size-n_people": "many", "overlap": "x"}, "20 people × 80 answers"),
        ({"k": "99"}, "20 people × 80 answers"),
    ],
)
def test_numbers_that_cannot_be_are_told_or_left_as_they_were(alice, changes, told):
    assert told in gives(signed_in(alice), "best-worst", **changes)


def test_the_estimate_without_javascript_keeps_what_was_typed(alice):
    client = signed_in(alice)
    sent = typed_form(client, "best-worst", figures="1", name="Anger", n_sets="400", **{"size-n_people": "15"})
    answer = client.post(CREATE, sent)
    assert not Project.objects.exists()
    form, shown = answer.context["form"], answer.content.decode()
    assert (form["name"].value(), form["n_sets"].value()) == ("Anger", "400")
    assert "15 people × 80 answers" in shown
    assert 'value="15"' in shown


def test_the_choice_comes_first_and_says_what_each_is(alice):
    shown = signed_in(alice).get(CREATE).content.decode()
    for start in PRESETS.values():
        assert f"?start={start.key}" in shown
        assert str(start.title) in shown


def test_the_last_card_offers_the_preview_once(project, alice):
    Project.objects.filter(pk=project.pk).update(state="draft")
    client, preview = signed_in(alice), f'href="{reverse("preview", args=[project.pk])}"'
    shown = {name: page(client, project, name).partition("<main")[2] for name in ("setup", "share")}
    assert "Open the project" in shown["setup"]
    assert {name: html.count(preview) for name, html in shown.items()} == {"setup": 1, "share": 1}


def test_another_start_keeps_what_was_typed(alice):
    client = signed_in(alice)
    data = {bound.html_name: bound.value() for bound in client.get(CREATE, {"start": "arguments"}).context["form"]}
    data = {name: value for name, value in data.items() if value not in (None, False)}
    typed = {**data, "start": "arguments", "name": "Uniforms", "overlap": "7", "more_means": "kinder", "cap": ""}
    form = client.post(CREATE, {**typed, "other": "jury"}).context["form"]
    assert not Project.objects.exists()
    assert (form["name"].value(), form["overlap"].value(), form["more_means"].value()) == ("Uniforms", "7", "kinder")
    assert (form["task_type"].value(), form["k"].value()) == ("ranking", 4)
    assert form["question"].value() == "Which entry deserves the prize more?", "not typed, so it follows the start"


def test_a_start_that_there_is_none_is_the_blank_one(alice):
    client = signed_in(alice)
    assert client.get(CREATE, {"start": "poetry"}).context["start"].key == "blank"
    client.post(CREATE, {**VALID, "start": "poetry"})
    assert Project.objects.count() == 1


def test_the_steps_say_what_is_next(project, alice):
    Project.objects.filter(pk=project.pk).update(state="draft")
    Item.objects.all().delete()
    client = signed_in(alice)
    setup = client.get(reverse("setup", args=[project.pk])).context["setup"]
    assert [step.name for step in setup.steps if step.done] == ["question"]
    assert setup.following.name == "items"
    assert "Next: Items" in page(client, project, "project-settings")
    make_items(project, 2)
    setup = client.get(reverse("setup", args=[project.pk])).context["setup"]
    assert setup.following.name == "open"
    assert "Next: Quality checks" in page(client, project, "items")
    assert "Next: People" in page(client, project, "quality")
    assert "Next: Preview and open" in page(client, project, "share")
    assert "Continue setting up" in client.get("/").content.decode()
    client.post(reverse("project-state", args=[project.pk]), {"state": "open"})
    assert "Next:" not in page(client, project, "project-settings")
    assert "The project has been opened" in page(client, project, "setup")
