// Shows what moved when a fragment is replaced: rows glide to their new places and carry a quiet mark of how far.

const FIRST_RANK = new Map();
const still = matchMedia("(prefers-reduced-motion: reduce)");

function rows(part) {
  return part.querySelectorAll("[data-item]");
}

// Where each row stands, to be given to `glide` after the swap.
export function places(part) {
  return new Map(Array.from(rows(part), (row) => [row.dataset.item, row.getBoundingClientRect().top]));
}

export function glide(part, before) {
  if (still.matches) return;
  const duration = parseFloat(getComputedStyle(part).getPropertyValue("--smooth")) || 400;
  for (const row of rows(part)) {
    const top = row.getBoundingClientRect().top;
    const distance = before.get(row.dataset.item) - top;
    const seen = top < innerHeight && top + distance > -row.offsetHeight;
    if (distance && seen) {
      row.animate([{ transform: `translateY(${distance}px)` }, { transform: "none" }], { duration, easing: "ease-in-out" });
    }
  }
}

// Compares each row's rank with the one it had when this page first showed it.
export function markMoves(part, words) {
  for (const row of part.querySelectorAll("[data-rank]")) {
    const rank = Number(row.dataset.rank);
    if (!FIRST_RANK.has(row.dataset.item)) FIRST_RANK.set(row.dataset.item, rank);
    const change = FIRST_RANK.get(row.dataset.item) - rank;
    if (!change) continue;
    const mark = row.querySelector(".move");
    const text = (change > 0 ? words.up : words.down).replace("%(n)d", Math.abs(change));
    mark.textContent = `${change > 0 ? "↑" : "↓"}${Math.abs(change)}`;
    mark.title = text;
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", text);
    row.classList.add("moved");
  }
}
