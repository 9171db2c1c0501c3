"""Which of the items' metadata annotators see: the names that there are, and others that are still to come."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.files.limits import MAX_METADATA, MAX_METADATA_NAME
from annotate.items.metadata import metadata_names
from annotate.models import Project


class NamesField(forms.MultipleChoiceField):
    """Names, of which some are offered; others may be given as well, such as by the API before the items come."""

    def valid_value(self, value: str) -> bool:
        return 0 < len(value) <= MAX_METADATA_NAME

    def validate(self, value: list[str]) -> None:
        super().validate(value)
        if len(value) > MAX_METADATA:
            raise forms.ValidationError(
                _("These are %(n)d names; the limit is %(limit)d."), params={"n": len(value), "limit": MAX_METADATA}
            )


def metadata_choices(project: Project, section: str) -> list[tuple[str, str]]:
    """Return the names chosen before and, on the page that asks for them, those that the items' metadata have."""
    asked = section == "answers" and not project._state.adding
    names = [*project.shown_metadata, *(metadata_names(project) if asked else ())]
    return [(name, name) for name in dict.fromkeys(names)]
