"""Rows of an answer as a table: for notebooks as HTML, and as pandas or Arrow where they are installed."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

RANKING = ("item", "title", "rank", "rank_low", "rank_high", "score", "score_low", "score_high")
INTERVAL = ("score_low", "score", "score_high")
MAX_COLUMNS = 12


class Table(list[dict[str, Any]]):
    """A list of rows, such as Table(client.ranking(project)), that a notebook shows as a table."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        super().__init__(dict(row) for row in rows)

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(name for row in self for name in row))

    def column(self, name: str) -> list[Any]:
        """Return the values of one column, None where a row has none."""
        return [row.get(name) for row in self]

    def _repr_html_(self) -> str:
        has_scores = all(name in self.names for name in INTERVAL)
        names = [name for name in RANKING if name in self.names] if has_scores else self.names[:MAX_COLUMNS]
        caption = (
            f"{len(self):,} rows" if len(names) == len(self.names) else f"{len(self):,} rows, {len(names)} columns"
        )
        shown = {name: [as_cell(value) for value in self.column(name)] for name in names}
        html_table = import_module("models_engine.html_tables").html_table
        return str(html_table(shown, caption=caption, interval=INTERVAL if has_scores else None))

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame. Raises ImportError where pandas is not installed."""
        return import_module("pandas").DataFrame(list(self), columns=self.names)

    def to_arrow(self) -> Any:
        """Return a pyarrow.Table. Raises ImportError where pyarrow is not installed."""
        return import_module("pyarrow").table({name: self.column(name) for name in self.names})


def as_cell(value: Any) -> Any:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
