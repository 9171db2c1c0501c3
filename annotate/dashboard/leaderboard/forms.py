"""Form of the features that the leaderboard holds equal."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.fitting.leaderboard.style import COMPUTED, MAX_STYLE_FEATURES
from annotate.models import FeatureNames, Project

MAX_OFFERED = 100  # beyond these a list to choose from helps nobody; the API takes any


class StyleForm(forms.Form):
    features = forms.MultipleChoiceField(
        label=_("Held equal"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("The board then stands twice: as it is, and as if all answers were alike in these."),
    )

    def __init__(self, project: Project, data: Any = None) -> None:
        super().__init__(data, initial={"features": project.style_features})
        names = known_features(project)[:MAX_OFFERED]
        choices = [*COMPUTED.items(), *((name, name) for name in names if name not in COMPUTED)]
        self.fields["features"].choices = choices  # type: ignore[attr-defined]

    def clean_features(self) -> list[str]:
        """Raise ValidationError for too many."""
        names: list[str] = self.cleaned_data["features"]
        if len(names) > MAX_STYLE_FEATURES:
            raise forms.ValidationError(
                _("These are %(n)d features; the limit is %(limit)d. Choose fewer."),
                params={"n": len(names), "limit": MAX_STYLE_FEATURES},
            )
        return names


def known_features(project: Project) -> list[str]:
    return FeatureNames.objects.filter(project=project).values_list("names", flat=True).first() or []
