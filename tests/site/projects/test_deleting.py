"""Deleting a project takes the rows that protect others first."""

from django.apps import apps
from django.db import connection, models
from django.test.utils import CaptureQueriesContext

from annotate.models import Consent, ConsentText, Project
from annotate.participation.consent.actions import give_consent
from annotate.projects.actions import delete_project
from tests.conftest import NOW, make_annotator


def test_a_project_to_whose_text_people_agreed_can_be_deleted(project):
    text = ConsentText.objects.create(project=project, version="a" * 64, text="We keep your answers.", at=NOW)
    Project.objects.filter(pk=project.pk).update(consent_version=text.version)
    annotator = make_annotator(Project.objects.get(pk=project.pk), "Otter")
    assert give_consent(annotator=annotator, version=text.version, now=NOW)
    delete_project(project=project)
    assert not any(model.objects.exists() for model in (Project, Consent, ConsentText))


def test_what_protects_a_row_goes_before_it(project):
    """Whatever tables come later: deleting the project would raise ProtectedError."""
    with CaptureQueriesContext(
        connection,
    ) as captured:
        delete_project(project=project)
    deleted = [query["sql"].split()[2] for query in captured if query["sql"].startswith("DELETE FROM")]
    tables = [model for model in apps.get_models() if model._meta.app_label in ("annotate", "models_engine")]
    protecting = [
        (model, field)
        for model in tables
        for field in model._meta.get_fields()
        if isinstance(field, models.ForeignKey) and field.remote_field.on_delete is models.PROTECT
    ]
    assert len(protecting) > 5
    for model, field in protecting:
        table, protected = (f'"{one._meta.db_table}"' for one in (model, field.related_model))
        assert table in deleted, field
        if protected in deleted:
            assert deleted.index(table) < deleted.index(protected), field
