"""The site as a Django app."""

from django.apps import AppConfig
from django.db.backends.signals import connection_created

from annotate.core.sqlite_file import protect_new_file


class AnnotateConfig(AppConfig):
    name = "annotate"
    verbose_name = "Crowdrank"

    def ready(self) -> None:
        connection_created.connect(protect_new_file, dispatch_uid="protect_new_file")
