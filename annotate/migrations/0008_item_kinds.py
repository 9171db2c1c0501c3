import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0007_hours_and_pauses"),
    ]

    operations = [
        migrations.CreateModel(
            name="Context",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("text", "Text"), ("markdown", "Markdown"), ("html", "HTML")],
                        default="text",
                        max_length=10,
                    ),
                ),
                ("body", models.TextField()),
                ("digest", models.CharField(max_length=64)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="contexts", to="annotate.project"
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="context",
            constraint=models.UniqueConstraint(fields=("project", "digest"), name="one_context_per_text"),
        ),
        migrations.RemoveConstraint(model_name="item", name="image_items_have_an_image"),
        migrations.RenameField(model_name="item", old_name="image", new_name="media"),
        migrations.AlterField(
            model_name="item", name="media", field=models.FileField(blank=True, upload_to="items/")
        ),
        migrations.AddField(
            model_name="item", name="link", field=models.CharField(blank=True, default="", max_length=2000), preserve_default=False
        ),
        migrations.AlterField(
            model_name="item",
            name="kind",
            field=models.CharField(
                choices=[
                    ("text", "Text"),
                    ("markdown", "Markdown"),
                    ("html", "HTML"),
                    ("image", "Image"),
                    ("audio", "Audio"),
                    ("video", "Video"),
                    ("link", "Link"),
                ],
                default="text",
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="item",
            name="context",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="items",
                to="annotate.context",
            ),
        ),
        migrations.AddConstraint(
            model_name="item",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind__in", ["image", "audio", "video"]), ("link", ""), models.Q(("media", ""), _negated=True)),
                    models.Q(("kind", "link"), ("media", ""), models.Q(("link", ""), _negated=True)),
                    models.Q(("kind__in", ["text", "markdown", "html"]), ("link", ""), ("media", "")),
                    _connector="OR",
                ),
                name="what_its_kind_needs",
            ),
        ),
    ]
