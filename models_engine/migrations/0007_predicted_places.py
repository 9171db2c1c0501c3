"""Places of items never compared may be predicted from their features."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("models_engine", "0006_leaderboards")]

    operations = [
        migrations.AddField("estimate", "predicted_in", models.PositiveIntegerField(null=True)),
    ]
