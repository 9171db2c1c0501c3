"""What stands under an image, a document or a recording on the task, where the owner wants that."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from annotate.labelling.wording import Wording
from annotate.models import Item, Project

MEDIA = (Item.Kind.IMAGE, *Item.RECORDINGS)


@dataclass(frozen=True)
class MediaCaption:
    """title: "" where none is shown; with its language. shows_text: whether the item's text stands under the title."""

    title: str = ""
    language: str = ""
    shows_text: bool = False

    def alternative_text(self, body: str) -> str:
        """Return what stands for the image: nothing where the same words are read below it."""
        return "" if self.shows_text or body == self.title else body


def media_caption(wording: Wording, row: Sequence, untitled: Collection[int]) -> MediaCaption:
    """row: of the values of ITEM_COLUMNS; untitled: the items whose titles are in the project's own language.

    Only the text of a single image is shown: that of pages and recordings is a transcript, folded below them.
    """
    project = wording.project
    item_id, kind, body, name, _link, _captions, n_pages, _metadata, _context = row
    if kind not in MEDIA:
        return MediaCaption()
    title = name if project.shows_titles else ""
    language = project.language if item_id in untitled else wording.shown
    shows_text = project.shows_image_texts and kind == Item.Kind.IMAGE and not n_pages and body != title
    return MediaCaption(title, language, shows_text)


def titles_missing(project: Project, rows: Sequence[tuple], untitled: Collection[int]) -> set[int]:
    """Return the items whose title is shown in the project's own language instead of the one asked for."""
    return {row[0] for row in rows if row[0] in untitled and row[1] in MEDIA} if project.shows_titles else set()
