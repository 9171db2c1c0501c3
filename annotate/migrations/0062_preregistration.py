"""Preregistration: a project's frozen plan, and the deviations from it."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

ID = ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"))


def actor():
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=django.db.models.deletion.SET_NULL,
        related_name="+",
    )


class Migration(migrations.Migration):
    dependencies = [("annotate", "0061_screening_rules")]

    operations = [
        migrations.CreateModel(
            name="Preregistration",
            fields=[
                ID,
                ("document", models.TextField()),
                ("digest", models.CharField(max_length=64)),
                ("current", models.JSONField()),
                ("n_labels", models.PositiveIntegerField()),
                ("at", models.DateTimeField()),
                ("actor", actor()),
                (
                    "project",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="preregistration",
                        to="annotate.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Deviation",
            fields=[
                ID,
                ("field", models.CharField(max_length=50)),
                ("before", models.JSONField(null=True)),
                ("after", models.JSONField(null=True)),
                ("n_labels", models.PositiveIntegerField()),
                ("at", models.DateTimeField()),
                ("reason", models.CharField(max_length=1000, blank=True)),
                ("actor", actor()),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="deviations", to="annotate.project"
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["project", "at"], name="deviations_of_project")]},
        ),
    ]
