"""Counts of annotators and items, which a project may be ranked by in place of answers."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0123_machine_grades"),
    ]

    operations = [
        migrations.CreateModel(
            name="Count",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("count", models.PositiveBigIntegerField()),
                ("exposure", models.FloatField(db_default=1.0, default=1.0)),
                ("imported_at", models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name="project",
            name="evidence",
            field=models.CharField(
                choices=[("comparisons", "Comparisons"), ("counts", "Counts")],
                db_default="comparisons",
                default="comparisons",
                editable=False,
                max_length=11,
            ),
        ),
        migrations.AlterField(
            model_name="importjob",
            name="kind",
            field=models.CharField(
                choices=[
                    ("items", "Items"),
                    ("media", "Media files"),
                    ("comparisons", "Comparisons"),
                    ("features", "Features of items"),
                    ("questions", "Given questions"),
                    ("counts", "Counts"),
                ],
                max_length=15,
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("evidence", "comparisons"),
                    models.Q(("evidence", "counts"), ("state__in", ["draft", "paused", "closed"])),
                    _connector="OR",
                ),
                name="counts_are_not_answered",
            ),
        ),
        migrations.AddField(
            model_name="count",
            name="annotator",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="counts", to="annotate.annotator"
            ),
        ),
        migrations.AddField(
            model_name="count",
            name="item",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="counts", to="annotate.item"
            ),
        ),
        migrations.AddField(
            model_name="count",
            name="project",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="counts", to="annotate.project"
            ),
        ),
        migrations.AddConstraint(
            model_name="count",
            constraint=models.CheckConstraint(
                condition=models.Q(("count__range", (0, 1000000000))), name="a_count_within_reach"
            ),
        ),
        migrations.AddConstraint(
            model_name="count",
            constraint=models.CheckConstraint(
                condition=models.Q(("exposure__range", (1e-09, 1000000000.0))), name="an_exposure_above_zero"
            ),
        ),
    ]
