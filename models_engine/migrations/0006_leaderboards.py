"""Adds the leaderboards of fits."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("models_engine", "0005_scores_and_classes")]

    operations = [
        migrations.CreateModel(
            name="Leaderboard",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("board", models.JSONField()),
                (
                    "fit",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="leaderboard",
                        to="models_engine.fit",
                    ),
                ),
            ],
        ),
    ]
