"""The owner's page about embedding: which sites may, and the code to put into their pages."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.access import SignedInRequest
from annotate.models import Project
from annotate.participation.embedding.actions import set_sites
from annotate.participation.embedding.forms import SitesForm
from annotate.participation.embedding.middleware import NEW, PREFIX
from annotate.participation.rules import participation_rules


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def embedding(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.OWN)
    form = SitesForm(request.POST or None, initial={"origins": "\n".join(project.embed_origins)})
    if request.method == "POST" and form.is_valid():
        set_sites(project=project, actor=request.user, origins=form.cleaned_data["origins"], now=timezone.now())
        messages.success(request, _("Saved."))
        return redirect("embedding", project.pk)
    now = timezone.now()
    links = [link for link in project.results_links.order_by("-made_at", "-pk") if not link.is_over(now)]
    context = {
        "project": project,
        "form": form,
        "open_link": participation_rules(project).open_link,
        "vote_code": frame_code(vote_address(request, project), project.question),
        "results_codes": [
            (link, frame_code(request.build_absolute_uri(reverse("results", args=[link.token])), project.name))
            for link in links
        ],
    }
    return render(request, "participation/embedding.html", context, status=400 if form.errors else 200)


def vote_address(request: HttpRequest, project: Project) -> str:
    """Return the address of the vote for frames."""
    return request.build_absolute_uri(f"{PREFIX}{NEW}{reverse('join', args=[project.join_token])}")


def frame_code(address: str, title: str) -> str:
    """Return the HTML to put into another page."""
    return str(format_html('<iframe src="{}" title="{}" width="100%" height="800"></iframe>', address, title))
