// Keeps the focus where it is while a part of the page is replaced: on the element of the new part that is the same to a person.

const FOCUSABLE = "a[href], button, summary, input, select, textarea, [tabindex]";

// What a person knows it by: its row, and its address, its caption or its words.
function name(element) {
  const row = element.closest("[data-item]")?.dataset.item ?? "";
  const own = element.id || element.getAttribute("href") || element.getAttribute("aria-labelledby") || element.textContent.trim();
  return [row, element.localName, own].join("|");
}

function namesakes(part, wanted) {
  return [...part.querySelectorAll(FOCUSABLE)].filter((element) => name(element) === wanted);
}

// Returns what finds the focused element of the part again; null where the focus is elsewhere.
export function heldIn(part) {
  const element = part.contains(document.activeElement) && document.activeElement;
  if (!element || element === part) return null;
  const wanted = name(element);
  return { wanted, place: namesakes(part, wanted).indexOf(element) };
}

export function hold(part, held) {
  if (!held || document.activeElement !== document.body) return;
  const found = namesakes(part, held.wanted);
  (found[held.place] ?? found[0])?.focus({ preventScroll: true });
}
