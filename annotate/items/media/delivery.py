"""Sends an item's file with a type of our choosing, so that nothing in it runs."""

from hashlib import sha256

from django.db.models.fields.files import FieldFile
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.cache import get_conditional_response, patch_cache_control
from PIL import Image, UnidentifiedImageError

from annotate.core import http_ranges
from annotate.core.sections import sections_in
from annotate.items.media.recordings import container_of
from annotate.models import Item, ItemPage

PICTURES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
RECORDINGS = {
    (Item.Kind.AUDIO, "mp3"): "audio/mpeg",
    (Item.Kind.AUDIO, "ogg"): "audio/ogg",
    (Item.Kind.AUDIO, "wav"): "audio/wav",
    (Item.Kind.AUDIO, "flac"): "audio/flac",
    (Item.Kind.AUDIO, "mp4"): "audio/mp4",
    (Item.Kind.AUDIO, "webm"): "audio/webm",
    (Item.Kind.VIDEO, "mp4"): "video/mp4",
    (Item.Kind.VIDEO, "webm"): "video/webm",
}
HARMLESS = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}


def send_media(request: HttpRequest, item: Item, page: int | None = None) -> HttpResponseBase:
    """Send the item's file, or this page of a document; whether the asker may have it has been settled."""
    media = item.media if page is None else get_object_or_404(ItemPage, item=item, number=page).media
    if not media:
        raise Http404
    etag = version_of(media)
    response: HttpResponseBase | None = get_conditional_response(request, etag=etag)
    if response is None:
        content_type = type_of(item.kind if page is None else kind_of_page(item, page), media)
        response = http_ranges.send_stored_file(request, media.storage, str(media.name), content_type, etag)
        name = f"item-{item.pk}.{content_type.partition('/')[2]}"
        response["Content-Disposition"] = f'inline; filename="{name}"'
        for header, value in HARMLESS.items():
            response[header] = value
    response["ETag"] = etag
    patch_cache_control(response, private=True, max_age=3600)
    return response


def version_of(media: FieldFile) -> str:
    try:
        version = f"{media.name} {media.size} {media.storage.get_modified_time(str(media.name))}"
    except FileNotFoundError:
        raise Http404 from None
    return f'"{sha256(version.encode()).hexdigest()[:32]}"'


def kind_of_page(item: Item, number: int) -> str:
    """Return the kind of an item's file with this number: of a section, its own; else it is a picture."""
    sections = sections_in(item.body) if item.kind == Item.Kind.SECTIONS else []
    return next((one.kind for one in sections if one.file == number), Item.Kind.IMAGE.value)


def type_of(kind: str, media: FieldFile) -> str:
    """Return the type of what the file holds, whatever its name says; what is none of its kind is not found."""
    with media.storage.open(str(media.name)) as file:
        if kind in Item.RECORDINGS:
            known = RECORDINGS.get((Item.Kind(kind), container_of(file.read(16))))
            if known is None:
                raise Http404
            return known
        try:
            with Image.open(file, formats=list(PICTURES)) as picture:
                return PICTURES[picture.format or ""]
        except (UnidentifiedImageError, Image.DecompressionBombError):
            raise Http404 from None
