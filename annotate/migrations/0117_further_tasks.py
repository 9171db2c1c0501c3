from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0115_question_ahead"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="further_tasks",
            field=models.JSONField(blank=True, db_default=[], default=list, verbose_name="further kinds of task"),
        ),
        migrations.AddField(
            model_name="project",
            name="earlier_tasks",
            field=models.JSONField(blank=True, db_default=[], default=list, editable=False),
        ),
        migrations.AddField(
            model_name="presentation",
            name="task",
            field=models.CharField(blank=True, db_default="", default="", max_length=24),
        ),
    ]
