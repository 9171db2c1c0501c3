"""The page where comments on items are moderated and released, and the page behind an entry link."""

from functools import partial
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.audit import record_export
from annotate.core.rate_limits import check_rate_limit
from annotate.files.downloads import sent
from annotate.files.writers import FORMATS, csv_chunks
from annotate.models import EntryLink, ItemComment, Project
from annotate.publishing.entries import actions
from annotate.publishing.entries.forms import TagForm
from annotate.publishing.entries.queries import (
    LINK_COLUMNS,
    comments_of,
    counts_of,
    entry_of,
    link_rows,
    listed_items,
    with_comments,
)
from annotate.publishing.results_links.views import keep_unlisted

PAGE_SIZE = 20


@login_required
@require_safe
def comments(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """List the comments by item, of one tag or all."""
    project = access.project_for(request, project_id, access.MANAGE)
    form = TagForm(request.GET, project=project)
    tag = form.asked()
    page = Paginator(listed_items(project, tag), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "project": project,
        "tag": tag,
        "tags": form.tags,
        "counts": counts_of(project, tag),
        "page": page,
        "rows": [(row, link_address(request, row.link)) for row in with_comments(project, list(page))],
        "n_links": project.entry_links.filter(revoked_at=None).count(),
        "is_owner": project.role in access.OWN,
    }
    return render(request, "publishing/comments.html", context)


def link_address(request: HttpRequest, link: EntryLink | None) -> str:
    return request.build_absolute_uri(reverse("entry-page", args=[link.token])) if link else ""


def to_comments(project: Project, tag: str = "") -> HttpResponse:
    query = f"?{urlencode({'tag': tag})}" if tag else ""
    return redirect(reverse("comments", args=[project.pk]) + query)


def comment_or_404(project: Project, comment_id: int) -> ItemComment:
    return get_object_or_404(comments_of(project).select_related("item__project"), pk=comment_id)


@login_required
@require_POST
def hide(request: SignedInRequest, project_id: UUID, comment_id: int) -> HttpResponse:
    """Hide one comment from entrants, or no longer."""
    project = access.project_for(request, project_id, access.MANAGE)
    comment, hidden = comment_or_404(project, comment_id), request.POST.get("action") != "show"
    if actions.set_hidden(comment=comment, actor=request.user, hidden=hidden, now=timezone.now()):
        messages.success(request, _("The comment is hidden.") if hidden else _("The comment is no longer hidden."))
    return to_comments(project, request.POST.get("tag", ""))


@login_required
@require_POST
def release(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Release the comments of a tag or of all items to entrants, or withdraw them."""
    released = request.POST.get("action") != "withdraw"
    project = access.project_for(request, project_id, access.OWN, in_archive=not released)
    form = TagForm(request.POST, project=project)
    if not form.is_valid():
        raise Http404
    tag = form.asked()
    n = actions.set_released(project=project, actor=request.user, tag=tag, released=released, now=timezone.now())
    if released:
        text = ngettext("%(n)d comment is released.", "%(n)d comments are released.", n)
    else:
        text = ngettext("%(n)d comment is withdrawn.", "%(n)d comments are withdrawn.", n)
    messages.success(request, text % {"n": n})
    return to_comments(project, tag)


@login_required
@require_POST
def make(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Make a link for one item, or for each with the tag or of all, that has none."""
    project = access.project_for(request, project_id, access.OWN)
    form = TagForm(request.POST, project=project)
    asked = request.POST.get("item", "")
    if not form.is_valid() or not (asked.isdecimal() or not asked) or len(asked) > 18:
        raise Http404
    tag, item = form.asked(), get_object_or_404(project.items, pk=asked) if asked else None
    n = actions.make_entry_links(project=project, actor=request.user, tag=tag, item=item, now=timezone.now())
    messages.success(request, ngettext("%(n)d link is created.", "%(n)d links are created.", n) % {"n": n})
    return to_comments(project, form.asked())


def link_or_404(project: Project, link_id: UUID) -> EntryLink:
    return get_object_or_404(project.entry_links.select_related("project", "item"), pk=link_id)


@login_required
@require_POST
def revoke(request: SignedInRequest, project_id: UUID, link_id: UUID) -> HttpResponse:
    """Revoke a link, in the archive too."""
    project = access.project_for(request, project_id, access.OWN, in_archive=True)
    if actions.revoke_entry_link(link=link_or_404(project, link_id), actor=request.user, now=timezone.now()):
        messages.success(request, _("The link is revoked and no longer works."))
    return to_comments(project)


@login_required
@require_safe
def download(request: SignedInRequest, project_id: UUID) -> StreamingHttpResponse:
    """Send the links in use, for a mail merge of one's own."""
    project = access.project_for(request, project_id, access.OWN)
    check_rate_limit(request, "export", who=str(request.user.pk))
    if request.method == "GET":
        record_export(project=project, actor=request.user, table="entry links", file_format="csv", now=timezone.now())
    rows = list(link_rows(project, partial(link_address, request)))
    response = sent(request, csv_chunks(LINK_COLUMNS, rows), FORMATS["csv"][0])
    response["Content-Disposition"] = 'attachment; filename="entry-links.csv"'
    response["Cache-Control"] = "no-store"
    return response


@never_cache
@login_required
@require_safe
def sheet(request: SignedInRequest, project_id: UUID, link_id: UUID) -> HttpResponse:
    """Show the owner what an entry's page shows, with its address, to be printed."""
    project = access.project_for(request, project_id, access.OWN)
    link = link_or_404(project, link_id)
    if link.revoked_at is not None:
        raise Http404
    return entry_response(request, link, address=link_address(request, link))


@never_cache
@keep_unlisted
@require_safe
def entry_page(request: HttpRequest, token: str) -> HttpResponse:
    """Show whoever has the link the item's released comments, and its place if the owner shows it."""
    check_rate_limit(request, "results")
    return entry_response(request, access.entry_link(token))


def entry_response(request: HttpRequest, link: EntryLink, address: str = "") -> HttpResponse:
    context = {"project": link.project, "link": link, "entry": entry_of(link), "address": address}
    return render(request, "publishing/entry.html", context)
