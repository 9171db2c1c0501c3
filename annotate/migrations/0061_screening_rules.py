"""Screening rules: failed checks that screen out, which rule did, and whether such answers count."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import migrations, models

VOID_REASONS = [
    ("undone", "Undone by the annotator"),
    ("excluded", "Annotator excluded"),
    ("screened", "Annotator screened out by a rule of the project"),
    ("late", "Came after its lease had run out and others had filled the overlap"),
]
RULES = [
    ("practice", "Practice failed"),
    ("attention", "Attention checks failed"),
    ("gold", "Gold questions failed"),
]


def limit(name):
    return models.PositiveSmallIntegerField(
        name, null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )


class Migration(migrations.Migration):
    dependencies = [("annotate", "0060_results_links_with_methods")]

    operations = [
        migrations.AddField("project", "attention_fails", limit("failed attention checks that screen out")),
        migrations.AddField("project", "gold_fails", limit("failed gold questions that screen out")),
        migrations.AddField(
            "project",
            "count_screened_out",
            models.BooleanField("answers of people screened out count", default=False),
        ),
        migrations.AddField(
            "annotator", "screened_out_by", models.CharField(max_length=10, choices=RULES, blank=True, default=""),
            preserve_default=False,
        ),
        migrations.RunSQL(
            "UPDATE annotate_annotator SET screened_out_by = 'practice' WHERE screened_out_at IS NOT NULL",
            migrations.RunSQL.noop,
        ),
        migrations.AlterField(
            "label", "void_reason", models.CharField(max_length=10, choices=VOID_REASONS, blank=True)
        ),
    ]
