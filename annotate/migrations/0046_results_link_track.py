from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0045_overall_and_live"),
    ]

    operations = [
        migrations.AddField(
            model_name="resultslink",
            name="track",
            field=models.CharField(blank=True, default="", max_length=100),
        ),
    ]
