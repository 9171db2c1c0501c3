"""Between fits that take long, the ranking is updated with the newest answers."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotate", "0130_asked_by_prediction")]

    operations = [
        migrations.CreateModel(
            name="ProvisionalRanking",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("owner", models.CharField(blank=True, max_length=100)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("criterion", models.PositiveSmallIntegerField(default=1)),
                ("fit_number", models.PositiveIntegerField()),
                ("last_label", models.PositiveBigIntegerField(default=0)),
                ("version", models.PositiveBigIntegerField()),
                ("n_newest", models.PositiveIntegerField(default=0)),
                ("rows", models.BinaryField(null=True)),
                ("made_at", models.DateTimeField(blank=True, null=True)),
                ("not_before", models.DateTimeField(blank=True, null=True)),
                ("message", models.TextField(blank=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="provisional_rankings",
                        to="annotate.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project", "criterion"), name="one_provisional_ranking_per_criterion"
                    )
                ],
            },
        ),
    ]
