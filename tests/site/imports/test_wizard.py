"""Importing items through the site: nothing is stored before the owner's word, then all of it or none."""

import random
import re
from datetime import timedelta

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone
from rest_framework.throttling import SimpleRateThrottle

from annotate.imports import queue as imports_queue
from annotate.imports import uploads
from annotate.items import actions
from annotate.management.commands.worker import create_worker
from annotate.models import Event, FitState, Item, Project, Tag
from tests.conftest import answer_one, make_annotator, make_user

TABLE = b"key,text,tags\na,Uniforms save time.,school\nb,Uniforms cost money.,school; money\n"


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


@pytest.fixture
def owner(client, alice):
    client.force_login(alice, "allauth.account.auth_backends.AuthenticationBackend")
    return client


def send(client, project, content=TABLE, name="items.csv"):
    """Uploads a file; the preview's response, or the first page's with what it says of the file."""
    data = {"way": "file", "file": SimpleUploadedFile(name, content)}
    return client.post(reverse("items-import", args=[project.pk]), data, follow=True)


def paste(client, project, text, written="lines"):
    data = {"way": "paste", "text": text, "written": written}
    return client.post(reverse("items-import", args=[project.pk]), data, follow=True)


def hidden_fields(response) -> dict[str, str]:
    """What the preview's form would send."""
    form = re.search(r'<form method="post" class="card confirm">.*?</form>', response.content.decode(), re.S).group()
    return dict(re.findall(r'name="([a-z_]+)" value="([^"]*)"', form))


def confirm(client, project, preview, **more):
    data = {**hidden_fields(preview), **more}
    return client.post(reverse("items-import", args=[project.pk]), data, follow=True)


@pytest.mark.parametrize("text", [TABLE.decode(), TABLE.decode().replace(",", "\t"), "id;text\n1;One\n2;Two"])
def test_a_table_pasted_as_lines_is_noticed_and_read_by_one_press(owner, project, text):
    shown = paste(owner, project, text)
    html = shown.content.decode()
    assert "3 items are ready" in html
    form = html.partition("This looks like a table.")[2].partition("</form>")[0]
    fields = dict(re.findall(r'name="([a-z]+)" value="([^"]*)"', form))
    again = owner.get(reverse("items-import", args=[project.pk]), fields).content.decode()
    assert "2 items are ready" in again
    assert "This looks like a table." not in again


@pytest.mark.parametrize("text", ["One, and more\nTwo, and more", "text\nOne", "Title page, key scenes, and an end"])
def test_lines_with_commas_are_no_table(owner, project, text):
    assert "This looks like a table." not in paste(owner, project, text).content.decode()


def test_it_previews_and_then_imports(owner, project):
    preview = send(owner, project)
    assert "2 items are ready" in preview.content.decode()
    assert project.items.count() == 6
    page = confirm(owner, project, preview)
    assert "2 items are imported" in page.content.decode()
    item = project.items.get(key="b")
    assert (item.body, item.kind) == ("Uniforms cost money.", "text")
    assert set(item.tags.values_list("name", flat=True)) == {"school", "money"}
    event = Event.objects.get(verb="items imported")
    assert (event.actor.username, event.details["items"], event.details["source"]) == ("alice", 2, "items.csv")


def test_a_manager_may_and_others_may_not(client, project, manuel, vera, bob, charlie):
    url = reverse("items-import", args=[project.pk])
    for user, status in ((manuel, 200), (vera, 403), (bob, 403), (charlie, 404)):
        client.force_login(user, "allauth.account.auth_backends.AuthenticationBackend")
        assert client.get(url).status_code == status
        if status != 200:
            assert client.post(url, {"way": "paste", "text": "One\nTwo", "written": "lines"}).status_code == status
    client.logout()
    assert client.get(url).status_code == 302
    assert project.items.count() == 6


def test_sent_twice_it_is_imported_once(owner, project):
    preview = send(owner, project)
    confirm(owner, project, preview)
    again = confirm(owner, project, preview)
    assert "These 2 items have been imported already" in again.content.decode()
    assert project.items.count() == 8
    assert Event.objects.filter(verb="items imported").count() == 1


def test_two_confirmations_at_once_import_once(project, alice):
    rows = [actions.NewItem(1, "new", "Text", "text")]
    values = {"project": project, "actor": alice, "rows": rows, "upload": "u", "source": "s", "now": timezone.now()}
    actions.import_items(**values, rng=random.Random(1))
    with pytest.raises(actions.ImportedBefore):
        actions.import_items(**values, rng=random.Random(1))
    assert project.items.count() == 7


def test_rows_with_errors_are_left_out_only_by_choice(owner, project):
    preview = send(owner, project, b"key,text\na,Good\nb,\na,Twice\n")
    page = preview.content.decode()
    assert "1 row is ready, 2 have errors" in page
    assert "Row 3." in page
    assert "The text is missing" in page
    assert "Row 4." in page
    assert "already used in row 2" in page
    refused = confirm(owner, project, preview, action="all")
    assert "Nothing was imported" in refused.content.decode()
    assert project.items.count() == 6
    done = confirm(owner, project, preview, action="good")
    assert "1 item is imported. 2 rows were left out." in done.content.decode()
    assert list(project.items.exclude(key__startswith="item-").values_list("body", flat=True)) == ["Good"]


def test_what_the_owner_did_not_see_is_not_imported(owner, project):
    """Between the preview and the word somebody takes one of the keys."""
    preview = send(owner, project)
    Item.objects.create(project=project, key="a", body="Meanwhile")
    page = confirm(owner, project, preview, action="good")
    assert "the project has changed in the meantime" in page.content.decode()
    assert project.items.count() == 7


def test_a_key_taken_in_the_last_moment_leaves_nothing_half_written(project, alice):
    rows = [actions.NewItem(1, "new", "Text", "text", ("tag",)), actions.NewItem(2, "item-0", "Taken", "text")]
    with pytest.raises(actions.KeyTaken):
        actions.import_items(
            project=project,
            actor=alice,
            rows=rows,
            upload="u",
            source="s",
            now=timezone.now(),
            rng=random.Random(1),
        )
    assert project.items.count() == 6
    assert not Tag.objects.exists()
    assert not Event.objects.exists()


def test_columns_can_be_chosen(owner, project):
    content = b"name;remark;what\nx;long long long remark;Alpha\ny;another long remark;Beta\n"
    preview = send(owner, project, content)
    fields = hidden_fields(preview)
    query = {**fields, "text": "2", "key": "0", "kind": "markdown"}
    chosen = owner.get(reverse("items-import", args=[project.pk]), query)
    confirm(owner, project, chosen)
    item = project.items.get(key="x")
    assert (item.body, item.kind) == ("Alpha", "markdown")


def test_columns_that_are_not_imported_are_named(owner, project):
    page = send(owner, project, b"key;text;quelle;<b>x</b>\na;Alpha;Schule;1\n").content.decode()
    assert "Not imported:" in page
    assert "quelle, &lt;b&gt;x&lt;/b&gt;" in page
    assert "Not imported:" not in send(owner, project).content.decode()


def test_the_cut_can_be_chosen_and_columns_are_guessed_anew(owner, project):
    preview = paste(owner, project, "text\nOne\nTwo\n")
    assert "3 items are ready" in preview.content.decode()
    query = {**hidden_fields(preview), "format": "table", "header": "on"}
    chosen = owner.get(reverse("items-import", args=[project.pk]), query)
    assert "2 items are ready" in chosen.content.decode()


def test_pasted_lines_are_items(owner, project):
    confirm(owner, project, paste(owner, project, "One\r\n\r\n  Two, with a comma\r\n"))
    assert list(project.items.order_by("pk").values_list("key", "body"))[6:] == [
        ("item-7", "One"),
        ("item-8", "Two, with a comma"),
    ]


def test_a_paste_from_a_spreadsheet_is_a_table(owner, project):
    confirm(owner, project, paste(owner, project, "id\ttext\nx\tAlpha\ny\tBeta\n", "table"))
    assert project.items.get(key="y").body == "Beta"


def test_a_repeated_text_is_told_but_imported(owner, project):
    preview = paste(owner, project, "Same\nSame\nText number 3")
    page = preview.content.decode()
    assert "Row 1 has the same text" in page
    assert "The project already has an item with the same text" in page
    confirm(owner, project, preview)
    assert project.items.count() == 9


def test_windows_1252_is_read_and_said(owner, project):
    preview = send(owner, project, "key;text\na;Größe – naïve\n".encode("cp1252"))
    assert "Read as Windows-1252" in preview.content.decode()
    confirm(owner, project, preview)
    assert project.items.get(key="a").body == "Größe – naïve"


def test_script_in_every_place_is_text(owner, project):
    evil = "<script>alert(1)</script>"
    preview = send(owner, project, f"key,text,tags\n{evil},{evil} text,{evil}\n".encode(), name=f"{evil}.csv")
    confirm(owner, project, preview)
    assert project.items.get(key=evil).body == f"{evil} text"
    for page in (preview, owner.get(reverse("items", args=[project.pk]))):
        assert "<script>alert" not in page.content.decode()


def test_an_upload_is_its_owners_alone(owner, client, project, manuel, alice):
    preview = send(owner, project)
    data = hidden_fields(preview)
    client.force_login(manuel, "allauth.account.auth_backends.AuthenticationBackend")
    page = client.post(reverse("items-import", args=[project.pk]), data, follow=True)
    assert "This upload has expired" in page.content.decode()
    assert project.items.count() == 6


@pytest.mark.parametrize("forged", ["", "1", "../../etc", "1-2-" + "0" * 32, "9" * 40 + "-1-" + "0" * 32, "a\0b"])
def test_a_forged_upload_is_not_found(owner, project, forged):
    for response in (
        owner.get(reverse("items-import", args=[project.pk]), {"upload": forged}, follow=True),
        owner.post(reverse("items-import", args=[project.pk]), {"upload": forged, "n": "1"}, follow=True),
    ):
        assert response.status_code == 200
        assert "This upload has expired" in response.content.decode()


def test_an_upload_of_another_project_is_not_found(owner, project, alice):
    other = Project.objects.create(name="Other", question="?")
    other.memberships.create(user=alice, role="owner")
    preview = send(owner, project)
    page = owner.post(reverse("items-import", args=[other.pk]), hidden_fields(preview), follow=True)
    assert "This upload has expired" in page.content.decode()


def test_an_upload_is_previewed_as_what_it_is_on_every_import_page(owner, project):
    items = send(owner, project).context["upload"].id
    votes = SimpleUploadedFile("votes.csv", b"worker,left,right,label\nw,item-0,item-1,item-1\n")
    comparisons = owner.post(reverse("comparisons-import", args=[project.pk]), {"file": votes}, follow=True)
    page = owner.get(reverse("items-import", args=[project.pk]), {"upload": comparisons.context["upload"].id})
    assert "1 comparison can be imported" in page.content.decode()
    page = owner.get(reverse("comparisons-import", args=[project.pk]), {"upload": items})
    assert "2 items are ready" in page.content.decode()


def test_uploads_expire_and_only_the_last_five_of_a_person_wait(project, alice):
    now = timezone.now()

    def keep(user, when):
        return uploads.keep(
            user=user, project=project, kind="table", name="n", details={}, files={"text": b"t"}, now=when
        ).id

    stale = keep(make_user("dora"), now - timedelta(hours=2))
    kept = [keep(alice, now + timedelta(seconds=i)) for i in range(7)]
    waiting = set(default_storage.listdir("imports")[0])
    assert waiting == set(kept[2:])
    assert stale not in waiting
    assert uploads.load(upload_id=kept[-1], user=alice, project=project, now=now).read("text") == b"t"
    with pytest.raises(uploads.UploadGone):
        uploads.load(upload_id=kept[-1], user=alice, project=project, now=now + timedelta(hours=2))


def test_an_imported_upload_is_discarded(owner, project):
    confirm(owner, project, send(owner, project))
    assert default_storage.listdir("imports") == ([], [])


def test_the_engine_hears_of_new_items_once_there_are_labels(owner, project):
    confirm(owner, project, send(owner, project))
    assert not FitState.objects.filter(wanted__gt=0).exists()
    answer_one(make_annotator(project, "A"))
    confirm(owner, project, paste(owner, project, "One more"))
    assert FitState.objects.get(project=project).wanted == 2


def test_new_items_come_in_random_order(owner, project):
    confirm(owner, project, paste(owner, project, "\n".join(f"Item {i}" for i in range(50))))
    shuffles = list(project.items.order_by("pk").values_list("shuffle", flat=True))[6:]
    assert shuffles != sorted(shuffles)
    assert len(set(shuffles)) == 50


@pytest.mark.parametrize("n", [10, 500])
def test_queries_of_the_preview_do_not_grow_with_rows(owner, project, n, django_assert_num_queries):
    preview = paste(owner, project, "\n".join(f"Item {i}" for i in range(n)))
    with django_assert_num_queries(6):
        owner.get(reverse("items-import", args=[project.pk]), hidden_fields(preview))


def test_imports_are_limited(owner, project, monkeypatch):
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {"import": "3/day"})
    for _ in range(3):
        owner.get(reverse("items-import", args=[project.pk]))
    assert paste(owner, project, "One more").status_code == 429


def test_an_upload_sent_to_the_address_of_a_picture_is_limited_too(owner, project, monkeypatch):
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {"import": "1/day"})
    url = reverse("items-import", args=[project.pk]) + "?picture=0"
    statuses = [owner.post(url, {"way": "paste", "text": "One", "written": "lines"}).status_code for _ in range(2)]
    assert statuses == [302, 429]


@pytest.mark.slow
def test_a_long_table_is_checked_and_imported_by_the_engine(owner, project):
    n = 4_000
    content = b"key,text,tags\n" + b"".join(b"k%d,Text number %d of many,tag%d\n" % (i, i, i % 7) for i in range(n))
    preview = send(owner, project, content)
    assert "The first 2,000 rows are read" in preview.content.decode()
    page = confirm(owner, project, preview)
    assert "Waiting to be checked" in page.content.decode()
    assert project.items.count() == 6, "no request writes a long table"
    assert create_worker("test").run_job(imports_queue.QUEUE) is True
    assert project.items.count() == n + 6
    assert project.items.filter(tags__name="tag3").count() == len(range(3, n, 7))
