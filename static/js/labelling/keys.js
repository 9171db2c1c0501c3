// Keys for the task page. They press what the page says they press (data-key, data-also), so that a key without its
// button does nothing and is not captured.

import { mark } from "./best_worst.js";
import { isReached, say } from "./criteria.js";
import { pick } from "./ranking.js";

function targetOf(event) {
  const typed = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const keyed = [...document.querySelectorAll("#task [data-key]")].filter(isReached);
  const also = (element) => element.dataset.also?.split(" ").some((name) => name === typed || name === event.code);
  return keyed.find((element) => element.dataset.key === typed) ?? keyed.find(also);
}

// A modifier means another shortcut; only characters may need Shift to be typed at all ("?", digits on some keyboards).
function isPlain(event) {
  const shifted = event.shiftKey && (event.key.length > 1 || /[\p{L} ]/u.test(event.key));
  return !(event.ctrlKey || event.altKey || event.metaKey || shifted || event.repeat || event.isComposing);
}

function isUndo(event) {
  return (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && !event.repeat && event.key.toLowerCase() === "z";
}

// Wherever else the focus is (a control, a field, a scrolling table), keys have a meaning there.
function focusRests() {
  const focused = document.activeElement;
  return !focused || focused === document.body || focused.matches("main, #task");
}

function switchedOn() {
  return document.getElementById("shortcuts")?.dataset.shortcuts === "on";
}

function press(target) {
  const letter = target.id.replace("option-", "");
  return target.matches("button, summary") ? (target.click(), true) : say(target) || mark(letter) || pick(letter);
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || document.querySelector("dialog[open], :popover-open")) return;
  if (!isPlain(event) && !isUndo(event)) return;
  if (event.key === "Escape" && document.activeElement.closest("#task")) document.getElementById("task").focus();
  if (!switchedOn() || !focusRests()) return;
  const target = isUndo(event) ? document.querySelector("button[form=undo]") : targetOf(event);
  if (target && press(target)) event.preventDefault();
});
