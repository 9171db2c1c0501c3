"""Labels of a project that were moved out of the database into a file (annotate.operations.label_archives)."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from annotate.models.projects import Project


class LabelArchive(models.Model):
    """The file that holds what was shown and answered in an archived project, in place of the rows.

    While there is one, the rows are gone, or some of them: a command that was stopped goes on where it was.
    """

    class State(models.TextChoices):
        REMOVING = "removing", _("Rows are being removed from the database")
        ARCHIVED = "archived", _("The file alone holds the rows")
        RESTORING = "restoring", _("Rows are being brought back")

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="label_archive")
    file = models.FileField(upload_to="label-archives/")
    sha256 = models.CharField(max_length=64)
    state = models.CharField(max_length=10, choices=State, default=State.REMOVING)
    n_presentations = models.PositiveBigIntegerField()
    n_labels = models.PositiveBigIntegerField()
    n_unvoided = models.PositiveBigIntegerField()
    made_at = models.DateTimeField()
    # What has to be taken out of the file: the answers of people erased since, and what names the others.
    drops_people = models.BooleanField(default=False)
    drops_texts = models.BooleanField(default=False)

    def __str__(self) -> str:
        return str(self.file.name)

    @property
    def is_outdated(self) -> bool:
        """Return whether the file holds what has to be taken out."""
        return self.drops_people or self.drops_texts
