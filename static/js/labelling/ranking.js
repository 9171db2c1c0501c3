// Ranking: taps, keys, buttons and dragging put items in order; the form's own selects say the order to the server.

import { announce } from "../announce.js";
import { count } from "./done.js";

const EDGE = 70; // pixels from the window's edge within which dragging scrolls

const box = () => document.querySelector("#answer [data-ranking]");
const tray = () => box().querySelector("[data-tray]");
const ranked = () => box().querySelector("[data-ranked]");
const wanted = () => Number(box().dataset.ranking);
const select = (item) => item.querySelector("select");
const isRanked = (item) => item.parentElement === ranked();
const sharing = () => "shared" in box().dataset;
const shares = (item) => "same" in item.dataset; // the place of the item before it
const hasRoom = () => ranked().children.length < wanted();

// Puts a task that was just shown in the order that its selects say.
export function setOut() {
  if (!box()) return;
  const given = [...tray().children].filter((item) => select(item).value);
  given.sort((one, other) => select(one).value - select(other).value);
  const values = given.map((item) => select(item).value);
  ranked().append(...given.slice(0, wanted()));
  if (sharing()) given.forEach((item, n) => setShared(item, n > 0 && values[n] === values[n - 1]));
  // Else the browser may take a quick drag for a fling, and the next tap for what stops it.
  for (const handle of box().querySelectorAll("[data-handle]")) {
    handle.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  }
  update();
}

function update() {
  const order = [...ranked().children];
  for (const item of tray().children) {
    select(item).value = "";
    item.querySelector("[data-place]").textContent = "";
  }
  let place = 0;
  for (const item of order) {
    place += shares(item) ? 0 : 1;
    select(item).value = place;
    item.querySelector("[data-place]").textContent = shares(item) ? `= ${place}` : place;
  }
  box().querySelector("[data-ranked-empty]").hidden = order.length > 0;
  box().querySelector("[data-tray-empty]").hidden = tray().children.length > 0;
  box().querySelector("[data-tray-full]").hidden = hasRoom() || !tray().children.length;
  box().classList.toggle("is-full", !hasRoom());
  count(order.length);
  box().dispatchEvent(new Event("change", { bubbles: true }));
}

function tell(item) {
  const { placed, takenOut, shared } = box().dataset;
  const text = isRanked(item) ? (shares(item) ? shared : placed).replace("{n}", select(item).value) : takenOut;
  announce(text.replace("{letter}", item.dataset.letter));
}

// --- Shared places: an item marked “same” has the place of the one before it ---------------------------------------------

function setShared(item, same) {
  if (same) item.dataset.same = "";
  else delete item.dataset.same;
  item.querySelector("[data-share]")?.setAttribute("aria-pressed", String(same));
}

function toggleShared(item) {
  if (!sharing() || !isRanked(item) || !item.previousElementSibling) return;
  setShared(item, !shares(item));
  update();
  tell(item);
}

// Before an item leaves its place: those that share it stay together without it.
function detach(item) {
  const next = item.nextElementSibling;
  if (isRanked(item) && !shares(item) && next && shares(next)) setShared(next, false);
  setShared(item, false);
}

// Once an item has a new place: between items that share one, it shares it too.
function attach(item) {
  const next = item.nextElementSibling;
  if (isRanked(item) && next && shares(next)) setShared(item, true);
}

function rankNext(item) {
  if (!hasRoom()) {
    announce(box().querySelector("[data-tray-full]").textContent);
    return;
  }
  ranked().append(item);
  update();
  tell(item);
}

function takeOut(item) {
  detach(item);
  const after = [...tray().children].find((other) => other.dataset.letter > item.dataset.letter);
  tray().insertBefore(item, after ?? null);
  update();
  tell(item);
}

function move(item, step) {
  const other = step < 0 ? item.previousElementSibling : item.nextElementSibling;
  if (!isRanked(item) || !other) return;
  detach(item);
  other[step < 0 ? "before" : "after"](item);
  attach(item);
  update();
  tell(item);
}

// The item gets the next place or loses its own; false where nothing is ranked.
export function pick(letter) {
  const item = box() && document.getElementById(`option-${letter}`);
  if (!item) return false;
  (isRanked(item) ? takeOut : rankNext)(item);
  return true;
}

// Where one item is left for one place, "Done" puts it there.
document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-done]") || !box() || tray().children.length !== 1 || !hasRoom()) return;
  ranked().append(tray().children[0]);
  update();
}, { capture: true });

// --- Taps and buttons -------------------------------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const item = event.target.closest("[data-ranking] .ranking-item");
  if (!item) return;
  const control = event.target.closest("button, a, label, [data-handle]");
  const byKey = event.detail === 0;
  if (control?.matches("[data-move]")) {
    move(item, Number(control.dataset.move));
    control.focus({ preventScroll: true });
  } else if (control?.matches("[data-share]")) {
    toggleShared(item);
  } else if (control?.matches("[data-out]")) {
    takeOut(item);
    if (byKey) item.querySelector("[data-pick]").focus();
  } else if (control?.matches("[data-pick]") || (!control && !isRanked(item) && getSelection().isCollapsed)) {
    rankNext(item);
    if (byKey) ((hasRoom() && tray().querySelector("[data-pick]")) || document.querySelector("[data-done]")).focus();
  }
  if (!byKey && control?.matches("[data-pick], [data-out], [data-share]")) document.getElementById("task").focus({ preventScroll: true });
});

document.addEventListener("keydown", (event) => {
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  const control = event.target.closest?.("[data-ranked] .ranking-item button");
  if (!step || !control || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  move(control.closest(".ranking-item"), step);
  control.focus();
});

// "=" is about the item that has the focus, else the one ranked last.
document.addEventListener("keydown", (event) => {
  if (event.key !== "=" || event.ctrlKey || event.altKey || event.metaKey || event.repeat || !box() || !sharing()) return;
  if (document.querySelector("dialog[open], :popover-open") || event.target.closest?.("input, textarea, select")) return;
  if (document.getElementById("shortcuts")?.dataset.shortcuts !== "on") return;
  const item = event.target.closest?.("[data-ranked] .ranking-item") ?? ranked().lastElementChild;
  if (!item) return;
  event.preventDefault();
  toggleShared(item);
});

// --- Dragging ---------------------------------------------------------------------------------------------------------

let dragged = null;

document.addEventListener("pointerdown", (event) => {
  const handle = event.target.closest?.("[data-handle]");
  if (!handle || event.button) return;
  event.preventDefault();
  dragged = handle.closest(".ranking-item");
  dragged.classList.add("is-dragged");
});

document.addEventListener("pointermove", (event) => {
  if (!dragged) return;
  dragTo(event.clientX, event.clientY);
  if (event.clientY < EDGE) window.scrollBy(0, -12);
  if (event.clientY > window.innerHeight - EDGE) window.scrollBy(0, 12);
});

for (const end of ["pointerup", "pointercancel"]) {
  document.addEventListener(end, () => {
    if (!dragged) return;
    dragged.classList.remove("is-dragged");
    if (dragged.isConnected) tell(dragged);
    dragged = null;
  });
}

function dragTo(x, y) {
  if (!dragged.isConnected) return;
  const list = [ranked(), tray()].find((one) => isOver(one.parentElement, x, y));
  if (list === ranked() && (isRanked(dragged) || hasRoom())) {
    const others = [...list.children].filter((item) => item !== dragged);
    const next = others.find((item) => y < middle(item)) ?? null;
    if (!isRanked(dragged) || dragged.nextElementSibling !== next) {
      detach(dragged);
      list.insertBefore(dragged, next);
      attach(dragged);
    }
    update();
  } else if (list === tray() && isRanked(dragged)) {
    takeOut(dragged);
  }
}

function isOver(element, x, y) {
  const edges = element.getBoundingClientRect();
  return x >= edges.left && x <= edges.right && y >= edges.top && y <= edges.bottom;
}

function middle(element) {
  const edges = element.getBoundingClientRect();
  return (edges.top + edges.bottom) / 2;
}
