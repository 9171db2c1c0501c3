"""Rows that can't be imported, and what is said of them: the same words once, with their rows."""

import pytest
from django.core.files.base import ContentFile
from django.template.loader import render_to_string
from django.urls import reverse

from annotate.files.row_errors import RowError, grouped
from annotate.models import Item, Label, Project
from tests.site.pages import signed_in

BATTLES = "model_a,model_b,winner,judge\n" + "".join(
    f"{a},{b},model_a,j{n}\n" for n, (a, b) in enumerate([("x", "y"), ("y", "z"), ("z", "x")] * 5)
)


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


def test_each_message_comes_once_in_the_order_of_its_first_row():
    found = grouped([RowError(2, "late"), RowError(3, "early"), RowError(5, "late"), RowError(0, "nowhere")])
    assert found.groups == [("late", 2, "2, 5"), ("early", 1, "3"), ("nowhere", 1, "")]
    assert found.n_rows == 4


def test_many_rows_are_counted_and_many_messages_cut():
    errors = [RowError(row, "same") for row in range(1, 31)] + [RowError(100 + n, f"other {n}") for n in range(150)]
    found = grouped(errors)
    assert found.groups[0] == ("same", 30, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 20 more")
    assert len(found.groups) == 100
    assert found.n_rows == 30 + 99
    assert found.n_all == 30 + 150


def shown_by_page(errors: list[RowError], **more) -> str:
    return render_to_string("components/row_errors.html", {"rows": errors, "icon": "bad", **more})


def test_the_page_says_when_there_are_more():
    errors = [RowError(row, f"message {row}") for row in range(1, 102)]
    assert "These are the first" not in shown_by_page(errors[:100])
    assert "These are the first 100 of 101." in shown_by_page(errors)
    assert "These are the first 3 of 1,234." in shown_by_page(errors[:3], total=1234)


@pytest.fixture
def empty(project):
    return Project.objects.create(name="Empty", question="Which?", outcomes=["tie"])


@pytest.fixture
def owner(empty, alice):
    empty.memberships.create(user=alice, role="owner")
    return signed_in(alice)


def test_a_project_without_items_gets_those_that_the_file_names(owner, empty):
    url = reverse("comparisons-import", args=[empty.pk])
    shown = owner.post(url, {"file": ContentFile(BATTLES, "battles.csv")}, follow=True)
    text = " ".join(shown.content.decode().split())
    assert "15 comparisons can be imported" in text
    assert "3 new items are created" in text
    done = owner.post(url, {"upload": shown.context["upload"].id, **dict(shown.context["fields"])}, follow=True)
    assert "15 rows are imported. 3 new items are created." in " ".join(done.content.decode().split())
    assert set(Item.objects.filter(project=empty).values_list("key", "body")) == {("x", "x"), ("y", "y"), ("z", "z")}
    assert Label.objects.filter(project=empty).count() == 15


def test_that_is_a_choice_of_the_owner(owner, empty):
    url = reverse("comparisons-import", args=[empty.pk])
    upload = owner.post(url, {"file": ContentFile(BATTLES, "b.csv")}, follow=True).context["upload"].id
    chosen = {"cut": "pairs", "format": "pairs", "left": 0, "right": 1, "answer": 2, "annotator": 3, "someone": "all"}
    shown = owner.get(url, {"upload": upload, **chosen})
    text = " ".join(shown.content.decode().split())
    assert "0 comparisons can be imported" in text
    assert "Rows 2, 5, 8, 11, 14." in text
    assert text.count("There is no item with the key “y” in this project.") == 1


def test_a_project_with_items_gets_no_others_unasked(client, project, alice):
    url = reverse("comparisons-import", args=[project.pk])
    shown = signed_in(alice).post(url, {"file": ContentFile(BATTLES, "b.csv")}, follow=True)
    assert "0 comparisons can be imported" in shown.content.decode()
    counts = ContentFile(b"user,item,count\nu,item-0,3\nu,new,4\n", "c.csv")
    assert (
        "Row 3."
        in signed_in(alice)
        .post(reverse("counts-import", args=[project.pk]), {"file": counts}, follow=True)
        .content.decode()
    )


def test_counts_too_create_the_first_items(owner, empty):
    counts = ContentFile(b"user,item,count\nu,a,3\nu,b,4\n", "c.csv")
    shown = owner.post(reverse("counts-import", args=[empty.pk]), {"file": counts}, follow=True)
    assert "2 new items are created" in shown.content.decode()
