from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0063_words_of_every_button"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="items_shown_by",
            field=models.CharField(
                choices=[
                    ("title", "Title; where there is none, the first words"),
                    ("text", "First words"),
                    ("both", "Title and first words"),
                ],
                default="title",
                max_length=5,
                verbose_name="items are shown by",
            ),
        ),
    ]
