"""How much each criterion of a project counts in the weighted total."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class CriterionWeights(models.Model):
    """The column of Project that says how much each criterion counts."""

    # A number of 0 or more for each criterion, in their order; empty where all count the same.
    weights = models.JSONField(_("weights of the criteria"), default=list, blank=True)

    class Meta:
        abstract = True
