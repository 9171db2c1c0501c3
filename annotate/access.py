"""Who may see or change what: the only way a view gets an object. Nothing is found unless a rule here says so."""

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.db.models import Exists
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from annotate.core.errors import LinkExpired, ProjectArchived
from annotate.core.statements import Given, Statement
from annotate.models import (
    Annotator,
    ApiToken,
    EntryLink,
    ExpectedPerson,
    Item,
    Membership,
    ParticipationRules,
    Presentation,
    Project,
    ResultsLink,
    User,
)
from annotate.models.item_comments import entry_signer
from annotate.models.results_links import signer

Role = Membership.Role
SEE = frozenset({Role.OWNER, Role.MANAGER, Role.VIEWER})  # the dashboard and its exports
MANAGE = frozenset({Role.OWNER, Role.MANAGER})  # items, settings, opening, annotators
OWN = frozenset({Role.OWNER})  # members, deleting
ANNOTATE = frozenset({Role.OWNER, Role.MANAGER, Role.ANNOTATOR})  # answer with an account, without a join link

SAFE = ("GET", "HEAD", "OPTIONS")

SESSION_KEY = "annotators"  # in the session: {project id: annotator key}


class SignInRequired(PermissionDenied):
    """What an account's annotator sent came without their being signed in; says to which project to come back."""

    def __init__(self, project_id: UUID) -> None:
        self.project_id = project_id
        super().__init__()


def require_operator(user: User | AnonymousUser) -> None:
    """Raise Http404 unless the asker runs the site."""
    if not (user.is_active and user.is_staff):
        raise Http404


role_of_member = Statement(
    lambda: Membership.objects.filter(project=Given("project", Membership), user=Given("user", Membership)).values_list(
        "role", flat=True
    )
)
project_by_id = Statement(lambda: Project.objects.filter(pk=Given("id", Project)))


def role_in(user: User | AnonymousUser, project_id: UUID) -> str | None:
    if not user.is_authenticated:
        return None
    return next(iter(role_of_member(project=project_id, user=user.pk)), None)


def project_for(request: HttpRequest, project_id: UUID, roles: frozenset[Role], *, in_archive: bool = False) -> Project:
    """Return the project, with `project.role` set to the asker's; 404 to outsiders, 403 to members whose role is too
    low.

    What changes a project (neither GET nor for all who see it) raises ProjectArchived for an archived one, unless
    `in_archive`.
    """
    role = role_in(request.user, project_id)
    if role is None or not token_reaches(request, project_id):
        raise Http404
    if role not in roles:
        raise PermissionDenied
    project: Project | None = next(iter(project_by_id(id=project_id)), None)
    if project is None:  # deleted a moment ago
        raise Http404
    if project.archived_at and not in_archive and roles != SEE and request.method not in SAFE:
        raise ProjectArchived
    project.role = role
    return project


def token_reaches(request: HttpRequest, project_id: UUID) -> bool:
    """Return False where the asker came with an access token for another project."""
    token = getattr(request, "auth", None)
    return not isinstance(token, ApiToken) or token.project_id in (None, project_id)


annotator_by_account = Statement(
    lambda: Annotator.objects.select_related("project").filter(
        Exists(
            Membership.objects.filter(
                project=Given("project", Membership), user=Given("user", Membership), role__in=ANNOTATE
            )
        ),
        project=Given("project", Annotator),
        user=Given("user", Annotator),
    )
)
annotator_by_key = Statement(
    lambda: Annotator.objects.select_related("project").filter(
        project=Given("project", Annotator), key=Given("key", Annotator), user=None
    )
)


def annotator_for(request: HttpRequest, project_id: UUID) -> Annotator | None:
    """Return who the asker is among the project's annotators, by account or by the join link's session; None if nobody
    yet.

    An account counts while it is a member who may annotate, not longer.
    """
    auth = getattr(request, "auth", None)
    if isinstance(auth, Annotator):  # a program with the annotator's own secret
        return auth if auth.project_id == project_id else None
    if request.user.is_authenticated and token_reaches(request, project_id):
        own = annotator_by_account(project=project_id, user=request.user.pk)
        if own:
            return own[0]
    if isinstance(auth, ApiToken):
        return None
    key = request.session.get(SESSION_KEY, {}).get(str(project_id))
    return next(iter(annotator_by_key(project=project_id, key=key)), None) if key else None


def annotator_or_404(request: HttpRequest, project_id: UUID) -> Annotator:
    """Return who the asker is among the project's annotators; 404 to everybody else."""
    annotator = annotator_for(request, project_id)
    if annotator is None:
        raise Http404
    return annotator


def remember_annotator(request: HttpRequest, annotator: Annotator) -> None:
    """Binds a pseudonymous annotator to this browser's session, under a new key: the old one may be known to whoever
    planted it there."""
    known = request.session.get(SESSION_KEY, {})
    if known.get(str(annotator.project_id)) != str(annotator.key):
        if request.session.session_key:
            request.session.cycle_key()
        request.session[SESSION_KEY] = {**known, str(annotator.project_id): str(annotator.key)}


def project_to_join(token: str) -> Project:
    """Return the project behind a join link: whoever has the link may join."""
    return get_object_or_404(Project, join_token=token)


def expected_person(token: str) -> ExpectedPerson:
    """Return the person of the roster behind a personal link, whether they have joined or not."""
    return get_object_or_404(ExpectedPerson.objects.select_related("project", "annotator__project"), token=token)


def participation_rules_by_platform(token: str) -> ParticipationRules:
    """Return the rules of the project behind a platform link, while it takes people from a platform."""
    return get_object_or_404(ParticipationRules.objects.select_related("project"), platform_token=token, platform=True)


def annotator_to_resume(token: str) -> Annotator:
    """Return the annotator behind a personal link; those with an account sign in instead."""
    return get_object_or_404(Annotator.objects.select_related("project"), resume_token=token, user=None)


def results_link(token: str, now: datetime) -> ResultsLink:
    """Return the results link with this token; raises LinkExpired where it has ended or was revoked."""
    try:
        pk = UUID(signer.unsign(token))
    except (signing.BadSignature, ValueError):
        raise Http404 from None
    link = get_object_or_404(ResultsLink.objects.select_related("project"), pk=pk)
    if link.is_over(now):
        raise LinkExpired
    return link


def entry_link(token: str) -> EntryLink:
    """Return the entry link with this token; raises LinkExpired where it was revoked."""
    try:
        pk = UUID(entry_signer.unsign(token))
    except (signing.BadSignature, ValueError):
        raise Http404 from None
    link = get_object_or_404(EntryLink.objects.select_related("project", "item"), pk=pk)
    if link.revoked_at is not None:
        raise LinkExpired
    return link


presentation_by_token = Statement(
    lambda: (
        Presentation.objects.select_related("annotator__project")
        .defer("annotator__project__instructions")
        .filter(token=Given("token", Presentation))
    )
)


def presentation_for(request: HttpRequest, token: str) -> Presentation:
    """Return the presentation with this token, for the annotator it was given to.

    The token is a secret that only its annotator was sent, so a join link's annotator whose session has run out may
    still answer; an account must be signed in (SignInFirst else, the answer waits in the browser), and a token in the
    hands of another annotator is not found.
    """
    found = presentation_by_token(token=token)
    if not found:
        raise Http404
    presentation: Presentation = found[0]
    owner, auth = presentation.annotator, getattr(request, "auth", None)
    if isinstance(auth, Annotator):
        if auth.pk != owner.pk:
            raise Http404
        return presentation
    if not token_reaches(request, owner.project_id):
        raise Http404
    if owner.user_id is not None:
        if not request.user.is_authenticated:
            raise SignInRequired(owner.project_id)
        if request.user.pk != owner.user_id or role_in(request.user, owner.project_id) not in ANNOTATE:
            raise Http404
        return presentation
    if isinstance(auth, ApiToken):
        raise Http404
    key = request.session.get(SESSION_KEY, {}).get(str(owner.project_id))
    if key is not None and key != str(owner.key):
        raise Http404
    # Whose key it is has been told by now; an account may be another annotator of the same project.
    if request.user.is_authenticated and (asker := annotator_for(request, owner.project_id)) and asker.pk != owner.pk:
        raise Http404
    return presentation


def item_for(request: HttpRequest, item_id: int) -> Item:
    """Return an item, for members who see the project and for annotators to whom it has been presented."""
    item = get_object_or_404(Item, pk=item_id)
    role = role_in(request.user, item.project_id)
    if role in SEE and token_reaches(request, item.project_id):
        return item
    annotator = annotator_for(request, item.project_id)
    if annotator and item.presented.filter(presentation__annotator=annotator).exists():
        return item
    raise Http404


class SignedInRequest(HttpRequest):
    user: User
