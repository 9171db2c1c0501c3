"""Numbers about annotators may be imported: fields of the questionnaire that nobody is asked."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotate", "0125_measured_pictures")]

    operations = [
        migrations.AddField(
            "project", "fields_imported", models.PositiveBigIntegerField(db_default=0, default=0, editable=False)
        ),
        migrations.AlterField(
            "questionfield",
            "kind",
            models.CharField(
                choices=[
                    ("text", "Short text"),
                    ("number", "Whole number"),
                    ("choice", "One of a list"),
                    ("yes_no", "Yes or no"),
                    ("imported", "Imported number, not asked"),
                ],
                max_length=10,
            ),
        ),
        migrations.AlterField(
            "importjob",
            "kind",
            models.CharField(
                choices=[
                    ("items", "Items"),
                    ("media", "Media files"),
                    ("comparisons", "Comparisons"),
                    ("features", "Features of items"),
                    ("questions", "Given questions"),
                    ("counts", "Counts"),
                    ("measured", "Measured pictures"),
                    ("annotators", "Features of annotators"),
                ],
                max_length=15,
            ),
        ),
    ]
