"""Projects: making, settings, who comes in and how, questions, right answers, members, webhooks, the log."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, cast

from annotate.client.rows import Project
from annotate.client.transport import Transport, new_key

Values = dict[str, Any]
QUESTIONS_AT_ONCE = 1000


class Projects(Transport):
    def projects(self) -> Iterator[Project]:
        """List your projects, latest first."""
        return self._rows("projects/")

    def project(self, project: str) -> Values:
        """Return one project with every setting."""
        return self._project("GET", project)

    def create_project(self, name: str, question: str, **settings: Any) -> Values:
        body = {"name": name, "question": question, **settings}
        return cast(Values, self.call("POST", "projects/", body=body, key=new_key()))

    def change_project(self, project: str, **settings: Any) -> Values:
        return self._project("PATCH", project, body=settings)

    def set_state(self, project: str, state: str) -> Values:
        """Set the state: open, paused or closed."""
        return self._project("POST", project, "state/", body={"state": state})

    def archive_project(self, project: str, *, archived: bool = True) -> Values:
        return self._project("POST", project, "archive/", body={"archived": archived})

    def embedding(self, project: str) -> Values:
        """Return which sites may show the vote and the results, and the vote's address for frames."""
        return self._project("GET", project, "embedding/")

    def set_embedding(self, project: str, origins: Sequence[str]) -> Values:
        """Set the sites that may show the vote and the results, such as https://www.example.org."""
        return self._project("PUT", project, "embedding/", body={"origins": list(origins)})

    def languages(self, project: str) -> Values:
        """Return the project's languages, its words in each, and what is not translated yet."""
        return self._project("GET", project, "languages/")

    def set_languages(self, project: str, language: str, languages: Sequence[str]) -> Values:
        """Set the project's own language and the further ones; translations into those left out are deleted."""
        return self._project("PATCH", project, "languages/", body={"language": language, "languages": list(languages)})

    def translate_words(self, project: str, language: str, **words: Any) -> Values:
        """Set the project's words in one of its further languages: question, instructions, more_means and so on."""
        return self._project("PATCH", project, f"languages/{language}/", body=words)

    def clone_project(self, project: str, name: str, **options: Any) -> Values:
        return self._project("POST", project, "clone/", body={"name": name, **options}, key=new_key())

    def delete_project(self, project: str, name: str) -> None:
        """Delete the project and everything in it for good; name is the project's, as a safeguard."""
        self._project("DELETE", project, query={"name": name})

    def log(self, project: str, **filters: Any) -> Iterator[Values]:
        """List every change and export."""
        return self._rows(f"projects/{project}/log/", filters)

    def preview(self, project: str, n: int = 0) -> Values:
        """Return a sample task after n answers; store nothing."""
        return self._project("GET", project, "preview/", query={"n": n})

    def retention(self, project: str) -> Values:
        return self._project("GET", project, "retention/")

    def set_retention(self, project: str, days: int | None, drops: str) -> Values:
        """days after closing: 0 keeps everything, None uses the site's default. drops: personal or labels."""
        return self._project("PUT", project, "retention/", body={"days": days, "drops": drops})

    # --- Who takes part -----------------------------------------------------------------------------------------------

    def entry(self, project: str) -> Values:
        """Return who may take part and how, with the links."""
        return self._project("GET", project, "entry/")

    def change_entry(self, project: str, **rules: Any) -> Values:
        return self._project("PATCH", project, "entry/", body=rules)

    def replace_join_link(self, project: str) -> Values:
        return self._project("POST", project, "entry/join-link/", body={})

    def switch_on_short_address(self, project: str) -> Values:
        return self._project("POST", project, "entry/short-address/", body={})

    def switch_off_short_address(self, project: str) -> Values:
        """Switch the address off; one that is switched on later is another."""
        return self._project("DELETE", project, "entry/short-address/")

    def replace_platform_link(self, project: str) -> Values:
        return self._project("POST", project, "entry/platform-link/", body={})

    def invite(self, project: str, addresses: Sequence[str], **more: Any) -> Values:
        """Send invitations; return what happened to each."""
        body = {"addresses": list(addresses), **more}
        return self._project("POST", project, "entry/invitations/", body=body, key=new_key())

    def questionnaire(self, project: str) -> list[Values]:
        return list(self._project("GET", project, "questionnaire/")["questions"])

    def replace_questionnaire(self, project: str, questions: Sequence[Values]) -> list[Values]:
        """Replace all questions; those with an id are kept."""
        body = {"questions": list(questions)}
        return list(self._project("PUT", project, "questionnaire/", body=body)["questions"])

    # --- Given questions ----------------------------------------------------------------------------------------------

    def given_questions(self, project: str, **filters: Any) -> Iterator[Values]:
        """List the questions that the owner gave. filters: state, item."""
        return self._rows(f"projects/{project}/given-questions/", filters)

    def question_plan(self, project: str) -> Values:
        """Return in which order they are asked, and how many answers they still need."""
        return self._project("GET", project, "given-questions/order/")

    def add_questions(self, project: str, questions: Iterable[Values | Sequence[str]], order: str = "") -> Values:
        """Add questions, a thousand per request: sequences of item keys, or {"items": keys, "priority": 3}.

        Returns n_added and n_merged. order: balanced, in_order or priority; else as before. Raises ApiError at the
        first refused request.
        """
        source, found = iter(questions), {"n_added": 0, "n_merged": 0}
        while chunk := [
            one if isinstance(one, dict) else {"items": list(one)} for one in islice(source, QUESTIONS_AT_ONCE)
        ]:
            body = {"questions": chunk, **({"order": order} if order else {})}
            made = self._project("POST", project, "given-questions/", body=body, key=new_key())
            found = {name: n + made[name] for name, n in found.items()}
        return found

    def change_questions(self, project: str, numbers: Sequence[int], **changes: Any) -> int:
        """Change priority or asked (true, false); return how many were another way before."""
        body = {"numbers": list(numbers), **changes}
        return int(self._project("PATCH", project, "given-questions/", body=body)["n_changed"])

    def withdraw_questions(
        self, project: str, numbers: Sequence[int] | None = None, *, draw_again: bool = False
    ) -> int:
        """Asks these, or all, no more; returns how many were asked. draw_again: draws questions from then on."""
        body = {"draw_again": draw_again, **({} if numbers is None else {"numbers": list(numbers)})}
        return int(self._project("POST", project, "given-questions/withdraw/", body=body)["n_changed"])

    def order_questions(self, project: str, order: str) -> Values:
        return self._project("PUT", project, "given-questions/order/", body={"order": order})

    # --- Right answers, conflicts of interest -------------------------------------------------------------------------

    def known_sets(self, project: str, **filters: Any) -> Iterator[Values]:
        return self._rows(f"projects/{project}/known-sets/", filters)

    def add_known_sets(self, project: str, sets: Sequence[Values]) -> int:
        """Add all sets or none; return their number."""
        made = self._project("POST", project, "known-sets/", body={"sets": list(sets)}, key=new_key())
        return int(made["n_sets"])

    def delete_known_set(self, project: str, number: int) -> None:
        self._project("DELETE", project, f"known-sets/{number}/")

    def never_shown(self, project: str) -> Iterator[Values]:
        return self._rows(f"projects/{project}/never-shown/")

    def add_never_shown(self, project: str, rows: Sequence[Values], *, void: bool = False) -> int:
        """Add all rows or none; return how many were new. void: answers given before about them no longer count."""
        body = {"rows": list(rows), "void": void}
        made = self._project("POST", project, "never-shown/", body=body, key=new_key())
        return int(made["n_rows"])

    def delete_never_shown(self, project: str, number: int) -> None:
        self._project("DELETE", project, f"never-shown/{number}/")

    # --- Members, webhooks --------------------------------------------------------------------------------------------

    def member_invitations(self, project: str) -> Iterator[Values]:
        """List who is invited and has no account so far."""
        return self._rows(f"projects/{project}/invitations/")

    def withdraw_invitation(self, project: str, number: int) -> None:
        self._project("DELETE", project, f"invitations/{number}/")

    def members(self, project: str) -> Iterator[Values]:
        return self._rows(f"projects/{project}/members/")

    def add_member(self, project: str, address: str, role: str) -> Values:
        return self._project("POST", project, "members/", body={"address": address, "role": role}, key=new_key())

    def change_member(self, project: str, number: int, role: str) -> Values:
        return self._project("PUT", project, f"members/{number}/", body={"role": role})

    def remove_member(self, project: str, number: int) -> None:
        self._project("DELETE", project, f"members/{number}/")

    def webhooks(self, project: str) -> Iterator[Values]:
        return self._rows(f"projects/{project}/webhooks/")

    def add_webhook(self, project: str, url: str, events: Sequence[str]) -> Values:
        """Add a webhook; return its secret, which is shown only once."""
        return self._project("POST", project, "webhooks/", body={"url": url, "events": list(events)})

    def switch_webhook(self, project: str, number: int, *, active: bool) -> Values:
        return self._project("PUT", project, f"webhooks/{number}/", body={"active": active})

    def replace_webhook_secret(self, project: str, number: int) -> Values:
        return self._project("POST", project, f"webhooks/{number}/secret/", body={})

    def test_webhook(self, project: str, number: int) -> Values:
        return self._project("POST", project, f"webhooks/{number}/test/", body={})

    def delete_webhook(self, project: str, number: int) -> None:
        self._project("DELETE", project, f"webhooks/{number}/")

    def webhook_deliveries(self, project: str) -> Iterator[Values]:
        """List the deliveries of the last 30 days, latest first."""
        return self._rows(f"projects/{project}/webhooks/deliveries/")

    def _project(self, method: str, project: str, what: str = "", **sent: Any) -> Values:
        return cast(Values, self.call(method, f"projects/{project}/{what}", **sent))
