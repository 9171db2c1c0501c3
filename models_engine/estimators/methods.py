"""METHODS: what each estimator assumes, its formulas and its papers, as facts for a methods section; data alone.

Formulas are in a linear notation: `f_i` and `f_{ui}` have a subscript, `sd^2` a superscript, `frac{a}{b}` is a
fraction. Sentences are marked by gettext_noop, so that whoever shows them can translate them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from models_engine.messages import gettext_noop

__all__ = ["METHODS", "SETTINGS", "Method"]


@dataclass(frozen=True)
class Method:
    """title: as in “items were ranked by ...”.   link: of a margin to a probability, "logit", "probit" or "own".

    formulas: the likelihood, then the priors.   assumptions, priors: sentences.   inference: a sentence for each
    value of the setting `inference`, or one for "" where there is none.   references: keys of REFERENCES.
    exact_sets: whether answers about three items and more are used whole instead of as the pairs they imply.
    ties: formula of a tie's probability, "" where it counts half a choice each way.
    grades: formula of the probability that an item is better by a grade, "" where only the winner counts.
    """

    title: str
    link: str
    formulas: Sequence[str]
    assumptions: Sequence[str]
    priors: Sequence[str]
    inference: dict[str, str]
    references: Sequence[str]
    exact_sets: bool = False
    ties: str = ""
    grades: str = ""
    more_references: dict[str, Sequence[str]] = field(default_factory=dict)


DAVIDSON = "P(tie) = frac{ν}{2 cosh((f_i - f_j)/2) + ν}"
GRADES = "P(i beats j by grade g) = s(f_i - f_j - c_{g-1}) - s(f_i - f_j - c_g)"
RELIABLE_GRADES = (
    "P(i beats j by grade g) = η_u (s(f_i - f_j - c_{g-1}) - s(f_i - f_j - c_g)) + "
    "(1 - η_u) (s(f_j - f_i - c_{g-1}) - s(f_j - f_i - c_g))"
)
PROBIT_GRADES = "P(i beats j by grade g) = Φ(f_i - f_j - c_{g-1}) - Φ(f_i - f_j - c_g)"
OWN_GRADES = (
    "P(u prefers i to j by grade g) = η_u (Φ(f_{ui} - f_{uj} - c_{g-1}) - Φ(f_{ui} - f_{uj} - c_g)) + "
    "(1 - η_u) (Φ(f_{uj} - f_{ui} - c_{g-1}) - Φ(f_{uj} - f_{ui} - c_g))"
)
ONE_ORDER = gettext_noop("All annotators share one order of the items.")
INDEPENDENT = gettext_noop("Answers are independent of each other, given the utilities.")
ODDS = gettext_noop("Adding an item to a set leaves the odds between the others as they were.")
CARE = gettext_noop("Annotators differ in care, not in taste.")
TASTES = gettext_noop(
    "Tastes are jointly normal around the consensus; annotators are a sample of the crowd it is about."
)
REVERSED = gettext_noop(
    "Annotators answer by their own tastes but for a share of reversed answers; of fewer than four, none are reversed."
)
NORMAL = gettext_noop("Utilities are independent and normal around 0.")
LEARNED = gettext_noop("Scales that are not set are learned from the labels by their evidence.")
BETA = gettext_noop(
    "Reliabilities have a Beta distribution of a mean above 1/2, which tells the order from its reverse."
)
EP = gettext_noop("Expectation propagation approximates the posterior by a normal distribution.")
MODE = gettext_noop("The posterior is approximated at its mode, by Laplace's method.")
NEAREST = gettext_noop("The posterior is approximated by the nearest normal distribution (variational inference).")
GIBBS = gettext_noop("The posterior is drawn from by Gibbs sampling.")
KERNEL = gettext_noop(
    "Utilities are a Gaussian process over the items' features; without features they are independent."
)
TASTE_PRIOR = gettext_noop("The sizes of the consensus and of the tastes have log-normal priors and are learned.")
PART_SIZES = gettext_noop(
    "Where at least five parts of three items or more are unconnected, the consensus of each part has a size of its "
    "own, normal around a common one in the logarithm (not in large projects or with features of items)."
)
CROWD_BETA = gettext_noop(
    "Reliabilities have a Beta distribution; its mean, from .85 to .999, and how many answers it is worth, from .3 to "
    "30, are learned. In large projects one annotator in ten is careless beforehand, with any reliability alike."
)
TASTE_INFERENCE = gettext_noop(
    "Tastes, their sizes and reliabilities are drawn by Gibbs sampling, in large projects learned by their evidence; "
    "the consensus and each annotator's ranking then follow by expectation propagation, with tastes integrated out."
)
LOGISTIC = "P(i beats j) = frac{1}{1 + exp(-(f_i - f_j))}"
RELIABLE = "P(i beats j) = η_u s(f_i - f_j) + (1 - η_u) s(f_j - f_i)"
CHOICE = "P(a out of S) = frac{exp(f_a)}{Σ_{i∈S} exp(f_i)}"
OWN = "P(u prefers i to j) = η_u Φ(f_{ui} - f_{uj}) + (1 - η_u) Φ(f_{uj} - f_{ui})"

METHODS: dict[str, Method] = {
    "BradleyTerry": Method(
        gettext_noop("the Bradley–Terry model"),
        "logit",
        [LOGISTIC, "f_i ~ N(0, σ^2)"],
        [ONE_ORDER, gettext_noop("All annotators are equally careful."), INDEPENDENT],
        [NORMAL, LEARNED],
        {
            "auto": gettext_noop(
                "The posterior is approximated by the nearest normal distribution (variational inference), above "
                "500 items at its mode by Laplace's method."
            ),
            "variational": NEAREST,
            "map": MODE,
        },
        ["bradley1952"],
        ties=DAVIDSON,
        grades=GRADES,
        more_references={"auto": ["opper2009"], "variational": ["opper2009"]},
    ),
    "CrowdBT": Method(
        gettext_noop("the Bradley–Terry model with a reliability for each annotator (CrowdBT)"),
        "logit",
        [RELIABLE, "s(z) = frac{1}{1 + exp(-z)}", "f_i ~ N(0, σ^2)", "η_u ~ Beta(α, β)"],
        [ONE_ORDER, CARE, INDEPENDENT],
        [NORMAL, BETA, LEARNED],
        {"ep": EP, "map": MODE},
        ["bradley1952", "chen2013"],
        ties=DAVIDSON,
        grades=RELIABLE_GRADES,
        more_references={"ep": ["minka2001"]},
    ),
    "CrowdBTOnline": Method(
        gettext_noop("CrowdBT, updated one answer at a time"),
        "logit",
        [RELIABLE, "s(z) = frac{1}{1 + exp(-z)}", "f_i ~ N(0, σ^2)", "η_u ~ Beta(α, β)"],
        [ONE_ORDER, CARE, INDEPENDENT],
        [NORMAL, BETA],
        {"": gettext_noop("Each answer updates independent posteriors by moment matching, in the order of arrival.")},
        ["bradley1952", "chen2013"],
        ties=DAVIDSON,
        grades=RELIABLE_GRADES,
    ),
    "PlackettLuce": Method(
        gettext_noop("the Plackett–Luce model"),
        "logit",
        [CHOICE, "exp(f_i) ~ Gamma(a, a)", "ψ′(a) = σ^2"],
        [ONE_ORDER, ODDS, INDEPENDENT],
        [gettext_noop("Worths, the exponentials of utilities, are independent and Gamma distributed.")],
        {"map": MODE, "gibbs": GIBBS},
        ["luce1959", "plackett1975"],
        exact_sets=True,
        more_references={"gibbs": ["caron2012"]},
    ),
    "FeaturePlackettLuce": Method(
        gettext_noop("the Plackett–Luce model with effects of item features"),
        "logit",
        [CHOICE, "f_i = w·x_i + e_i", "w ~ N(0, σ_w^2)", "e_i ~ N(0, σ_e^2)"],
        [ONE_ORDER, ODDS, INDEPENDENT],
        [gettext_noop("Effects of standardised features, and what they leave unexplained, are normal around 0.")],
        {"map": MODE, "vi": NEAREST},
        ["luce1959", "plackett1975", "guo2019"],
        exact_sets=True,
    ),
    "GPPL": Method(
        gettext_noop("Gaussian process preference learning"),
        "probit",
        ["P(i beats j) = Φ(f_i - f_j)", "f ~ GP(0, K/s)", "s ~ Gamma(2, 2)"],
        [ONE_ORDER, INDEPENDENT],
        [KERNEL],
        {"vg": NEAREST, "ep": EP, "linearised": gettext_noop("The likelihood is linearised at each step.")},
        ["thurstone1927", "chu2005", "simpson2020"],
        grades=PROBIT_GRADES,
        more_references={"ep": ["minka2001"]},
    ),
    "CollaborativeGP": Method(
        gettext_noop("a collaborative Gaussian process: a consensus and each annotator's taste around it"),
        "probit",
        [OWN, "f_u = t + h_u", "t ~ N(0, τ^2 K)", "h_u ~ N(0, Σ)", "η_u ~ Beta(s m, s - s m)"],
        [TASTES, REVERSED, INDEPENDENT],
        [KERNEL, TASTE_PRIOR, PART_SIZES, CROWD_BETA],
        {"": TASTE_INFERENCE},
        ["thurstone1927", "khan2014", "albert1993", "minka2001"],
        exact_sets=True,
        grades=OWN_GRADES,
    ),
    "CrowdGPPL": Method(
        gettext_noop("crowd Gaussian process preference learning: a consensus and a few components of taste"),
        "probit",
        [OWN, "f_u = t + V w_u", "t ~ N(0, τ^2 K)", "η_u ~ Beta(s m, s - s m)"],
        [TASTES, REVERSED, INDEPENDENT],
        [KERNEL, TASTE_PRIOR, PART_SIZES, CROWD_BETA],
        {"": TASTE_INFERENCE},
        ["thurstone1927", "simpson2020", "minka2001"],
        exact_sets=True,
        grades=OWN_GRADES,
    ),
    "AngleBased": Method(
        gettext_noop("the angle-based model of rankings"),
        "own",
        ["P(ranking y) ∝ exp(κ θ·y)"],
        [ONE_ORDER, INDEPENDENT],
        [NORMAL],
        {
            "auto": gettext_noop(
                "The posterior is drawn from by sampling importance resampling; where rankings of more than eight "
                "items are incomplete it is the normal around its mode."
            ),
            "sir": gettext_noop("The posterior is drawn from by sampling importance resampling."),
            "vi": NEAREST,
            "laplace": MODE,
            "mle": gettext_noop(
                "The likelihood is approximated at its maximum, by Laplace's method; there is no prior."
            ),
        },
        ["xu2018"],
        exact_sets=True,
    ),
    "AngleBasedMixture": Method(
        gettext_noop("a mixture of angle-based models, one for each group of annotators"),
        "own",
        ["P(ranking y) = Σ_g π_g c(κ_g) exp(κ_g θ_g·y)"],
        [gettext_noop("Annotators fall into groups that each share one order of the items."), INDEPENDENT],
        [NORMAL],
        {"": gettext_noop("The posterior is approximated variationally; DIC chooses the number of groups.")},
        ["xu2018"],
        exact_sets=True,
    ),
    "CountFactorization": Method(
        gettext_noop("a factorization of counts into effects of items and of annotators"),
        "logit",
        [
            "y_{iu} ~ Poisson(e_{iu} exp(c + f_i + a_u))",
            "P(the next count of i and j is of i) = frac{exp(f_i)}{exp(f_i) + exp(f_j)}",
            "f_i ~ N(0, s_f^2)",
            "a_u ~ N(0, s_a^2)",
        ],
        [
            gettext_noop("Items differ by one factor for all annotators, and annotators by one for all items."),
            gettext_noop(
                "Where counts spread by more than chance, they have a negative binomial distribution of the same mean."
            ),
            gettext_noop("Counts are independent of each other, given these effects and the exposures e."),
            gettext_noop("What an annotator has no count of is unknown, and not 0."),
        ],
        [gettext_noop("Effects are independent and normal around 0; their standard deviations are learned.")],
        {
            "": gettext_noop(
                "Effects maximise a bound on the evidence (variational inference); intervals follow from the "
                "curvature over items, annotators and the constant together."
            )
        },
        ["opper2009"],
    ),
}

# What a setting or a fitted value is; those not named here are listed by their name alone.
SETTINGS: dict[str, str] = {
    "prior_sd": gettext_noop("prior standard deviation σ of a utility"),
    "reliability": gettext_noop("Beta prior (α, β) of reliabilities, or whether they are inferred"),
    "reliability_mean": gettext_noop("mean of the prior of reliabilities"),
    "reliability_size": gettext_noop("size α + β of the prior of reliabilities"),
    "inference": gettext_noop("how the posterior is computed"),
    "ties": gettext_noop("how ties count"),
    "tie": gettext_noop("tie parameter ν"),
    "tie_rate": gettext_noop("share of ties among the answers"),
    "grades": gettext_noop("how it counts how much better an item is"),
    "cut_0": gettext_noop("cut point below which an answer is a tie, in units of the utilities"),
    "cut_0_sd": gettext_noop("standard deviation of the cut point below which an answer is a tie"),
    "cut_1": gettext_noop("cut point between the least grade and the next, in units of the utilities"),
    "cut_1_sd": gettext_noop("standard deviation of the cut point between the least grade and the next"),
    "tie_sd": gettext_noop("prior standard deviation of log ν"),
    "side": gettext_noop("utility added to the item shown left (whether it is inferred, or its value)"),
    "side_sd": gettext_noop("prior standard deviation of the utility added to the item shown left"),
    "max_iterations": gettext_noop("most iterations"),
    "tolerance": gettext_noop("size of a step that counts as converged"),
    "n_draws": gettext_noop("draws from the posterior that are kept"),
    "n_burn_in": gettext_noop("first draws that are left out, where they depend on each other"),
    "thin": gettext_noop("how many draws are made for one that is kept, where they depend on each other"),
    "n_groups": gettext_noop("number of groups; found from the answers where it is not set"),
    "most_groups": gettext_noop("most groups"),
    "n_restarts": gettext_noop("random starts, of which the best is kept"),
    "n_components": gettext_noop("most components of taste"),
    "consensus_sd": gettext_noop("standard deviation τ of the consensus (a setting: its prior median)"),
    "taste_sd": gettext_noop("standard deviation of a taste (a setting: its prior median)"),
    "log_scale_sd": gettext_noop("standard deviation of the log-normal priors of scales"),
    "covariance": gettext_noop("form of the covariance of tastes"),
    "pseudo_annotators": gettext_noop("strength of the prior of the covariance of tastes, as a number of annotators"),
    "features": gettext_noop("whether features of items and annotators are used"),
    "steepness": gettext_noop("whether each annotator has a steepness of their own"),
    "part_scales": gettext_noop("whether each unconnected part of the items has a standard deviation of its own"),
    "family": gettext_noop("distribution of counts"),
    "n_prior": gettext_noop("strength of the prior of standard deviations, as a number of effects of variance 1"),
    "constant": gettext_noop("log of what an average annotator counts of an average item"),
    "dispersion": gettext_noop("parameter ρ of the negative binomial: the variance is mean + mean²/ρ"),
    "annotator_sd": gettext_noop("standard deviation of the annotators' effects"),
    "level": gettext_noop("probability of the intervals"),
    "top_k": gettext_noop("size of the top"),
    "tie_margin": gettext_noop("difference of utilities below which items count as tied, in logits"),
}
