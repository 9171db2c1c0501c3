from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0067_item_pages"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="anchors",
            field=models.JSONField(blank=True, default=dict, editable=False, verbose_name="anchors of the scale"),
        ),
    ]
