"""Texts are measured as an import of features."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0126_annotator_features"),
    ]

    operations = [
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
                    ("measured", "Measured pictures"),
                    ("measured_texts", "Measured texts"),
                    ("annotators", "Features of annotators"),
                ],
                max_length=15,
            ),
        ),
    ]
