// A swipe to the side chooses the card of a pair; the buttons do the same. Up and down go on scrolling, and whatever on a
// card has a use of its own for a finger keeps it.

const TAKEN = 12; // pixels after which a move sideways is meant
const ENOUGH = 0.3; // of the card's width, or
const FAR = 110; // pixels, whichever is less

let swiped = null;

const still = matchMedia("(prefers-reduced-motion: reduce)");
const buttonOf = (card) => document.querySelector(`#answer .answer-choices button[value="${card.id.replace("option-", "")}"]`);

function hasOwnUse(target, card) {
  if (target.closest("a, button, input, textarea, select, label, summary, audio, video, iframe")) return true;
  if (!getSelection().isCollapsed) return true;
  for (let one = target; one && one !== card.parentElement; one = one.parentElement) {
    if (one.scrollWidth > one.clientWidth && getComputedStyle(one).overflowX !== "visible") return true;
  }
  return false;
}

document.addEventListener("pointerdown", (event) => {
  reset();
  const card = event.target.closest?.("#answer .pair-grid > .option");
  if (event.pointerType !== "touch" || !event.isPrimary || !card || !buttonOf(card) || hasOwnUse(event.target, card)) return;
  swiped = { card, pointer: event.pointerId, x: event.clientX, y: event.clientY, moved: 0 };
});

document.addEventListener("pointermove", (event) => {
  if (!swiped || event.pointerId !== swiped.pointer) return;
  const moved = event.clientX - swiped.x;
  if (!swiped.moved) {
    if (Math.abs(event.clientY - swiped.y) > Math.abs(moved)) return reset(); // that is scrolling
    if (Math.abs(moved) < TAKEN) return;
  }
  swiped.moved = moved;
  if (!still.matches) swiped.card.style.translate = `${moved}px`;
  swiped.card.classList.toggle("is-swiped", isFar());
});

document.addEventListener("pointerup", (event) => {
  if (!swiped || event.pointerId !== swiped.pointer) return;
  const button = isFar() && buttonOf(swiped.card);
  reset();
  if (button) button.click();
});

document.addEventListener("pointercancel", reset);

function isFar() {
  return Math.abs(swiped.moved) > Math.min(FAR, ENOUGH * swiped.card.offsetWidth);
}

function reset() {
  if (!swiped) return;
  const { card } = swiped;
  card.style.removeProperty("translate");
  // Even an empty attribute htmx would copy to the next card, which the policy blocks.
  if (card.getAttribute("style") === "") card.removeAttribute("style");
  card.classList.remove("is-swiped");
  swiped = null;
}
