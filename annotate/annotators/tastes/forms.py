"""Form that chooses what the taste map shows."""

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotate.dashboard.forms import QueryForm
from models_engine.models import MAX_COMPONENTS


class TastesForm(QueryForm):
    x = forms.IntegerField(required=False, min_value=1, max_value=MAX_COMPONENTS, label=_("Horizontal axis"))
    y = forms.IntegerField(required=False, min_value=1, max_value=MAX_COMPONENTS, label=_("Vertical axis"))

    def __init__(self, data: QueryDict) -> None:
        super().__init__({"x": 1, "y": 2, **data.dict()})  # what is drawn without being asked for is shown as chosen

    def axes(self) -> tuple[int, int]:
        asked = self.cleaned()
        return asked.get("x", 1), asked.get("y", 2)
