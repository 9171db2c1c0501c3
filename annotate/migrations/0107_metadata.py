from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("annotate", "0106_sections"),
    ]

    operations = [
        migrations.AddField(
            model_name='item',
            name='metadata',
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
        migrations.AddField(
            model_name='project',
            name='shown_metadata',
            field=models.JSONField(blank=True, db_default=[], default=list, verbose_name='metadata shown'),
        ),
        migrations.AddField(
            model_name='project',
            name='marks_differences',
            field=models.BooleanField(db_default=False, default=False, verbose_name='differences are marked'),
        ),
    ]
