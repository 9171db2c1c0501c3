"""A portrait for each criterion: its table is made anew, for the project was its primary key, and takes the rows over."""

import django.db.models.deletion
from django.db import migrations, models

KEPT = (
    "project_id, fit_number, estimator, made_at, seconds, n_groups, n_grouped, bic, arrays, owner, lease_until, "
    "gave_way, not_before, message"
)
INTO_THE_NEW = f"INSERT INTO annotate_portrait (criterion, {KEPT}) SELECT 1, {KEPT} FROM annotate_formerportrait"
BACK = f"INSERT INTO annotate_formerportrait ({KEPT}) SELECT {KEPT} FROM annotate_portrait WHERE criterion = 1"


class Migration(migrations.Migration):
    dependencies = [("annotate", "0026_failing_criteria")]

    operations = [
        migrations.RenameModel("Portrait", "FormerPortrait"),
        migrations.CreateModel(
            name="Portrait",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("criterion", models.PositiveSmallIntegerField(default=1)),
                ("fit_number", models.PositiveIntegerField(blank=True, null=True)),
                ("estimator", models.CharField(blank=True, max_length=50)),
                ("made_at", models.DateTimeField(blank=True, null=True)),
                ("seconds", models.FloatField(default=0)),
                ("n_groups", models.PositiveIntegerField(default=0)),
                ("n_grouped", models.PositiveIntegerField(default=0)),
                ("bic", models.JSONField(default=list)),
                ("arrays", models.BinaryField(null=True)),
                ("owner", models.CharField(blank=True, max_length=100)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("gave_way", models.PositiveIntegerField(default=0)),
                ("not_before", models.DateTimeField(blank=True, null=True)),
                ("message", models.TextField(blank=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="portraits",
                        to="annotate.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "criterion"), name="one_portrait_per_criterion")
                ],
            },
        ),
        migrations.RunSQL(INTO_THE_NEW, BACK),
        migrations.DeleteModel("FormerPortrait"),
        migrations.AddField("annotatorportrait", "criterion", models.PositiveSmallIntegerField(default=1)),
        migrations.AddField("cohortcomparison", "criterion", models.PositiveSmallIntegerField(default=1)),
        migrations.RemoveConstraint("cohortcomparison", "one_comparison_of_two_cohorts"),
        migrations.AddConstraint(
            "cohortcomparison",
            models.UniqueConstraint(
                fields=("project", "criterion", "by", "first", "second"), name="one_comparison_of_two_cohorts"
            ),
        ),
    ]
