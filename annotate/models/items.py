"""What is compared, and which items have been shown together."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from annotate.core.chat import chat_words
from annotate.core.cutting import cut_at_word
from annotate.core.markdown_words import end_headings, markdown_words
from annotate.core.sanitizing import strip_tags
from annotate.core.sections import section_words
from annotate.models.projects import ItemsShownBy, Project

MAX_FIRST_WORDS = 90  # characters of the line that names an item by its text
MIN_APPEARANCES = 4  # where a policy is adaptive, an item that was shown less often goes first, by the balanced rule


class Tag(models.Model):
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tags")
    name = models.CharField(max_length=100)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="one_tag_per_name")]

    def __str__(self) -> str:
        return self.name


class Context(models.Model):
    """What several items are about, such as the prompt that they answer: shown above them, and only items of the same
    context are compared."""

    class Kind(models.TextChoices):
        TEXT = "text", _("Text")
        MARKDOWN = "markdown", _("Markdown")
        HTML = "html", _("HTML")
        CHAT = "chat", _("Chat")

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="contexts")
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.TEXT)
    body = models.TextField()
    # SHA-256 of the body, which is too long for an index.
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "digest"], name="one_context_per_text")]

    def __str__(self) -> str:
        """Return one line that names the context in tables."""
        return one_line(naming_words(self.body, self.kind))


class Item(models.Model):
    class Kind(models.TextChoices):
        TEXT = "text", _("Text")
        MARKDOWN = "markdown", _("Markdown")
        HTML = "html", _("HTML")
        CHAT = "chat", _("Chat")
        IMAGE = "image", _("Image")
        AUDIO = "audio", _("Audio")
        VIDEO = "video", _("Video")
        LINK = "link", _("Link")
        SECTIONS = "sections", _("Several sections")

    RECORDINGS = (Kind.AUDIO, Kind.VIDEO)

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="items")
    # The owner's own name for the item: unique, exported, never shown to annotators.
    key = models.CharField(max_length=200)
    # What the owner calls it in tables and results, such as a pupil's name: need not be unique. Annotators see it only
    # where Project.media_captions says so. Pages show `title`, which falls back to the first words.
    name = models.CharField(max_length=200, blank=True, default="", db_default="")
    # Who or what made it, such as a model, a translator or a school: the leaderboard ranks these. Never shown to
    # annotators; "" where nobody is named.
    competitor = models.CharField(max_length=100, blank=True, default="", db_default="")
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.TEXT)
    # The text; of an image, what it shows in words; of sound and video, their transcript; of a link, its words; of
    # several sections, their JSON (annotate.core.sections).
    body = models.TextField()
    media = models.FileField(upload_to="items/", blank=True)
    link = models.CharField(max_length=2000, blank=True)
    # What the owner's own columns say of it, by name: the project says which of them annotators see.
    metadata = models.JSONField(default=dict, blank=True, db_default={})
    context = models.ForeignKey(Context, on_delete=models.PROTECT, null=True, blank=True, related_name="items")
    tags = models.ManyToManyField(Tag, related_name="items", blank=True)
    # Pictures of a document, in ItemPage: the pages of a PDF, which is an image with the first as its media, or those
    # in a text; or the files of several sections.
    n_pages = models.PositiveSmallIntegerField(default=0, db_default=0)
    retired_at = models.DateTimeField(null=True, blank=True)
    # Presentations that are open or hold an unvoided label, and a random number drawn anew with each: ordering by both
    # gives the item with the fewest comparisons, random among equals, from an index.
    n_taken = models.PositiveIntegerField(default=0)
    shuffle = models.FloatField(default=0.0)
    # How often the control arm (AskedBy.CONTROL) has shown it, which balances by this; never lowered.
    n_control = models.PositiveIntegerField(default=0, db_default=0)
    # Whether questions about it began from its predicted place, so that it does not go first by the balanced rule.
    asked_by_prediction = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="one_item_per_key"),
            models.CheckConstraint(
                condition=(Q(kind__in=["image", "audio", "video"], link="") & ~Q(media=""))
                | (Q(kind="link", media="") & ~Q(link=""))
                | Q(kind__in=["text", "markdown", "html", "chat", "sections"], media="", link=""),
                name="what_its_kind_needs",
            ),
        ]
        indexes = [
            # Whether another item, of a clone, has the same file is asked before it is deleted.
            models.Index(fields=["media"], condition=Q(media__gt=""), name="items_with_media"),
            models.Index(fields=["project", "n_taken", "shuffle"], condition=Q(retired_at=None), name="item_next"),
            models.Index(
                fields=["project", "n_control", "shuffle"], condition=Q(retired_at=None), name="item_next_of_control"
            ),
            # What goes first where a policy is adaptive (labelling.suggestions): of many predicted items none is read.
            models.Index(
                fields=["project", "n_taken", "shuffle"],
                condition=Q(retired_at=None, asked_by_prediction=False, n_taken__lt=MIN_APPEARANCES),
                name="item_rarely_shown",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        """Return one line that names the item to those who see the results."""
        return self.name or self.first_words

    def shown_as(self, by: str) -> str:
        """Return the line that names the item where results show items by `by`, a value of ItemsShownBy."""
        if by == ItemsShownBy.TEXT:
            return self.first_words or self.name
        if by == ItemsShownBy.BOTH and self.name and self.first_words:
            return f"{self.name}: {self.first_words}"
        return self.title

    @property
    def first_words(self) -> str:
        return one_line(naming_words(self.body, self.kind))

    @property
    def words(self) -> str:
        """Return the text without its tags, of a chat without its roles."""
        return words_of(self.body, self.kind)


class ItemPage(models.Model):
    """One file of an item that has several: a page of a PDF, a picture in a text, or the file of a section."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="pages")
    number = models.PositiveSmallIntegerField()  # from 1
    media = models.FileField(upload_to="items/")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "number"], name="one_page_per_number")]
        indexes = [models.Index(fields=["media"], name="pages_with_media")]

    def __str__(self) -> str:
        return f"{self.item}: {self.number}"


class Captions(models.Model):
    """What a recording says and sounds like, line by line in its own time: a WebVTT file, as it was uploaded."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="captions")
    language = models.CharField(max_length=35)  # a BCP 47 tag
    text = models.TextField()

    def __str__(self) -> str:
        return f"{self.item}: {self.language}"


def words_of(text: str, kind: str) -> str:
    if kind == Item.Kind.CHAT:
        return chat_words(text)
    if kind == Item.Kind.SECTIONS:
        return section_words(text)
    return strip_tags(text) if kind == Item.Kind.HTML else text


def naming_words(text: str, kind: str) -> str:
    """Return the words from which a text is named: of Markdown the beginning, without its marks, headings ended."""
    return markdown_words(end_headings(text)) if kind == Item.Kind.MARKDOWN else words_of(text, kind)


def one_line(text: str) -> str:
    return cut_at_word(" ".join(text.split()), MAX_FIRST_WORDS)


class ItemSet(models.Model):
    """A set of items that has been shown together at least once, or is planned to be; overlap is counted here."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="item_sets")
    # The items' primary keys, ascending, joined by "-".
    key = models.CharField(max_length=220)
    # Presentations that are open or hold an unvoided label.
    n_taken = models.PositiveIntegerField(default=0)
    shuffle = models.FloatField(default=0.0)
    # Where the set stands in the project's plan of sets; null where there is none, or the set is not of it.
    place = models.PositiveIntegerField(null=True, blank=True)
    # Of a question that the owner gave: its number in their list, from 1, which is its place while it is asked; how
    # soon it is asked where that goes by priority; and since when the owner has it asked no more.
    number = models.PositiveIntegerField(null=True, blank=True)
    priority = models.IntegerField(default=0, db_default=0)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    # Whether the first of its annotators got it because the engine suggested it (AskedBy.ADAPTIVE).
    adaptive = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="one_row_per_item_set"),
            models.UniqueConstraint(
                fields=["project", "number"], condition=Q(number__isnull=False), name="one_question_per_number"
            ),
        ]
        indexes = [
            models.Index(fields=["project", "n_taken", "shuffle"], name="item_set_next"),
            models.Index(
                fields=["project", "-priority", "n_taken", "shuffle"],
                condition=Q(number__isnull=False),
                name="question_by_priority",
            ),
            models.Index(fields=["project", "place"], condition=Q(place__isnull=False, n_taken=0), name="planned_next"),
        ]

    def __str__(self) -> str:
        return self.key
