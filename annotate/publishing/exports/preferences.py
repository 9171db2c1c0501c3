"""Defines the export of preference pairs to train language models (DPO): prompt, chosen and rejected text."""

from collections.abc import Iterator
from itertools import combinations

from django.utils.translation import gettext_lazy as _

from annotate.criteria import Criterion
from annotate.files.columns import Column, Kind, Row
from annotate.labelling.label_rows import is_informative, label_chunks, pad_to_power_of_two, ranked_groups
from annotate.models import Item

COLUMNS = [
    Column("prompt", _("The context of the items, if they have one; otherwise the question asked.")),
    Column("chosen", _("Text of the preferred item; for an image, its description.")),
    Column("rejected", _("Text of the other item.")),
    Column("chosen_item", _("Its key.")),
    Column("rejected_item", _("Its key.")),
    Column("annotator", _("Pseudonym of the annotator who gave the answer.")),
    Column(
        "label",
        _("Number of the label; a ranking gives one row for every pair of items that it puts in order."),
        Kind.INTEGER,
    ),
]


def rows(criterion: Criterion) -> Iterator[Row]:
    """Ties, and answers that do not count, say nothing of which is better."""
    for labels, shown, items in label_chunks(criterion):
        prompts = dict(
            Item.objects.filter(pk__in=pad_to_power_of_two(items))
            .exclude(context=None)
            .values_list("pk", "context__body")
        )
        for label in labels:
            if not is_informative(criterion.project, label):
                continue
            groups = ranked_groups(label, [items[item] for item in shown[label["presentation"]]])
            for above, below in combinations(groups, 2):
                for better in above:
                    for worse in below:
                        texts = [prompts.get(better.pk, criterion.question), better.body, worse.body]
                        yield [*texts, better.key, worse.key, label["annotator__pseudonym"], label["pk"]]
