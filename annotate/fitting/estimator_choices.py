"""What owners may choose the ranking to be computed by: the engine's estimators, named without loading scipy."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

# In place of an estimator: the engine tries those it knows on labels held out, anew when they have grown by half.
AUTOMATIC = "Automatic"
# tests/site/fitting/test_estimators.py holds these names to those of the engine.
ESTIMATORS = {
    "CrowdBT": _("One shared ranking. Learns how reliable each annotator is. The usual choice for a crowd."),
    "BradleyTerry": _("One shared ranking. Treats all annotators as equally reliable. Simple, and fast at any size."),
    "CollaborativeGP": _(
        "For annotators whose tastes differ: a ranking for each of them, and the consensus of all. Also learns how "
        "reliable each annotator is."
    ),
    "PlackettLuce": _("One shared ranking. The exact model for choosing among several items and for whole rankings."),
    "AngleBased": _(
        "One shared ranking, for whole rankings of the same few items: a score for each item, and one number for how "
        "much people agree."
    ),
    "AngleBasedMixture": _(
        "For whole rankings of the same few items by people who fall into groups: finds how many groups there are, "
        "and what each prefers."
    ),
}
# Their buttons are shown where people put several items in order.
OF_RANKINGS = frozenset({"AngleBased", "AngleBasedMixture"})
# Of answers that say how much better an item is, these count the words as well; the others take the winner alone.
COUNT_GRADES = frozenset({"BradleyTerry", "CollaborativeGP", "CrowdBT"})
WINNERS_ALONE = _("Of answers that say how much better an item is, it counts who wins and not by how much.")
CHOICES = {
    name: words if name in COUNT_GRADES else format_lazy("{} {}", words, WINNERS_ALONE)
    for name, words in ESTIMATORS.items()
} | {
    AUTOMATIC: _(
        "Tries the estimators above that suit your answers and uses the one that best predicts answers it has "
        "not seen. The Engine page shows which one and why. Choosing takes a few times as long as a fit."
    )
}
# For the command line and the library: they need what projects do not hold (features of the items), or,
# as CrowdBTOnline, are rougher than what an engine in the background can do.
NOT_OFFERED = {"FeaturePlackettLuce", "CrowdBTOnline", "CrowdGPPL", "GPPL"}

# The cautions below in a sentence, for whoever looks at the lines.
TWO_IN_THREE = _(
    "If people's tastes differ a lot, or the items lie far apart, trust the lines less: then they hold the true value "
    "about 2 times in 3."
)
SHORT_CAUTIONS = {
    "CrowdBT": _(
        "If people's tastes differ a lot, trust the lines less: then they hold the true value about 3 times in 4."
    ),
    "BradleyTerry": _(
        "If people's tastes differ a lot, trust the lines less: then they hold the true value about 2 times in 3."
    ),
    "CollaborativeGP": _(
        "If the items lie far apart, trust the lines less: then they hold the true value about 4 times in 5."
    ),
    "PlackettLuce": TWO_IN_THREE,
    "AngleBased": _("If people's tastes differ, trust the lines less: they are right for people who agree."),
    "AngleBasedMixture": _("Where the groups overlap, trust the lines less: they take each person's group as known."),
}
# Where an estimator's intervals are known to be too narrow. Shares of `python -m models_engine.benchmarks coverage`, 40
# simulated crowds each: tastes of standard deviation 1 around the consensus, and the other worlds named here.
CAUTIONS = {
    "CrowdBT": _(
        # xgettext:no-python-format
        "If tastes differ strongly, the 90% intervals of this estimator are too narrow: in simulations of "
        "such crowds they contained the true value for 77% of the items. Where some people gave whole "
        "rankings of ten in reverse, it was 70%."
    ),
    "BradleyTerry": _(
        # xgettext:no-python-format
        "If tastes differ strongly, the 90% intervals of this estimator are too narrow: in simulations of "
        "such crowds they contained the true value for 64% of the items."
    ),
    "CollaborativeGP": _(
        # xgettext:no-python-format
        "If the items lie far apart, the 90% intervals of this estimator are too narrow: in simulations with "
        "twice the usual spread of utilities they contained the true value for 79% of the items. Where the items "
        "fall into many small groups that are never compared with each other, it was 69%, and CrowdBT predicts better."
    ),
    "PlackettLuce": _(
        # xgettext:no-python-format
        "If tastes differ strongly, or if the items lie far apart (utilities with a standard deviation of 3), "
        "the 90% intervals of this estimator are too narrow: in simulations of these cases they contained the "
        "true value for 64% and 72% of the items."
    ),
    "AngleBased": _(
        # xgettext:no-python-format
        "The 90% intervals of this estimator are right where everybody's ranking is drawn from one order. If tastes "
        "differ, they are too narrow."
    ),
    "AngleBasedMixture": _(
        # xgettext:no-python-format
        "The 90% intervals of this estimator take each person's group as known. Where groups overlap, they are too "
        "narrow."
    ),
}
