"""Two journeys of docs/journeys.md on a real page after the other: a best-worst study, and essays as PDF files.

Steps are clicks and chosen files from the home page on; typed fields are counted apart.
"""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from annotate.imports import job as imports_job
from annotate.models import ImportJob, Label, Preregistration, Project
from tests.site.documents import pdf

RESEARCHER, TEACHER = (17, 9), (8, 1)  # steps and typed fields until the project is open, as docs/journeys.md has them
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
WORDS = [f"Word {n}" for n in range(12)]


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path / "media")


class Walk:
    """Counts what a person does on a page."""

    def __init__(self, page: Page) -> None:
        self.page, self.n_steps, self.n_typed = page, 0, 0

    def press(self, name: str, role: str = "button", within: Locator | None = None) -> None:
        (within or self.page.locator("main")).get_by_role(role, name=name).first.click()
        self.page.wait_for_load_state()
        self.n_steps += 1

    def open(self, name: str) -> None:
        self.press(name, "link")

    def choose(self, selector: str) -> None:
        self.page.locator(selector).check()
        self.n_steps += 1

    def unfold(self, words: str) -> None:
        self.page.locator("summary", has_text=words).click()
        self.n_steps += 1

    def type(self, name: str, text: str) -> None:
        self.page.locator(f"input[name={name}], textarea[name={name}]").fill(text)
        self.n_typed += 1

    def visit(self, group: str, title: str) -> None:
        """To another page of the project by its navigation: the group, then the page."""
        for nav, name in ((".tabs:not(.tabs-pages)", group), (".tabs-pages", title)):
            link = self.page.locator(nav).get_by_role("link", name=name, exact=True)
            if link.get_attribute("aria-current") != "page":
                link.click()
                self.page.wait_for_load_state()
                self.n_steps += 1

    def give_files(self, field: str, *paths: Path) -> None:
        self.page.locator(f"input[type=file][name={field}]").set_input_files(list(paths))
        self.n_steps += 1


def test_a_researcher_sets_up_a_best_worst_study_and_somebody_from_a_platform_takes_part(
    live_site, page, open_page, sign_in, axe, alice, tmp_path
):
    sign_in(alice)
    page.goto(live_site)
    walk = Walk(page)
    walk.open("Create your first project")
    walk.open("Best-worst scaling study")
    walk.type("name", "Intensity of words")
    given = page.locator("#gives")
    expect(given).to_contain_text("20 people × 80 answers")
    walk.unfold("Change how many answers are asked")
    walk.type("n_sets", "24")
    walk.type("size-n_items", "12")
    walk.type("size-n_people", "2")
    walk.type("size-answers_each", "6")
    page.locator("input[name=name]").focus()
    expect(given).to_contain_text("With 12 items, people can give at most 96 answers.")
    expect(given).to_contain_text("2 people × 6 answers")
    axe(page)
    walk.press("Create the project", within=page.locator("form.project-form .actions"))
    (tmp_path / "words.csv").write_text("text\n" + "\n".join(WORDS))
    walk.give_files("file", tmp_path / "words.csv")
    walk.press("Preview the table")
    walk.press("Import 12 items")
    project = Project.objects.get()
    assert (project.task_type, project.k, project.overlap, project.n_sets) == ("best_worst", 4, 4, 24)
    assert project.items.count() == len(WORDS)

    walk.visit("Invite", "Who may take part")
    walk.choose("input[name=platform]")
    walk.type("places", "2")
    walk.type("consent", "You rate words. You may stop at any time.")
    walk.choose("input[name=codes][value=study]")
    walk.type("complete_code", "C0MPLETE")
    walk.press("Save", within=page.locator("form.project-form"))
    link = page.locator("#platform-link").input_value()
    walk.visit("Trust and progress", "Preregistration")
    walk.type("stopping_rule", "All 96 answers.")
    walk.press("Freeze the plan")
    frozen = Preregistration.objects.get(project=project)
    expect(page.locator("code").filter(has_text=frozen.digest)).to_be_visible()
    walk.visit("Set up", "Steps")
    walk.press("Open the project")
    project.refresh_from_db()
    assert project.state == "open"
    assert (walk.n_steps, walk.n_typed) == RESEARCHER

    walk.visit("Invite", "Embed")
    walk.type("origins", "https://www.example.org")
    walk.press("Save", within=page.locator("form.card"))
    expect(page.locator("#vote-code")).to_have_value(re.compile("<iframe"))

    person = open_page(**PHONE)
    address = link.replace("{{%PROLIFIC_PID%}}", "p" * 24).replace("{{%STUDY_ID%}}", "s" * 24)
    person.goto(address.replace("{{%SESSION_ID%}}", "e" * 24))
    expect(person.get_by_text("You may stop at any time.")).to_be_visible()
    person.get_by_role("button", name="I agree: start").tap()
    expect(person.get_by_text("Most intense").first).to_be_visible()
    axe(person)
    assert Label.objects.count() == 0


def test_a_teacher_brings_essays_as_pdf_files(live_site, page, sign_in, axe, alice, tmp_path):
    sign_in(alice)
    page.goto(live_site)
    walk = Walk(page)
    walk.open("Create your first project")
    walk.open("Essays")
    walk.type("name", "Holidays, class 7b")
    walk.press("Create the project", within=page.locator("form.project-form .actions"))
    pupils = ["Anna Berg", "Ben Cole", "Cem Demir"]
    for pupil in pupils:
        (tmp_path / f"{pupil.replace(' ', '_')}.pdf").write_bytes(pdf(f"By the sea, {pupil}", "Second page"))
    walk.give_files("documents", *tmp_path.glob("*.pdf"))
    walk.press("Check the documents")
    imports_job.import_now(ImportJob.objects.get())
    expect(page.locator("#job-state")).to_contain_text("Checked")
    walk.press("Import")
    imports_job.import_now(ImportJob.objects.get())
    expect(page.locator("#job-state")).to_have_text("Done")
    project = Project.objects.get()
    assert sorted(project.items.values_list("name", flat=True)) == pupils
    assert set(project.items.values_list("n_pages", flat=True)) == {2}
    walk.visit("Set up", "Steps")
    walk.press("Open the project")
    project.refresh_from_db()
    assert project.state == "open"
    page.goto(f"{live_site}/projects/{project.pk}/share/")
    axe(page)
    assert (walk.n_steps, walk.n_typed) == TEACHER
