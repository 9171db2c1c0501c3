"""Fits and their estimates: computed from labels, disposable, linked to the site by ids and not by foreign keys."""

from django.db import models
from django.db.models import Q

# Of those an estimator has, the components of taste that are kept: at most so many numbers per item and annotator.
MOST_COMPONENTS = 5


class Fit(models.Model):
    """One run of one estimator on one state of a project's labels."""

    class Status(models.TextChoices):
        RUNNING = "running"
        # The estimates are being written; nobody sees them before the fit is published.
        DONE = "done"
        FAILED = "failed"

    project_id = models.UUIDField()
    # Whose answers it is made of, where a project has several criteria; numbers of fits run through all of them.
    criterion = models.PositiveSmallIntegerField(default=1)
    number = models.PositiveIntegerField()
    estimator = models.CharField(max_length=50)
    settings = models.JSONField(default=dict)
    seed = models.PositiveBigIntegerField(default=0)
    data_version = models.PositiveBigIntegerField()
    data_hash = models.CharField(max_length=64, blank=True)
    n_labels = models.PositiveIntegerField(default=0)
    n_items = models.PositiveIntegerField(default=0)
    n_annotators = models.PositiveIntegerField(default=0)
    n_parts = models.PositiveIntegerField(default=0)
    status = models.CharField(max_length=10, choices=Status, default=Status.RUNNING)
    published = models.BooleanField(default=False)
    warm = models.BooleanField(default=False)
    converged = models.BooleanField(null=True)
    message = models.TextField(blank=True)
    # Iterations, objective trace, seconds of each step; see models_engine.posterior.Diagnostics.
    diagnostics = models.JSONField(default=dict)
    # What loadings and scores of the estimates below are of, where the estimator has components of taste:
    # {"kind": "tastes" or "groups", "shares": [of the taste variance, or of the crowd; at most MOST_COMPONENTS]}.
    components = models.JSONField(null=True)
    # The posterior as an npz file, for the next warm start and for questions asked later.
    arrays = models.BinaryField(null=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    seconds = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project_id", "number"], name="one_fit_per_number"),
            models.UniqueConstraint(
                fields=["project_id", "criterion"], condition=Q(published=True), name="one_published_fit_per_criterion"
            ),
        ]

    def __str__(self) -> str:
        return f"fit {self.number}"


class Estimate(models.Model):
    """A fit's figures for one item; kept for the published fit only."""

    class NextState(models.TextChoices):
        """How an item stands to the one ranked just below it."""

        SEPARATED = "separated"
        TIED = "tied"
        NOT_ENOUGH = "not_enough"
        LAST = "last"

    fit = models.ForeignKey(Fit, on_delete=models.CASCADE, related_name="estimates")
    item_id = models.BigIntegerField()
    # The connected part of the comparison graph: 0 is the largest; ranks, tiers and P(top k) hold within it.
    part = models.PositiveIntegerField(default=0)
    utility = models.FloatField()
    sd = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    rank = models.PositiveIntegerField()
    rank_low = models.PositiveIntegerField()
    rank_high = models.PositiveIntegerField()
    p_top = models.FloatField()
    tier = models.PositiveIntegerField()
    next_state = models.CharField(max_length=10, choices=NextState)
    n_comparisons = models.PositiveIntegerField()
    # Spread of the item's utility over annotators, where the estimator has one.
    divisiveness = models.FloatField(null=True)
    # One number per component of the fit: by how much its score of 1 raises this item's utility.
    loadings = models.JSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["fit", "item_id"], name="one_estimate_per_item")]
        indexes = [models.Index(fields=["fit", "part", "rank"], name="estimates_in_order")]

    def __str__(self) -> str:
        return f"{self.rank}: item {self.item_id}"


class AnnotatorEstimate(models.Model):
    """A fit's figures for one annotator; null where the estimator has none."""

    fit = models.ForeignKey(Fit, on_delete=models.CASCADE, related_name="annotator_estimates")
    annotator_id = models.BigIntegerField()
    n_labels = models.PositiveIntegerField()
    # The share of this annotator's comparisons that agree with the consensus order.
    agreement = models.FloatField(null=True)
    # Of how many comparisons that both they and the consensus decide.
    n_decided = models.PositiveIntegerField(default=0)
    # Sets of three items of which they told each pair apart, and how many go in a circle; null where too many to count.
    n_triads = models.PositiveIntegerField(null=True)
    n_cycles = models.PositiveIntegerField(null=True)
    # Answers with a single best item, and how many of those put the item shown first there.
    n_sides = models.PositiveIntegerField(default=0)
    n_first = models.PositiveIntegerField(default=0)
    # P(answers by the consensus utilities rather than against them), 90% interval.
    reliability = models.FloatField(null=True)
    reliability_low = models.FloatField(null=True)
    reliability_high = models.FloatField(null=True)
    # Root mean square difference between own and consensus utilities, 90% interval.
    taste_distance = models.FloatField(null=True)
    taste_distance_low = models.FloatField(null=True)
    taste_distance_high = models.FloatField(null=True)
    # One number per component of the fit: own utilities are the consensus plus loadings times scores.
    scores = models.JSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["fit", "annotator_id"], name="one_estimate_per_annotator")]

    def __str__(self) -> str:
        return f"annotator {self.annotator_id}"
