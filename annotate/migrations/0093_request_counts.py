"""Adds the counts of requests that /metrics shows."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotate", "0091_machines")]

    operations = [
        migrations.CreateModel(
            name="RequestCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=20)),
                ("status", models.PositiveSmallIntegerField()),
                ("at_most_ms", models.PositiveIntegerField()),
                ("n", models.PositiveBigIntegerField(default=0)),
                ("milliseconds", models.PositiveBigIntegerField(default=0)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "status", "at_most_ms"), name="one_count_of_requests")
                ],
            },
        ),
    ]
