"""A message of a webhook that was switched off is dropped, and says so."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotate", "0131_provisional_rankings")]

    operations = [
        migrations.AlterField(
            model_name="webhookdelivery",
            name="state",
            field=models.CharField(
                choices=[
                    ("waiting", "Waiting"),
                    ("delivered", "Delivered"),
                    ("failed", "Not delivered"),
                    ("dropped", "Dropped: the webhook was switched off"),
                ],
                default="waiting",
                max_length=10,
            ),
        ),
    ]
