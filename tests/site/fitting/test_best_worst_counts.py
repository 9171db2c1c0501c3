"""Best minus worst over shown, beside the model's score, against a count by hand."""

from django.urls import reverse

from annotate.fitting.stored_best_worst import best_worst_counts
from annotate.models import Label
from models_engine.models import Fit
from tests.conftest import make_annotator
from tests.site.fitting.test_run import fit_now
from tests.site.labelling.test_task_types import next_for, send
from tests.site.pages import signed_in
from tests.site.publishing.test_more_exports import lines
from tests.site.task_types import form_of, set_task


def test_counts_are_those_by_hand_in_the_export_and_on_the_item_page(project, alice):
    set_task(project, "best_worst", 4, overlap=50)
    for name in ("Otter", "Newt"):
        annotator = make_annotator(project, name)
        for n in range(3):
            send(next_for(annotator), form_of(project, [n, 3 if n != 3 else 0]))
    fit_now(project)
    tally = {pk: [0, 0, 0] for pk in project.items.values_list("pk", flat=True)}
    for label in Label.objects.all():
        for shown in label.presentation.presented.order_by("position"):
            rank = label.ranks[shown.position]
            tally[shown.item_id][0] += rank == "0"
            tally[shown.item_id][1] += rank == "2"
            tally[shown.item_id][2] += 1
    found = best_worst_counts(Fit.objects.get(published=True))
    assert {pk: [one.best, one.worst, one.shown] for pk, one in found.items()} == {
        pk: counts for pk, counts in tally.items() if counts[2]
    }
    item = project.items.first()
    best, worst, shown = tally[item.pk]
    owner = signed_in(alice)
    [row] = [one for one in lines(owner, project, "ranking") if one["item"] == item.key]
    assert (row["n_best"], row["n_worst"], row["best_worst"]) == (best, worst, (best - worst) / shown)
    assert "Best minus worst" in owner.get(reverse("item", args=[project.pk, item.pk])).content.decode()


def test_other_tasks_have_none(project, alice):
    annotator = make_annotator(project, "Otter")
    send(next_for(annotator), {"answer": "a"})
    fit_now(project)
    assert best_worst_counts(Fit.objects.get(published=True)) == {}
    assert {row["best_worst"] for row in lines(signed_in(alice), project, "ranking")} == {None}
