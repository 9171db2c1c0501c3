"""For test_upgrade.py: what machines answered about pairs, before they answered about sets; prints what it finds."""

import json
from datetime import UTC, datetime

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.migrations.executor import MigrationExecutor  # noqa: E402
from django.db.migrations.loader import MigrationLoader  # noqa: E402

from annotate import models as now_models  # noqa: E402
from annotate.criteria import Criterion  # noqa: E402
from annotate.fitting.reading import read_labels  # noqa: E402

AT = datetime(2026, 11, 5, 9, tzinfo=UTC)
BEFORE = ("annotate", "0121_returns")


def fill(apps):
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


def found(project):
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


if __name__ == "__main__":
    executor = MigrationExecutor(connection)
    executor.loader = MigrationLoader(connection, replace_migrations=False)  # BEFORE is one of those squashed
    nodes = [BEFORE, *(one for one in executor.loader.graph.leaf_nodes("models_engine") if "squashed" not in one[1])]
    executor.migrate(nodes)
    fill(executor.loader.project_state(nodes).apps)
    call_command("migrate", verbosity=0)
    print(json.dumps({project.name: found(project) for project in now_models.Project.objects.all()}))
