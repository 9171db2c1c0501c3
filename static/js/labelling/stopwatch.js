// How long the task has been looked at: time counts only while its page is visible. Of that, how long somebody was there:
// a stretch without a sign of life counts for LONGEST_STILL_MS at most.

const LONGEST_STILL_MS = 30_000;
const SIGNS = ["pointermove", "pointerdown", "keydown", "scroll", "wheel", "touchmove"];

let counted = 0;
let since = null;
let active = 0;
let lastSign = null;

export function restart() {
  counted = 0;
  active = 0;
  since = lastSign = document.hidden ? null : performance.now();
}

// Counts the stretch since the last sign of life.
function sign() {
  if (lastSign === null) return;
  const now = performance.now();
  active += Math.min(now - lastSign, LONGEST_STILL_MS);
  lastSign = now;
}

export function activeMs() {
  sign();
  return Math.round(active);
}

export function elapsed() {
  return Math.round(since === null ? counted : counted + performance.now() - since);
}

document.addEventListener("visibilitychange", () => {
  counted = elapsed();
  sign();
  since = lastSign = document.hidden ? null : performance.now();
});

for (const name of SIGNS) document.addEventListener(name, sign, { passive: true, capture: true });
