"""Forms that search annotators by tag and add tags to those selected or by a table."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.annotators.tags.queries import tag_names
from annotate.items.forms import MOST_TAGS, TagsField
from annotate.models import Project


class SearchForm(forms.Form):
    """Bound to GET; what is not valid counts as not asked for."""

    q = forms.CharField(
        label=_("Find an annotator"), required=False, max_length=100, widget=forms.TextInput(attrs={"type": "search"})
    )
    tag = forms.ChoiceField(label=_("Tag"), required=False)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = tag_names(project)[:MOST_TAGS]
        self.fields["tag"].choices = [("", _("All")), *((name, name) for name in names)]  # type: ignore[attr-defined]

    def asked(self) -> dict[str, str]:
        self.is_valid()
        return {name: self.cleaned_data.get(name, "") for name in ("q", "tag")}


class SelectedForm(forms.Form):
    action = forms.ChoiceField(choices=[("tag", ""), ("untag", "")])
    tags = TagsField(label=_("Tags"), help_text=_("Separated by commas. For example: experts, Berlin"))


class TableForm(forms.Form):
    table = forms.CharField(
        label=_("Table"),
        strip=False,
        max_length=2_000_000,
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto", "spellcheck": "false"}),
        help_text=_("Separate columns with commas, semicolons or tabs, or paste from a spreadsheet."),
    )
