"""Files of items, to those who may see the item: with a type of our choosing, and nothing in them runs."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe

from annotate import access
from annotate.items.media.delivery import HARMLESS, send_media
from annotate.models import Captions


@require_safe
def item_media(request: HttpRequest, item_id: int) -> HttpResponseBase:
    return send_media(request, access.item_for(request, item_id))


@require_safe
def item_page(request: HttpRequest, item_id: int, number: int) -> HttpResponseBase:
    """Send one page of a document."""
    return send_media(request, access.item_for(request, item_id), number)


@require_safe
def item_captions(request: HttpRequest, item_id: int) -> HttpResponseBase:
    """Send the captions of a recording to those who may play it."""
    captions = get_object_or_404(Captions, item=access.item_for(request, item_id))
    response = HttpResponse(captions.text, content_type="text/vtt; charset=utf-8")
    response["Content-Disposition"] = f'inline; filename="item-{item_id}.vtt"'
    for header, value in HARMLESS.items():
        response[header] = value
    patch_cache_control(response, private=True, no_cache=True)
    return response
