"""A column of weights in a file of comparisons: checked, said to be left aside, never silently dropped."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotate.files.limits import Unusable
from annotate.files.sheets import SheetRow
from annotate.imports.comparisons.tables import Voting
from annotate.imports.comparisons.weights import check_weight, weight_column
from tests.site.imports.test_comparison_tables import media, take  # noqa: F401 (a fixture)
from tests.site.pages import signed_in
from tests.site.task_types import set_task

HEAD = "annotator,left,right,outcome,weight\n"
ROW = "u,item-0,item-1,1,"
LEFT = "Weights are left aside: every answer counts once on this site."


@pytest.mark.parametrize(
    ("cell", "is_other"), [("", False), ("1", False), ("1.0", False), ("2.5", True), ("1e-12", True)]
)
def test_a_weight_is_a_number_above_0(cell, is_other):
    assert check_weight(SheetRow(1, ["a", cell]), 1) == is_other
    assert not check_weight(SheetRow(1, ["a"]), 1)


@pytest.mark.parametrize("cell", ["-1", "nan", "NaN", "inf", "1e300", "1e13", "1e-300", "heavy", "1,5", "=2", "0x10"])
def test_a_weight_that_is_none_is_named(cell):
    with pytest.raises(Unusable, match=f"The weight “{cell}” is not a number above 0"):
        check_weight(SheetRow(3, [cell]), 0)


def test_a_column_that_was_chosen_for_something_else_is_no_weight():
    assert weight_column(["annotator", " Weight "], Voting("pairs", {"annotator": 0})) == 1
    assert weight_column(["left", "weight"], Voting("pairs", {"left": 0, "seconds": 1})) is None
    assert weight_column(["left", "right"], Voting("pairs", {})) is None


def test_rows_with_bad_weights_are_refused_and_others_say_that_theirs_do_not_count(project):
    set_task(project, "pair", 2)
    content = HEAD + "".join(ROW + cell + "\n" for cell in ("1", "2", "-3", "0", "", "0.5", "many"))
    job = take(project, content.encode(), "weighted.csv", leave_out=True)
    assert (job.state, job.n_bad, job.n_written, job.mapping["weighted"]) == ("done", 3, 4, 2)
    assert [place for place, _why in job.errors] == [4, 5, 8]
    assert "“-3”" in job.errors[0][1]
    assert "does not count" in job.errors[1][1]


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("annotator,winner,loser,weight\nu,item-0,item-1,3\n", ("pair", 2, None)),
        ("annotator,ranking,weight\nu,item-2;item-0;item-1,3\n", ("ranking", 3, None)),
        ("annotator,chosen,set,weight\nu,item-2,item-0;item-1;item-2,3\n", ("best", 3, None)),
    ],
)
def test_every_layout_of_the_engine_says_so(project, text, task):
    set_task(project, *task)
    assert take(project, text.encode(), "weighted.csv").mapping["weighted"] == 1
    assert take(project, text.replace(",3\n", ",heavy\n").encode(), "worse.csv", leave_out=True).n_bad == 1


@pytest.mark.slow
def test_the_preview_and_the_import_say_so(project, alice):
    set_task(project, "pair", 2)
    reader = signed_in(alice)

    def preview(content: str) -> str:
        file = SimpleUploadedFile("weighted.csv", content.encode())
        address = reverse("comparisons-import", args=[project.pk])
        return reader.post(address, {"file": file}, follow=True).content.decode()

    html = preview(HEAD + ROW + "2\n" + ROW + "1\n" + ROW + "7\n")
    assert LEFT in html
    assert "2 rows give weights other than 1" in html
    assert LEFT not in preview(HEAD + ROW + "1\n")
    assert "The weight “heavy” is not a number" in preview(HEAD + ROW + "heavy\n")
    job = take(project, (HEAD + ROW + "2\n").encode(), "weighted.csv")
    page = reader.get(reverse("import-job", args=[project.pk, job.pk])).content.decode()
    assert "1 row gives a weight other than 1" in page
