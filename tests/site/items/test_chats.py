"""Items and contexts that are chats: shown turn by turn, their texts safe, refused where they are none."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from annotate.core.chat import MAX_TURNS, chat_words, parse_turns, render_chat
from annotate.items.actions import add_contexts
from annotate.items.rows import NewItem
from annotate.models import Context, Item
from annotate.publishing.exports.preferences import messages
from tests.site.imports.test_formats import read

pytestmark = pytest.mark.embedded

TURNS = [{"role": "user", "content": "Why **tides**?"}, {"role": "assistant", "content": "The $x$ moon."}]
CHAT = json.dumps(TURNS)


def test_turns_stand_under_their_roles_and_are_markdown():
    root = ElementTree.fromstring(render_chat(CHAT))
    turns = root.findall("li")
    assert [turn.find("p").text for turn in turns] == ["User", "Assistant"]
    assert turns[0].find("div/p/strong").text == "tides"
    assert "<math" in render_chat(CHAT)


@pytest.mark.parametrize(
    ("role", "content"),
    [
        ("<script>alert(1)</script>", "x"),
        ("user", "<img src=x onerror=alert(1)>"),
        ('user" onclick="alert(1)', "[x](javascript:alert(1))"),
    ],
)
def test_a_malicious_chat_is_shown_as_words(role, content):
    shown = render_chat(json.dumps([{"role": role, "content": content}]))
    for element in ElementTree.fromstring(shown).iter():
        assert element.tag in {"ol", "li", "p", "div"}
        assert set(element.attrib) <= {"class"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no JSON", "not valid JSON"),
        ("{}", "no list of turns"),
        ("[]", "no list of turns"),
        ('["a"]', "Turn 1"),
        ('[{"role": "user", "content": "a"}, {"role": "", "content": "b"}]', "Turn 2"),
        ('[{"role": "user", "content": 5}]', "Turn 1"),
        ('[{"role": "' + "x" * 41 + '", "content": "a"}]', "at most 40 characters"),
        (json.dumps([TURNS[0]] * (MAX_TURNS + 1)), f"has {MAX_TURNS + 1} turns; the limit is {MAX_TURNS}"),
        ("[" * 90_000, "chat"),
    ],
)
def test_what_is_no_chat_is_refused_with_what_to_correct(text, message):
    checked = read(f'key,text,kind\na,"{text.replace(chr(34), chr(34) * 2)}",chat\n'.encode())
    assert not checked.items
    assert message in checked.errors[0].message


def test_contents_in_parts_are_their_texts():
    parts = [{"type": "text", "text": "One"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "two"}]
    assert parse_turns(json.dumps([{"role": "user", "content": parts}]))[0].content == "One\n\ntwo"


def test_a_chat_is_named_by_its_words(project):
    item = Item.objects.create(project=project, key="chat", kind="chat", body=CHAT)
    assert item.title == "Why **tides**? The $x$ moon."
    assert chat_words("plain") == "plain"


def test_a_prompt_of_several_turns_is_shown_as_a_chat(project):
    rows = [NewItem(1, "a", "One", "markdown", context=CHAT), NewItem(2, "b", "Two", "markdown", context="Plain")]
    add_contexts(project, [Item(), Item()], rows)
    assert dict(Context.objects.values_list("body", "kind")) == {CHAT: "chat", "Plain": "markdown"}


def test_training_data_hold_the_turns_of_a_chat():
    assert messages("user", CHAT) == TURNS
    assert messages("user", "[1] says") == [{"role": "user", "content": "[1] says"}]
