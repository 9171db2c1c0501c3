"""People whom the owner expects: a personal link for each, and what they must not judge, before they have joined."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now

from annotate.models.annotators import Annotator
from annotate.models.items import Item, Tag
from annotate.models.lti import LtiPlatform
from annotate.models.projects import Project
from annotate.models.tokens import new_token

MAX_EXPECTED_PEOPLE = 2000  # in a project
MAX_ORGANISATION_LENGTH = 80  # with its prefix it is a tag of items


class ExpectedPerson(models.Model):
    """One person of the roster. The personal link is theirs alone; `annotator` is who they became by it."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="expected_people")
    name = models.CharField(max_length=100)  # the pseudonym that they get
    email = models.EmailField(blank=True)
    organisation = models.CharField(max_length=MAX_ORGANISATION_LENGTH, blank=True)
    tags = models.JSONField(default=list, blank=True)  # those that the annotator gets
    token = models.CharField(max_length=40, unique=True, default=new_token)
    annotator = models.OneToOneField(
        Annotator, on_delete=models.CASCADE, null=True, blank=True, related_name="expected_as"
    )
    # Who they are at a learning platform, where their course's people were brought in from there.
    platform = models.ForeignKey(LtiPlatform, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    subject = models.CharField(max_length=255, blank=True)
    # Where their grade goes; known once they have opened the link in the course.
    lineitem = models.CharField(max_length=1000, blank=True)
    added_at = models.DateTimeField(db_default=Now())
    invited_at = models.DateTimeField(null=True, blank=True)  # by the last message
    n_invitations = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint("project", Lower("name"), name="one_expected_person_per_name"),
            models.UniqueConstraint(
                "project", Lower("email"), condition=~Q(email=""), name="one_expected_person_per_address"
            ),
            models.UniqueConstraint(
                "project", "platform", "subject", condition=~Q(subject=""), name="one_expected_person_per_subject"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def matching_tags(self) -> list[str]:
        """Return the names of the item tags that are a conflict because of whom the person belongs to."""
        domain = self.email.rpartition("@")[2]
        named = {"domain": domain, "organisation": self.organisation}
        return [f"{kind}:{value}".casefold() for kind, value in named.items() if value]


class ExpectedConflict(models.Model):
    """An item, or every item with this tag, that the person must not be shown once they have joined."""

    person = models.ForeignKey(ExpectedPerson, on_delete=models.CASCADE, related_name="conflicts")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    tag = models.ForeignKey(Tag, on_delete=models.CASCADE, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(item__isnull=False, tag=None) | Q(item=None, tag__isnull=False),
                name="an_expected_item_or_tag",
            ),
            models.UniqueConstraint(fields=["person", "item"], name="expected_item_once"),
            models.UniqueConstraint(fields=["person", "tag"], name="expected_tag_once"),
        ]

    def __str__(self) -> str:
        return f"{self.person}: {self.item or self.tag}"
