"""The client itself: one method for each thing to do, by subject."""

from urllib.parse import quote

from annotate.client.annotating import Annotating
from annotate.client.items import Items
from annotate.client.machines import Machines
from annotate.client.people import People
from annotate.client.projects import Projects
from annotate.client.results import Results


class Client(Projects, Items, Results, People, Machines, Annotating):
    """Acts as the owner of the token or, with `scheme="Annotator"`, as somebody who joined by link."""

    def join(self, join_token: str, pseudonym: str = "") -> "Client":
        """Joins under a pseudonym and returns a client of the annotator; `join_token` is the end of the join link."""
        made = self.call("POST", f"join/{quote(join_token, safe='')}/", body={"pseudonym": pseudonym})
        return Client(self.root, made["secret"], scheme="Annotator", timeout=self.timeout)

    def send_personal_link(self, join_token: str, pseudonym: str) -> None:
        """Asks that the link of this name be sent to the address known for it; says nothing about whether there is
        one."""
        self.call("POST", f"join/{quote(join_token, safe='')}/send-link/", body={"pseudonym": pseudonym})

    def join_personally(self, token: str) -> "Client":
        """Joins by the personal link whose end is `token`, or comes back by it; returns a client of the annotator."""
        made = self.call("POST", f"join/personally/{quote(token, safe='')}/", body={}, repeatable=True)
        return Client(self.root, made["secret"], scheme="Annotator", timeout=self.timeout)
