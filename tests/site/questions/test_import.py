"""Importing given questions: sets of keys and wide files, what is wrong with rows, merged doubles, existing votes."""

import json
import random

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse
from django.utils import timezone

from annotate.files.limits import BadFile
from annotate.imports import job as imports_job
from annotate.imports.actions import ImportedBefore, start_import
from annotate.imports.questions.columns import Asking, check_columns, guess, guess_questions
from annotate.imports.questions.dialogues import turns_of
from annotate.items.actions import retire_item
from annotate.labelling.item_sets import items_of_key
from annotate.labelling.plan import given
from annotate.models import Annotator, ImportJob, Item, Project
from tests.conftest import NOW
from tests.site.pages import signed_in

WIDE = """prompt,answer_a,model_a,answer_b,model_b,winner
Why?,Because.,Tern,No idea.,Gull,model_a
Why?,Because.,Tern,Who knows?,Auk,tie
How?,Slowly.,Gull,Fast.,Auk,Auk
How?,Fast.,Auk,Slowly.,Gull,
"""


@pytest.fixture
def brought(project, alice):
    """`brought(text)`: the import of the text, done or checked."""

    def bring(text: str, name="questions.csv", leave_out=False, **said) -> ImportJob:
        mapping = guess_questions(text, name, **said)
        job = start_import(
            project=project,
            actor=alice,
            kind="questions",
            source=name,
            file=ContentFile(text.encode()),
            mapping=mapping,
            now=timezone.now(),
            at_once=True,
            leave_out=leave_out,
        )
        imports_job.import_now(job)
        job.refresh_from_db()
        project.refresh_from_db()
        return job

    return bring


def asked(project) -> list[tuple[set[str], int]]:
    keys = dict(project.items.values_list("pk", "key"))
    rows = given.questions_of(project).values_list("key", "priority")
    return [({keys[pk] for pk in items_of_key(key)}, priority) for key, priority in rows]


def problems(job: ImportJob) -> list[str]:
    return [problem for _row, problem in job.errors]


def test_keys_in_a_list_are_kept_apart_whatever_they_hold(project, brought):
    project.items.filter(key="item-1").update(key="a;b")
    job = brought('{"items": ["a;b", "item-0"]}\n{"items": ["item-2", "item-0"]}\n', "questions.jsonl")
    assert (job.state, job.errors) == ("done", [])
    assert asked(project) == [({"a;b", "item-0"}, 0), ({"item-2", "item-0"}, 0)]


def test_a_row_names_a_question_by_the_keys_of_its_items(project, brought):
    job = brought("item_1,item_2,priority\nitem-0,item-1,3\nitem-2,item-1,\nitem-1,item-0,9\n")
    assert (job.state, job.mapping["merged"]) == ("done", 1)
    assert asked(project) == [({"item-0", "item-1"}, 3), ({"item-2", "item-1"}, 0)]
    assert project.given_order == "priority"


def test_keys_may_stand_in_one_cell(project, brought):
    brought(json.dumps([{"items": ["item-0", "item-1"]}, {"items": ["item-2", "item-3"]}]), "questions.json")
    assert [keys for keys, _priority in asked(project)] == [{"item-0", "item-1"}, {"item-2", "item-3"}]
    assert project.given_order == "balanced"


def test_rows_that_cannot_be_asked_say_why_and_nothing_is_written(project, alice, brought):
    retire_item(item=project.items.get(key="item-5"), actor=alice, now=NOW)
    context = project.contexts.create(body="A prompt", digest="x")
    Item.objects.create(project=project, key="elsewhere", body="x", context=context)
    rows = ["nowhere,item-1", "item-5,item-1", "item-1,item-1", "item-1,", "elsewhere,item-1"]
    job = brought("item_1,item_2,item_3,priority\nitem-0,item-1,,soon\n" + "".join(f"{row},,\n" for row in rows))
    assert job.state == "checked"
    expected = [
        "“soon” is not",
        "key “nowhere”",
        "“item-5” is retired",
        "named twice",
        "names 1 item;",
        "different con",
    ]
    assert all(part in problem for part, problem in zip(expected, problems(job), strict=True))
    assert not project.given_order
    job = brought("item_1,item_2,item_3\nitem-0,item-1,item-2\n")
    assert problems(job) == [
        "The question names 3 items; tasks of this project show 2. Name exactly 2 different items."
    ]


def test_a_wide_file_makes_prompts_answers_competitors_questions_and_labels(project, brought):
    job = brought(WIDE)
    assert job.mapping["kinds"] == {"item": 5, "question": 3, "comparison": 3}
    assert job.mapping["merged"] == 1
    new = project.items.exclude(competitor="")
    assert set(new.values_list("context__body", "body", "competitor")) == {
        ("Why?", "Because.", "Tern"),
        ("Why?", "No idea.", "Gull"),
        ("Why?", "Who knows?", "Auk"),
        ("How?", "Slowly.", "Gull"),
        ("How?", "Fast.", "Auk"),
    }
    labels = project.labels.order_by("pk").values_list("outcome", "chosen__competitor")
    assert list(labels) == [("choice", "Tern"), ("tie", None), ("choice", "Auk")]
    assert project.has_competitors
    people = project.annotators.values_list("pseudonym", "source")
    assert list(people) == [("imported", Annotator.Source.IMPORT)]
    assert sorted(project.item_sets.values_list("n_taken", flat=True)) == [1, 1, 1]


def test_the_same_votes_are_not_imported_twice(brought):
    brought(WIDE)
    with pytest.raises(ImportedBefore):
        brought(WIDE)


def test_a_wide_file_again_without_votes_adds_only_what_is_new(project, brought):
    first = "prompt,answer_1,answer_2\nWhy?,Because.,No idea.\n"
    brought(first)
    job = brought(first + "How?,Fast.,Slowly.\n")
    assert (job.mapping["kinds"], job.mapping["merged"]) == ({"item": 2, "question": 1}, 1)
    job = brought(first)
    assert (job.state, job.mapping["merged"], len(asked(project))) == ("done", 1, 2)


def test_a_vote_that_names_nobody_is_refused(brought):
    job = brought("prompt,answer_a,answer_b,model_a,model_b,vote\nWhy?,Yes.,No.,Tern,Gull,Puffin\n")
    assert "The vote “Puffin” is neither one of those who made the answers (Tern, Gull)" in problems(job)[0]


def test_the_same_answer_twice_and_an_empty_one_are_refused(brought):
    job = brought("prompt,answer_a,answer_b\nWhy?,Yes.,Yes.\nWhy?,,No.\n")
    assert "Two answers of the row are the same" in problems(job)[0]
    assert "Answer 1 is empty" in problems(job)[1]


def test_sets_of_four_with_a_vote_for_one(project, brought):
    Project.objects.update(task_type="best", k=4)
    project.refresh_from_db()
    head = "prompt," + ",".join(f"answer_{mark},model_{mark}" for mark in "abcd") + ",vote\n"
    job = brought(head + "Why?,One,A,Two,B,Three,C,Four,D,c\n")
    assert job.state == "done"
    assert project.labels.get().chosen.body == "Three"


def test_a_vote_may_be_an_order(project, brought):
    Project.objects.update(task_type="ranking", k=3)
    project.refresh_from_db()
    job = brought("prompt,answer_1,answer_2,answer_3,vote\nWhy?,One,Two,Three,2 > 3 > 1\n")
    assert (job.state, project.labels.get().ranks) == ("done", "201")


def test_chosen_and_rejected_are_votes_with_sides_by_lot(project, brought):
    rows = [{"prompt": f"Why {n}?", "chosen": f"good {n}", "rejected": f"bad {n}"} for n in range(12)]
    brought("\n".join(json.dumps(row) for row in rows), "preferences.jsonl")
    assert all(label.chosen.body.startswith("good") for label in project.labels.select_related("chosen"))
    places = [label.presentation.presented.get(item=label.chosen).position for label in project.labels.all()]
    assert set(places) == {0, 1}


def test_a_column_too_few_is_said_before_any_row_is_read(project):
    with pytest.raises(BadFile, match="Choose which columns hold: Key of item 2"):
        check_columns(guess(["item_1"]), 2, ["item_1"])


@pytest.mark.parametrize(
    ("names", "format", "columns"),
    [
        (["item_1", "item_2", "priority"], "keys", {"item_1": 0, "item_2": 1, "priority": 2}),
        (["left", "right"], "keys", {"item_1": 0, "item_2": 1}),
        (
            ["conversation_a", "conversation_b", "model_a", "model_b", "winner", "judge"],
            "answers",
            {"answer_1": 0, "answer_2": 1, "competitor_1": 2, "competitor_2": 3, "vote": 4, "annotator": 5},
        ),
        (["instruction", "chosen", "rejected"], "answers", {"prompt": 0, "answer_1": 1, "answer_2": 2}),
        (
            ["prompt", "Response A", "Response B", "System A", "System B"],
            "answers",
            {"prompt": 0, "answer_1": 1, "answer_2": 2, "competitor_1": 3, "competitor_2": 4},
        ),
    ],
)
def test_columns_are_found_by_their_names(names, format, columns):
    found = guess(names)
    assert (found.format, dict(found.columns)) == (format, columns)


def test_what_the_site_exports_it_reads_back(project, alice, brought):
    brought("item_1,item_2,priority\nitem-3,item-4,7\nitem-0,item-1,-2\n")
    before = asked(project)
    client = signed_in(alice)
    table = b"".join(client.get(reverse("export", args=[project.pk, "questions", "csv"])).streaming_content).decode()
    given.draw_again(project=project, actor=alice, now=NOW)
    assert asked(project) == []
    brought(table)
    assert asked(project) == before


def test_the_page_previews_then_adds(project, alice):
    client = signed_in(alice)
    start = reverse("questions-import", args=[project.pk])
    assert "item_1,item_2,priority" in client.get(start).content.decode()
    text = "item_1,item_2\nitem-0,item-1\nitem-0,nowhere\n"
    address = client.post(start, {"text": text})["Location"]
    page = client.get(address).content.decode()
    assert "1 question can be added" in page
    assert "key “nowhere”" in page
    upload = address.rpartition("=")[2]
    form = {"upload": upload, "cut": "keys", "format": "keys", "order": "in_order", "left_out": "1"}
    page = client.post(start, {**form, "item_1": "0", "item_2": "1"}, follow=True).content.decode()
    assert "1 question is added." in " ".join(page.split())
    project.refresh_from_db()
    assert (project.given_order, len(asked(project))) == ("in_order", 1)


def test_an_empty_form_and_a_file_without_questions_are_refused(project, alice):
    client = signed_in(alice)
    start = reverse("questions-import", args=[project.pk])
    assert "Choose a file, or paste a table" in client.post(start, {"text": ""}).content.decode()
    page = client.post(start, {"text": "a,b\n1,2\n"}, follow=True).content.decode()
    assert "Choose which columns hold" in page or "no item with the key" in page


def test_random_files_never_write_half(project, brought):
    """Rows right and wrong in any mixture: all that are right, or nothing."""
    rng = random.Random(1)
    rows = [f"item-{rng.randrange(7)},item-{rng.randrange(7)}" for _ in range(40)]
    text = "item_1,item_2\n" + "\n".join(rows)
    assert (brought(text).state, asked(project)) == ("checked", [])
    ImportJob.objects.all().delete()
    assert brought(text, leave_out=True).state == "done"
    wanted = {frozenset(row.split(",")) for row in rows if "item-6" not in row and len(set(row.split(","))) == 2}
    assert {frozenset(keys) for keys, _priority in asked(project)} == wanted


def test_what_is_said_of_columns_goes_before_what_is_guessed():
    mapping = guess_questions("x,y,item_1\n", "a.csv", columns={"answer_1": "x", "answer_2": "y"})
    assert Asking(**mapping["asking"]).columns == {"answer_1": 0, "answer_2": 1}


def test_conversations_share_their_prompt(project, brought):
    """As Arena writes battles: both conversations whole, in JSON."""
    ask = {"role": "user", "content": "Why?"}
    said = [[ask, {"role": "assistant", "content": words}] for words in ("Because.", "No idea.")]
    row = {
        "model_a": "Tern",
        "model_b": "Gull",
        "winner": "model_b",
        "conversation_a": said[0],
        "conversation_b": said[1],
    }
    brought(json.dumps([row]), "battles.json")
    rows = project.items.exclude(competitor="").values_list("context__body", "body", "competitor")
    assert set(rows) == {("Why?", "Because.", "Tern"), ("Why?", "No idea.", "Gull")}
    assert project.labels.get().chosen.competitor == "Gull"


def test_spoken_dialogues_keep_their_earlier_turns_as_prompt(project, brought):
    """As Anthropic's preference data are written: chosen and rejected, each a dialogue in one text."""
    start = "\n\nHuman: Hi\n\nAssistant: Hello.\n\nHuman: Why?\n\nAssistant:"
    brought(json.dumps([{"chosen": f"{start} Because.", "rejected": f"{start} No."}]), "pairs.json")
    items = project.items.exclude(context=None).values_list("context__body", "body")
    assert {body for _context, body in items} == {"Because.", "No."}
    assert {context for context, _body in items} == {"User: Hi\n\nAssistant: Hello.\n\nUser: Why?"}
    assert project.labels.get().chosen.body == "Because."


def test_conversations_that_say_the_same_are_refused(brought):
    talk = "\n\nHuman: Why?\n\nAssistant: Because."
    job = brought(json.dumps([{"chosen": talk, "rejected": talk}]), "pairs.json")
    assert "Two answers of the row are the same" in problems(job)[0]


@pytest.mark.parametrize("text", ["[1, 2]", "[", '[{"role": 1}]', "Human", "Assistant said: x", "", "[[[[["])
def test_what_is_no_conversation_stays_a_text(text):
    assert turns_of(text) is None
