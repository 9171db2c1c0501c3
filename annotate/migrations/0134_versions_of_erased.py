"""Exclusions of people who were erased later say "(erased)" for the version of the data, which is a number or not there."""

from django.db import migrations


def drop_versions(apps, schema_editor):
    events = apps.get_model("annotate", "Event").objects.filter(details__version="(erased)")
    for event in events.iterator():
        del event.details["version"]
        event.save(update_fields=["details"])


class Migration(migrations.Migration):
    dependencies = [("annotate", "0133_conflicts_by_presentation")]

    operations = [migrations.RunPython(drop_versions, migrations.RunPython.noop, elidable=True)]
