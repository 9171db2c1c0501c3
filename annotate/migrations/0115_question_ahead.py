from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0110_told_full"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="question_ahead",
            field=models.BooleanField(db_default=True, default=True, verbose_name="next question held ready"),
        ),
        migrations.AddField(
            model_name="presentation",
            name="ahead",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RemoveConstraint(
            model_name="presentation",
            name="one_open_presentation",
        ),
        migrations.AddConstraint(
            model_name="presentation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "open")),
                fields=("annotator", "ahead"),
                name="one_open_presentation_and_one_ahead",
            ),
        ),
    ]
