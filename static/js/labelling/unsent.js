// The answers of an annotator that the server has not confirmed yet: they outlive a reload and a closed browser.
// Two tabs may each hold one, so each is kept under the address that it is sent to.

const memory = new Map(); // where the browser refuses storage, they outlive at least a lost connection

const prefix = (annotator) => `crowdrank-unsent-${annotator}-`;

export function keep(annotator, answer) {
  const name = prefix(annotator) + answer.path;
  memory.set(name, answer);
  try {
    localStorage.setItem(name, JSON.stringify(answer));
  } catch {
    // Refused or full: memory has it.
  }
}

// The oldest one, or that of this address; undefined where there is none.
export function kept(annotator, path) {
  const found = stored(prefix(annotator)).filter((answer) => !path || answer.path === path);
  return found.sort((one, other) => one.keptAt - other.keptAt)[0];
}

function stored(start) {
  const answers = new Map([...memory].filter(([name]) => name.startsWith(start)));
  for (const name of names().filter((one) => one.startsWith(start))) {
    try {
      answers.set(name, JSON.parse(localStorage.getItem(name)));
    } catch {
      // Spoilt: nothing can be sent of it.
    }
  }
  return [...answers.values()].filter((answer) => answer?.path);
}

function names() {
  try {
    return Object.keys(localStorage);
  } catch {
    return []; // refused: memory has what there is
  }
}

export function drop(annotator, path) {
  const name = prefix(annotator) + path;
  memory.delete(name);
  try {
    localStorage.removeItem(name);
  } catch {
    // Refused: it was never stored.
  }
}
