"""Taking part as an annotator: joining, consent, questions, tasks, looking back, the end."""

from collections.abc import Iterator, Sequence
from typing import Any, cast
from urllib.parse import quote

from annotate.client.rows import Step
from annotate.client.transport import Transport


class Annotating(Transport):
    def join_as_member(self, project: str, pseudonym: str = "") -> str:
        """Join as a member, and return your pseudonym there; the same one if you joined before."""
        made = self.call("POST", f"projects/{project}/annotator/", body={"pseudonym": pseudonym})
        return str(made["pseudonym"])

    def consent(self, project: str) -> dict[str, Any]:
        """Return the text to agree to and its version."""
        return cast(dict[str, Any], self.call("GET", f"projects/{project}/consent/"))

    def agree(self, project: str, version: str) -> dict[str, Any]:
        body = {"version": version}
        return cast(dict[str, Any], self.call("POST", f"projects/{project}/consent/", body=body))

    def questions(self, project: str) -> dict[str, Any]:
        """Return those of the questionnaire that are due now."""
        return cast(dict[str, Any], self.call("GET", f"projects/{project}/questions/"))

    def answer_questions(self, project: str, answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Answer questions by id, and return those that are due next."""
        body = {"questions": list(answers)}
        return cast(dict[str, Any], self.call("POST", f"projects/{project}/questions/", body=body))

    def next(self, project: str) -> Step:
        """Return your open task, or a new one."""
        return cast(Step, self.call("POST", f"projects/{project}/next/", body={}, repeatable=True))

    def answer(
        self, token: str, outcome: str, *, chosen: int | None = None, order: Sequence[int] = (), **more: Any
    ) -> Step:
        """Send an answer and return what follows. Places count from 0; sent again, nothing more is stored."""
        body = {"outcome": outcome, "chosen": chosen, "order": list(order), **more}
        done = self.call("POST", f"tasks/{quote(token, safe='')}/answer/", body=body, repeatable=True)
        return cast(Step, done["next"])

    def undo(self, project: str, token: str) -> Step:
        """Takes the last answer back, that of the task with this token."""
        return cast(Step, self.call("POST", f"projects/{project}/undo/", body={"token": token}))

    def own_answers(self, project: str) -> Iterator[dict[str, Any]]:
        """Yield your answers, the latest first."""
        return self._rows(f"projects/{project}/answers/", {"page_size": None})

    def finish(self, project: str) -> dict[str, Any]:
        """Finish, and return the end with the code where there is one."""
        return cast(dict[str, Any], self.call("POST", f"projects/{project}/finish/", body={}))
