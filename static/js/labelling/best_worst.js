// Best and worst: no item is both, and a key marks the best first, then the worst.

import { count } from "./done.js";

const marks = () => [...document.querySelectorAll("#answer .marks input")];
const marked = (name) => marks().find((input) => input.name === name && input.checked);

export function countMarks() {
  if (marks().length) count(marks().filter((input) => input.checked).length);
}

document.addEventListener("change", ({ target }) => {
  if (!target.matches("#answer .marks input")) return;
  const other = marked(target.name === "best" ? "worst" : "best");
  if (other?.value === target.value) other.checked = false;
  countMarks();
});

// The item's mark comes off, or it gets the next one; false where there is nothing to mark.
export function mark(letter) {
  const own = marks().filter((input) => input.value === letter);
  if (!own.length) return false;
  const set = own.find((input) => input.checked);
  if (set) {
    set.checked = false;
    set.dispatchEvent(new Event("change", { bubbles: true }));
  } else {
    own[marked("best") ? 1 : 0].click();
  }
  return true;
}
