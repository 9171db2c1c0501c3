"""The engine as a Django app, for the tables of fits and estimates."""

from django.apps import AppConfig


class ModelsEngineConfig(AppConfig):
    name = "models_engine"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Engine"
