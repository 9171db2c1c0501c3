"""Results links: whether they show how the ranking was computed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotate", "0057_embedding")]

    operations = [
        migrations.AddField(
            model_name="resultslink", name="shows_methods", field=models.BooleanField(default=False)
        ),
    ]
