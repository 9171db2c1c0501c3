"""For test_upgrade.py: a database of the first version with labels, upgraded in place, in two steps.

`walk` goes on to the version before machines answered about sets, puts some of theirs in and prints what was there;
`upgrade` is told that on its standard input, goes on to the last version and prints what it finds.
"""

import gc
import json
import sys
from datetime import UTC, datetime, timedelta

import django

gc.disable()  # every migration makes all models anew; looking through them for garbage takes a third of the time
django.setup()

from django.core.management import CommandError, call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.migrations.executor import MigrationExecutor  # noqa: E402
from django.db.migrations.loader import MigrationLoader  # noqa: E402

from annotate import models as now_models  # noqa: E402
from annotate.criteria import Criterion  # noqa: E402
from annotate.fitting.reading import read_labels  # noqa: E402
from annotate.labelling.actions import Answer, record_label  # noqa: E402
from annotate.labelling.item_sets import set_key  # noqa: E402
from annotate.management.commands.serve import prepare_database  # noqa: E402
from tests.site.database_schema import tables  # noqa: E402
from tests.site.schema_machines import BEFORE, fill_machines, machines_of  # noqa: E402

AT = datetime(2026, 1, 5, 9, tzinfo=UTC)
COLUMNS = ["pk", "annotator_id", "outcome", "chosen_id", "created_at", "response_ms", "session", "void_reason"]


def migrate_to(annotate: str, models_engine: str | None = None):
    """The models of that version, with its tables made; without a version of models_engine its last one."""
    executor = MigrationExecutor(connection)
    executor.loader = MigrationLoader(connection, replace_migrations=False)  # one after the other, none squashed
    [last] = [one for one in executor.loader.graph.leaf_nodes("models_engine") if "squashed" not in one[1]]
    nodes = [("annotate", annotate), ("models_engine", models_engine or last[1])]
    executor.migrate(nodes)
    return executor.loader.project_state(nodes).apps


def fill(apps):
    """Two people who answered, one label voided, one presentation open; the token of that."""

    def model(name):
        return apps.get_model("annotate", name)

    user = model("User").objects.create(username="alice", email="alice@example.org")
    project = model("Project").objects.create(name="Old", question="Which?", state="open", estimator="BradleyTerry")
    model("Membership").objects.create(project=project, user=user, role="owner")
    items = [model("Item").objects.create(project=project, key=f"i{i}", body=f"Text {i}") for i in range(4)]
    model("Item").objects.create(project=project, key="p", kind="image", body="A square", image="items/square.png")
    pairs = [(0, 1), (2, 1), (3, 0), (1, 3), (2, 3)]
    for n, name in enumerate(("Otter", "Heron")):
        person = model("Annotator").objects.create(project=project, pseudonym=name, source="link")
        for place, pair in enumerate(pairs):
            shown = [items[i] for i in pair]
            is_open = n == 1 and place == len(pairs) - 1
            item_set, _ = model("ItemSet").objects.get_or_create(
                project=project, key=set_key([one.pk for one in shown])
            )
            item_set.n_taken += 1
            item_set.save()
            at = AT + timedelta(minutes=place)
            presentation = model("Presentation").objects.create(
                project=project,
                annotator=person,
                item_set=item_set,
                state="open" if is_open else "answered",
                created_at=at,
                leased_until=at + timedelta(days=10_000),
            )
            for position, item in enumerate(shown):
                model("PresentedItem").objects.create(presentation=presentation, item=item, position=position)
            if is_open:
                return presentation.token
            outcome = "tie" if place == 2 else "choice"
            label = model("Label").objects.create(
                project=project,
                presentation=presentation,
                annotator=person,
                outcome=outcome,
                chosen=None if outcome == "tie" else shown[n],
                created_at=at,
                response_ms=900 + place,
                session="abc",
                app_version="0.0.1",
            )
            if (n, place) == (0, 1):
                label.voided_at, label.void_reason = at, "undone"
                label.save()
                presentation.state = "voided"
                presentation.save()
    raise AssertionError


def labels(model):
    return [[str(value) for value in row] for row in model.objects.order_by("pk").values_list(*COLUMNS)]


def walk():
    apps = migrate_to("0001_initial", "0001_initial")
    token = fill(apps)
    before = labels(apps.get_model("annotate", "Label"))
    try:
        prepare_database()
        refused = ""
    except CommandError as error:
        refused = str(error)
    fill_machines(migrate_to(BEFORE))
    connection.close()  # so that all of it is in the one file
    return {"token": str(token), "before": before, "refused": refused}


def upgrade(walked):
    call_command("migrate", verbosity=0, interactive=False)
    after = labels(now_models.Label)
    presentation = now_models.Presentation.objects.get(token=walked["token"])
    record_label(presentation=presentation, answer=Answer("choice", chosen=0), now=AT + timedelta(days=1))
    project = now_models.Project.objects.get(name="Old")
    picture = now_models.Item.objects.get(key="p")
    found = read_labels(Criterion(project))
    return walked | {
        "after": after,
        "n_fitted": found.data.n_labels,
        "members": list(project.memberships.values_list("user__email", "role")),
        "picture": [picture.kind, picture.media.name],
        "task": [project.task_type, project.k],
        "schema": tables(),
        "machines": {task: machines_of(now_models.Project.objects.get(name=task)) for task in ("pair", "ranking")},
    }


print(json.dumps(walk() if sys.argv[1] == "walk" else upgrade(json.load(sys.stdin))))
