"""A short code that stands for the join link, where the owner wants one."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0080_item_comments_and_entry_links"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="join_code",
            field=models.CharField(blank=True, default=None, editable=False, max_length=7, null=True, unique=True),
        ),
    ]
