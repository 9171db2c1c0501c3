"""Questions about an item never compared may begin from its predicted place."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotate", "0129_label_archives")]

    operations = [
        migrations.AddField(
            model_name="item",
            name="asked_by_prediction",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddIndex(
            model_name="item",
            index=models.Index(
                condition=models.Q(("asked_by_prediction", False), ("n_taken__lt", 4), ("retired_at", None)),
                fields=["project", "n_taken", "shuffle"],
                name="item_rarely_shown",
            ),
        ),
    ]
