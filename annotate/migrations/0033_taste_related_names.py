import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Names the ways back to taste maps and tastes after them; the tables stay as they are."""

    dependencies = [("annotate", "0032_item_names")]

    operations = [
        migrations.AlterField(
            model_name="annotatortaste",
            name="annotator",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="tastes", to="annotate.annotator"
            ),
        ),
        migrations.AlterField(
            model_name="tastemap",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="taste_maps",
                to="annotate.project",
            ),
        ),
    ]
