from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds the title that owners give an item; items that are there have none."""

    dependencies = [("annotate", "0031_expert_results")]

    operations = [
        migrations.AddField(
            model_name="item",
            name="name",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
    ]
