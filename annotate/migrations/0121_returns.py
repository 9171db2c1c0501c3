from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0118_folded_texts"),
    ]

    operations = [
        migrations.AddField(
            model_name="labelforecast",
            name="returns",
            field=models.JSONField(db_default={}, default=dict),
        ),
    ]
