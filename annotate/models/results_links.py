"""Links at which anybody sees a project's published ranking and nothing else."""

import uuid
from datetime import datetime

from django.core import signing
from django.db import models
from django.db.models import Q

from annotate.models.projects import MAX_CRITERIA, Project

# What its holder has is the id with a signature of the site: nobody can make one up, nor read one out of a backup.
signer = signing.Signer(sep=".", salt="annotate.results-link")


class ResultsLink(models.Model):
    """Shows the ranking by one criterion until it ends or is revoked; rows stay, so that a revoked one stays dead.

    Criterion 0 is the weighted total of all (derived_rankings.OVERALL).
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="results_links")
    criterion = models.PositiveSmallIntegerField(default=1)
    # The tag whose items are shown, ranked among themselves; empty for all.
    track = models.CharField(max_length=100, blank=True, default="")
    # Whether the page of methods can be read with the link.
    shows_methods = models.BooleanField(default=False)
    # Whether its page also tells which groups of people differ, shows the leaderboard, and invites visitors to take
    # part while they can.
    shows_groups = models.BooleanField(default=False)
    shows_leaderboard = models.BooleanField(default=False, db_default=False)
    invites = models.BooleanField(default=False)
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    # For an audience: names stay on the server until the owner reveals them; whether the projector view shows how to
    # join; the end that it counts down to.
    hides_names = models.BooleanField(default=False)
    shows_join = models.BooleanField(default=False)
    revealed_at = models.DateTimeField(null=True, blank=True)
    deadline = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(criterion__range=(0, MAX_CRITERIA)), name="a_criterion_there_can_be")
        ]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def token(self) -> str:
        return signer.sign(self.pk.hex)

    @property
    def shows_names(self) -> bool:
        return not self.hides_names or self.revealed_at is not None

    def is_over(self, now: datetime) -> bool:
        return self.revoked_at is not None or (self.expires_at is not None and self.expires_at <= now)
