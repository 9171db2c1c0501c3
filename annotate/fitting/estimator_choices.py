"""What owners may choose the ranking to be computed by: the engine's estimators, named without loading scipy."""

from django.utils.translation import gettext_lazy as _

# In place of an estimator: the engine tries those it knows on labels held out, anew when they have grown by half.
AUTOMATIC = "Automatic"
# tests/site/fitting/test_estimators.py holds these names to those of the engine.
ESTIMATORS = {
    "CrowdBT": _("One shared ranking that learns how far each annotator can be trusted. The usual choice for a crowd."),
    "BradleyTerry": _(
        "One shared ranking that takes every annotator as equally careful. The plain choice, fast at any size."
    ),
    "CollaborativeGP": _("For annotators who differ in taste: a ranking of each one's own, and the consensus of all."),
    "PlackettLuce": _("One shared ranking from choices among several and whole rankings, taken exactly as given."),
}
CHOICES = ESTIMATORS | {
    AUTOMATIC: _(
        "Tries those above that suit your labels, and takes the one that best predicts labels it has not seen; the "
        "Engine page says which and why. Each new choice takes a few times as long as a fit."
    )
}
# For the command line and the library: they need what projects do not hold (features of the items, whole rankings), or,
# as CrowdBTOnline, are rougher than what an engine in the background can do.
NOT_OFFERED = {"FeaturePlackettLuce", "AngleBased", "AngleBasedMixture", "CrowdBTOnline", "CrowdGPPL", "GPPL"}

# Where an estimator's intervals are known to be too narrow. Shares of `python -m models_engine.benchmarks coverage`, 40
# simulated crowds each: tastes of standard deviation 1 around the consensus, and the other worlds named here.
CAUTIONS = {
    "CrowdBT": _(
        # xgettext:no-python-format
        "The 90% intervals of this estimator "
        "are too narrow where annotators differ strongly in taste: in simulated crowds like that "
        "they held the true value for 77% of the items; 70% where whole rankings of ten came the wrong way round."
    ),
    "BradleyTerry": _(
        # xgettext:no-python-format
        "The 90% intervals of this estimator "
        "are too narrow where annotators differ strongly in taste or utilities spread far (standard "
        "deviation 3): in simulated crowds of either kind they held the true value for 64% of the items."
    ),
    "CollaborativeGP": _(
        # xgettext:no-python-format
        "The 90% intervals of this estimator "
        "are too narrow where utilities spread far: in simulated crowds at twice the usual spread "
        "they held the true value for 79% of the items."
    ),
    "PlackettLuce": _(
        # xgettext:no-python-format
        "The 90% intervals of this estimator "
        "are too narrow where annotators differ strongly in taste or utilities spread far (standard "
        "deviation 3): in simulated crowds like these they held the true value for 64% and 72% of the items."
    ),
}
