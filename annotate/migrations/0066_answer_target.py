import django.core.validators
from django.db import migrations, models

LIMITS = [django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100_000)]


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0065_items_shown_by"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="target",
            field=models.PositiveIntegerField(
                blank=True, null=True, validators=LIMITS, verbose_name="answers asked of each annotator"
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="annotators_expected",
            field=models.PositiveIntegerField(
                blank=True, null=True, validators=LIMITS, verbose_name="annotators expected"
            ),
        ),
    ]
