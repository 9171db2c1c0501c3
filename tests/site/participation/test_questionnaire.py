"""The questionnaire: who is asked what when, what is refused, what is kept, and what fits and exports make of it."""

import csv
import io

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from annotate.access import SESSION_KEY
from annotate.criteria import Criterion
from annotate.fitting.features import annotator_features
from annotate.fitting.reading import read_labels
from annotate.labelling.requirements import QuestionnaireRequired
from annotate.models import Annotator, Completion, Event, FitState, Label, Project, QuestionAnswer, QuestionField
from annotate.participation.questionnaire.actions import QuestionsChanged, change_questions, save_question_answers
from annotate.participation.questionnaire.forms import QuestionForm
from annotate.projects.actions import delete_project
from models_engine.estimators.table import ESTIMATORS
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.participation_steps import answer_open, arrive, finish, open_to_platform, open_token

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
ROWS = [
    {"label": "Your age", "kind": "number", "least": "18", "most": "99", "required": "on"},
    {"label": "Your hand", "kind": "choice", "choices": "left\nright\nboth"},
    {"label": "Do you <cook>?", "kind": "yes_no"},
    {"label": "Anything else?", "kind": "text", "at_end": "on", "required": "on"},
]


def sent(rows, n_initial=0):
    data = {"fields": "1", "fields-TOTAL_FORMS": len(rows), "fields-INITIAL_FORMS": n_initial}
    return data | {f"fields-{i}-{name}": value for i, row in enumerate(rows) for name, value in row.items()}


def stored_rows(project):
    """The form of the fields as they are, as a browser would send it."""
    return [
        {
            "pk": one.pk,
            "label": one.label,
            "kind": one.kind,
            "choices": "\n".join(one.choices),
            "least": "" if one.least is None else one.least,
            "most": "" if one.most is None else one.most,
            "position": place,
            **({"required": "on"} if one.required else {}),
            **({"at_end": "on"} if one.at_end else {}),
        }
        for place, one in enumerate(project.fields.filter(retired_at=None).order_by("position"), start=1)
    ]


@pytest.fixture
def owner(alice):
    client = Client()
    client.force_login(alice, BACKEND)
    return client


@pytest.fixture
def asked(project, owner) -> dict[str, QuestionField]:
    """The four fields of ROWS, made by the owner's form, by their kind."""
    blank = {"label": "", "kind": "text"}
    assert owner.post(reverse("entry", args=[project.pk]), sent([*ROWS, blank])).status_code == 302
    project.refresh_from_db()
    return {one.kind: one for one in project.fields.all()}


def came(project, name="Otter") -> tuple[Client, Annotator]:
    annotator, client = make_annotator(project, name), Client()
    session = client.session
    session[SESSION_KEY] = {str(project.pk): str(annotator.key)}
    session.save()
    return client, annotator


def name_of(field):
    return f"field-{field.pk}"


def test_asked_after_consent_before_the_first_task_and_before_the_code(project, alice, asked):
    Project.objects.update(cap=1)
    entry = open_to_platform(project, alice, consent="Fine?", codes="individual")
    client, task, page = Client(), reverse("label", args=[project.pk]), reverse("questionnaire", args=[project.pk])
    arrive(client, entry, "a")
    assert open_token("a") is None
    assert client.get(task)["Location"] == page
    assert client.post(task, headers={"HX-Request": "true"})["HX-Redirect"] == page
    first = client.get(page).content.decode()
    assert "Do you &lt;cook&gt;?" in first
    assert "Anything else?" not in first
    assert first.index("Your age") < first.index("Your hand") < first.index("Do you")
    assert client.post(page, {name_of(asked["number"]): "30"})["Location"] == task
    assert open_token("a")
    assert client.get(page)["Location"] == task  # asked once
    answer_open(client, open_token("a"))
    last = finish(client, project).content.decode()
    assert "Anything else?" in last
    assert "Your age" not in last
    assert not Completion.objects.exists()
    assert client.post(page, {name_of(asked["text"]): " "}).status_code == 400
    done = client.post(page, {name_of(asked["text"]): "=no"}, follow=True).content.decode()
    assert Completion.objects.get().code in done
    assert set(QuestionAnswer.objects.values_list("field", "value")) == {
        (asked["number"].pk, "30"),
        (asked["text"].pk, "=no"),
    }
    assert client.get(page, follow=True).redirect_chain[-1][0] == reverse("done", args=[project.pk])
    Annotator.objects.all().delete()
    assert not QuestionAnswer.objects.exists()


def test_what_can_not_be_said_is_refused_with_value_and_limit(project, asked):
    client, annotator = came(project)
    page = reverse("questionnaire", args=[project.pk])
    for name, value, told in (
        ("number", "17", "17 is too small; the minimum is 18."),
        ("number", "100", "100 is too large; the maximum is 99."),
        ("number", "old", "Give a whole number, in digits."),
        ("number", "", "Please answer this before you continue."),
        ("choice", "third", "third"),
        ("yes_no", "perhaps", "perhaps"),
    ):
        response = client.post(page, {name_of(asked["number"]): "30", name_of(asked[name]): value})
        assert (response.status_code, told in response.content.decode()) == (400, True), (name, value)
    assert not QuestionAnswer.objects.exists()
    with pytest.raises(QuestionnaireRequired):
        answer_one(annotator)
    assert not Label.objects.exists()


@pytest.mark.parametrize(
    ("values", "field", "told"),
    [
        ({"kind": "choice", "choices": "one"}, "choices", "Answers in the list: 1. Give 2 to 30"),
        ({"kind": "choice", "choices": "one\none"}, "choices", "“one” is in the list twice"),
        ({"kind": "choice", "choices": f"one\n{'x' * 201}"}, "choices", "201 characters; the limit is 200"),
        ({"kind": "number", "least": "5", "most": "4"}, "most", "4 is less than the smallest number, 5"),
        ({"kind": "number", "most": "1000000001"}, "most", "1000000001 is too large; the maximum is 1000000000"),
        ({"position": "0"}, "position", "0 is too small; the minimum is 1"),
        ({"label": ""}, "label", "required"),
        ({"kind": "essay"}, "kind", "not one of the available choices"),
    ],
)
def test_fields_that_can_not_be_are_refused_with_the_reason(values, field, told):
    form = QuestionForm({"label": "Age", "kind": "text", **values})
    assert not form.is_valid()
    assert told in form.errors[field].as_text()


def test_the_owner_alone_says_what_is_asked(project, owner, asked, bob, vera):
    page = reverse("entry", args=[project.pk])
    wrong = owner.post(page, sent([{"label": "", "kind": "number"}]))
    assert wrong.status_code == 400
    for user in (bob, vera):
        other = Client()
        other.force_login(user, BACKEND)
        assert other.post(page, sent(ROWS)).status_code == 403
    assert project.fields.count() == 4
    owner.post(page, sent(stored_rows(project), n_initial=4))
    assert Event.objects.filter(verb="fields changed").count() == 1  # nothing was different
    assert "changed the questionnaire" in owner.get(reverse("project-manage", args=[project.pk])).content.decode()
    with pytest.raises(QuestionsChanged):
        change_questions(project=project, actor=project.members.first(), wanted=[], removed=[10**6], now=NOW)


def test_changed_fields_keep_their_answers_and_only_new_ones_are_asked(project, owner, asked):
    client, annotator = came(project)
    page, questions = reverse("entry", args=[project.pk]), reverse("questionnaire", args=[project.pk])
    client.post(questions, {name_of(asked["number"]): "30", name_of(asked["yes_no"]): "yes"})
    rows = stored_rows(project)
    rows[0]["label"] = "Your age in years"  # answered: retired and made anew
    rows[1]["DELETE"] = "on"  # answered by nobody: gone
    rows[2]["position"] = 1
    owner.post(page, sent(rows, n_initial=4))
    fields = list(project.fields.order_by("number").values_list("number", "label", "retired_at"))
    assert [(number, label, at is not None) for number, label, at in fields] == [
        (1, "Your age", True),
        (3, "Do you <cook>?", False),
        (4, "Anything else?", False),
        (5, "Your age in years", False),
    ]
    again = client.get(reverse("label", args=[project.pk]), follow=True).content.decode()
    assert again.index("Do you") < again.index("Your age in years")
    assert 'value="yes"' in again.split("checked")[0].rsplit("<input", 1)[1]  # said before
    new = project.fields.get(number=5)
    client.post(questions, {name_of(new): "31", name_of(asked["yes_no"]): "", name_of(asked["number"]): "99"})
    said = QuestionAnswer.objects.order_by("field__number").values_list("field__number", "value")
    assert list(said) == [(1, "30"), (5, "31")]
    owner.post(page, sent([row | {"DELETE": "on"} for row in stored_rows(project)], n_initial=3))
    project.refresh_from_db()
    assert (project.fields_before, project.fields_after, project.has_ending) == (0, 0, False)
    assert client.post(reverse("label", args=[project.pk])).status_code == 303
    assert annotator.presentations.count() == 1
    delete_project(project=project)
    assert not QuestionField.objects.exists()


def test_answers_become_features_and_columns(project, owner, asked):
    """By hand: ages 20, 40 and, not said, their mean 30; “both” and “right” against “left”; yes 1, no 0, mean 1/2."""
    said = [("20", "left", "yes"), ("40", "both", "no"), ("", "", "")]
    people = [make_annotator(project, f"Otter {i}") for i in range(3)]
    for person, values in zip(people, said, strict=True):
        kinds = [asked[kind].pk for kind in ("number", "choice", "yes_no")]
        save_question_answers(annotator=person, at_end=False, values=dict(zip(kinds, values, strict=True)), now=NOW)
        answer_one(person)
    labels = read_labels(Criterion(project))
    wanted = FitState.objects.get().wanted
    save_question_answers(annotator=people[0], at_end=True, values={asked["text"].pk: ""}, now=NOW)
    assert FitState.objects.get().wanted > wanted  # said after the last label, it still reaches a fit
    expected = [[20, 0, 0, 1], [40, 0, 1, 0], [30, 0, 0.5, 0.5]]
    np.testing.assert_allclose(labels.data.annotator_features, expected)
    for name in ("CrowdBT", "CollaborativeGP", "CrowdGPPL"):
        assert np.isfinite(ESTIMATORS[name].estimator().fit(labels.data).utilities()).all()
    text = b"".join(owner.get(reverse("export", args=[project.pk, "annotators", "csv"])).streaming_content).decode()
    rows = list(csv.DictReader(io.StringIO(text.lstrip("\ufeff"))))
    assert [[row[f"field_{n}"] for n in (1, 2, 3, 4)] for row in rows] == [[*values, ""] for values in said]
    exports = reverse("exports", args=[project.pk])
    assert "Your age" in owner.get(exports, {"columns": "annotators"}).content.decode()


def test_projects_without_fields_cost_no_look(project, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert annotator_features(project, np.array([1])) is None
