"""What people read before and after the tasks, in their language: consent, questionnaire, thanks."""

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import (
    Annotator,
    Consent,
    ConsentText,
    Project,
    ProjectTranslation,
    QuestionAnswer,
    QuestionField,
)
from annotate.participation.actions import change_rules
from annotate.plan_values import plan_values
from annotate.projects.copies.cloning import RNG, clone_project
from annotate.projects.languages.queries import language_states
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.labelling.test_api import post
from tests.site.labelling.test_labelling import as_annotator
from tests.site.pages import signed_in

CHOICES = ["Town", "Village"]
QUESTION = {"number": 1, "label": "Où habitez-vous ?", "choices": ["En ville", "Au village"]}


@pytest.fixture
def french(project, alice) -> Project:
    """In English and French, with a consent text, a question about people and words at the end."""
    Project.objects.filter(pk=project.pk).update(language="en", languages=["fr"])
    change_rules(project=project, actor=alice, values={"consent": "May we?", "thanks": "Thank you."}, now=NOW)
    field = QuestionField.objects.create(
        project=project,
        number=1,
        at_end=False,
        kind="choice",
        label="Where?",
        choices=CHOICES,
        required=True,
        position=0,
    )
    Project.objects.filter(pk=project.pk).update(fields_before=field.pk)
    project.refresh_from_db()
    return project


def translate(project, alice, **words):
    return Api(alice, project)("patch", "translation", words, args=["fr"])


def test_owners_translate_them_on_the_page(french, alice):
    owner, page = signed_in(alice), reverse("translation", args=[french.pk, "fr"])
    (state,) = language_states(french)
    assert {"consent", "thanks", "question 1"} <= set(state.missing)
    html = owner.get(page).content.decode()
    assert "May we?" in html
    assert "Village" in html
    given = {"question": "Lequel ?", "consent": "On peut ?", "thanks": "Merci.", "question_1": "Où ?"}
    owner.post(page, given | {"question_1_0": "En ville", "question_1_1": "Au village"})
    found = ProjectTranslation.objects.get(language="fr")
    assert (found.consent, found.thanks) == ("On peut ?", "Merci.")
    assert found.questions == [{"number": 1, "label": "Où ?", "choices": ["En ville", "Au village"]}]
    (state,) = language_states(french)
    assert not {"consent", "thanks", "question 1"} & set(state.missing)


def test_what_somebody_agreed_to_is_kept_in_the_language_they_read(french, alice):
    translate(french, alice, consent="On peut ?")
    client, page = Client(), reverse("join", args=[french.join_token])
    html = client.get(page + "?lang=fr").content.decode()
    assert "On peut ?" in html
    assert "May we?" not in html
    fields = {name: html.partition(f'name="{name}" value="')[2].partition('"')[0] for name in ("version", "ticket")}
    client.post(page, fields | {"pseudonym": "Ada", "consent": "yes"})
    annotator = Annotator.objects.get()
    assert Consent.objects.get(annotator=annotator).text.text == "On peut ?"
    assert annotator.consent_version == french.consent_version
    translate(french, alice, consent="Pouvons-nous ?")
    assert Consent.objects.get(annotator=annotator).text.text == "On peut ?"
    assert set(ConsentText.objects.values_list("text", flat=True)) == {"May we?", "On peut ?"}


def test_a_translation_of_an_earlier_text_is_neither_shown_nor_agreed_to(french, alice):
    translate(french, alice, consent="On peut ?")
    secret = post(reverse("api-join", args=[french.join_token]), {"pseudonym": "Robot"}).json()["secret"]
    address = reverse("api-consent", args=[french.pk])
    headers = {"Authorization": f"Annotator {secret}"}
    old = Client().get(f"{address}?language=fr", headers=headers).json()
    assert old["text"] == "On peut ?"
    change_rules(project=french, actor=alice, values={"consent": "May we still?"}, now=NOW)
    assert Client().get(f"{address}?language=fr", headers=headers).json()["text"] == "May we still?"
    assert post(address, {"version": old["version"]}, secret).status_code == 409
    (state,) = language_states(Project.objects.get(pk=french.pk))
    assert "consent" in state.missing
    translate(french, alice, consent="On peut ?")
    assert post(address, {"version": old["version"]}, secret).json()["agreed"]


def test_an_answer_is_stored_as_the_same_value_in_every_language(french, alice):
    translate(french, alice, questions=[QUESTION])
    change_rules(project=french, actor=alice, values={"consent": ""}, now=NOW)
    address = reverse("questionnaire", args=[french.pk])
    for name, query in (("Ada", "?lang=fr"), ("Bea", "")):
        client = as_annotator(make_annotator(french, name))
        html = client.get(address + query).content.decode()
        assert ("Au village" in html) == bool(query)
        assert 'value="Village"' in html
        field = QuestionField.objects.get()
        client.post(address + query, {f"field-{field.pk}": "Village"})
    assert list(QuestionAnswer.objects.values_list("value", flat=True)) == ["Village", "Village"]


def test_programs_are_asked_in_it_and_answer_with_the_own_value(french, alice):
    translate(french, alice, questions=[QUESTION])
    change_rules(project=french, actor=alice, values={"consent": ""}, now=NOW)
    secret = post(reverse("api-join", args=[french.join_token]), {"pseudonym": "Robot"}).json()["secret"]
    address = reverse("api-questions", args=[french.pk])
    headers = {"Authorization": f"Annotator {secret}"}
    (asked,) = Client().get(f"{address}?language=fr", headers=headers).json()["questions"]
    assert (asked["shown_label"], asked["shown_choices"]) == (QUESTION["label"], QUESTION["choices"])
    assert (asked["label"], asked["choices"]) == ("Where?", CHOICES)
    assert Client().get(f"{address}?language=it", headers=headers).status_code == 422
    said = {"questions": [{"id": asked["id"], "answer": "Village"}]}
    assert post(f"{address}?language=fr", said, secret).status_code == 200
    assert QuestionAnswer.objects.get().value == "Village"


@pytest.mark.parametrize(
    "questions",
    [
        [QUESTION | {"number": 2}],
        [QUESTION | {"choices": ["En ville"]}],
        [QUESTION | {"choices": ["Ici", "Ici"]}],
        [QUESTION | {"choices": ["Village", ""]}],
        [QUESTION | {"label": "x" * 201}],
    ],
)
def test_a_translation_that_does_not_fit_changes_nothing(french, alice, questions):
    assert translate(french, alice, questions=questions).status_code in (400, 422)
    assert not ProjectTranslation.objects.exists()


def test_a_duplicate_has_them_and_a_preregistration_fixes_them(french, alice):
    before = plan_values(french)["translations"]
    translate(french, alice, consent="On peut ?", thanks="Merci.", questions=[QUESTION])
    assert (before, len(plan_values(french)["translations"])) == ("", 64)
    clone = clone_project(source=french, actor=alice, name="Two", with_items=False, now=NOW, rng=RNG)
    found = clone.translations.get()
    assert (found.consent, found.thanks, found.questions) == ("On peut ?", "Merci.", [QUESTION])
    assert found.consent_of == clone.consent_version
