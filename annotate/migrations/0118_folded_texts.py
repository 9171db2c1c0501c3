from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0117_further_tasks"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="folds_long_texts",
            field=models.BooleanField(db_default=False, default=False, verbose_name="long texts are folded"),
        ),
    ]
