from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("annotate", "0103_forecasts"),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='shared_places',
            field=models.BooleanField(db_default=False, default=False, verbose_name='places may be shared'),
        ),
        migrations.AddField(
            model_name='goldset',
            name='shared',
            field=models.JSONField(db_default=[], default=list),
        ),
    ]
