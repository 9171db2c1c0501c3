"""Taking part as an annotator: joining, consent, questions, tasks, looking back, the end."""

from collections.abc import Iterator, Sequence
from typing import Any, cast
from urllib.parse import quote

from annotate.client.rows import Idea, Step
from annotate.client.transport import Transport


class Annotating(Transport):
    def join_as_member(self, project: str, pseudonym: str = "") -> str:
        """Create your annotator in the project, or return the existing one. Returns its pseudonym."""
        made = self.call("POST", f"projects/{project}/annotator/", body={"pseudonym": pseudonym})
        return str(made["pseudonym"])

    def consent(self, project: str) -> dict[str, Any]:
        """Return the consent text and its version."""
        return cast(dict[str, Any], self.call("GET", f"projects/{project}/consent/"))

    def agree(self, project: str, version: str) -> dict[str, Any]:
        body = {"version": version}
        return cast(dict[str, Any], self.call("POST", f"projects/{project}/consent/", body=body))

    def questions(self, project: str) -> dict[str, Any]:
        """Return the questions of the questionnaire that are due now."""
        return cast(dict[str, Any], self.call("GET", f"projects/{project}/questions/"))

    def answer_questions(self, project: str, answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Submit answers, as pairs of id and answer; return the questions that are due next."""
        body = {"questions": list(answers)}
        return cast(dict[str, Any], self.call("POST", f"projects/{project}/questions/", body=body))

    def next(self, project: str, *, language: str = "") -> Step:
        """Return your open task, or a new one; in one of the project's languages, else in its own."""
        query = {"language": language or None}
        return cast(Step, self.call("POST", f"projects/{project}/next/", body={}, query=query, repeatable=True))

    def answer(
        self,
        token: str,
        outcome: str,
        *,
        chosen: int | None = None,
        order: Sequence[int] = (),
        shared: Sequence[int] = (),
        **more: Any,
    ) -> Step:
        """Store an answer and return the next step. Places count from 0. Repeating the call stores nothing more.

        shared: which entries of `order`, from 0, share the place of the entry before, where the project allows it.
        """
        body = {"outcome": outcome, "chosen": chosen, "order": list(order), "shared": list(shared), **more}
        done = self.call("POST", f"tasks/{quote(token, safe='')}/answer/", body=body, repeatable=True)
        return cast(Step, done["next"])

    def declare_known(self, token: str, place: int) -> Step:
        """Says that you know the item at this place, from 0: you never see it again. Returns the next step."""
        body = {"place": place}
        return cast(Step, self.call("POST", f"tasks/{quote(token, safe='')}/known/", body=body, repeatable=True))

    def undo(self, project: str, token: str) -> Step:
        """Undoes the last answer, or that you know an item, of the task with this token."""
        return cast(Step, self.call("POST", f"projects/{project}/undo/", body={"token": token}))

    def own_answers(self, project: str) -> Iterator[dict[str, Any]]:
        """List your own answers, latest first."""
        yield from self._whole(f"projects/{project}/answers/", {})["results"]

    def similar_items(self, project: str, text: str) -> list[dict[str, Any]]:
        """Return up to three items that say something similar to an idea."""
        body = {"text": text}
        return cast(list[dict[str, Any]], self.call("POST", f"projects/{project}/own-ideas/similar/", body=body))

    def add_idea(self, project: str, text: str) -> Idea:
        """Add an idea; the same text sent again is the same idea."""
        body = {"text": text}
        return cast(Idea, self.call("POST", f"projects/{project}/own-ideas/", body=body, repeatable=True))

    def own_ideas(self, project: str) -> list[Idea]:
        """List your own ideas, latest first, with what became of each."""
        return cast(list[Idea], self.call("GET", f"projects/{project}/own-ideas/"))

    def own_result(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Return your own ranking beside everybody's and your group, where the project shows them to you."""
        return self._whole(f"projects/{project}/own-result/", {"criterion": criterion})

    def finish(self, project: str) -> dict[str, Any]:
        """Finishes your participation; returns the code if there is one."""
        return cast(dict[str, Any], self.call("POST", f"projects/{project}/finish/", body={}))
