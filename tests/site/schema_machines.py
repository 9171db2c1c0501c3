"""For schema_v1.py: what machines answered about pairs, before they answered about sets, and what becomes of it."""

from datetime import UTC, datetime

from annotate import models as now_models
from annotate.criteria import Criterion
from annotate.fitting.reading import read_labels

AT = datetime(2026, 11, 5, 9, tzinfo=UTC)
BEFORE = "0121_returns"


def fill_machines(apps):
    """Two projects, of pairs and of rankings of two, with three answers of a machine each: A, B, tie; and a report."""

    def model(name):
        return apps.get_model("annotate", name).objects

    for task in ("pair", "ranking"):
        project = model("Project").create(name=task, question="Which?", task_type=task, count_machines=True)
        items = [model("Item").create(project=project, key=f"i{i}", body=f"Text {i}") for i in range(3)]
        person = model("Annotator").create(project=project, pseudonym="Judge", source="machine", joined_at=AT)
        machine = model("Machine").create(annotator=person, program="a model")
        for first, second, chosen in ((0, 1, 0), (1, 0, 0), (2, 1, None)):
            model("MachineAnswer").create(
                machine=machine,
                first=items[first],
                second=items[second],
                chosen=None if chosen is None else items[chosen],
                created_at=AT,
            )
        figures = {"machines": [{"annotator": person.pk, "n_pairs": 3}]}
        model("MachineReport").create(project=project, asked_at=AT, status="ready", figures=figures)


def machines_of(project):
    """The machines' answers, what a fit reads of them, and how many sets the report counts."""
    answers = now_models.MachineAnswer.objects.filter(item_set__project=project).order_by("pk")
    keys = dict(project.items.values_list("pk", "key"))
    labels = read_labels(Criterion(project))
    assert labels is not None
    return {
        "answers": [
            [
                *(keys[int(pk)] for pk in one.item_set.key.split("-")),
                *(one.shown, one.task, one.outcome, keys.get(one.chosen_id), one.ranks, one.item_set.items.count()),
            ]
            for one in answers
        ],
        "read": [labels.data.items.tolist(), labels.data.ranks.tolist()],
        "reported": now_models.MachineReport.objects.get(project=project).figures["machines"][0]["n_sets"],
    }
