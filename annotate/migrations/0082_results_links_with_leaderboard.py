"""Results links show the leaderboard only where their owner says so."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0081_short_addresses"),
    ]

    operations = [
        migrations.AddField(
            model_name="resultslink",
            name="shows_leaderboard",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
