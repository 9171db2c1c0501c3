"""What is found out about a project's annotators beside its fits: their own rankings, groups, cohorts side by side."""

from django.db import models
from django.db.models import Q

from annotate.models.annotators import Annotator
from annotate.models.leased_jobs import IdleJob, RequestedJob
from annotate.models.projects import Project


class TasteMap(IdleJob):
    """The latest taste map by a criterion, made by an engine process when no fit waits; empty until the first."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="taste_maps", db_index=False)
    criterion = models.PositiveSmallIntegerField(default=1)
    # The fit it was made of, what that knows of tastes, and how long it took.
    fit_number = models.PositiveIntegerField(null=True, blank=True)
    estimator = models.CharField(max_length=50, blank=True)
    made_at = models.DateTimeField(null=True, blank=True)
    seconds = models.FloatField(default=0)
    # How many groups of annotators stand out (1: none do), of how many annotators, and the BIC of 1, 2, ... groups.
    n_groups = models.PositiveIntegerField(default=0)
    n_grouped = models.PositiveIntegerField(default=0)
    bic = models.JSONField(default=list)
    # An npz file; annotate.annotators.tastes.job says what is in it.
    arrays = models.BinaryField(null=True)

    class Meta:
        db_table = "annotate_portrait"
        constraints = [models.UniqueConstraint(fields=["project", "criterion"], name="one_portrait_per_criterion")]

    def __str__(self) -> str:
        return f"taste map of {self.project_id}"


class AnnotatorTaste(models.Model):
    """One annotator on the taste map: where they stand along the components, in which group, with which own ranking."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="tastes")
    # Numbers are those of the project's fits by every criterion, so that the criterion follows from one.
    fit_number = models.PositiveIntegerField()
    criterion = models.PositiveSmallIntegerField(default=1)
    n_labels = models.PositiveIntegerField()
    # Along each component, with its standard deviation, which is 1 before any answer.
    scores = models.JSONField()
    score_sds = models.JSONField()
    # Which group, the largest being 0, and its probability; null for those with too few answers to tell.
    group = models.PositiveSmallIntegerField(null=True)
    certainty = models.FloatField(null=True)
    # 16-bit floats (3, n_items), items as in TasteMap.arrays: own utility, its standard deviation, and that of the
    # difference from the consensus. Null past the annotators with most labels whose rankings are kept.
    own = models.BinaryField(null=True)

    class Meta:
        db_table = "annotate_annotatorportrait"
        constraints = [models.UniqueConstraint(fields=["annotator", "fit_number"], name="one_portrait_per_fit")]
        indexes = [models.Index(fields=["fit_number"], name="portraits_by_fit")]

    def __str__(self) -> str:
        return f"taste of annotator {self.annotator_id}"


class CohortComparison(RequestedJob):
    """Two cohorts side by side, each fitted alone: asked for by a person, computed by an engine process."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="cohort_comparisons")
    criterion = models.PositiveSmallIntegerField(default=1)  # of the project, by whose answers they are fitted
    # What divides the annotators (annotate.annotators.cohorts.groupings), and the two values; second "" stands for
    # everybody else.
    by = models.CharField(max_length=40)
    first = models.CharField(max_length=200)
    second = models.CharField(max_length=200, blank=True)
    # What came of it. sizes: annotators and labels of each cohort.
    fit_number = models.PositiveIntegerField(null=True, blank=True)
    estimator = models.CharField(max_length=50, blank=True)
    sizes = models.JSONField(default=list)
    # An npz file; annotate.annotators.cohorts.job says what is in it.
    arrays = models.BinaryField(null=True)
    # The leaderboards of cohorts: annotate.fitting.leaderboard.cohorts says what is in it.
    boards = models.JSONField(default=dict, db_default={})

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "criterion", "by", "first", "second"], name="one_comparison_of_two_cohorts"
            )
        ]
        indexes = [
            models.Index(fields=["asked_at"], condition=Q(status__in=["asked", "running"]), name="comparisons_owed")
        ]

    def __str__(self) -> str:
        return f"comparison {self.pk}"
