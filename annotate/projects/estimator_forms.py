"""The choice of the estimator in a project's settings."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.fitting.estimator_choices import CHOICES, OF_RANKINGS
from annotate.labelling.asked_tasks import tasks_of
from annotate.models import Project

__all__ = ["EstimatorField"]


class EstimatorField(forms.ChoiceField):
    """Takes every estimator that the site offers; its buttons are those of use to one project."""

    def __init__(self) -> None:
        super().__init__(
            label=_("How the ranking is computed"),
            choices=list(CHOICES.items()),
            widget=forms.RadioSelect,
            initial=Project._meta.get_field("estimator").default,
        )

    def offer_to(self, project: Project) -> None:
        """Leave out what is of use to rankings alone, where people are asked for none and it is not in use."""
        if any(task.type.engine_layout == "rankings" for task in tasks_of(project)):
            return
        left_out = OF_RANKINGS - {project.estimator}
        self.widget.choices = [(name, words) for name, words in CHOICES.items() if name not in left_out]
