"""Places of items never compared may be predicted from features, where that was found to help."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotate", "0127_measured_texts")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="predict_unseen",
            field=models.BooleanField(db_default=False, default=False, verbose_name="use what items look like"),
        ),
        migrations.CreateModel(
            name="PredictionGain",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("owner", models.CharField(blank=True, max_length=100)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("gave_way", models.PositiveIntegerField(default=0)),
                ("not_before", models.DateTimeField(blank=True, null=True)),
                ("message", models.TextField(blank=True)),
                ("crossings", models.PositiveSmallIntegerField(default=0)),
                ("given_up", models.PositiveIntegerField(blank=True, null=True)),
                ("criterion", models.PositiveSmallIntegerField(default=1)),
                ("n_labels", models.PositiveIntegerField(default=0)),
                ("fit_number", models.PositiveIntegerField(blank=True, null=True)),
                ("estimator", models.CharField(blank=True, max_length=50)),
                ("figures", models.JSONField(default=dict)),
                ("made_at", models.DateTimeField(blank=True, null=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="prediction_gains",
                        to="annotate.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "criterion"), name="one_prediction_gain_per_criterion")
                ],
            },
        ),
    ]
