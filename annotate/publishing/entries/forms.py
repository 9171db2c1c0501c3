"""Forms of the page Comments: which items are meant."""

from django import forms

from annotate.models import Project


class TagForm(forms.Form):
    """tag: a tag of the project's items; empty for all items."""

    tag = forms.ChoiceField(required=False)

    def __init__(self, data: object, *, project: Project) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        names = project.tags.order_by("name").values_list("name", flat=True)
        field = self.fields["tag"]
        field.choices = [("", ""), *((name, name) for name in names)]  # type: ignore[attr-defined]

    @property
    def tags(self) -> list[str]:
        return [name for name, _words in self.fields["tag"].choices if name]  # type: ignore[attr-defined]

    def asked(self) -> str:
        """Return the tag; nothing where it is none of the project's."""
        return str(self.cleaned_data["tag"]) if self.is_valid() else ""
