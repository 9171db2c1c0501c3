"""Who deletes a presentation finds what was declared in it without reading every declaration."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotate", "0132_dropped_deliveries")]

    operations = [
        migrations.AddIndex(
            model_name="conflictofinterest",
            index=models.Index(
                condition=models.Q(("declared_in__isnull", False)),
                fields=["declared_in"],
                name="conflicts_by_presentation",
            ),
        ),
    ]
