"""Items: reading, adding, changing, their files and captions; imports of whole files."""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import IO, Any, cast

from annotate.client.rows import Captions, Idea, Import, Item, NewItem
from annotate.client.transport import BETWEEN_LOOKS, Transport, new_key

CHUNK = 1000  # items sent at a time


class Items(Transport):
    def items(self, project: str, **filters: Any) -> Iterator[Item]:
        return self._rows(f"projects/{project}/items/", filters)

    def item(self, project: str, item: int) -> Item:
        return cast(Item, self.call("GET", f"projects/{project}/items/{item}/"))

    def add_items(self, project: str, items: Iterable[NewItem]) -> list[str]:
        """Add items, a thousand per request, and return their keys. Raises ApiError at the first refused request."""
        source, keys = iter(items), list[str]()
        while chunk := list(islice(source, CHUNK)):
            made = self.call("POST", f"projects/{project}/items/", body={"items": chunk}, key=new_key())
            keys += made["keys"]
        return keys

    def add_item_file(self, project: str, file: IO[bytes], **details: str) -> dict[str, Any]:
        """Add an image, sound or video; details: key, title, text, context, competitor."""
        return self.upload(f"projects/{project}/items/files/", details, {"file": file})

    def change_item(self, project: str, item: int, **changes: Any) -> Item:
        """Change title, competitor, retired, tags or translations (by language code, each with text and title)."""
        return cast(Item, self.call("PATCH", f"projects/{project}/items/{item}/", body=changes))

    def delete_item(self, project: str, item: int) -> None:
        """Delete an item that has never been shown; retire others instead."""
        self.call("DELETE", f"projects/{project}/items/{item}/")

    def item_media(self, project: str, item: int, file: IO[bytes]) -> None:
        """Write the item's file into `file`."""
        self.download(f"projects/{project}/items/{item}/media/", file)

    def item_page(self, project: str, item: int, number: int, file: IO[bytes]) -> None:
        """Write one page of a document into `file`."""
        self.download(f"projects/{project}/items/{item}/pages/{number}/", file)

    def item_figures(self, project: str, item: int, *, criterion: int | None = None) -> dict[str, Any]:
        """Return rank, rivals, results, who disagrees and history of an item."""
        path = f"projects/{project}/items/{item}/figures/"
        return cast(dict[str, Any], self.call("GET", path, query={"criterion": criterion}))

    def captions(self, project: str, item: int) -> Captions:
        return cast(Captions, self.call("GET", f"projects/{project}/items/{item}/captions/"))

    def set_captions(self, project: str, item: int, text: str, language: str) -> Captions:
        """Set the captions; text is the content of a WebVTT file."""
        body = {"text": text, "language": language}
        return cast(Captions, self.call("PUT", f"projects/{project}/items/{item}/captions/", body=body))

    def remove_captions(self, project: str, item: int) -> None:
        self.call("DELETE", f"projects/{project}/items/{item}/captions/")

    # --- Ideas --------------------------------------------------------------------------------------------------------

    def ideas(self, project: str, **filters: Any) -> Iterator[Idea]:
        """List annotators' ideas; with `state="waiting"` those to decide about."""
        return self._rows(f"projects/{project}/ideas/", filters)

    def approve_ideas(self, project: str, ideas: Sequence[int]) -> list[str]:
        """Make items of ideas as they are written; return the keys of the new items."""
        body = {"ideas": list(ideas)}
        return cast(list[str], self.call("POST", f"projects/{project}/ideas/", body=body, key=new_key())["keys"])

    def approve_idea(self, project: str, idea: int, text: str | None = None) -> Idea:
        """Make an item of the idea, in these words instead of its own."""
        return cast(Idea, self.call("POST", f"projects/{project}/ideas/{idea}/approve/", body={"text": text}))

    def merge_idea(self, project: str, idea: int, item: str) -> Idea:
        """Says that the item with this key says the same; nothing is added."""
        return cast(Idea, self.call("POST", f"projects/{project}/ideas/{idea}/merge/", body={"item": item}))

    def refuse_idea(self, project: str, idea: int, reason: str) -> Idea:
        """Refuses the idea; its author reads the reason."""
        return cast(Idea, self.call("POST", f"projects/{project}/ideas/{idea}/refuse/", body={"reason": reason}))

    # --- Imports ------------------------------------------------------------------------------------------------------

    def imports(self, project: str) -> Iterator[Import]:
        """List imports, latest first."""
        return self._rows(f"projects/{project}/imports/")

    def start_import(
        self,
        project: str,
        kind: str,
        file: IO[bytes],
        *,
        keys: IO[bytes] | None = None,
        columns: dict[str, Any] | None = None,
        **options: Any,
    ) -> Import:
        """kind: items, comparisons, media, features, questions, annotators or counts. columns: where guessed wrong.

        Every row is checked by the engine before the first is written, which waits for `go_on`, unless `at_once`.
        """
        given = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
        fields = {"kind": kind, "columns": json.dumps(columns or {}), **given}
        files = {"file": file, **({"keys": keys} if keys else {})}
        return cast(Import, self.upload(f"projects/{project}/imports/", fields, files))

    def measure_items(self, project: str, what: str) -> Import:
        """Has all "pictures" (24 features each) or "texts" (51 each) measured. Follow it as an import."""
        return cast(Import, self.call("POST", f"projects/{project}/items/features/measure/", body={"what": what}))

    def import_(self, project: str, number: int) -> Import:
        """Return the progress of an import, with `problems` for rows with errors."""
        return cast(Import, self.call("GET", f"projects/{project}/imports/{number}/"))

    def go_on(self, project: str, number: int) -> Import:
        """Import the valid rows without those with errors, or resume an import that stopped or failed."""
        return cast(Import, self.call("POST", f"projects/{project}/imports/{number}/go-on/", body={}))

    def stop_import(self, project: str, number: int) -> Import:
        return cast(Import, self.call("POST", f"projects/{project}/imports/{number}/stop/", body={}))

    def left_out(self, project: str, number: int, file: IO[bytes]) -> None:
        """Write the rows that were not imported, each with the reason, as CSV into the file."""
        self.download(f"projects/{project}/imports/{number}/left-out/", file)

    def wait_for_import(self, project: str, number: int) -> Import:
        """Poll until the import is checked, done, failed or cancelled."""
        while (now := self.import_(project, number))["state"] in ("uploaded", "running"):
            time.sleep(BETWEEN_LOOKS)
        return now
