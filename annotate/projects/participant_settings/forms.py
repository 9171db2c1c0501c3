"""What owners let annotators do besides answering: add ideas, see the result and their group."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.models import Project


class ParticipantForm(forms.ModelForm):
    class Meta:
        model = Project
        fields = [
            "ideas_open",
            "ideas_at_once",
            "idea_length",
            "ideas_each",
            "show_result",
            "show_result_after",
            "show_groups",
            "entry_places",
        ]
        labels = {
            "ideas_open": _("Participants may add ideas"),
            "ideas_at_once": _("Approve ideas at once"),
            "idea_length": _("Most characters of an idea"),
            "ideas_each": _("Most ideas of one person"),
            "show_result": _("Show participants the result"),
            "show_result_after": _("Answers before the result is shown"),
            "show_groups": _("Show participants their group"),
            "entry_places": _("Show entrants their place and score"),
        }
        help_texts = {
            "ideas_open": _(
                "Only where all items are plain texts without a context. New ideas are asked first until they have "
                "been compared as often as the others. A plan of sets (“Different sets”) cannot do that: there an "
                "idea only gets its share of the sets that nobody has yet."
            ),
            "ideas_at_once": _("Without this, ideas wait on the page Ideas until you approve them."),
            "idea_length": _("20 to 1000."),
            "ideas_each": _("1 to 100. Refused ideas count, too."),
            "show_result": _(
                "On the page behind “Enough for now”. Who sees the result may answer differently afterwards."
            ),
            "show_result_after": _("Only for “After a number of answers”."),
            "show_groups": _(
                "With the result, where the ranking looks for groups. Groups with fewer than five people are not shown."
            ),
            "entry_places": _(
                "On the pages behind entry links (page Comments), with intervals. With several criteria these are of "
                "the overall ranking."
            ),
        }

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.Meta.fields}
