// Moves grade boundaries in the plot by pointer or keys; the numbers of the form follow, and are saved with it.

const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -5, PageUp: 5 };
const GAP = 0.5;

const plot = document.querySelector(".grades-plot");
const cuts = plot ? Array.from(plot.querySelectorAll("[data-input]")) : [];

const inputOf = (cut) => document.getElementById(cut.dataset.input);
const scoreOf = (cut) => Number(inputOf(cut).value);

// The best grade comes first: its boundary is the highest.
function limits(cut) {
  const place = cuts.indexOf(cut);
  const below = cuts[place + 1];
  const above = cuts[place - 1];
  return [below ? scoreOf(below) + GAP : GAP, above ? scoreOf(above) - GAP : 100 - GAP];
}

function draw(cut) {
  const score = scoreOf(cut);
  const x = Number(plot.dataset.start) + (Number(plot.dataset.length) * score) / 100;
  cut.setAttribute("transform", `translate(${x} 0)`);
  cut.querySelector("[data-score]").textContent = inputOf(cut).value;
  cut.setAttribute("aria-valuenow", String(score));
}

function move(cut, wanted) {
  const [least, most] = limits(cut);
  const score = Math.round(2 * Math.min(most, Math.max(least, wanted))) / 2;
  if (score === scoreOf(cut)) return;
  inputOf(cut).value = String(score);
  draw(cut);
  document.getElementById("grades-moved").hidden = false;
}

function scoreAt(event) {
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(plot.getScreenCTM().inverse());
  return (100 * (point.x - Number(plot.dataset.start))) / Number(plot.dataset.length);
}

function pressed(event) {
  const cut = event.currentTarget;
  const [least, most] = limits(cut);
  const wanted = { Home: least, End: most }[event.key] ?? (event.key in STEPS ? scoreOf(cut) + STEPS[event.key] : null);
  if (wanted === null) return;
  event.preventDefault();
  move(cut, wanted);
}

for (const cut of cuts) {
  if (!inputOf(cut)) continue;
  for (const [name, value] of Object.entries({
    role: "slider", tabindex: "0", "aria-label": cut.dataset.label, "aria-valuemin": "0", "aria-valuemax": "100",
    "aria-valuenow": inputOf(cut).value,
  })) cut.setAttribute(name, value);
  cut.classList.add("grade-cut-movable");
  cut.addEventListener("keydown", pressed);
  cut.addEventListener("pointerdown", (event) => {
    cut.setPointerCapture(event.pointerId);
    cut.focus();
    event.preventDefault();
  });
  cut.addEventListener("pointermove", (event) => {
    if (cut.hasPointerCapture(event.pointerId)) move(cut, scoreAt(event));
  });
  inputOf(cut).addEventListener("input", () => { if (inputOf(cut).value !== "") draw(cut); });
}
