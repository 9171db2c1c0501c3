"""The statements that store an answer, compiled once."""

from annotate.core.statements import Given, InsertStatement, UpdateStatement
from annotate.models import Label, Presentation

close_answered = UpdateStatement(
    lambda: Presentation.objects.filter(pk=Given("id", Presentation), state=Presentation.State.OPEN),
    state=Presentation.State.ANSWERED,
    ahead=False,
)


insert_label = InsertStatement(Label)
