"""Names who made an item, and the features that the leaderboard holds equal."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0073_lti"),
    ]

    operations = [
        migrations.AddField(
            model_name="item",
            name="competitor",
            field=models.CharField(blank=True, db_default="", default="", max_length=100),
        ),
        migrations.AddField(
            model_name="project",
            name="has_competitors",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name="project",
            name="style_features",
            field=models.JSONField(
                db_default=[], default=list, editable=False, verbose_name="held equal on the leaderboard"
            ),
        ),
    ]
