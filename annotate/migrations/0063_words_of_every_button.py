"""Owners' own words for every button of the task."""

from django.db import migrations, models

WORDS = [
    ("slightly_words", "words for slightly", 60),
    ("clearly_words", "words for clearly", 60),
    ("tie_words", "words for a tie", 40),
    ("both_good_words", "words for both good", 40),
    ("both_bad_words", "words for both bad", 40),
    ("cant_judge_words", "words for can't judge", 40),
    ("skip_words", "words for skipping", 40),
]


class Migration(migrations.Migration):
    dependencies = [("annotate", "0062_preregistration")]

    operations = [
        migrations.AddField("project", name, models.CharField(words, blank=True, default="", max_length=length))
        for name, words, length in WORDS
    ]
