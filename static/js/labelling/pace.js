// The annotator's own pace: the median time of their latest answers, kept in this browser and sent along with the next.

const KEPT = 25;
const ENOUGH = 5; // answers before which a median says little

const memory = new Map(); // where the browser refuses storage

function times(annotator) {
  try {
    return JSON.parse(localStorage.getItem(`crowdrank-pace-${annotator}`)) ?? memory.get(annotator) ?? [];
  } catch {
    return memory.get(annotator) ?? [];
  }
}

export function took(annotator, ms) {
  const latest = [...times(annotator), ms].slice(-KEPT);
  memory.set(annotator, latest);
  try {
    localStorage.setItem(`crowdrank-pace-${annotator}`, JSON.stringify(latest));
  } catch {
    // Refused or full: memory has it.
  }
}

// In milliseconds; undefined while there are too few.
export function median(annotator) {
  const sorted = times(annotator).filter(Number.isFinite).sort((one, other) => one - other);
  return sorted.length < ENOUGH ? undefined : Math.round(sorted[Math.floor(sorted.length / 2)]);
}
