"""What users write, in letters, headers and names of files: one line stays one line, and nothing becomes markup."""

import re

import pytest
from django.core import mail
from django.core.files.base import ContentFile
from django.urls import reverse

from annotate.accounts import mails
from tests.site.pages import signed_in

HOSTILE = 'Art"; filename="evil.html\r\nBcc: victim@example.org\r\n\r\n<script>alert(7)</script>\u202e\x00'
EXPORTS = [("labels", "csv"), ("items", "json"), ("ranking", "csv"), ("annotators", "jsonl")]


@pytest.fixture
def hostile(project, alice):
    """Written past all forms, as an import, an old version or a restored backup might."""
    name = HOSTILE.replace("\x00", "")
    type(project).objects.filter(pk=project.pk).update(name=name, question=name)
    type(alice).objects.filter(pk=alice.pk).update(username=name[:100], first_name=name[:100])
    project.refresh_from_db()
    alice.refresh_from_db()
    return project


def letters(project, alice) -> dict:
    link, words = "https://example.org/join/abc/", HOSTILE
    to = {"project": project, "address": "bob@example.org", "link": link}
    return {
        "invitation": lambda: mails.send_invitation(by=alice, role="member", has_account=False, **to),
        "invitation of an account": lambda: mails.send_invitation(by=alice, role="member", has_account=True, **to),
        "join link": lambda: mails.send_join_link(by=alice, words=words, **to),
        "personal link": lambda: mails.send_personal_link(by=alice, name=words, words=words, **to),
        "reminder": lambda: mails.send_reminder(by=alice, name=words, words=words, n_answered=1, number=2, **to),
        "asked link": lambda: mails.send_asked_link(name=words, **to),
    }


def test_no_letter_has_another_header_address_or_part(hostile, alice):
    for name, send in letters(hostile, alice).items():
        mail.outbox.clear()
        send()
        [letter] = mail.outbox
        message = letter.message()
        assert letter.recipients() == ["bob@example.org"], name
        assert message.get_content_type() == "text/plain", f"{name}: nothing in it is markup"
        assert not message.is_multipart(), name
        assert "Bcc" not in message, name
        head = message.as_string().partition("\n\n")[0]
        assert not re.search(r"(?m)^(Bcc|<script)", head), name
        assert "https://example.org/join/abc/" in letter.body, name


@pytest.mark.slow
def test_no_download_has_another_header_or_kind(hostile, alice):
    owner = signed_in(alice)
    for table, kind in EXPORTS:
        response = owner.get(reverse("export", args=[hostile.pk, table, kind]))
        assert response.status_code == 200, table
        sent = response["Content-Disposition"]
        assert sent.startswith("attachment"), table
        assert "evil.html" not in re.findall(r'filename="?([^";]*)', sent), table
        assert not any(sign in str(response.headers) for sign in ("\r", "\nBcc", "<script", "\u202e")), table
        assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.embedded
@pytest.mark.parametrize(
    "name", ["a\r\nb.csv", 'a"b.csv', "<img src=x onerror=alert(7)>.csv", "\u202egnp.csv", "../../a.csv"]
)
def test_the_name_of_an_uploaded_file_is_text(project, alice, name):
    """As the page shows it that refuses the file; nothing on disk has its name."""
    owner, url = signed_in(alice), reverse("items-import", args=[project.pk])
    for content in (b"PK\x03\x04 no workbook", b"", b"key,text\na,One\n"):
        page = owner.post(url, {"way": "file", "file": ContentFile(content, name)}, follow=True)
        assert page.status_code in (200, 400)
        assert "<img src=x" not in page.content.decode()
