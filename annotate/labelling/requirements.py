"""What stands before an annotator's first task and behind the last: consent, questions, the end; and the refusals."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.errors import UserError
from annotate.models import Annotator, Project


class StepRequired(UserError):
    """Something else comes before the next task: the page of this name."""

    code = "detour"

    page = ""


class ConsentRequired(StepRequired):
    code = "consent-first"
    page = "consent"

    def __init__(self) -> None:
        super().__init__(_("Before you continue, read the consent text and say whether you agree."))


class QuestionnaireRequired(StepRequired):
    code = "fields-first"
    page = "questionnaire"

    def __init__(self) -> None:
        super().__init__(_("Before you continue, please answer a few questions about yourself."))


class AlreadyFinished(StepRequired):
    code = "ended"
    page = "done"

    def __init__(self) -> None:
        super().__init__(_("You have finished, so you can no longer answer or undo. Thank you!"))


class NoPlaceLeft(UserError):
    def __init__(self, places: int) -> None:
        super().__init__(
            ngettext(
                "The only place is taken, so nobody new can take part at the moment. Thank you for coming!",
                "All %(n)d places are taken, so nobody new can take part at the moment. Thank you for coming!",
                places,
            )
            % {"n": places}
        )


class JoinLinkDisabled(UserError):
    code = "join-link-off"
    status = 403

    def __init__(self) -> None:
        super().__init__(
            _("Nobody new can join by this link. Use the link that the platform or the project's owner gave you.")
        )


class BadPlatformLink(UserError):
    """A platform link whose parameters are missing or were not filled in."""

    status = 400


class AlreadyStartedElsewhere(UserError):
    code = "came-before"

    def __init__(self) -> None:
        super().__init__(
            _(
                "Somebody with your participant ID has already started in another browser. Open the same link in "
                "that browser to continue. Or copy your personal link there, from Help beside each task, and "
                "open it here. If that was not you, tell the researcher on the platform; it will not count "
                "against you."
            )
        )


class NotFinished(UserError):
    def __init__(self) -> None:
        super().__init__(_("You can't finish yet: you still have something to answer."))


def check_requirements(project: Project, annotator: Annotator) -> None:
    """Raise the Detour that comes before the next task; look at nothing but the two rows."""
    if project.consent_version and annotator.consent_version != project.consent_version:
        raise ConsentRequired
    if project.fields_before > annotator.fields_before:
        raise QuestionnaireRequired
