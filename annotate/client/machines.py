"""Machines that judge: adding them, asking what is left, sending answers, switching them on, the report."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from annotate.client.transport import Transport, new_key


class Machines(Transport):
    def machines(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Return the machines as `results`, and `count_machines`: whether the ranking counts them."""
        return cast(dict[str, Any], self.call("GET", f"projects/{project}/machines/", query={"criterion": criterion}))

    def add_machine(self, project: str, name: str, program: str, **more: Any) -> dict[str, Any]:
        """Add a machine; more: version, prompt or prompt_hash, price, currency."""
        body = {"name": name, "program": program, **more}
        return cast(dict[str, Any], self.call("POST", f"projects/{project}/machines/", body=body, key=new_key()))

    def exclude_machine(self, project: str, key: str, *, excluded: bool = True) -> dict[str, Any]:
        """Excludes a machine, or readmits it."""
        body = {"excluded": excluded}
        return cast(dict[str, Any], self.call("PATCH", f"projects/{project}/machines/{key}/", body=body))

    def remove_machine(self, project: str, key: str) -> int:
        """Delete a machine; return how many answers were deleted with it."""
        return int(self.call("DELETE", f"projects/{project}/machines/{key}/")["n_answers"])

    def count_machines(self, project: str, count: bool) -> None:
        """Switches on or off that the ranking counts machines."""
        self.call("PUT", f"projects/{project}/machines/counting/", body={"count_machines": count}, repeatable=True)

    def sets_to_judge(
        self, project: str, key: str, *, sets: str = "answered", orders: int = 2, criterion: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """List the sets that the machine is still to be asked, each with the question, its kind of task and the
        missing `orders`.

        sets: answered (by people), plan or all.   orders: in how many orders each set is shown.
        """
        after: str | None = ""
        while after is not None:
            query = {"sets": sets, "orders": orders, "criterion": criterion, "after": after or None, "limit": 200}
            page = self.call("GET", f"projects/{project}/machines/{key}/sets/", query=query)
            shared = {name: page[name] for name in ("question", "best_words", "worst_words")}
            yield from ({**one, **shared} for one in page["results"])
            after = page["next"]

    def send_machine_answers(
        self, project: str, key: str, rows: Sequence[dict[str, Any]], *, criterion: int | None = None
    ) -> dict[str, int]:
        """Store up to 200 answers, all or none; sending one again stores nothing more."""
        body = {"rows": list(rows), "criterion": criterion or 1}
        path = f"projects/{project}/machines/{key}/answers/"
        return cast(dict[str, int], self.call("POST", path, body=body, repeatable=True))

    def machine_report(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Return the latest report that holds machines against people."""
        path = f"projects/{project}/machines/report/"
        return cast(dict[str, Any], self.call("GET", path, query={"criterion": criterion}))

    def request_machine_report(self, project: str, *, criterion: int | None = None) -> dict[str, Any]:
        """Start the report; read it with `machine_report` until its status is ready."""
        body = {"criterion": criterion or 1}
        path = f"projects/{project}/machines/report/"
        return cast(dict[str, Any], self.call("POST", path, body=body, repeatable=True))
