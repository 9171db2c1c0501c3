"""The owner's page “Who may take part”: what is saved, what is refused with its reason, the study's arithmetic."""

import pytest
from django.urls import reverse

from annotate.models import ConsentText, Event, ParticipationRules, Project
from annotate.participation.forms import ParticipationRulesForm
from annotate.participation.queries import answer_budget, checks_each
from annotate.participation.rules import participation_rules
from tests.site.gold_sets import make_known
from tests.site.labelling.test_eligibility import set_up

VALID = {
    "open_link": "on",
    "places": "200",
    "place_minutes": "",
    "platform": "on",
    "participant_parameter": "PROLIFIC_PID",
    "study_parameter": "STUDY_ID",
    "session_parameter": "SESSION_ID",
    "consent": "You may stop at any time.",
    "thanks": "",
    "codes": "study",
    "complete_code": "C1",
    "screened_out_code": "",
    "quota_full_code": "",
    "no_consent_code": "",
    "return_url": "https://app.prolific.com/submissions/complete?cc={code}",
}


@pytest.fixture
def owner(client, alice):
    client.force_login(alice, "allauth.account.auth_backends.AuthenticationBackend")
    return client


def test_what_is_saved_is_kept_shown_and_noted(owner, project):
    page = reverse("entry", args=[project.pk])
    assert owner.get(page).status_code == 200
    assert not ParticipationRules.objects.exists()
    shown = owner.post(page, VALID, follow=True).content.decode()
    entry = ParticipationRules.objects.get()
    assert (entry.places, entry.platform, entry.codes, entry.complete_code) == (200, True, "study", "C1")
    link = f"/platform/{entry.platform_token}/?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&amp;STUDY_ID={{{{%STUDY_ID%}}}}"
    assert link in shown
    project.refresh_from_db()
    assert ConsentText.objects.get().version == project.consent_version
    assert project.has_ending
    assert "maximum number of participants" in owner.get(reverse("project-manage", args=[project.pk])).content.decode()
    owner.post(page, VALID)
    assert Event.objects.filter(verb="entry changed").count() == 1  # nothing was different
    owner.post(page, VALID | {"consent": "", "platform": "", "codes": "none"})
    project.refresh_from_db()
    assert (project.consent_version, project.has_ending) == ("", False)
    owner.post(page, {"new-link": "1"})
    assert ParticipationRules.objects.get().platform_token != entry.platform_token


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("places", "0", "0 is too few"),
        ("place_minutes", "0", "0 is too few"),
        ("participant_parameter", "a b", "not a valid parameter name"),
        ("participant_parameter", "STUDY_ID", "used twice"),
        ("participant_parameter", "", "required"),
        ("complete_code", "", "Enter the code that everybody gets"),
        ("return_url", "https://evil.example/?cc={code}", "Allowed: app.prolific.com"),
        ("return_url", "https://app.prolific.com/?cc={cod}", "“{cod}” is not a placeholder"),
        ("return_url", "https://app.prolific.com/?cc={code", "“{code” is not a placeholder"),
        ("codes", "many", "not one of the available choices"),
    ],
)
def test_what_can_not_be_is_refused_with_its_reason(db, field, value, told):
    form = ParticipationRulesForm(VALID | {field: value})
    assert not form.is_valid()
    assert told in str(form.errors[field].as_text())


@pytest.mark.parametrize(
    ("n_sets", "overlap", "cap", "places", "verdict", "enough"),
    [
        (50, 16, 6, 200, "even if 33% of these answers never come", True),
        (50, 16, 6, 100, "let in at least 134", False),
        (50, 16, 6, None, "At least 134 participants", None),
        (3, 16, None, None, "At least 16 participants", None),  # everybody answers a set once
        (3, 2, 10, 2, "even if 0% of these answers never come", True),
        (None, 16, 6, 200, "", None),
    ],
)
def test_the_arithmetic_of_a_study(project, n_sets, overlap, cap, places, verdict, enough):
    """By hand: 50 × 16 = 800 answers; 200 × 6 = 1200 of them; 800 / 6 = 133.3."""
    project.n_sets, project.overlap, project.cap = n_sets, overlap, cap
    found = answer_budget(project, ParticipationRules(project=project, places=places))
    assert verdict in found.verdict
    assert bool(verdict) == bool(found.verdict)
    assert found.enough is enough


def test_a_project_without_rules_has_the_open_link(project):
    assert participation_rules(project).open_link
    assert not Project.objects.get(pk=project.pk).has_ending


def test_checks_and_repeats_use_up_the_answers_of_each(project):
    """200 sets by 3 people each; of 30 answers attention checks take two and repeats three."""
    set_up(project, n_sets=200, overlap=3, cap=30, attention_every=10, repeat_percent=10)
    assert checks_each(project) == 3, "no attention check is known yet"
    make_known(project, "attention", 2)
    assert checks_each(project) == 5
    told = answer_budget(project, ParticipationRules(project=project, places=22))
    assert "22 participants × at most 25 answers = 550" in told.given
    assert "Of the 30 answers of each, up to 5 are checks" in told.given
    assert told.enough is False
    assert "at least 24 participants" in told.verdict
    assert answer_budget(project, ParticipationRules(project=project, places=24)).enough
