from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0107_metadata"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="media_captions",
            field=models.CharField(
                choices=[
                    ("none", "Nothing"),
                    ("title", "Its title"),
                    ("text", "Its text"),
                    ("both", "Title and text"),
                ],
                db_default="none",
                default="none",
                max_length=5,
                verbose_name="under images and recordings",
            ),
        ),
    ]
