"""Which questions a project asks: the page, the API, bad input, the log, and what methods and exports say of it."""

import pytest

from annotate.criteria import Criterion
from annotate.labelling import suggestions
from annotate.labelling.item_sets import set_key
from annotate.models import AskedBy, Event, FitState, Policy, Presentation, Project, SuggestedSet
from annotate.projects.policy.forms import PolicyForm
from annotate.publishing.exports import labels
from annotate.publishing.methods.counts import counts_of
from annotate.publishing.methods.paragraph import policy_rule
from tests.conftest import answer_one, make_annotator, make_items
from tests.site.api_client import Api
from tests.site.pages import signed_in


@pytest.fixture
def project(project) -> Project:
    project.items.all().delete()
    make_items(project, 12)
    return project


def posted(**values) -> dict[str, str]:
    return {"policy": "best", "top_k": "5", "class_shares": "", "control_percent": "", **values}


@pytest.mark.slow
def test_the_page_sets_the_policy_and_the_log_says_so(project, alice):
    client = signed_in(alice)
    address = f"/projects/{project.pk}/policy/"
    words = client.get(address).content.decode()
    for title in ("Balanced", "Whole ranking", "Find the best", "Sort into classes"):
        assert title in words
    assert client.post(address, posted()).status_code == 302
    project.refresh_from_db()
    assert (project.policy, project.top_k, project.control_share, project.is_adaptive) == ("best", 5, 0.3, True)
    event = Event.objects.filter(project=project).latest("pk")
    assert event.details["policy"] == ["balanced", "best"]
    assert "which questions are asked" in client.get(f"/projects/{project.pk}/log/").content.decode()


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("values", "field", "words"),
    [
        ({"top_k": "12"}, "top_k", "You ask for the best 12 of 12 items. Enter 1 to 11, or import more items."),
        ({"top_k": "0"}, "top_k", "greater than or equal to 1"),
        ({"policy": "random"}, "policy", "random is not one of the available choices"),
        ({"control_percent": "0"}, "control_percent", "greater than or equal to 1"),
        ({"control_percent": "101"}, "control_percent", "less than or equal to 100"),
        ({"policy": "classes"}, "class_shares", "Enter the classes in percent"),
        ({"policy": "classes", "class_shares": "50, 30"}, "class_shares", "add up to 80%; they must add up to 100"),
        ({"policy": "classes", "class_shares": "-5, 105"}, "class_shares", "A class has -5% of the items"),
        ({"policy": "classes", "class_shares": "a, b"}, "class_shares", "“a” is not a number"),
        ({"policy": "classes", "class_shares": "100"}, "class_shares", "There are 1 classes; enter 2 to 12."),
    ],
)
def test_bad_input_is_told_with_value_limit_and_next_step(project, values, field, words):
    form = PolicyForm(posted(**values), instance=project)
    assert not form.is_valid()
    assert words in " ".join(form.errors[field])


def test_a_policy_for_a_single_item(project):
    project.items.exclude(pk=project.items.first().pk).delete()
    form = PolicyForm(posted(policy="whole"), instance=project)
    assert "at least 2 are needed to choose among" in " ".join(form.errors["policy"])
    assert PolicyForm(posted(policy="balanced"), instance=project).is_valid()
    project.items.all().delete()
    assert PolicyForm(posted(policy="whole"), instance=project).is_valid(), "its items may come later"


def test_a_plan_goes_before_a_policy(project):
    project.n_sets = 20
    form = PolicyForm(posted(), instance=project)
    assert "planned or given" in " ".join(form.errors["policy"])


def test_grades_are_the_classes_where_there_are_some(project):
    project.grades = [{"name": "A", "limit": 50}, {"name": "B", "limit": None}]
    assert PolicyForm(posted(policy="classes"), instance=project).is_valid()


def test_the_api_reads_and_sets_it(project, alice):
    api = Api(alice, project)
    assert api("get", "policy").json()["policy"] == "balanced"
    answer = api("patch", "policy", {"policy": "classes", "class_shares": [25, 75], "control_percent": 20}).json()
    assert (answer["policy"], answer["class_shares"], answer["control_percent"]) == ("classes", [25.0, 75.0], 20)
    assert answer["in_force"]
    refused = api("patch", "policy", {"policy": "best", "top_k": 12})
    assert (refused.status_code, set(refused.json()["errors"])) == (422, {"top_k"})
    assert Project.objects.get(pk=project.pk).policy == Policy.CLASSES


def test_every_answer_says_which_rule_asked(project, alice, monkeypatch):
    monkeypatch.setattr(suggestions, "random_number", lambda token, what: 0.5 if what == "arm" else 0.0)
    project.policy, project.control_percent, project.overlap = Policy.WHOLE, 1, 5
    project.save()
    FitState.objects.get_or_create(project=project)
    project.items.update(n_taken=10)
    items = list(project.items.values_list("pk", flat=True))
    SuggestedSet.objects.create(project=project, place=0, key=set_key(items[:2]), fit=3, version=0)
    names = [f"Otter {i}" for i in range(2)]
    given = [answer_one(make_annotator(project, name)) for name in names]
    Presentation.objects.filter(pk=given[1].presentation_id).update(asked_by=AskedBy.CONTROL)
    rows = [
        dict(zip([one.name for one in labels.COLUMNS], row, strict=True)) for row in labels.rows(Criterion(project))
    ]
    assert {(row["asked_by"], row["asked_fit"]) for row in rows} == {("adaptive", 3), ("control", None)}
    told = " ".join(policy_rule(project, counts_of(Criterion(project)).by_rule))
    assert "1 answers are to questions chosen by the ranking so far (rule in use now: Whole ranking)" in told
    assert "1 are to questions drawn at random" in told
    words = signed_in(alice).get(f"/projects/{project.pk}/policy/").content.decode()
    assert "Asked so far" in words
