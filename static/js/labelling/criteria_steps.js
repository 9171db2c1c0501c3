// Rankings by several criteria on a narrow screen: one criterion at a time, above the items, which are tapped in order. The
// form's own selects say the order to the server.

import { announce } from "../announce.js";
import { count } from "./done.js";

const NARROW = "(width < 40rem)";

let step = 0;

const form = () => document.getElementById("answer");
const box = () => document.querySelector("#answer .criteria"); // not the form: htmx gives what has an id its attributes anew
const all = () => [...document.querySelectorAll("#answer .criterion")];
const cards = () => [...document.querySelectorAll("#answer .option")];
const selects = (criterion) => [...criterion.querySelectorAll(".criterion-places select")];
const ranked = (criterion) => selects(criterion).filter((one) => one.value).length;
const wanted = (criterion) => Number(criterion.dataset.named);
const letterOf = (card) => card.id.replace("option-", "");
const placeOf = (card) => selects(stepped()).find((one) => one.name.startsWith(`rank_${letterOf(card)}_`));
const isShared = () => "shared" in box().dataset; // then the lists of places say more than taps could
const instead = (criterion) => Boolean(criterion.querySelector(".criterion-choices :checked"));
const isWhole = (criterion) => instead(criterion) || ranked(criterion) === wanted(criterion);

// The criterion that is shown; null where all of them are.
export function stepped() {
  return box()?.classList.contains("is-stepped") ? all()[step] : null;
}

// Sets a task that was just shown out in steps, where the window is narrow.
export function setOutSteps() {
  const criteria = all();
  if (!criteria.length || !criteria.every((one) => selects(one).length) || !matchMedia(NARROW).matches || isShared()) return;
  box().classList.add("is-stepped");
  cards()[0].parentElement.before(box());
  step = Math.max(0, criteria.findIndex((one) => !isWhole(one)));
  render();
}

export function render() {
  const shown = stepped();
  if (!shown) return;
  for (const [n, criterion] of all().entries()) {
    criterion.hidden = criterion !== shown;
    criterion.querySelector("[data-step='-1']").hidden = n === 0;
    criterion.querySelector("[data-step='1']").hidden = n === all().length - 1 || !isWhole(criterion);
  }
  for (const card of cards()) {
    const button = card.querySelector("[data-rank]");
    const { value } = placeOf(card);
    button.hidden = !value && (instead(shown) || ranked(shown) === wanted(shown));
    button.querySelector("[data-place]").textContent = value;
    button.querySelector("[data-words]").textContent = value ? button.dataset.out : button.dataset.next;
  }
  count(all().filter(isWhole).length);
}

// On to the next criterion without an answer; false where there is none.
export function toNextStep() {
  const next = all().findIndex((one, n) => n > step && !isWhole(one));
  if (!stepped() || !isWhole(stepped()) || next < 0) return false;
  go(next);
  return true;
}

function go(to) {
  step = to;
  render();
  form().scrollIntoView({ block: "start" });
  announce(stepped().querySelector("legend").textContent.trim().replace(/\s+/g, " "));
}

// The item gets the next place or loses its own, and those behind it move up; the last one goes where one place is left.
export function toNextPlace(control, criterion) {
  const places = selects(criterion);
  const before = Number(control.value);
  if (before) {
    control.value = "";
    for (const other of places.filter((one) => !isShared() && Number(one.value) > before)) other.value = Number(other.value) - 1;
    return;
  }
  control.value = 1 + Math.max(0, ...places.map((one) => Number(one.value)));
  const open = places.filter((one) => !one.value);
  if (open.length === 1 && wanted(criterion) === places.length) open[0].value = wanted(criterion);
}

document.addEventListener("click", (event) => {
  const card = event.target.closest("#answer .option");
  if (!card || !stepped()) return;
  const control = event.target.closest("button, a, label, summary, audio, video, iframe");
  if (control ? !control.matches("[data-rank]") : !getSelection().isCollapsed) return;
  const select = placeOf(card);
  if (instead(stepped()) || (!select.value && ranked(stepped()) === wanted(stepped()))) return;
  toNextPlace(select, stepped());
  select.dispatchEvent(new Event("change", { bubbles: true }));
  const { placed, takenOut } = box().dataset;
  announce((select.value ? placed.replace("{n}", select.value) : takenOut).replace("{letter}", letterOf(card).toUpperCase()));
  render();
  if (event.detail > 0) document.getElementById("task").focus({ preventScroll: true });
  toNextStep();
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("#answer .is-stepped [data-step]");
  if (button) go(step + Number(button.dataset.step));
});
