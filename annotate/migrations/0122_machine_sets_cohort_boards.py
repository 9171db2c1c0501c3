"""Machines answer about sets of any size: pairs become sets of two, and reports count sets. Leaderboards by cohort."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

BATCH = 500
ORDERED = ["best_worst", "ranking", "top"]
OUTCOMES = [
    ("choice", "Choice"),
    ("best_worst", "Best and worst"),
    ("ranking", "Ranking"),
    ("top", "Ranking of the best few"),
    ("tie", "Tie"),
    ("both_good", "Both good"),
    ("both_bad", "Both bad"),
    ("cant_judge", "Can't judge"),
    ("skip", "Skip"),
]


def batched(rows: Iterable[Any], n: int) -> Iterator[list[Any]]:
    left = iter(rows)
    while some := list(islice(left, n)):
        yield some


def pairs_to_sets(apps: Any, schema_editor: Any) -> None:
    answers = apps.get_model("annotate", "MachineAnswer").objects
    sets = apps.get_model("annotate", "MachineSet")
    links = sets.items.through
    for project in apps.get_model("annotate", "Project").objects.filter(annotators__source="machine").distinct():
        own = answers.filter(machine__annotator__project=project)
        pairs = {tuple(sorted(pair)) for pair in own.values_list("first_id", "second_id").iterator(5000)}
        for some in batched(sorted(pairs), BATCH):
            sets.objects.bulk_create(sets(project=project, key="-".join(map(str, pair))) for pair in some)
        known = dict(sets.objects.filter(project=project).values_list("key", "pk"))
        for some in batched(known.items(), BATCH):
            links.objects.bulk_create(
                links(machineset_id=pk, item_id=int(item)) for key, pk in some for item in key.split("-")
            )
        task = task_of_pairs(project)
        for some in batched(own.iterator(5000), BATCH):
            for one in some:
                low, high = sorted((one.first_id, one.second_id))
                one.item_set_id, one.shown, one.task = known[f"{low}-{high}"], "01" if one.first_id == low else "10", task
                one.outcome = "tie" if one.chosen_id is None else "choice"
                if task.startswith("ranking") and one.outcome == "choice":
                    one.outcome, one.ranks = "ranking", "01" if one.chosen_id == one.first_id else "10"
                    one.chosen_id = None
            answers.bulk_update(some, ["item_set_id", "shown", "task", "outcome", "ranks", "chosen_id"])


def task_of_pairs(project: Any) -> str:
    """Return the code of the kind of task with two items, of those that the project asks or asked."""
    kinds = [(project.task_type, project.k), *((one["task_type"], one["k"]) for one in project.further_tasks)]
    codes = [f"{name}:{k}" for name, k in kinds] + project.earlier_tasks
    return next((code for code in codes if code.split(":")[1] == "2"), "pair:2")


def count_sets(apps: Any, schema_editor: Any) -> None:
    for report in apps.get_model("annotate", "MachineReport").objects.exclude(figures={}):
        for one in report.figures.get("machines", []):
            one["n_sets"] = one.pop("n_pairs")
            one["places"] = []
        report.save(update_fields=["figures"])


def check_at_once(apps: Any, schema_editor: Any) -> None:
    """Have PostgreSQL check the new references now: it alters no table with checks to come."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


class Migration(migrations.Migration):
    dependencies = [("annotate", "0121_returns")]

    operations = [
        migrations.AddField("cohortcomparison", "boards", models.JSONField(db_default={}, default=dict)),
        migrations.CreateModel(
            name="MachineSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=220)),
                ("items", models.ManyToManyField(related_name="machine_sets", to="annotate.item")),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="machine_sets",
                        to="annotate.project",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("project", "key"), name="one_row_per_machine_set")]
            },
        ),
        *(
            migrations.RemoveConstraint("machineanswer", name)
            for name in (
                "one_machine_answer_per_order",
                "a_machine_compares_two_items",
                "a_machine_chooses_what_it_was_shown",
            )
        ),
        migrations.AddField(
            "machineanswer",
            "item_set",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="answers",
                to="annotate.machineset",
            ),
        ),
        migrations.AddField("machineanswer", "shown", models.CharField(default="", max_length=10), False),
        migrations.AddField("machineanswer", "task", models.CharField(default="", max_length=24), False),
        migrations.AddField(
            "machineanswer", "outcome", models.CharField(choices=OUTCOMES, default="tie", max_length=10), False
        ),
        migrations.AddField("machineanswer", "ranks", models.CharField(blank=True, default="", max_length=10), False),
        migrations.RunPython(pairs_to_sets, migrations.RunPython.noop),
        migrations.RunPython(count_sets, migrations.RunPython.noop),
        migrations.RunPython(check_at_once, migrations.RunPython.noop),
        migrations.AlterField(
            "machineanswer",
            "item_set",
            models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="answers", to="annotate.machineset"
            ),
        ),
        migrations.RemoveField("machineanswer", "first"),
        migrations.RemoveField("machineanswer", "second"),
        migrations.AddConstraint(
            "machineanswer",
            models.UniqueConstraint(
                fields=("machine", "criterion", "item_set", "task", "shown"), name="one_machine_answer_per_order"
            ),
        ),
        migrations.AddConstraint(
            "machineanswer",
            models.CheckConstraint(
                condition=Q(outcome="choice", chosen__isnull=False) | (~Q(outcome="choice") & Q(chosen__isnull=True)),
                name="a_machines_choice_names_its_item",
            ),
        ),
        migrations.AddConstraint(
            "machineanswer",
            models.CheckConstraint(
                condition=Q(outcome__in=ORDERED) & ~Q(ranks="") | ~Q(outcome__in=ORDERED) & Q(ranks=""),
                name="a_machines_order_says_its_ranks",
            ),
        ),
    ]
