"""Counts: imported by page, API and command line, ranked on every page, and never mixed with answers."""

import csv
import io
import random
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from annotate.annotators.exclusion import exclude_annotator, readmit_annotator
from annotate.criteria import Criterion
from annotate.fitting import run as fitting_run
from annotate.fitting import scheduling
from annotate.fitting.counts import read_counts
from annotate.imports.evidence import RankedByCounts, check_evidence
from annotate.items.actions import WasCounted, delete_item
from annotate.jobs.limits import job_limits
from annotate.models import Annotator, Count, Event, FitState, ImportJob, Item, Project
from annotate.privacy.erasure.actions import erase_annotator
from annotate.privacy.retention.actions import apply_retention, change_retention
from annotate.projects.actions import RanksCounts, delete_project, set_state
from annotate.projects.copies.cloning import clone_project
from annotate.publishing.exports.registry import TABLES
from annotate.publishing.run_records import job as run_records_job
from models_engine.io.reproduction import reproduce
from models_engine.models import Estimate, Fit
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.api_client import Api
from tests.site.imports.test_comparison_tables import media  # noqa: F401 (a fixture)
from tests.site.pages import page, rows_shown, signed_in

HEAD = "user,item,plays,impressions\n"
ROWS = "ann,item-0,60,10\nann,item-1,20,10\nbob,item-0,600,10\nbob,item-1,210,10\nbob,item-2,50,10\nann,item-2,0,5\n"

pytestmark = pytest.mark.usefixtures("media")


@pytest.fixture
def draft(project) -> Project:
    project.state = "draft"
    project.save()
    FitState.objects.create(project=project)
    return project


def import_file(project, text, tmp_path, *options) -> None:
    file = tmp_path / "counts.csv"
    file.write_text(text)
    call_command("import_file", "counts", str(project.pk), str(file), *options)


@pytest.fixture
def counted(draft, tmp_path) -> Project:
    import_file(draft, HEAD + ROWS, tmp_path)
    return Project.objects.get(pk=draft.pk)


def fit_now(project: Project) -> Fit:
    FitState.objects.filter(project=project).update(not_before=None, last_fit_at=None)
    claim = scheduling.claim_next(owner="test", now=timezone.now(), pause=timedelta(0))
    return fitting_run.run(claim, progress=lambda *_: True)


def ranked(fit: Fit) -> list[str]:
    rows = Estimate.objects.filter(fit=fit, n_comparisons__gt=0).order_by("part", "rank")
    return [Item.objects.get(pk=row.item_id).key for row in rows]


def stored(project) -> list[tuple]:
    return list(
        Count.objects.filter(project=project)
        .order_by("pk")
        .values_list("annotator__pseudonym", "item__key", "count", "exposure")
    )


@pytest.mark.slow
def test_from_the_page_to_the_ranking(draft, alice):
    owner = signed_in(alice)
    start = reverse("counts-import", args=[draft.pk])
    assert "annotator,item,count,exposure" in owner.get(start).content.decode()
    file = SimpleUploadedFile("plays.csv", (HEAD + ROWS + "ann,item-0,-4,1\n").encode())
    preview = owner.post(start, {"file": file}, follow=True)
    html = preview.content.decode()
    assert "6 counts can be imported" in html
    assert "The count “-4” is not a whole number" in html
    assert 'Count <span class="optional">' not in html
    upload = preview.redirect_chain[-1][0].rpartition("=")[2]
    done = owner.post(start, {"upload": upload, "left_out": "1"}, follow=True)
    assert "6 rows are imported" in done.content.decode()
    assert stored(draft)[0] == ("ann", "item-0", 60, 10.0)
    project = Project.objects.get(pk=draft.pk)
    assert (project.ranks_counts, project.state) == (True, "closed")
    assert Event.objects.filter(project=project, verb="project closed", actor=alice).count() == 1
    assert set(Annotator.objects.filter(project=draft).values_list("source", flat=True)) == {"import"}
    fit = fit_now(draft)
    assert (fit.estimator, fit.n_labels, fit.n_annotators, fit.n_items) == ("CountFactorization", 6, 2, 6)
    assert ranked(fit) == ["item-0", "item-1", "item-2"]
    html = page(owner, draft)
    assert rows_shown(html)[:1] == [str(Item.objects.get(project=draft, key="item-0").pk)]
    assert "6 counts by 2 annotators of 6 items" in html


@pytest.mark.slow
def test_progress_says_that_a_goal_is_not_evaluated_and_why(counted, alice):
    fit_now(counted)
    Project.objects.filter(pk=counted.pk).update(goal="width", goal_width=0.5)
    html = page(signed_in(alice), counted, "progress")
    assert "6 imported counts make this ranking. The project takes no answers" in html
    assert "90% interval is at most 0.50 wide.</strong>" in html
    assert "It is not evaluated here: a goal says how many more answers it takes" in html
    found = Api(alice, counted)("get", "goal").json()
    assert (found["verdict"], found["needed"]) == ("counts", None)


@pytest.mark.slow
def test_every_page_of_a_project_of_counts_opens(counted, alice):
    owner = signed_in(alice)
    fit_now(counted)
    pages = (
        "ranking tastes grades scale report trust engine progress annotators items exports methods compare "
        "results-links overall settings-ranking project-settings setup questions counts-import"
    ).split()
    for name in pages:
        assert owner.get(reverse(name, args=[counted.pk])).status_code == 200, name
    item = Item.objects.filter(project=counted).first()
    assert owner.get(reverse("item", args=[counted.pk, item.pk])).status_code == 200
    html = page(owner, counted, "annotators", f"?exclude={Annotator.objects.get(pseudonym='ann').key}")
    assert '<td class="number" data-label="Counts">3</td>' in html
    assert "What ann counted will no longer count" in html
    for name in ("ranking", "report"):
        html = page(owner, counted, name)
        assert "how many of 100 counts of an item and a typical one are its own" in html
        assert "The score is the chance" not in html
    assert "6 counts.</p>" in page(owner, counted, "trust")
    html = owner.get(reverse("item", args=[counted.pk, item.pk])).content.decode()
    assert "<dt>Counts</dt>" in html
    assert [word for word in ("<dt>Comparisons", "Put first", "compared") if word in html] == []
    html = page(owner, counted, "methods")
    assert "a factorization of counts" in html
    assert "6 counts of 6 items by 2 annotators were analysed" in html


def test_the_columns_can_be_chosen_and_items_created(draft, alice):
    owner = signed_in(alice)
    start = reverse("counts-import", args=[draft.pk])
    file = SimpleUploadedFile("x.csv", b"what,how_often\nnew-1,5\nitem-0,3\n")
    preview = owner.post(start, {"file": file}, follow=True)
    assert "Choose which columns hold: Item, Count" in preview.content.decode()
    address = preview.redirect_chain[-1][0]
    upload = address.rpartition("=")[2]
    chosen = {"cut": "1", "item": "0", "count": "1", "create": "on", "someone": "all"}
    assert "1 new item is created" in owner.get(start, {"upload": upload, **chosen}).content.decode()
    owner.post(start, {"upload": upload, **chosen})
    assert stored(draft) == [("all", "new-1", 5, 1.0), ("all", "item-0", 3, 1.0)]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("u,item-0,1.5,1", "The count “1.5” is not a whole number from 0 to 1,000,000,000. Round seconds"),
        ("u,item-0,nan,1", "The count “nan”"),
        ("u,item-0,1000000001,1", "The count “1000000001”"),
        ("u,item-0,5,0", "The exposure “0” is not a number above 0"),
        ("u,item-0,5,nan", "The exposure “nan”"),
        (
            "u,nobody,5,1",
            "There is no item with the key “nobody” in this project. Correct the key, or import the item first.",
        ),
        (f"{'x' * 101},item-0,5,1", "has 101 characters"),
    ],
)
def test_rows_that_are_no_counts_are_named_and_nothing_is_stored(draft, tmp_path, capsys, row, problem):
    with pytest.raises(CommandError, match="Nothing was imported: 1 of 2"):
        import_file(draft, f"{HEAD}v,item-1,3,1\n{row}\n", tmp_path)
    assert problem in capsys.readouterr().out
    assert not stored(draft)
    assert not Project.objects.get(pk=draft.pk).ranks_counts


def test_rows_that_add_up_to_too_much_are_refused(draft, tmp_path):
    with pytest.raises(CommandError, match="1 of 2"):
        import_file(draft, HEAD + "u,item-0,900000000,1\nu,item-0,900000000,1\n", tmp_path)


def test_the_same_file_is_imported_once(counted, tmp_path):
    with pytest.raises(CommandError, match="These counts were already imported"):
        import_file(counted, HEAD + ROWS, tmp_path)
    import_file(counted, HEAD + "ann,item-0,5,1\n", tmp_path)
    cells = read_counts(counted).data
    assert cells.counts[(cells.items == 0) & (cells.annotators == 0)].tolist() == [65]


def test_answers_and_counts_are_not_mixed(project, tmp_path, alice):
    with pytest.raises(CommandError, match="is open for answers"):
        import_file(project, HEAD + ROWS, tmp_path)
    answer_one(make_annotator(project, "Ada"))
    with pytest.raises(CommandError, match="has 1 answer, and a ranking is made of answers or of counts"):
        import_file(project, HEAD + ROWS, tmp_path)
    assert "has 1 answer" in page(signed_in(alice), project, "counts-import")


def test_a_project_of_counts_takes_no_answers(counted, alice, tmp_path):
    with pytest.raises(RanksCounts, match="takes no answers"):
        set_state(project=counted, actor=alice, state="open", now=NOW)
    with pytest.raises(RankedByCounts):
        check_evidence(counted, ImportJob.Kind.COMPARISONS)
    with pytest.raises(IntegrityError), transaction.atomic():
        Project.objects.filter(pk=counted.pk).update(state="open")


def test_the_database_takes_no_impossible_count(counted):
    first = Count.objects.first()
    for change in ({"count": 10**9 + 1}, {"exposure": 0.0}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Count.objects.filter(pk=first.pk).update(**change)


def test_excluded_annotators_do_not_count_until_they_are_back(counted, alice):
    bob = Annotator.objects.get(project=counted, pseudonym="bob")
    exclude_annotator(annotator=bob, actor=alice, reason="", now=NOW)
    assert read_counts(counted).data.n_annotators == 1
    assert ranked(fit_now(counted)) == ["item-0", "item-1", "item-2"]
    bob.refresh_from_db()
    readmit_annotator(annotator=bob, actor=alice, now=NOW)
    assert read_counts(counted).data.n_annotators == 2


def test_an_erased_annotator_leaves_nothing(counted):
    fit_now(counted)
    bob = Annotator.objects.get(project=counted, pseudonym="bob")
    erase_annotator(annotator=bob, by="owner", now=timezone.now())
    assert {who for who, *_ in stored(counted)} == {"ann"}
    assert not Fit.objects.filter(project_id=counted.pk).exists()
    state = FitState.objects.get(project=counted)
    assert state.wanted > state.fitted


def test_counts_are_dropped_with_the_labels_after_the_promised_days(counted, alice):
    change_retention(project=counted, actor=alice, days=30, drops="labels", now=timezone.now())
    assert apply_retention(project=counted, now=timezone.now()) is None
    assert apply_retention(project=counted, now=timezone.now() + timedelta(days=31)) == 2
    assert not Count.objects.exists()
    assert not Annotator.objects.filter(project=counted).exists()


def test_a_counted_item_is_retired_and_not_deleted(counted, alice):
    item = Item.objects.get(project=counted, key="item-0")
    with pytest.raises(WasCounted, match="Retire it instead"):
        delete_item(item=item, actor=alice, now=NOW)
    Item.objects.filter(pk=item.pk).update(retired_at=NOW)
    assert ranked(fit_now(counted)) == ["item-1", "item-2"]


def test_a_copy_has_no_counts_and_takes_answers_and_deleting_deletes_them(counted, alice):
    clone = clone_project(source=counted, actor=alice, name="Copy", with_items=True, now=NOW, rng=random.Random(0))
    assert not clone.ranks_counts
    assert not clone.counts.exists()
    delete_project(project=counted)
    assert not Count.objects.exists()


def test_exported_counts_import_again(counted, draft, alice, tmp_path):
    table = TABLES["counts"]
    rows = [[str(cell) for cell in row] for row in table.rows(Criterion(counted))]
    text = io.StringIO()
    csv.writer(text).writerows([table.names(counted), *rows])
    clone = clone_project(source=counted, actor=alice, name="Copy", with_items=True, now=NOW, rng=random.Random(0))
    import_file(clone, text.getvalue(), tmp_path)
    assert stored(clone) == stored(counted)


def test_a_run_record_of_counts_is_reproduced(counted, tmp_path):
    fit_now(counted)
    folder = tmp_path / "record"
    run_records_job.write_run_record(Criterion(counted), folder, progress=lambda *_: True, now=NOW)
    assert (folder / "counts.csv").read_text().splitlines()[1:3] == ["ann,item-0,60,10.0", "ann,item-1,20,10.0"]
    assert not (folder / "analysis.R").exists()
    assert reproduce(folder).how == "identical"
    with (folder / "ranking.csv").open(newline="") as file:
        by_record = {row["item"]: float(row["utility"]) for row in csv.DictReader(file)}
    for row in Estimate.objects.filter(fit__published=True, n_comparisons__gt=0):
        assert row.utility == pytest.approx(by_record[Item.objects.get(pk=row.item_id).key], abs=1e-9)


def test_only_zeros_are_an_answer(draft, tmp_path):
    import_file(draft, HEAD + "u,item-0,0,1\nu,item-1,0,1\n", tmp_path)
    fit = fit_now(draft)
    assert {row.next_state for row in Estimate.objects.filter(fit=fit, part=0, rank=1)} == {"not_enough"}


def test_a_fit_of_many_counts_may_take_longer(counted):
    first, before = Count.objects.first(), job_limits(counted.pk)
    more = [Count(project=counted, annotator=first.annotator, item=first.item, count=1, imported_at=NOW)] * 500
    Count.objects.bulk_create(more)
    assert job_limits(counted.pk).cpu_seconds == before.cpu_seconds + 2
