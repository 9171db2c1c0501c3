"""The grades that a ranking is cut into."""

from django.db import models
from django.utils.translation import gettext_lazy as _

MAX_GRADES = 12


class GradesBy(models.TextChoices):
    SCORE = "score", _("By score: a grade begins at a score from 0 to 100")
    SHARE = "share", _("By share: a grade goes to a share of the items")


class GradeSettings(models.Model):
    """The columns of Project about its grades."""

    # A list of {"name", "limit"}, the best grade first. limit: by score, where the grade begins; by share, the
    # percentage of the items that have it. None in the last, which takes the rest. Empty where there are no grades.
    grades = models.JSONField(_("grades"), default=list, blank=True)
    grades_by = models.CharField(_("grades are given"), max_length=5, choices=GradesBy, default=GradesBy.SCORE)

    # The kept scale of each criterion, by its number: [key, value, standard deviation or null] of each anchor.
    anchors = models.JSONField(_("anchors of the scale"), default=dict, blank=True, editable=False)

    class Meta:
        abstract = True
