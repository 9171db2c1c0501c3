"""The owner's pages of a project's languages: which there are, what is missing, and translating it."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.access import SignedInRequest
from annotate.core.errors import UserError
from annotate.core.languages import direction, language_name
from annotate.items.translations import translate_all, translate_contexts
from annotate.models import Project, ProjectTranslation
from annotate.participation.questionnaire.queries import asked_questions
from annotate.participation.rules import participation_rules
from annotate.projects.languages.actions import set_languages, translate_words
from annotate.projects.languages.forms import KNOWN, ContextTextForm, ItemTextForm, LanguagesForm, WordsForm
from annotate.projects.languages.queries import contexts_to_translate, items_to_translate, language_states


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def languages(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    form = LanguagesForm(request.POST or None, initial={"language": project.language})
    if request.method == "POST":
        if "remove" in request.POST:
            kept = [one for one in project.languages if one != request.POST["remove"]]
            return change(request, project, project.language, kept)
        if form.is_valid():
            wanted = [*project.languages, *filter(None, [form.cleaned_data["add"]])]
            return change(request, project, form.cleaned_data["language"], wanted)
    context = {
        "project": project,
        "form": form,
        "states": language_states(project),
        "known": [(code, language_name(code)) for code in KNOWN],
    }
    return render(request, "projects/languages.html", context, status=400 if form.errors else 200)


def change(request: SignedInRequest, project: Project, language: str, wanted: list[str]) -> HttpResponse:
    try:
        set_languages(project=project, actor=request.user, language=language, languages=wanted, now=timezone.now())
        messages.success(request, _("The languages are saved."))
    except UserError as refusal:
        messages.error(request, str(refusal))
    return redirect("languages", project.pk)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def translation(request: SignedInRequest, project_id: UUID, language: str) -> HttpResponse:
    """Show what there is in one language, and save the project's words or a page of items."""
    project = access.project_for(request, project_id, access.MANAGE)
    if language not in project.languages:
        raise Http404
    found = ProjectTranslation.objects.filter(project=project, language=language).first()
    only_missing = "missing" in request.GET
    page, rows = items_to_translate(project, language, only_missing=only_missing, number=request.GET.get("page"))
    about_items = "items" in request.POST
    about_words = request.method == "POST" and ("words" in request.POST or not about_items)
    words = WordsForm(request.POST if about_words else None, instance=found, project=project)
    words.add_texts(participation_rules(project), asked_questions(project))
    data = request.POST if about_items else None
    contexts = contexts_to_translate(rows, language)
    rows = [row for row in rows if not about_items or f"item-{row.item.pk}-body" in request.POST]
    forms = [
        ItemTextForm(data, prefix=f"item-{row.item.pk}", initial={"body": row.body, "title": row.title}) for row in rows
    ]
    contexts = [one for one in contexts if not about_items or f"context-{one.context.pk}-body" in request.POST]
    context_forms = [
        ContextTextForm(data, prefix=f"context-{one.context.pk}", initial={"body": one.body}) for one in contexts
    ]
    bound = [form for form in [words, *forms, *context_forms] if form.is_bound]
    valid = [form.is_valid() for form in bound]  # every form, so that each says its errors
    if request.method == "POST" and all(valid):
        texts = {row.item.pk: form.texts() for row, form in zip(rows, forms, strict=True)} if about_items else {}
        bodies = {
            one.context.pk: form.cleaned_data["body"]
            for one, form in zip(contexts, context_forms, strict=True)
            if about_items
        }
        return save(request, project, language, words, texts, bodies)
    context: dict[str, Any] = {
        "project": project,
        "language": language,
        "language_name": language_name(language),
        "direction": direction(language),
        "words": words,
        "rows": list(zip(rows, forms, strict=True)),
        "contexts": list(zip(contexts, context_forms, strict=True)),
        "page": page,
        "only_missing": only_missing,
    }
    return render(request, "projects/translation.html", context, status=400 if request.method == "POST" else 200)


def save(
    request: SignedInRequest,
    project: Project,
    language: str,
    words: WordsForm,
    texts: dict[int, tuple[str, str]],
    contexts: dict[int, str],
) -> HttpResponse:
    given: dict[str, Any] = {"project": project, "actor": request.user, "language": language, "now": timezone.now()}
    try:
        if words.is_bound:
            translate_words(**given, words=words.words())
        if texts or contexts:
            translate_all(**given, texts=texts)
            translate_contexts(**given, texts=contexts)
        messages.success(request, _("Saved."))
    except UserError as refusal:
        messages.error(request, str(refusal))
    return redirect(request.get_full_path())
