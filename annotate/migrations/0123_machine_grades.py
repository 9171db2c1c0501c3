"""Machines say how much better an item is, as people do."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("annotate", "0122_machine_sets_cohort_boards")]

    operations = [
        migrations.AddField(
            "machineanswer",
            "grade",
            models.CharField(
                blank=True,
                choices=[("slightly", "Slightly"), ("clearly", "Clearly")],
                db_default="",
                default="",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            "machineanswer",
            models.CheckConstraint(
                condition=Q(grade="") | Q(outcome="choice"), name="only_a_machines_choice_is_graded"
            ),
        ),
    ]
