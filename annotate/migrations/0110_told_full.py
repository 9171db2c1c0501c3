from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0109_media_captions"),
    ]

    operations = [
        migrations.AddField(
            model_name="fitstate",
            name="told_full",
            field=models.PositiveBigIntegerField(db_default=0, default=0),
        ),
    ]
