"""What came of it: rankings, fits, labels, progress, the goal, exports, run records."""

import time
from collections.abc import Callable, Iterator
from typing import IO, Any, cast
from urllib.parse import quote

from annotate.client.rows import Goal, Label, RankedItem
from annotate.client.transport import BETWEEN_LOOKS, PAGE, Transport, new_key

Tell = Callable[[int], None]


def too_slow(timeout: float, waiting: int, fit: dict[str, Any] | None) -> str:
    missing = f"{waiting} changes to the labels are not fitted" if waiting > 0 or fit else "there is no fit"
    return f"After {timeout:g} seconds {missing}. Wait longer (--timeout), or see the project's Engine page."


class Results(Transport):
    def ranking(self, project: str, **filters: Any) -> Iterator[RankedItem]:
        """Yield the rows of the ranking; none before the first fit. criterion: its number, if there are several.

        track: a tag within whose items places and P(first) are given."""
        return self._rows(f"projects/{project}/ranking/", filters)

    def ranking_pair(self, project: str, above: str, below: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Return the probability that one item, by key, is above another; None, with a reason, where unknown."""
        query = {"above": above, "below": below, "criterion": criterion}
        return cast(dict[str, Any], self.call("GET", f"projects/{project}/ranking/pair/", query=query))

    def wait_for_ranking(
        self, project: str, *, criterion: int | None = None, timeout: float = 600.0, tell: Tell | None = None
    ) -> dict[str, Any]:
        """Poll until the published fit holds every label given before; return the fit.

        timeout: seconds, after which TimeoutError is raised.   tell: called with the changes that still wait, at every
        look."""
        end, target = time.monotonic() + timeout, None
        query = {"criterion": criterion, "page_size": 1}
        while True:
            page = self.call("GET", f"projects/{project}/ranking/", query=query)
            target = page["data_version"] + page["n_waiting"] if target is None else target
            waiting = target - page["data_version"]
            if page["fit"] is not None and waiting <= 0:
                return cast(dict[str, Any], page["fit"])
            if tell is not None:
                tell(waiting)
            if time.monotonic() >= end:
                raise TimeoutError(too_slow(timeout, waiting, page["fit"]))
            time.sleep(min(BETWEEN_LOOKS, max(end - time.monotonic(), 0.0)))

    def fits(self, project: str, *, criterion: int | None = None) -> Iterator[dict[str, Any]]:
        return self._rows(f"projects/{project}/fits/", {"criterion": criterion})

    def compare_fits(self, project: str, first: int, second: int, *, criterion: int | None = None) -> dict[str, Any]:
        """Compare two fits item by item."""
        query = {"first": first, "second": second, "criterion": criterion}
        return self._whole(f"projects/{project}/fits/compare/", query)

    def models(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Compare the estimators on labels that were hidden from them."""
        return self._figures(project, "models", criterion)

    def keep_estimator(self, project: str) -> dict[str, Any]:
        """Keep the estimator in use: a better one is told of again only after the next evaluation."""
        return cast(dict[str, Any], self.call("POST", f"projects/{project}/models/"))

    def trust(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Return each check of the ranking: its verdict, in words, and the figures behind it."""
        return self._figures(project, "trust", criterion)

    def methods(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Return how the ranking was computed: model, settings, versions, a paragraph for a paper, BibTeX."""
        return self._figures(project, "methods", criterion)

    def preregistration(self, project: str) -> dict[str, Any]:
        """Return the frozen plan with its SHA-256."""
        return cast(dict[str, Any], self.call("GET", f"projects/{project}/preregistration/"))

    def freeze_plan(self, project: str, **statements: str) -> dict[str, Any]:
        """Freezes the plan, once. statements: hypotheses, stopping_rule, exclusion_rules, analysis."""
        return cast(dict[str, Any], self.call("POST", f"projects/{project}/preregistration/", body=statements))

    def deviations(self, project: str) -> Iterator[dict[str, Any]]:
        """List the changes of the plan since it was frozen."""
        return self._rows(f"projects/{project}/deviations/")

    def explain_deviation(self, project: str, number: int, reason: str) -> dict[str, Any]:
        """Add the reason of a deviation, once."""
        body = {"reason": reason}
        return cast(dict[str, Any], self.call("PATCH", f"projects/{project}/deviations/{number}/", body=body))

    def report(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        return self._figures(project, "report", criterion)

    def progress(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """How many answers there are, and by `forecast` how many are likely to come."""
        return self._figures(project, "progress", criterion)

    def goal(self, project: str, *, criterion: int | None = None) -> Goal:
        """Return the goal, whether it is met, and the forecast."""
        return cast(Goal, self._figures(project, "goal", criterion))

    def set_goal(self, project: str, **settings: Any) -> Goal:
        """goal (top, width, comparisons, plan, reliability, places, boundaries), its number (goal_width,
        goal_comparisons, goal_reliability, goal_places), goal_deadline (YYYY-MM-DD), pause_at_goal, price (text),
        price_per, currency."""
        return cast(Goal, self.call("PATCH", f"projects/{project}/goal/", body=settings))

    def remove_goal(self, project: str) -> Goal:
        return cast(Goal, self.call("DELETE", f"projects/{project}/goal/"))

    def policy(self, project: str) -> dict[str, Any]:
        """Which questions are asked, and by which rules answers were asked for so far."""
        return cast(dict[str, Any], self.call("GET", f"projects/{project}/policy/"))

    def set_policy(self, project: str, **settings: Any) -> dict[str, Any]:
        """policy (balanced, whole, best, classes), top_k, class_shares, control_percent."""
        return cast(dict[str, Any], self.call("PATCH", f"projects/{project}/policy/", body=settings))

    def grades(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Where the grades begin, and the probability of each for each item, all items."""
        return self._whole(f"projects/{project}/grades/", {"criterion": criterion})

    def overall(self, project: str, *, track: str | None = None) -> dict[str, Any]:
        """Return the weighted total over all criteria: places, P(first) and P(top k), all items; weights are settings.

        track: a tag within whose items places are given."""
        return self._whole(f"projects/{project}/overall/", {"page_size": PAGE, "track": track})

    def set_grades(self, project: str, by: str, grades: list[dict[str, Any]]) -> dict[str, Any]:
        """by: score or share.   grades: name and limit of each, the best first; the last has no limit."""
        return cast(dict[str, Any], self.call("PUT", f"projects/{project}/grades/", body={"by": by, "grades": grades}))

    def remove_grades(self, project: str) -> dict[str, Any]:
        return cast(dict[str, Any], self.call("DELETE", f"projects/{project}/grades/"))

    def leaderboard(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Return the ranking of those who made the items: rows, tables of all pairs, categories, style."""
        return self._figures(project, "leaderboard", criterion)

    def set_leaderboard(self, project: str, style_features: list[str]) -> dict[str, Any]:
        """Set the features held equal: imported ones, or length."""
        body = {"style_features": style_features}
        return cast(dict[str, Any], self.call("PATCH", f"projects/{project}/leaderboard/", body=body))

    def scale(self, project: str, **settings: Any) -> dict[str, Any]:
        """Return the ranking on another scale, all items.

        kind: spread (mean, deviation), source (an earlier project) or anchors (lines of key; value; deviation).
        criterion: of a project with several, its number.
        """
        return self._whole(f"projects/{project}/scale/", settings)

    def keep_scale(self, project: str, **settings: Any) -> dict[str, Any]:
        """Keep this scale (settings as for `scale`): its anchors have fixed values, whatever is fitted later."""
        return cast(dict[str, Any], self.call("PUT", f"projects/{project}/scale/", query=settings))

    def forget_scale(self, project: str, *, criterion: int | None = None) -> None:
        query = {"criterion": criterion} if criterion else {}
        self.call("DELETE", f"projects/{project}/scale/", query=query)

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
        """List every table that can be exported, with its columns and format."""
        return cast(list[dict[str, Any]], self.call("GET", f"projects/{project}/exports/"))

    def export(
        self, project: str, table: str, file_format: str, file: IO[bytes], *, criterion: int | None = None, **how: Any
    ) -> None:
        """Write a whole table into the file while it arrives.

        how, of `preferences`: lines (answers, majority), form (text, chat), held_out (per cent of the prompts) and
        split (all, train, test)."""
        path = f"projects/{project}/exports/{quote(table, safe='')}.{quote(file_format, safe='')}"
        self.download(path, file, {"criterion": criterion, **how})

    def records(self, project: str) -> Iterator[dict[str, Any]]:
        """List the requested run records, latest first."""
        return self._rows(f"projects/{project}/records/")

    def ask_for_record(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Request a run record, or return the one in progress, which may be for another criterion."""
        query = {"criterion": criterion}
        return cast(dict[str, Any], self.call("POST", f"projects/{project}/records/", query=query, key=new_key()))

    def record(self, project: str, number: int) -> dict[str, Any]:
        return cast(dict[str, Any], self.call("GET", f"projects/{project}/records/{number}/"))

    def wait_for_record(self, project: str, number: int) -> dict[str, Any]:
        """Poll until the run record is ready or failed."""
        while (now := self.record(project, number))["status"] in ("asked", "running"):
            time.sleep(BETWEEN_LOOKS)
        return now

    def download_record(self, project: str, number: int, file: IO[bytes]) -> None:
        self.download(f"projects/{project}/records/{number}/download/", file)

    def results_links(self, project: str) -> Iterator[dict[str, Any]]:
        """List results links, latest first, including revoked ones."""
        return self._rows(f"projects/{project}/results-links/")

    def publish_results(
        self, project: str, *, criterion: int | None = None, expires_at: str | None = None, **live: Any
    ) -> dict[str, Any]:
        """Create a link; anyone who has it can see the ranking. criterion 0: the overall ranking.

        live: what the page shows besides (shows_methods, shows_groups, shows_leaderboard, invites) and the
        projector view (hides_names, shows_join, deadline)."""
        body = {"criterion": 1 if criterion is None else criterion, "expires_at": expires_at, **live}
        return cast(dict[str, Any], self.call("POST", f"projects/{project}/results-links/", body=body))

    def change_results_link(self, project: str, link: str, **changes: Any) -> dict[str, Any]:
        """revealed: true reveals the names, false hides them; deadline: what the projector view counts down to."""
        return cast(dict[str, Any], self.call("PATCH", f"projects/{project}/results-links/{link}/", body=changes))

    def revoke_results_link(self, project: str, link: str) -> None:
        self.call("DELETE", f"projects/{project}/results-links/{link}/")

    def results(self, token: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """Return the ranking behind a results link; needs no token."""
        return self._rows(f"results/{quote(token, safe='')}/", filters)

    def comments(self, project: str, *, tag: str = "") -> Iterator[dict[str, Any]]:
        """List the comments on items, by item."""
        return self._rows(f"projects/{project}/comments/", {"tag": tag or None})

    def hide_comment(self, project: str, comment: int, *, hidden: bool = True) -> dict[str, Any]:
        """Hides a comment from entrants, or no longer."""
        body = {"hidden": hidden}
        return cast(dict[str, Any], self.call("PATCH", f"projects/{project}/comments/{comment}/", body=body))

    def release_comments(self, project: str, *, tag: str = "", released: bool = True) -> int:
        """Releases the comments there are now to entrants, of a tag or of all items, or withdraws them."""
        body = {"released": released, "tag": tag}
        return int(self.call("POST", f"projects/{project}/comments/release/", body=body)["n_comments"])

    def entry_links(self, project: str) -> Iterator[dict[str, Any]]:
        """List entry links, latest first, including revoked ones."""
        return self._rows(f"projects/{project}/entry-links/")

    def make_entry_links(self, project: str, **which: str) -> int:
        """Make a link for each item that has none.   which: tag, or item (the key of one)."""
        return int(self.call("POST", f"projects/{project}/entry-links/", body=which)["n_links"])

    def revoke_entry_link(self, project: str, link: str) -> None:
        self.call("DELETE", f"projects/{project}/entry-links/{link}/")

    def entry_page(self, token: str) -> dict[str, Any]:
        """Return what an entry link shows; needs no token."""
        return cast(dict[str, Any], self.call("GET", f"entries/{quote(token, safe='')}/"))

    def results_methods(self, token: str) -> dict[str, Any]:
        """Return the methods behind a results link that shows them; needs no token."""
        return cast(dict[str, Any], self.call("GET", f"results/{quote(token, safe='')}/methods/"))

    def _figures(self, project: str, what: str, criterion: int | None) -> dict[str, Any]:
        return cast(dict[str, Any], self.call("GET", f"projects/{project}/{what}/", query={"criterion": criterion}))
