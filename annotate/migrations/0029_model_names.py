import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Gives models the names of the field; tables and columns keep theirs, so that nothing is done in the database."""

    dependencies = [("annotate", "0028_engine_processes")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("StoredAnswer", "StoredResponse"),
                migrations.AlterModelTable("StoredResponse", "annotate_storedanswer"),
                migrations.RenameModel("FurtherAnswer", "CriterionAnswer"),
                migrations.AlterModelTable("CriterionAnswer", "annotate_furtheranswer"),
                migrations.RenameModel("KnownSet", "GoldSet"),
                migrations.AlterModelTable("GoldSet", "annotate_knownset"),
                migrations.RenameModel("NeverShown", "ConflictOfInterest"),
                migrations.AlterModelTable("ConflictOfInterest", "annotate_nevershown"),
                migrations.RenameModel("Entry", "ParticipationRules"),
                migrations.AlterModelTable("ParticipationRules", "annotate_entry"),
                migrations.RenameModel("Field", "QuestionField"),
                migrations.AlterModelTable("QuestionField", "annotate_field"),
                migrations.RenameModel("FieldAnswer", "QuestionAnswer"),
                migrations.AlterModelTable("QuestionAnswer", "annotate_fieldanswer"),
                migrations.RenameModel("EngineState", "FitState"),
                migrations.AlterModelTable("FitState", "annotate_enginestate"),
                migrations.RenameModel("EngineProcess", "WorkerProcess"),
                migrations.AlterModelTable("WorkerProcess", "annotate_engineprocess"),
                migrations.RenameModel("Portrait", "TasteMap"),
                migrations.AlterModelTable("TasteMap", "annotate_portrait"),
                migrations.RenameModel("AnnotatorPortrait", "AnnotatorTaste"),
                migrations.AlterModelTable("AnnotatorTaste", "annotate_annotatorportrait"),
                migrations.CreateModel(
                    name="GoldSetItem",
                    fields=[
                        ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                        (
                            "gold_set",
                            models.ForeignKey(
                                db_column="knownset_id",
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotate.goldset",
                            ),
                        ),
                        (
                            "item",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotate.item"
                            ),
                        ),
                    ],
                    options={"db_table": "annotate_knownset_items", "unique_together": {("gold_set", "item")}},
                ),
                migrations.RemoveField("goldset", "items"),
                migrations.AddField(
                    "goldset",
                    "items",
                    models.ManyToManyField(
                        related_name="known_sets", through="annotate.GoldSetItem", to="annotate.item"
                    ),
                ),
            ]
        ),
    ]
