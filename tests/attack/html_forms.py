"""The forms of a page as a browser would send them, with what stands in them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Form:
    action: str
    values: dict[str, list[str]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    offered: dict[str, set[str]] = field(default_factory=dict)  # by name, every value that stands in it


class FormReader(HTMLParser):
    def __init__(self, address: str) -> None:
        super().__init__()
        self.address, self.forms = address, list[Form]()
        self.form: Form | None = None
        self.select = self.area = ""
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        given = {key: value or "" for key, value in attrs}
        name = given.get("name", "")
        if tag == "form":
            self.form = Form(given.get("action") or self.address) if given.get("method", "").lower() == "post" else None
            self.forms += [self.form] if self.form else []
        if self.form is None or not (name or tag == "option"):
            return
        if tag in ("input", "select", "textarea", "button"):
            self.form.names.add(name)
            self.form.offered.setdefault(name, set()).add(given.get("value", ""))
        if tag == "input" and given.get("type") not in ("file", "submit", "button", "image"):
            if given.get("type") not in ("checkbox", "radio") or "checked" in given:
                self.add(name, given.get("value", "on" if given.get("type") == "checkbox" else ""))
        elif tag == "select":
            self.select = name
        elif tag == "option" and self.select:
            self.form.offered[self.select].add(given.get("value", ""))
            if "selected" in given or self.select not in self.form.values:
                self.form.values[self.select] = [given.get("value", "")]
        elif tag == "textarea":
            self.area, self.text = name, []

    def handle_data(self, data) -> None:
        self.text += [data] if self.area else []

    def handle_endtag(self, tag) -> None:
        if tag == "textarea" and self.area:
            self.add(self.area, "".join(self.text).removeprefix("\n"))
            self.area = ""
        self.select = "" if tag == "select" else self.select
        self.form = None if tag == "form" else self.form

    def add(self, name: str, value: str) -> None:
        if self.form:
            self.form.values.setdefault(name, []).append(value)


def forms_of(html: str, address: str) -> list[Form]:
    reader = FormReader(address)
    reader.feed(html)
    return reader.forms
