// Several criteria: keys work on the one that is current, the first without an answer; after the last all is sent.

import { announce } from "../announce.js";
import { render, stepped, toNextPlace, toNextStep } from "./criteria_steps.js";
import { count } from "./done.js";

const all = () => [...document.querySelectorAll("#answer .criterion")];
const current = () => stepped() ?? all().find((criterion) => !isAnswered(criterion)) ?? all().at(-1);

let byPointer = false;

function isAnswered(criterion) {
  if (criterion.querySelector(".criterion-choices :checked")) return true;
  const rows = [...criterion.querySelectorAll(".criterion-row")];
  if (rows.length) return rows.every((row) => row.querySelector(":checked"));
  const places = [...criterion.querySelectorAll("select")];
  return places.length > 0 && places.filter((place) => place.value).length === Number(criterion.dataset.named);
}

export function countCriteria() {
  if (!all().length) return;
  for (const criterion of all()) criterion.classList.toggle("is-current", criterion === current());
  count(all().filter(isAnswered).length);
  render();
}

// Keys reach what stands outside of the criteria, and the current one.
export function isReached(element) {
  const own = element.closest(".criterion");
  return !own || own === current();
}

// What a key says of the current criterion: a choice, the best and then the worst, or the next place.
export function say(control) {
  if (!control.closest(".criterion")) return false;
  if (control.matches("select")) toNextPlace(control, current());
  else if (control.closest(".criterion-row")) markNext(control.value);
  else control.checked = true;
  goOn();
  return true;
}

function markNext(letter) {
  const rows = [...current().querySelectorAll(".criterion-row")];
  const set = rows.map((row) => row.querySelector(`:checked[value="${letter}"]`)).find(Boolean);
  if (set) {
    set.checked = false;
    return;
  }
  const free = rows.find((row) => !row.querySelector(":checked")) ?? rows.at(-1);
  free.querySelector(`[value="${letter}"]`).checked = true;
}

function goOn() {
  countCriteria();
  const done = document.querySelector("#answer [data-done]");
  if (all().every(isAnswered)) {
    done.click(); // one that is held back by the time to read does nothing
    return;
  }
  if (toNextStep() || stepped()) return;
  current().scrollIntoView({ block: "nearest" });
  announce(current().querySelector("legend").textContent.trim().replace(/\s+/g, " "));
}

document.addEventListener("pointerdown", (event) => { byPointer = Boolean(event.target.closest?.(".criterion label")); });
document.addEventListener("keydown", () => { byPointer = false; });

// No item is both; arrow keys only move the mark, so nothing is sent by them.
document.addEventListener("change", ({ target }) => {
  const criterion = target.closest?.("#answer .criterion");
  if (!criterion) return;
  for (const row of target.closest(".criterion-row") ? criterion.querySelectorAll(".criterion-row") : []) {
    const other = row.querySelector(":checked");
    if (other && other !== target && other.value === target.value) other.checked = false;
  }
  countCriteria();
  if (!byPointer || target.matches("select")) return;
  document.getElementById("task").focus({ preventScroll: true });
  goOn();
});
