"""Tables of fits and estimates: computed from labels, disposable, linked to the site by ids, not foreign keys."""

from django.db import models
from django.db.models import Q

# The maximum number of components of taste that are stored per item and annotator.
MAX_COMPONENTS = 5


class Fit(models.Model):
    """One run of one estimator on one state of a project's labels."""

    class Status(models.TextChoices):
        RUNNING = "running"
        # The estimates are being written; they are not visible before the fit is published.
        DONE = "done"
        FAILED = "failed"

    project_id = models.UUIDField()
    # The criterion whose answers were fitted; fits of all criteria of a project are numbered together.
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
    # The meaning of loadings and scores of the estimates below, if the estimator has components of taste:
    # {"kind": "tastes" or "groups", "shares": [of the taste variance, or of the crowd; at most MAX_COMPONENTS]}.
    components = models.JSONField(null=True)
    # Utilities times this are logits of an average person's answer (analysis.scores.common_unit), in the largest part.
    unit = models.FloatField(null=True)
    # The posterior as an npz file, for the next warm start and for later predictions.
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
    """A fit's figures for one item; stored for the published fit only."""

    class NextState(models.TextChoices):
        """State of an item and the item ranked next below it."""

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
    # The chance, in per cent, to be preferred to an average item, with its 90% interval (analysis.scores). Null where
    # never compared, and in fits made before there were scores.
    score = models.FloatField(null=True)
    score_low = models.FloatField(null=True)
    score_high = models.FloatField(null=True)
    rank = models.PositiveIntegerField()
    rank_low = models.PositiveIntegerField()
    rank_high = models.PositiveIntegerField()
    p_top = models.FloatField()
    tier = models.PositiveIntegerField()
    # The class of the place, and the highest one that the item is not excluded from (analysis.classes); null as scores.
    rank_class = models.PositiveIntegerField(null=True)
    highest_class = models.PositiveIntegerField(null=True)
    next_state = models.CharField(max_length=10, choices=NextState)
    n_comparisons = models.PositiveIntegerField()
    # Of an item never compared whose figures are predicted from its features: the part among whose items its place
    # would be; null of all others.
    predicted_in = models.PositiveIntegerField(null=True)
    # Spread of the item's utility over annotators, where the estimator has one.
    divisiveness = models.FloatField(null=True)
    # One number per component of the fit: the change of this item's utility for a score of 1.
    loadings = models.JSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["fit", "item_id"], name="one_estimate_per_item")]
        indexes = [models.Index(fields=["fit", "part", "rank"], name="estimates_in_order")]

    def __str__(self) -> str:
        return f"{self.rank}: item {self.item_id}"

    @property
    def is_predicted(self) -> bool:
        """Return whether the figures come from what the item looks like, and not from comparisons."""
        return self.predicted_in is not None


class AnnotatorEstimate(models.Model):
    """A fit's figures for one annotator; null if the estimator has none."""

    fit = models.ForeignKey(Fit, on_delete=models.CASCADE, related_name="annotator_estimates")
    annotator_id = models.BigIntegerField()
    n_labels = models.PositiveIntegerField()
    # The share of this annotator's comparisons that agree with the consensus order.
    agreement = models.FloatField(null=True)
    # How many independent comparisons tell `agreement`: those that the annotator and the consensus decide, fewer where
    # several come from one answer (analysis.agreement.consensus_inflation).
    n_decided = models.PositiveIntegerField(default=0)
    # Sets of three items with a preference in each pair, and how many of them are circular; null if too many to count.
    n_triads = models.PositiveIntegerField(null=True)
    n_cycles = models.PositiveIntegerField(null=True)
    # Answers with a single best item, and how many of those chose the item shown first.
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


class Leaderboard(models.Model):
    """The competitors behind a fit's items, ranked; stored for the published fit only.

    board: what annotate.fitting.leaderboard.computing writes: rows, tables of all pairs, categories, style; or why it
    could not be computed.
    """

    fit = models.OneToOneField(Fit, on_delete=models.CASCADE, related_name="leaderboard")
    board = models.JSONField()

    def __str__(self) -> str:
        return f"leaderboard of {self.fit}"
