from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0096_chats"),
    ]

    operations = [
        migrations.AddField(
            model_name="evaluation",
            name="dismissed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
