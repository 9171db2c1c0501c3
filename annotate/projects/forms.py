"""What owners say of a project: its question and rules, its next state, its name again before it is deleted."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.fitting.weights import carry_weights
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.labelling.task_types.base import TaskType
from annotate.labelling.task_types.registry import TASK_TYPES
from annotate.models import MAX_ITEMS_SHOWN, Label, Project
from annotate.models.task_words import LETTER
from annotate.projects.actions import BUTTONS, FIXED_BY_LABELS, GRADES, WORDS, CriteriaFixed, check_criteria
from annotate.projects.criteria_forms import CriteriaField, WeightsField
from annotate.projects.estimator_forms import EstimatorField
from annotate.projects.further_tasks_forms import FurtherTasksField
from annotate.projects.metadata_forms import NamesField, metadata_choices

EXPLAINED = {
    Label.Outcome.TIE: _("Tie: both are equally good"),
    Label.Outcome.BOTH_GOOD: _("Both good: a tie at the top"),
    Label.Outcome.BOTH_BAD: _("Both bad: a tie at the bottom"),
    Label.Outcome.CANT_JUDGE: _("Can't judge: not counted as a tie"),
    Label.Outcome.SKIP: _("Skip: show me something else"),
}
FIXED = _(
    "People have already answered this, so it can no longer be changed. Create a new project for another question."
)
QUESTION_FIXED = _(
    "People have answered this question, so its wording is fixed now. Create a new project for another question."
)

TASK_CHANGES = _(
    "You can change this while people answer. Answers given so far keep their kind and stay in the ranking; people "
    "who have a task open get another one."
)

# The pages of a project's settings and the fields on each; a new project has all of them on one page.
SECTIONS: dict[str, tuple[str, ...]] = {
    "question": ("name", "question", "criteria", "more_means", "instructions"),
    "answers": (
        *("task_type", "k", "m", "shared_places", "further_tasks", *WORDS, "outcomes"),
        *("comments", "item_comments", "comment_required", "known_button", "media_captions", "marks_differences"),
        *("folds_long_texts", "shown_metadata"),
    ),
    "amount": ("overlap", "n_sets", "annotators_expected", "target", "cap"),
    "ranking": ("estimator", "predict_unseen", "top_k", "tie_margin", "items_shown_by", "weights"),
}


class ProjectForm(forms.ModelForm):
    criteria = CriteriaField(
        label=_("Criteria"),
        required=False,
        help_text=_(
            "To judge the same items by several criteria, such as clarity and correctness. Give two to five, "
            "each with a name and a question. Annotators answer them on one page in this order, and each "
            "criterion has its own ranking. Practice, gold questions and imported labels are about the first. "
            "Leave empty to ask only the question above."
        ),
    )
    weights = WeightsField(
        label=_("How much each criterion counts"),
        required=False,
        help_text=_(
            "For the overall ranking. Only proportions matter: 2 and 1 are the same as 60 and 30. 0 leaves a "
            "criterion out; the ranking by it stays."
        ),
    )
    task_type = forms.ChoiceField(
        label=_("What annotators do"),
        choices=[(name, task_type.help_text) for name, task_type in TASK_TYPES.items()],
        widget=forms.RadioSelect,
        initial=Project.TaskType.PAIR,
    )
    k = forms.IntegerField(
        label=_("Items shown at a time"),
        min_value=2,
        max_value=MAX_ITEMS_SHOWN,
        required=False,
        help_text=_("2 to 10. People find it easy to compare up to 4 or 5. Pairs always show two."),
    )
    m = forms.IntegerField(
        label=_("How many of them are ranked"),
        min_value=2,
        max_value=MAX_ITEMS_SHOWN - 1,
        required=False,
        help_text=_("Only for “Ranking of the best few”: fewer than are shown."),
    )
    further_tasks = FurtherTasksField(
        label=_("Further kinds of task"),
        required=False,
        help_text=_(
            "Asked besides, each in its share of the tasks, drawn at random; the kind above is asked in the rest. "
            "Answers of all kinds make one ranking."
        ),
    )
    outcomes = forms.MultipleChoiceField(
        label=_("Other answers allowed"),
        choices=[(outcome.value, words) for outcome, words in EXPLAINED.items()],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        initial=[Label.Outcome.TIE, Label.Outcome.SKIP],
        help_text=_(
            "Offered besides the answers of the task itself. Tie, both good and both bad are offered only where "
            "two items are shown. Answers given before you change this stay as they are."
        ),
    )
    shown_metadata = NamesField(
        label=_("Metadata that annotators see"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Shown below each item. The others are hidden from annotators."),
    )
    estimator = EstimatorField()
    tie_margin = forms.FloatField(
        label=_("Tied within"),
        min_value=0,
        max_value=10,
        initial=Project._meta.get_field("tie_margin").default,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text=_(
            # xgettext:no-python-format
            "In logits. Two items count as tied when the 90% interval of their difference lies between minus and "
            "plus this value. 0.1 means a 52.5% chance of being preferred."
        ),
    )

    class Meta:
        model = Project
        fields = [name for names in SECTIONS.values() for name in names]
        help_texts = {
            "name": _("Everybody sees it: you, your team and annotators."),
            "question": _("Asked above every task. For example: Which argument is more convincing?"),
            "instructions": _("Shown before the first task, and later under Help. Markdown: **bold**, lists, links."),
            "more_means": _("One or two words for table headings: better, more convincing, harder."),
            "shared_places": _(
                "Only for “Ranking of several”: items that are equal get the same place, and count as tied with each "
                "other. An answer with all items in one place counts, too."
            ),
            "best_words": _("In place of “Best”, for example: Most intense. Leave empty for the usual word."),
            "worst_words": _("In place of “Worst”, for example: Least intense. Leave empty for the usual word."),
            "choice_words": _(
                "In place of “A is better”, for example: {letter} sounds angrier. {letter} becomes A, B and so on."
            ),
            "slightly_words": _(
                "In place of “A slightly”, for example: {letter} sounds a little angrier. Leave empty for the usual "
                "word."
            ),
            "clearly_words": _("In place of “A clearly”, for example: {letter} sounds much angrier."),
            "tie_words": _("In place of “Tie”, for example: Can't decide. Leave empty for the usual word."),
            "both_good_words": _("In place of “Both good”."),
            "both_bad_words": _("In place of “Both bad”."),
            "cant_judge_words": _("In place of “Can't judge”."),
            "skip_words": _("In place of “Skip”."),
            "instruction_line": _("Replaces the line above the items, such as “Mark the best and the worst.”"),
            "overlap": _(
                "How many different annotators answer each set of items shown together, such as a pair. If you "
                "lower it later, sets with more answers keep them all. 1000 means no limit: the least compared items "
                "come first, and everybody finds something to answer."
            ),
            "n_sets": _(
                "Leave empty to create new sets without end. With a number, that many sets are drawn when the "
                "project opens, each item equally often (or once more), and the study ends when every set has "
                "its annotators."
            ),
            "comments": _("Annotators can add a comment to any answer. Comments are in the export of labels."),
            "item_comments": _(
                "Annotators can also comment on each item shown. The page Comments lists these comments by item; the "
                "owner can release them, without names, to the people behind the items."
            ),
            "comment_required": _(
                "Each answer needs a comment, but for skipped tasks and “Can't judge”. Only where comments are allowed."
            ),
            "known_button": _(
                "Annotators can say that they know an item, such as their own work: the task is taken back and they "
                "never see the item again."
            ),
            "media_captions": _(
                "What annotators see below each image, document or recording. Its text is the description of an image; "
                "transcripts stay folded in any case. Who knows whose work it is may judge otherwise."
            ),
            "marks_differences": _(
                "Where two plain texts are compared, the words that only one of them has are marked. Not in texts of "
                "more than 1,500 words, nor where the two have little in common."
            ),
            "folds_long_texts": _(
                "Where a text has more than 1,500 characters, all texts of the task are cut at the same height; one "
                "control above them opens all of them. A minimum reading time runs on either way."
            ),
            "annotators_expected": _(
                "With a number, each annotator sees how many answers are asked of them, such as “12 of 60”: their "
                "share of the answers that show each item 20 times (of pairs: 10 for each item)."
            ),
            "target": _("Your own number in place of that. Nobody is stopped: people may go on beyond it."),
            "cap": _("Leave empty for no limit."),
            "items_shown_by": _(
                "In tables, plots, the report and results links. Annotators see titles only if you show them under "
                "images and recordings. Exports always have keys and titles."
            ),
            "predict_unseen": _(
                "Items that nobody compared get a place predicted from their features, and marked so, where items left "
                "out show that features help. Places of items with answers stay as they are."
            ),
            "top_k": _("The ranking shows each item's chance of being among this many best items."),
        }
        widgets = {"question": forms.TextInput, "instructions": forms.Textarea(attrs={"rows": 8, "dir": "auto"})}

    def __init__(self, *args: Any, has_labels: bool = False, section: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("name", "question", "more_means", *WORDS):
            self.fields[name].widget.attrs["dir"] = "auto"
        for name in FIXED_BY_LABELS if has_labels else ():
            self.fields[name].disabled = True
            self.fields[name].help_text = QUESTION_FIXED if name == "question" else FIXED
        if has_labels:
            self.fields["task_type"].help_text = TASK_CHANGES
        for name in ("items_shown_by", "media_captions"):
            self.fields[name].required = False
        self.fields["shown_metadata"].choices = metadata_choices(self.instance, section)  # type: ignore[attr-defined]
        self.fix_criteria(has_labels)
        self.fields["estimator"].offer_to(self.instance)  # type: ignore[attr-defined]
        self.fields["weights"].widget.names = [one["name"] for one in self.instance.criteria]
        if section:
            self.fields = {name: self.fields[name] for name in SECTIONS[section]}

    def fix_criteria(self, has_labels: bool) -> None:
        """Fix the criteria once people are asked by them; see annotate.projects.actions.check_criteria."""
        rows = self.fields["criteria"].widget
        if self.instance.state != Project.State.DRAFT or has_labels:
            rows.n = len(self.instance.criteria)
            rows.questions_fixed = has_labels

    def clean_criteria(self) -> list[dict[str, str]]:
        after: list[dict[str, str]] = self.cleaned_data["criteria"]
        if not self.instance._state.adding and after != self.instance.criteria:
            try:
                check_criteria(self.instance, self.instance.criteria, after)
            except CriteriaFixed as refusal:
                raise forms.ValidationError(str(refusal)) from refusal
        return after

    def clean_weights(self) -> list[float]:
        """Weights go with the criteria: one for each, or none where all count the same."""
        weights: list[float] = self.cleaned_data["weights"]
        criteria = self.cleaned_data.get("criteria", self.instance.criteria)
        if len(weights) in (0, len(criteria)):
            return weights if len(set(weights)) > 1 else []
        if weights == self.instance.weights:  # the criteria are what changes
            return carry_weights(self.instance.criteria, criteria, weights)
        raise forms.ValidationError(
            _("You gave %(n)d weights for %(criteria)d criteria. Give one for each criterion, or none."),
            params={"n": len(weights), "criteria": len(criteria)},
        )

    @property
    def sections_with_errors(self) -> set[str]:
        return {section for section, names in SECTIONS.items() if not self.errors.keys().isdisjoint(names)}

    @property
    def has_own_words(self) -> bool:
        return any(self[name].value() or self[name].errors for name in WORDS)

    def clean_items_shown_by(self) -> str:
        """Keep what is set where nothing is sent."""
        return str(self.cleaned_data["items_shown_by"] or self.instance.items_shown_by)

    def clean_media_captions(self) -> str:
        return str(self.cleaned_data["media_captions"] or self.instance.media_captions)

    def clean_choice_words(self) -> str:
        return self.words_with_letter("choice_words")

    def clean_slightly_words(self) -> str:
        return self.words_with_letter("slightly_words")

    def clean_clearly_words(self) -> str:
        return self.words_with_letter("clearly_words")

    def words_with_letter(self, name: str) -> str:
        words = str(self.cleaned_data[name])
        if words and (words.count(LETTER) != 1 or set("{}") & set(words.replace(LETTER, ""))):
            raise forms.ValidationError(
                _("“%(value)s” does not say where the letter goes. Write {letter} once, as in “{letter} is better”."),
                params={"value": words},
            )
        return words

    @property
    def tasks(self) -> list[tuple[forms.boundfield.BoundWidget, TaskType]]:
        """Return the radio buttons of the task types."""
        return [(option, TASK_TYPES[option.data["value"]]) for option in self["task_type"]]

    def check_ends(self, values: dict[str, Any]) -> None:
        """Check that both ends have their own words or neither; the same words for both would not tell them apart."""
        best, worst = values.get("best_words", ""), values.get("worst_words", "")
        if TASK_TYPES[values["task_type"]].names_last and bool(best) != bool(worst):
            self.add_error(
                "best_words" if worst else "worst_words", _("Enter your own words for both ends, or for neither.")
            )
        elif best and best.casefold() == worst.casefold():
            self.add_error(
                "worst_words", _("Both ends have the same words, “%(value)s”. Use different words.") % {"value": best}
            )

    def check_buttons(self, values: dict[str, Any]) -> None:
        """Check that no two buttons say the same, and that both steps of a scale have own words or neither."""
        if bool(values.get("slightly_words")) != bool(values.get("clearly_words")):
            self.add_error(
                "slightly_words" if values.get("clearly_words") else "clearly_words",
                _("Enter your own words for both steps, slightly and clearly, or for neither."),
            )
        names_by_words: dict[str, str] = {}
        for name in ("choice_words", *GRADES, *BUTTONS):
            words = str(values.get(name) or "").casefold()
            if words and words in names_by_words:
                self.add_error(
                    name,
                    _("Two buttons have the same words, “%(value)s”. Use different words.") % {"value": values[name]},
                )
            names_by_words[words] = name

    def clean(self) -> dict[str, Any]:
        """Hold k and m to what the task takes; those it has no use for are left out."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if not values.get("task_type") or "k" in self.errors or "m" in self.errors:
            return values
        self.check_ends(values)
        self.check_buttons(values)
        task, k = TASK_TYPES[values["task_type"]], values.get("k")
        fewest, most = task.n_items
        if task.is_fixed_size:
            k = fewest
        if k is None or k < fewest:
            self.add_error(
                "k",
                _("%(shown)s items at a time are too few for “%(task)s”: give %(fewest)d to %(most)d.")
                % {"shown": k or _("No"), "task": task.title, "fewest": fewest, "most": most},
            )
            return values
        m = values.get("m") if task.ranks_some else None
        if task.ranks_some and (m is None or m >= k):
            self.add_error(
                "m",
                _("%(k)d items are shown, so 2 to %(most)d can be ranked. To rank all of them, choose “%(task)s”.")
                % {"k": k, "most": k - 1, "task": Project.TaskType.RANKING.label},
            )
        return values | {"k": k, "m": m, "shared_places": task.may_share and bool(values.get("shared_places"))}

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.fields}


class StateForm(forms.Form):
    state = forms.ChoiceField(choices=Project.State.choices)


class OverlapForm(forms.Form):
    overlap = forms.IntegerField(min_value=1, max_value=NO_LIMIT)
    page = forms.ChoiceField(choices=[("progress", ""), ("share", "")])


class DeleteForm(forms.Form):
    name = forms.CharField(
        label=_("The project's name"), widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"})
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if " ".join(name.split()) != " ".join(self.project.name.split()):
            raise forms.ValidationError(
                _("“%(typed)s” is not the project's name. Nothing was deleted; type it as it stands above."),
                params={"typed": name[:200]},
            )
        return name


class ArchiveForm(forms.Form):
    to = forms.ChoiceField(choices=[("archive", ""), ("bring-back", "")])


class CloneForm(forms.Form):
    name = forms.CharField(
        label=_("Name of the new project"), max_length=200, widget=forms.TextInput(attrs={"dir": "auto"})
    )
    with_items = forms.BooleanField(
        label=_("Copy the items, too"),
        required=False,
        initial=True,
        help_text=_("Their contexts, tags and known right answers are copied with them. Retired items stay retired."),
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].initial = _("%(name)s (copy)") % {"name": project.name[:190]}
