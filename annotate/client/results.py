"""What came of it: rankings, fits, labels, progress, the goal, exports, run records."""

import time
from collections.abc import Iterator
from typing import IO, Any, cast
from urllib.parse import quote

from annotate.client.rows import Goal, Label, RankedItem
from annotate.client.transport import BETWEEN_LOOKS, PAGE, Transport, new_key


class Results(Transport):
    def ranking(self, project: str, **filters: Any) -> Iterator[RankedItem]:
        """Yield the ranking; nothing before the first fit. criterion: its number, in a project with several."""
        return self._rows(f"projects/{project}/ranking/", filters)

    def fits(self, project: str, *, criterion: int | None = None) -> Iterator[dict[str, Any]]:
        return self._rows(f"projects/{project}/fits/", {"criterion": criterion})

    def compare_fits(self, project: str, first: int, second: int, *, criterion: int | None = None) -> dict[str, Any]:
        """Compare two fits item by item, all items."""
        query = {"first": first, "second": second, "criterion": criterion}
        return self._whole(f"projects/{project}/fits/compare/", query)

    def models(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Return the estimators side by side on labels hidden from them."""
        return self._figures(project, "models", criterion)

    def trust(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Return each check of the ranking: its verdict, in words, and the figures behind it."""
        return self._figures(project, "trust", criterion)

    def report(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        return self._figures(project, "report", criterion)

    def progress(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        return self._figures(project, "progress", criterion)

    def goal(self, project: str, *, criterion: int | None = None) -> Goal:
        """Return the goal, whether it is met, and the forecast until it is."""
        return cast(Goal, self._figures(project, "goal", criterion))

    def set_goal(self, project: str, **settings: Any) -> Goal:
        """Set the goal (top, width, comparisons, plan) with goal_width or goal_comparisons, the price (text),
        price_per, currency."""
        return cast(Goal, self.call("PATCH", f"projects/{project}/goal/", body=settings))

    def remove_goal(self, project: str) -> Goal:
        return cast(Goal, self.call("DELETE", f"projects/{project}/goal/"))

    def labels(self, project: str, **filters: Any) -> Iterator[Label]:
        """Yield labels in the order of arrival; `cursor` is the last label that you have."""
        query = {"page_size": PAGE, **filters}
        while True:
            page = self.call("GET", f"projects/{project}/labels/", query=query)
            yield from page["results"]
            if page["next"] is None:
                return
            query["cursor"] = page["cursor"]

    def exports(self, project: str) -> list[dict[str, Any]]:
        """Return every table that can be taken away, with its columns and formats."""
        return cast(list[dict[str, Any]], self.call("GET", f"projects/{project}/exports/"))

    def export(
        self, project: str, table: str, file_format: str, file: IO[bytes], *, criterion: int | None = None
    ) -> None:
        """Writes a whole table into the file as it comes."""
        path = f"projects/{project}/exports/{quote(table, safe='')}.{quote(file_format, safe='')}"
        self.download(path, file, {"criterion": criterion})

    def records(self, project: str) -> Iterator[dict[str, Any]]:
        """Yield the run records asked for, the latest first."""
        return self._rows(f"projects/{project}/records/")

    def ask_for_record(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Request a run record, or return the one being made, which may be by another criterion."""
        query = {"criterion": criterion}
        return cast(dict[str, Any], self.call("POST", f"projects/{project}/records/", query=query, key=new_key()))

    def record(self, project: str, number: int) -> dict[str, Any]:
        return cast(dict[str, Any], self.call("GET", f"projects/{project}/records/{number}/"))

    def wait_for_record(self, project: str, number: int) -> dict[str, Any]:
        """Looks until it rests: ready or failed."""
        while (now := self.record(project, number))["status"] in ("asked", "running"):
            time.sleep(BETWEEN_LOOKS)
        return now

    def download_record(self, project: str, number: int, file: IO[bytes]) -> None:
        self.download(f"projects/{project}/records/{number}/download/", file)

    def results_links(self, project: str) -> Iterator[dict[str, Any]]:
        """Yield the results links, the latest first, revoked ones too."""
        return self._rows(f"projects/{project}/results-links/")

    def publish_results(
        self, project: str, *, criterion: int | None = None, expires_at: str | None = None
    ) -> dict[str, Any]:
        """Make a new results link: whoever has it sees the ranking."""
        body = {"criterion": criterion or 1, "expires_at": expires_at}
        return cast(dict[str, Any], self.call("POST", f"projects/{project}/results-links/", body=body))

    def revoke_results_link(self, project: str, link: str) -> None:
        self.call("DELETE", f"projects/{project}/results-links/{link}/")

    def results(self, token: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """Return the ranking behind a results link; sends no token of yours."""
        return self._rows(f"results/{quote(token, safe='')}/", filters)

    def _figures(self, project: str, what: str, criterion: int | None) -> dict[str, Any]:
        return cast(dict[str, Any], self.call("GET", f"projects/{project}/{what}/", query={"criterion": criterion}))
