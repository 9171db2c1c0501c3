"""A small client of the REST API, from the standard library alone: works where neither Django nor this site is set up.

from annotate.client import Client, Table
client = Client("https://rank.example.org", "crk_...")
for row in client.ranking(project):
    print(row["rank"], row["item"], row["utility"])
Table(client.ranking(project))  # in a notebook: a table with its intervals drawn; .to_pandas(), .to_arrow()
"""

from annotate.client.api import Client
from annotate.client.rows import (
    Captions,
    CohortComparison,
    Goal,
    Idea,
    Import,
    Item,
    Label,
    NewItem,
    Project,
    RankedItem,
    Step,
    TagRow,
    Task,
)
from annotate.client.tables import Table
from annotate.client.transport import ApiError

__all__ = [
    "ApiError",
    "Captions",
    "Client",
    "CohortComparison",
    "Goal",
    "Idea",
    "Import",
    "Item",
    "Label",
    "NewItem",
    "Project",
    "RankedItem",
    "Step",
    "Table",
    "TagRow",
    "Task",
]
