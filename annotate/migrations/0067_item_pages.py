import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0066_answer_target"),
    ]

    operations = [
        migrations.AddField(
            model_name="item",
            name="n_pages",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.CreateModel(
            name="ItemPage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveSmallIntegerField()),
                ("media", models.FileField(upload_to="items/")),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="pages", to="annotate.item"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["media"], name="pages_with_media")],
                "constraints": [models.UniqueConstraint(fields=("item", "number"), name="one_page_per_number")],
            },
        ),
    ]
