"""The owner's pages of a project: list, making, settings, state, end."""

import random
import re
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.urls import reverse

from annotate.core.errors import ProjectNotOpen
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.models import (
    Annotator,
    Event,
    FitState,
    Item,
    ItemSet,
    Label,
    Membership,
    Presentation,
    PresentedItem,
    Project,
    Tag,
)
from annotate.projects import actions
from annotate.projects.forms import SECTIONS, ProjectForm
from annotate.projects.views import SECTION_PAGES
from models_engine.models import Estimate, Fit
from tests.conftest import NOW, answer_one, make_annotator, make_items

LOGIN = "allauth.account.auth_backends.AuthenticationBackend"
VALID = {
    "name": "Uniforms",
    "question": "Which argument is more convincing?",
    "instructions": "Read **both** first.",
    "more_means": "more convincing",
    "task_type": "pair",
    "k": "",
    "m": "",
    "outcomes": ["tie", "skip"],
    "overlap": "2",
    "cap": "",
    "estimator": "CrowdBT",
    "top_k": "5",
    "tie_margin": "0.1",
}


@pytest.fixture
def owner(client, alice):
    client.force_login(alice, LOGIN)
    return client


def settings_of(project, **changes):
    """The settings form as the page shows it, with changes."""
    values = {name: getattr(project, name) for name in VALID}
    values = {name: "" if value is None else value for name, value in values.items()}
    return {**values, **changes}


def login(client, user):
    client.force_login(user, LOGIN)
    return client


class TestHome:
    def test_strangers_are_told_what_this_is(self, client, db, settings):
        page = client.get("/").content.decode()
        assert "Ask the crowd" in page
        assert reverse("account_login") in page
        assert reverse("account_signup") not in page
        settings.SIGNUP_OPEN = True
        assert reverse("account_signup") in client.get("/").content.decode()

    def test_owners_see_their_projects_with_figures(self, owner, project):
        annotator = make_annotator(project, "A")
        answer_one(annotator)
        undone = answer_one(annotator)
        Label.objects.filter(pk=undone.pk).update(voided_at=NOW, void_reason="undone")
        line = owner.get("/").context["lines"][0]
        assert (line.project, line.role, line.n_labels, line.n_annotators) == (project, "owner", 1, 1)
        assert line.fit is None
        make_fit(project, converged=False)
        page = owner.get("/").content.decode()
        assert "did not converge" in page
        assert reverse("ranking", args=[project.pk]) in page

    def test_annotators_are_led_to_their_task_and_see_no_figure(self, client, project, bob):
        answer_one(make_annotator(project, "A"))
        response = login(client, bob).get("/")
        assert response.context["lines"][0].n_labels is None
        page = response.content.decode()
        assert reverse("label", args=[project.pk]) in page
        assert "project-figures" not in page
        assert f'href="{reverse("ranking", args=[project.pk])}"' not in page

    def test_the_empty_list_says_what_to_do(self, client, charlie):
        page = login(client, charlie).get("/").content.decode()
        assert "No project yet" in page
        assert reverse("project-create") in page

    def test_others_projects_are_not_shown(self, client, project, charlie):
        assert project.name not in login(client, charlie).get("/").content.decode()

    @pytest.mark.parametrize("n", [10, 500])
    def test_queries_do_not_grow_with_projects(self, owner, alice, n, django_assert_num_queries):
        projects = Project.objects.bulk_create(Project(name=f"P{i}", question="?") for i in range(n))
        Membership.objects.bulk_create(Membership(project=one, user=alice, role="owner") for one in projects)
        FitState.objects.bulk_create(FitState(project=one) for one in projects)
        with django_assert_num_queries(8):
            owner.get("/")


def make_fit(project, **values):
    defaults = {"number": 1, "estimator": "CrowdBT", "data_version": 1, "published": True, "status": "done"}
    times = {"started_at": NOW, "finished_at": NOW, "converged": True}
    return Fit.objects.create(project_id=project.pk, **{**defaults, **times, **values})


class TestCreate:
    def test_it_makes_the_project_with_its_owner(self, owner, alice):
        response = owner.post(reverse("project-create"), VALID)
        project = Project.objects.get()
        assert response["Location"] == reverse("items-import", args=[project.pk])
        assert (project.name, project.state, project.outcomes, project.cap) == (
            "Uniforms",
            "draft",
            ["tie", "skip"],
            None,
        )
        assert project.memberships.get().user == alice
        assert project.memberships.get().role == "owner"
        assert FitState.objects.get().project == project
        assert Event.objects.get().verb == "project created"

    def test_strangers_sign_in_first(self, client, db):
        assert client.get(reverse("project-create")).status_code == 302
        assert client.post(reverse("project-create"), VALID).status_code == 302
        assert not Project.objects.exists()

    @pytest.mark.embedded
    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("name", "", "required"),
            ("name", "   ", "required"),
            ("name", "x" * 201, "at most 200 characters (it has 201)"),
            ("name", "a\0b", "Null characters"),
            ("question", "x" * 501, "at most 500 characters (it has 501)"),
            ("instructions", "x" * 50_001, "at most 50000 characters (it has 50001)"),
            ("more_means", "", "required"),
            ("outcomes", ["choice"], "choice is not one of the available choices"),
            ("outcomes", ["maybe"], "maybe is not one of the available choices"),
            ("task_type", "guess", "guess is not one of the available choices"),
            ("overlap", "0", "greater than or equal to 1"),
            ("overlap", "1001", "less than or equal to 1000"),
            ("overlap", "two", "whole number"),
            ("cap", "0", "greater than or equal to 1"),
            ("cap", "9" * 30, "less than or equal to"),
            ("estimator", "Oracle", "Oracle is not one of the available choices"),
            ("top_k", "0", "greater than or equal to 1"),
            ("tie_margin", "-1", "greater than or equal to 0"),
            ("tie_margin", "nan", "Enter a number"),
            ("tie_margin", "inf", "Enter a number"),
            ("tie_margin", "11", "less than or equal to 10"),
        ],
    )
    def test_bad_input_is_told_and_nothing_is_written(self, owner, field, value, message):
        response = owner.post(reverse("project-create"), {**VALID, field: value})
        assert message in response.content.decode()
        assert "more convincing" in response.content.decode()  # what was typed stays
        assert not Project.objects.exists()

    def test_script_in_a_name_is_text(self, owner):
        owner.post(reverse("project-create"), {**VALID, "name": "<script>alert(1)</script>"})
        for url in ("/", reverse("project-settings", args=[Project.objects.get().pk])):
            assert "<script>alert" not in owner.get(url).content.decode()


class TestSettings:
    def test_changes_are_saved_with_before_and_after(self, owner, project, alice):
        url = reverse("settings-amount", args=[project.pk])
        page = owner.post(url, settings_of(project, overlap=5, cap=7), follow=True).content.decode()
        assert "The settings are saved" in page
        project.refresh_from_db()
        assert (project.overlap, project.cap) == (5, 7)
        event = Event.objects.get()
        assert (event.actor, event.verb) == (alice, "settings changed")
        assert event.details == {"overlap": [2, 5], "cap": [None, 7]}
        activity = owner.get(reverse("project-manage", args=[project.pk])).content.decode()
        assert "annotators per set (2 → 5)" in activity

    @pytest.mark.parametrize("section", SECTIONS)
    def test_a_page_changes_its_own_settings_alone(self, owner, project, section):
        changed = {"question": "Which is clearer?", "k": 3, "task_type": "best", "overlap": 7, "top_k": 4}
        owner.post(reverse(SECTION_PAGES[section], args=[project.pk]), settings_of(project, **changed))
        before, after = project, Project.objects.get(pk=project.pk)
        fields = ProjectForm.Meta.fields
        different = {name for name in fields if getattr(before, name) != getattr(after, name)}
        assert different == set(SECTIONS[section]) & changed.keys()

    def test_the_pages_hold_every_setting_once(self):
        assert sorted(name for names in SECTIONS.values() for name in names) == sorted(ProjectForm.Meta.fields)

    def test_sent_twice_it_is_written_once(self, owner, project):
        url, data = reverse("project-settings", args=[project.pk]), settings_of(project, name="New")
        owner.post(url, data)
        assert "Nothing was different" in owner.post(url, data, follow=True).content.decode()
        assert Event.objects.count() == 1

    def test_the_question_is_fixed_once_there_are_labels(self, owner, project):
        answer_one(make_annotator(project, "A"))
        url = reverse("project-settings", args=[project.pk])
        page = owner.get(url).content.decode()
        for field in ("question", "more_means"):
            assert re.search(rf'<input[^>]*name="{field}"[^>]*disabled', page)
        assert "People have answered this question, so its wording is fixed now." in page
        assert "People have already answered this" in page, "more_means is no question"
        owner.post(url, settings_of(project, question="Another?", more_means="worse", name="New"))
        project.refresh_from_db()
        assert (project.question, project.more_means, project.name) == (
            "Which argument is more convincing?",
            "better",
            "New",
        )
        with pytest.raises(actions.FixedByLabels, match="1 answers"):
            actions.change_project(project=project, actor=None, values={"question": "Another?"}, now=NOW)

    def test_lowering_overlap_is_allowed_and_its_meaning_said(self, owner, project):
        url = reverse("settings-amount", args=[project.pk])
        page = owner.post(url, settings_of(project, overlap=1), follow=True).content.decode()
        assert "Sets that have more than 1 annotators already keep all their labels" in page

    @pytest.mark.parametrize(("field", "value"), [("estimator", "BradleyTerry"), ("top_k", 3), ("tie_margin", 0.5)])
    def test_what_a_fit_depends_on_asks_for_a_new_one(self, owner, project, field, value):
        answer_one(make_annotator(project, "A"))
        owner.post(reverse("settings-ranking", args=[project.pk]), settings_of(project, **{field: value}))
        assert FitState.objects.get().wanted == 2
        owner.post(reverse("project-settings", args=[project.pk]), settings_of(project, name="New"))
        assert FitState.objects.get().wanted == 2

    def test_bad_input_keeps_what_is_stored_and_what_was_typed(self, owner, project):
        url = reverse("project-settings", args=[project.pk])
        response = owner.post(url, settings_of(project, name="", question="Typed with care?"))
        assert response.status_code == 400
        page = response.content.decode()
        assert "Typed with care?" in page
        assert "Convincing arguments" in page  # the page's frame names the project as it is
        project.refresh_from_db()
        assert project.name == "Convincing arguments"

    def test_the_join_link_is_whole_and_can_be_replaced(self, owner, project):
        url, old = reverse("share", args=[project.pk]), project.join_token
        assert f'value="http://testserver/join/{old}/"' in owner.get(url).content.decode()
        owner.post(url, {"new-link": "1"})
        project.refresh_from_db()
        assert project.join_token != old
        assert f"/join/{project.join_token}/" in owner.get(url).content.decode()
        assert Event.objects.get().verb == "join link replaced"
        assert project.name == "Convincing arguments"

    def test_who_may(self, client, project, manuel, vera, bob, charlie):
        url = reverse("project-settings", args=[project.pk])
        for user, status in ((manuel, 200), (vera, 403), (bob, 403), (charlie, 404)):
            assert login(client, user).get(url).status_code == status
            response = client.post(url, settings_of(project, name=f"By {user.username}"))
            assert response.status_code == (302 if status == 200 else status)
        project.refresh_from_db()
        assert project.name == "By manuel"
        client.logout()
        assert client.get(url)["Location"].startswith(reverse("account_login"))

    @pytest.mark.parametrize("n", [10, 500])
    def test_queries_do_not_grow(self, owner, project, alice, n, django_assert_num_queries):
        Event.objects.bulk_create(
            Event(project=project, actor=alice, verb="item retired", details={"key": str(i)}, at=NOW + timedelta(i))
            for i in range(n)
        )
        make_many_items(project, n)
        with django_assert_num_queries(6):
            owner.get(reverse("project-manage", args=[project.pk]))


def make_many_items(project, n):
    Item.objects.bulk_create(Item(project=project, key=f"more-{i}", body=f"More {i}") for i in range(n))


class TestState:
    @pytest.mark.parametrize(
        ("before", "after", "verb"),
        [
            ("draft", "open", "project opened"),
            ("open", "paused", "project paused"),
            ("paused", "open", "project resumed"),
            ("paused", "closed", "project closed"),
            ("open", "closed", "project closed"),
            ("closed", "open", "project reopened"),
        ],
    )
    def test_every_step(self, owner, project, alice, before, after, verb):
        Project.objects.update(state=before)
        owner.post(reverse("project-state", args=[project.pk]), {"state": after})
        project.refresh_from_db()
        assert project.state == after
        event = Event.objects.get()
        assert (event.actor, event.verb, event.details) == (alice, verb, {"state": [before, after]})

    @pytest.mark.parametrize(
        ("before", "after"),
        [("draft", "paused"), ("draft", "closed"), ("closed", "paused"), ("open", "draft"), ("paused", "draft")],
    )
    def test_no_other_step(self, owner, project, before, after):
        Project.objects.update(state=before)
        page = owner.post(reverse("project-state", args=[project.pk]), {"state": after}, follow=True)
        assert "can&#x27;t become" in page.content.decode()
        project.refresh_from_db()
        assert project.state == before
        assert not Event.objects.exists()

    def test_sent_twice_it_happens_once(self, owner, project):
        for _ in range(2):
            page = owner.post(reverse("project-state", args=[project.pk]), {"state": "paused"}, follow=True)
            assert "The project is paused" in page.content.decode()
        assert Event.objects.count() == 1

    @pytest.mark.parametrize("state", ["", "gone", "open; drop"])
    def test_a_state_there_is_none_changes_nothing(self, owner, project, state):
        page = owner.post(reverse("project-state", args=[project.pk]), {"state": state}, follow=True)
        assert "not a state" in page.content.decode()
        assert Project.objects.get().state == "open"

    @pytest.mark.parametrize("n", [0, 1])
    def test_opening_takes_two_items_in_use(self, owner, project, n):
        keep = list(project.items.values_list("pk", flat=True)[:n])
        project.items.exclude(pk__in=keep).update(retired_at=NOW)
        Project.objects.update(state="draft")
        page = owner.post(reverse("project-state", args=[project.pk]), {"state": "open"}, follow=True).content.decode()
        assert f"The project has {n} items to compare; you need at least 2" in page
        assert Project.objects.get().state == "draft"

    def test_closing_stops_an_answer_on_its_way(self, owner, project, presentation):
        owner.post(reverse("project-state", args=[project.pk]), {"state": "closed"})
        with pytest.raises(ProjectNotOpen):
            record_label(presentation=presentation, answer=Answer("tie"), now=NOW)

    def test_who_may(self, client, project, manuel, vera, bob, charlie):
        url = reverse("project-state", args=[project.pk])
        for user, status in ((vera, 403), (bob, 403), (charlie, 404), (manuel, 302)):
            assert login(client, user).post(url, {"state": "paused"}).status_code == status
            assert Project.objects.get().state == ("paused" if status == 302 else "open")
        client.logout()
        assert client.post(url, {"state": "open"})["Location"].startswith(reverse("account_login"))
        assert Project.objects.get().state == "paused"


class TestDelete:
    @pytest.fixture(autouse=True)
    def media(self, settings, tmp_path):
        settings.MEDIA_ROOT = str(tmp_path)

    def fill(self, project):
        picture = Item(project=project, key="picture", kind="image", body="A square")
        picture.media.save("picture.png", ContentFile(b"not looked at"), save=True)
        picture.tags.add(Tag.objects.create(project=project, name="tag"))
        annotator = make_annotator(project, "A")
        for _ in range(5):
            answer_one(annotator)
        assignment.next_presentation(annotator=annotator, now=NOW, rng=random.Random(1))
        fit = make_fit(project)
        values = {"utility": 0, "sd": 1, "low": -1, "high": 1, "rank": 1, "rank_low": 1, "rank_high": 2}
        Estimate.objects.create(
            fit=fit, item_id=picture.pk, p_top=1, tier=1, next_state="last", n_comparisons=1, **values
        )
        return picture.media.name

    def test_everything_of_it_goes_and_nothing_else(self, owner, project, alice, django_capture_on_commit_callbacks):
        image = self.fill(project)
        other = Project.objects.create(name="Other", question="?", state="open")
        Membership.objects.create(project=other, user=alice, role="owner")
        make_items(other, 3)
        other_label = answer_one(make_annotator(other, "B"))
        make_fit(other)
        with django_capture_on_commit_callbacks(execute=True):
            url = reverse("project-delete", args=[project.pk])
            page = owner.post(url, {"name": "Convincing arguments"}, follow=True)
        assert "is deleted, and 5 labels with it" in page.content.decode()
        assert list(Project.objects.all()) == [other]
        assert list(Label.objects.all()) == [other_label]
        for model, n in ((Item, 3), (ItemSet, 1), (Presentation, 1), (PresentedItem, 2), (Annotator, 1), (Tag, 0)):
            assert model.objects.count() == n
        assert [fit.project_id for fit in Fit.objects.all()] == [other.pk]
        assert not Estimate.objects.exists()
        assert not Event.objects.filter(project=project.pk).exists()
        assert not default_storage.exists(image)
        assert owner.post(url, {"name": "Convincing arguments"}).status_code == 404

    @pytest.mark.parametrize("name", ["", "convincing arguments", "Convincing", "Convincing arguments!"])
    def test_only_the_right_name_deletes(self, owner, project, name):
        response = owner.post(reverse("project-delete", args=[project.pk]), {"name": name})
        assert response.status_code == 400
        assert Project.objects.exists()

    def test_spaces_in_a_name_do_not_keep_a_project_alive(self, owner, project):
        Project.objects.update(name="Two  spaces ")
        owner.post(reverse("project-delete", args=[project.pk]), {"name": "Two spaces"})
        assert not Project.objects.exists()

    def test_only_owners_may(self, client, project, manuel, vera, bob, charlie):
        url = reverse("project-delete", args=[project.pk])
        for user, status in ((manuel, 403), (vera, 403), (bob, 403), (charlie, 404)):
            assert login(client, user).get(url).status_code == status
            assert client.post(url, {"name": "Convincing arguments"}).status_code == status
        client.logout()
        assert client.post(url, {"name": "Convincing arguments"}).status_code == 302
        assert Project.objects.exists()

    def test_statements_do_not_grow_with_labels(self, project, django_assert_max_num_queries):
        self.fill(project)
        with django_assert_max_num_queries(110):  # a few a table
            actions.delete_project(project=project)
