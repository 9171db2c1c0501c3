from django.db import migrations, models


class Migration(migrations.Migration):
    """Owners' own words for the best, the worst, the buttons and the line above the items."""

    dependencies = [("annotate", "0029_model_names")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="best_words",
            field=models.CharField(blank=True, default="", max_length=40, verbose_name="words for the best"),
        ),
        migrations.AddField(
            model_name="project",
            name="worst_words",
            field=models.CharField(blank=True, default="", max_length=40, verbose_name="words for the worst"),
        ),
        migrations.AddField(
            model_name="project",
            name="choice_words",
            field=models.CharField(blank=True, default="", max_length=60, verbose_name="words on the buttons"),
        ),
        migrations.AddField(
            model_name="project",
            name="instruction_line",
            field=models.CharField(blank=True, default="", max_length=200, verbose_name="line above the items"),
        ),
    ]
