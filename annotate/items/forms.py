"""What owners ask of the list of items, and what they do to one of them."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.files.cells import TAG_SEPARATORS
from annotate.files.limits import MAX_COMPETITOR, MAX_TAG, MAX_TAGS, MAX_TITLE
from annotate.models import Project

MOST_TAGS = 300  # beyond these a list to choose from helps nobody


class TagsField(forms.CharField):
    """Names of tags in one line; a list without repeats."""

    def clean(self, value: Any) -> list[str]:
        """Raise ValidationError for a tag that is too long and for too many."""
        text = super().clean(value)
        tags = list(dict.fromkeys(name.strip() for name in TAG_SEPARATORS.split(text) if name.strip()))
        for tag in tags:
            if len(tag) > MAX_TAG:
                raise forms.ValidationError(
                    _("The tag “%(tag)s” has %(length)d characters; the limit is %(limit)d. Shorten it."),
                    params={"tag": f"{tag[:40]}…", "length": len(tag), "limit": MAX_TAG},
                )
        if len(tags) > MAX_TAGS:
            raise forms.ValidationError(
                _("These are %(n)d tags; the limit is %(limit)d at a time."), params={"n": len(tags), "limit": MAX_TAGS}
            )
        return tags


class ItemsForm(forms.Form):
    """Bound to GET; what is not valid counts as not asked for."""

    q = forms.CharField(
        label=_("Find an item"), required=False, max_length=200, widget=forms.TextInput(attrs={"type": "search"})
    )
    state = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[("", _("All")), ("active", _("In use")), ("retired", _("Retired"))],
    )
    tag = forms.ChoiceField(label=_("Tag"), required=False)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tags = list(project.tags.order_by("name").values_list("name", flat=True)[: MOST_TAGS + 1])
        if tags and len(tags) <= MOST_TAGS:
            self.fields["tag"].choices = [("", _("All")), *((tag, tag) for tag in tags)]  # type: ignore[attr-defined]
        else:
            del self.fields["tag"]

    def asked(self) -> dict[str, str]:
        self.is_valid()
        return {name: self.cleaned_data.get(name, "") for name in ("q", "state", "tag")}


class CompetitorField(forms.CharField):
    """The name of who made an item, in one line."""

    def __init__(self, **kwargs: Any) -> None:
        text = _("The competitor has %(show_value)d characters; the limit is %(limit_value)d. Shorten it.")
        super().__init__(
            **{"max_length": MAX_COMPETITOR, "required": False, "error_messages": {"max_length": text}, **kwargs}
        )

    def clean(self, value: Any) -> str:
        return " ".join(super().clean(value).split())


class ItemActionForm(forms.Form):
    """One button of one row."""

    item = forms.IntegerField(min_value=1, max_value=2**63 - 1)
    action = forms.ChoiceField(
        choices=[(name, "") for name in ("title", "competitor", "retire", "bring-back", "delete")]
    )
    title = forms.CharField(
        max_length=MAX_TITLE,
        required=False,
        error_messages={
            "max_length": _("The title has %(show_value)d characters; the limit is %(limit_value)d. Shorten it.")
        },
    )
    competitor = CompetitorField()


class ManyItemsForm(forms.Form):
    """What is done to the items chosen, or to all that the page's search finds."""

    action = forms.ChoiceField(
        choices=[(name, "") for name in ("tag", "untag", "name", "retire-all", "bring-back-all")]
    )
    tags = TagsField(label=_("Tags"), required=False, help_text=_("Divided by commas. For example: school, long"))
    competitor = CompetitorField(
        label=_("Competitor"), help_text=_("Who or what made them, such as a model. Leave it empty to name nobody.")
    )
    every = forms.BooleanField(
        label=_("All items that the search above finds, not only the selected ones"), required=False
    )

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if values.get("action") in ("tag", "untag") and not values.get("tags") and not self.errors:
            self.add_error("tags", _("No tag is given. Write one or more, divided by commas."))
        return values
