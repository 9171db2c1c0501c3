"""Annotators: figures, tags, tastes, cohorts; excluding, erasing, what is kept of one; who came by links."""

from collections.abc import Iterator, Sequence
from typing import IO, Any, Literal, cast

from annotate.client.rows import CohortComparison, TagRow
from annotate.client.transport import Transport, new_key


class People(Transport):
    def annotators(self, project: str, **filters: Any) -> Iterator[dict[str, Any]]:
        return self._rows(f"projects/{project}/annotators/", filters)

    def annotator(self, project: str, key: str, *, criterion: int | None = None) -> dict[str, Any]:
        return self._of(project, key, "", criterion=criterion)

    def annotator_ranking(self, project: str, key: str, **filters: Any) -> dict[str, Any]:
        """Return the annotator's own ranking beside the consensus; `reason` says why there is none."""
        return self._whole(f"projects/{project}/annotators/{key}/ranking/", filters)

    def exclude(self, project: str, key: str, reason: str = "") -> int:
        """Excludes an annotator; returns how many answers no longer count."""
        return int(self._do(project, key, "exclude", {"reason": reason})["n_voided"])

    def exclude_many(self, project: str, by: str, *, preview: bool = False, **chosen: Any) -> dict[str, Any]:
        """Excludes by span (since, until), session or tag, with a reason; with preview it only counts."""
        body = {"by": by, "preview": preview, **chosen}
        path = f"projects/{project}/annotators/exclusions/"
        return cast(dict[str, Any], self.call("POST", path, body=body, key=new_key()))

    def bulk_exclusions(self, project: str) -> Iterator[dict[str, Any]]:
        """List what was excluded by time, session or tag, latest first."""
        return self._rows(f"projects/{project}/annotators/exclusions/")

    def undo_bulk_exclusion(self, project: str, number: int) -> dict[str, Any]:
        """Undoes one of them; returns how many answers count again."""
        path = f"projects/{project}/annotators/exclusions/{number}/undo/"
        return cast(dict[str, Any], self.call("POST", path, body={}))

    def readmit(self, project: str, key: str) -> dict[str, Any]:
        return self._do(project, key, "readmit", {})

    def let_in(self, project: str, key: str) -> dict[str, Any]:
        """Admits somebody who failed the practice."""
        return self._do(project, key, "let-in", {})

    def annotator_data(self, project: str, key: str, file: IO[bytes]) -> None:
        """Write all data stored about the annotator into the file, as .zip."""
        self.download(f"projects/{project}/annotators/{key}/data/", file)

    def erase_annotator(self, project: str, key: str, pseudonym: str) -> int:
        """Delete an annotator for good; return how many labels were deleted with them."""
        return int(self._do(project, key, "erase", {"pseudonym": pseudonym})["n_labels"])

    def annotator_tags(self, project: str) -> list[dict[str, Any]]:
        """List the tags in use, each with its number of annotators."""
        return cast(list[dict[str, Any]], self.call("GET", f"projects/{project}/annotators/tags/"))

    def tag_annotators(self, project: str, rows: Sequence[TagRow], *, action: str = "tag") -> int:
        """Add tags, or remove them with the action untag; return how many changed."""
        body = {"action": action, "rows": list(rows)}
        return int(self.call("POST", f"projects/{project}/annotators/tags/", body=body, key=new_key())["n_tags"])

    def tastes(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Return the map of tastes, with every annotator."""
        return self._whole(f"projects/{project}/tastes/", {"criterion": criterion})

    def cohorts(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Return the `divisions` of the annotators and the requested `comparisons`."""
        return cast(dict[str, Any], self.call("GET", f"projects/{project}/cohorts/", query={"criterion": criterion}))

    def compare_cohorts(
        self, project: str, by: str, first: str, second: str = "", *, criterion: int | None = None
    ) -> CohortComparison:
        """Start a comparison of two cohorts; leave second empty for everybody else."""
        body = {"by": by, "first": first, "second": second, "criterion": criterion or 1}
        return cast(CohortComparison, self.call("POST", f"projects/{project}/cohorts/", body=body, key=new_key()))

    def cohort_comparison(self, project: str, number: int, **filters: Any) -> dict[str, Any]:
        """Return the status of a comparison and, once it is ready, every item side by side."""
        return self._whole(f"projects/{project}/cohorts/{number}/", filters)

    def expected_people(self, project: str) -> Iterator[dict[str, Any]]:
        """List the people expected, each with a personal `link`, `joined_at` and `n_labels`."""
        return self._rows(f"projects/{project}/roster/")

    def expect_people(self, project: str, rows: Sequence[dict[str, Any]]) -> int:
        """Put people on the list, all or none: name, and if known email, organisation, tags, conflicts."""
        body = {"rows": list(rows)}
        return int(self.call("POST", f"projects/{project}/roster/", body=body, key=new_key())["n_people"])

    def remove_expected_person(self, project: str, number: int) -> None:
        self.call("DELETE", f"projects/{project}/roster/{number}/")

    def invite_expected_people(
        self, project: str, words: str = "", *, to: Literal["new", "missing", "unfinished"] = "new"
    ) -> list[dict[str, Any]]:
        """Send links by e-mail to up to 100 people: those not written to yet, who have not come, or not finished."""
        body = {"words": words, "to": to}
        sent = self.call("POST", f"projects/{project}/roster/invitations/", body=body, key=new_key())
        return cast(list[dict[str, Any]], sent["results"])

    def courses(self, project: str) -> list[dict[str, Any]]:
        """List the courses of learning platforms that are connected with the project."""
        return cast(list[dict[str, Any]], self.call("GET", f"projects/{project}/roster/courses/")["courses"])

    def bring_course_in(self, project: str, number: int) -> dict[str, int]:
        """Put the people of a course on the list of people expected; say how many."""
        return cast(dict[str, int], self.call("POST", f"projects/{project}/roster/courses/{number}/"))

    def disconnect_course(self, project: str, number: int) -> None:
        self.call("DELETE", f"projects/{project}/roster/courses/{number}/")

    def participants(self, project: str) -> Iterator[dict[str, Any]]:
        """List who joined by link, latest first."""
        return self._rows(f"projects/{project}/entry/participants/")

    def check_code(self, project: str, code: str, *, use: bool = False) -> dict[str, Any]:
        body = {"code": code, "use": use}
        return cast(dict[str, Any], self.call("POST", f"projects/{project}/entry/codes/", body=body))

    def _of(self, project: str, key: str, what: str, **query: Any) -> dict[str, Any]:
        return cast(dict[str, Any], self.call("GET", f"projects/{project}/annotators/{key}/{what}", query=query))

    def _do(self, project: str, key: str, what: str, body: dict[str, Any]) -> dict[str, Any]:
        return cast(dict[str, Any], self.call("POST", f"projects/{project}/annotators/{key}/{what}/", body=body))
