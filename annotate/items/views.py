"""The owner's list of items: finding, tagging, retiring, bringing back, deleting what nobody has seen."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.access import SignedInRequest
from annotate.core.errors import UserError
from annotate.core.paging import PAGE_SIZE
from annotate.items import actions
from annotate.items.bulk_actions import name_competitor, retire_items, tag_items, untag_items
from annotate.items.forms import ItemActionForm, ItemsForm, ManyItemsForm
from annotate.items.queries import filtered, items_page
from annotate.models import Item, Project


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def table(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    if request.method == "POST":
        return change(request, project)
    form = ItemsForm(request.GET, project=project)
    asked = form.asked()
    items = items_page(
        project, search=asked["q"], state=asked["state"], tag=asked["tag"], number=request.GET.get("page")
    )
    context = {
        "project": project,
        "form": form,
        "many": ManyItemsForm(),
        "items": items,
        "is_filtered": any(asked.values()),
    }
    return render(request, "items/items.html", context)


def change(request: SignedInRequest, project: Project) -> HttpResponse:
    form = ItemActionForm(request.POST)
    if request.POST.get("action") == "right-answer":
        return open_known_set_form(request, project)
    if "item" not in request.POST and "action" in request.POST:
        change_many(request, project)
    elif form.is_valid():
        act(request, get_object_or_404(project.items, pk=form.cleaned_data["item"]), form.cleaned_data)
    elif problems := [*form.errors.get("title", []), *form.errors.get("competitor", [])]:
        messages.error(request, " ".join(map(str, problems)))
    else:
        messages.error(request, _("The request named no item and action. Use the buttons in the list."))
    query = request.GET.urlencode()
    return redirect(reverse("items", args=[project.pk]) + (f"?{query}" if query else ""))


def open_known_set_form(request: SignedInRequest, project: Project) -> HttpResponse:
    """Leads to the page of a set with a right answer, with the items ticked."""
    items = chosen(request, project, every=False)
    return redirect(reverse("known-set-new", args=[project.pk]) + "?" + urlencode({"item": items}, doseq=True))


def change_many(request: SignedInRequest, project: Project) -> None:
    """Change the items ticked, or all that the search finds: add or remove tags, retire, bring back."""
    form = ManyItemsForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
        return
    items = chosen(request, project, form.cleaned_data["every"])
    if not items:
        messages.error(request, _("No items are selected, so nothing was changed. Select some in the list first."))
        return
    given: dict[str, Any] = {"project": project, "actor": request.user, "items": items}
    now, tags, action = timezone.now(), form.cleaned_data["tags"], form.cleaned_data["action"]
    if action == "tag":
        n = tag_items(**given, names=tags, now=now)
        text = ngettext("%(n)d item is tagged.", "%(n)d items are tagged.", n)
    elif action == "untag":
        n = untag_items(**given, names=tags, now=now)
        text = ngettext("Tags were removed from %(n)d item.", "Tags were removed from %(n)d items.", n)
    elif action == "name":
        n = name_competitor(**given, name=form.cleaned_data["competitor"], now=now)
        text = ngettext("The competitor of %(n)d item is saved.", "The competitor of %(n)d items is saved.", n)
    elif action == "retire-all":
        n = retire_items(**given, retire=True, now=now)
        text = ngettext("%(n)d item is retired; its labels stay.", "%(n)d items are retired; their labels stay.", n)
    else:
        n = retire_items(**given, retire=False, now=now)
        text = ngettext("%(n)d item is in use again.", "%(n)d items are in use again.", n)
    messages.success(request, text % {"n": n})


def chosen(request: SignedInRequest, project: Project, every: bool) -> list[int]:
    if every:
        asked = ItemsForm(request.GET, project=project).asked()
        found = filtered(project.items.all(), asked["q"], asked["state"], asked["tag"])
        return list(found.order_by("pk").values_list("pk", flat=True))
    return [int(pk) for pk in request.POST.getlist("items")[: 2 * PAGE_SIZE] if pk.isdecimal() and len(pk) < 19]


def act(request: SignedInRequest, item: Item, asked: dict[str, Any]) -> None:
    now, key, action = timezone.now(), item.key, asked["action"]
    try:
        if action == "title":
            actions.set_title(item=item, actor=request.user, title=asked["title"], now=now)
            messages.success(request, _("The title of “%(key)s” is saved.") % {"key": key})
        elif action == "competitor":
            actions.set_competitor(item=item, actor=request.user, name=asked["competitor"], now=now)
            messages.success(request, _("The competitor of “%(key)s” is saved.") % {"key": key})
        elif action == "retire":
            actions.retire_item(item=item, actor=request.user, now=now)
            messages.success(request, _("“%(key)s” is retired: it is no longer shown; its labels stay.") % {"key": key})
        elif action == "bring-back":
            actions.bring_back_item(item=item, actor=request.user, now=now)
            messages.success(request, _("“%(key)s” is in use again.") % {"key": key})
        else:
            actions.delete_item(item=item, actor=request.user, now=now)
            messages.success(request, _("“%(key)s” is deleted. Nobody had seen it.") % {"key": key})
    except UserError as refusal:
        messages.error(request, str(refusal))
