// Images closely, in a dialog: larger and smaller by keys, buttons, wheel and taps; moved by arrows, touch and mouse.
// Of two images both can be shown, and what is done to one is done to the other; remembered.

const NAME = "crowdrank-zoom-both";
const STEP = 1.5;
const LARGEST = 8; // times the image's own size, or what fills the view

const dialog = document.getElementById("zoom");
const both = dialog.querySelector("[data-both]");
const panes = [...dialog.querySelectorAll(".zoom-pane")].map((pane) => ({
  pane,
  view: pane.querySelector(".zoom-view"),
  image: pane.querySelector("img"),
  scale: 1, // of the image's own size
  put: null, // where another one's moving put it
}));
let wanted = read();
let chosen = null; // the link that was followed
let byPointer = false;
let drag = null;

function read() {
  try {
    return localStorage.getItem(NAME) === "on";
  } catch {
    return false; // refused: it is off until switched on
  }
}

function keep() {
  try {
    localStorage.setItem(NAME, wanted ? "on" : "off");
  } catch {
    // Refused: it holds for this page.
  }
}

const shown = () => panes.filter(({ pane }) => !pane.hidden);
const active = () => shown().find(({ view }) => view.contains(document.activeElement)) ?? shown()[0];
const filling = ({ view, image }) =>
  Math.min(view.clientWidth / image.naturalWidth, view.clientHeight / image.naturalHeight);
const whole = (one) => Math.min(filling(one), 1);
const middle = ({ view }) => ({ x: view.clientWidth / 2, y: view.clientHeight / 2 });

function resize(one, scale) {
  one.scale = Math.min(Math.max(scale, whole(one)), Math.max(LARGEST, filling(one)));
  one.image.style.inlineSize = `${one.image.naturalWidth * one.scale}px`;
}

// What of the image lies at this place of the view.
function placeIn({ view, image }, at) {
  const [box, own] = [image.getBoundingClientRect(), view.getBoundingClientRect()];
  return { x: at.x - (box.left - own.left), y: at.y - (box.top - own.top) };
}

// Sets the size; what was in the middle, or under the pointer, stays there. The other is made as many times larger.
function show(one, scale, at = middle(one)) {
  const [before, from] = [one.scale, placeIn(one, at)];
  resize(one, scale);
  const [ratio, to] = [one.scale / before, placeIn(one, at)];
  one.view.scrollBy({ left: from.x * ratio - to.x, top: from.y * ratio - to.y, behavior: "instant" });
  for (const other of shown()) if (other !== one) resize(other, whole(other) * (one.scale / whole(one)));
  follow(one);
  dialog.querySelector(".zoom-scale").value = `${Math.round(one.scale * 100)}%`;
}

// The others go to the same part of their images.
function follow(leader) {
  const part = (at, range) => (range > 0 ? at / range : 0.5);
  const { view } = leader;
  const x = part(view.scrollLeft, view.scrollWidth - view.clientWidth);
  const y = part(view.scrollTop, view.scrollHeight - view.clientHeight);
  leader.put = null;
  for (const other of shown()) {
    if (other === leader) continue;
    const box = other.view;
    const [left, top] = [x * (box.scrollWidth - box.clientWidth), y * (box.scrollHeight - box.clientHeight)];
    box.scrollTo({ left, top, behavior: "instant" });
    other.put = { left: box.scrollLeft, top: box.scrollTop };
  }
}

function followMoved(one) {
  const { view, put } = one;
  if (put && Math.hypot(view.scrollLeft - put.left, view.scrollTop - put.top) < 2) return;
  follow(one);
}

async function fill() {
  const links = [...document.querySelectorAll("#task a.labelling-zoom")];
  both.hidden = links.length !== 2;
  both.setAttribute("aria-pressed", String(wanted));
  const looked = wanted && !both.hidden ? links : [chosen];
  for (const [n, { pane, view, image }] of panes.entries()) {
    pane.hidden = n >= looked.length;
    if (pane.hidden) continue;
    const option = looked[n].closest(".option");
    const name = pane.querySelector(".zoom-name");
    name.textContent = name.dataset.name.replace("{letter}", option.id.replace("option-", "").toUpperCase());
    view.setAttribute("aria-label", name.textContent);
    const picture = (looked[n].closest("figure") ?? option).querySelector("img.item-image");
    image.alt = picture.dataset.words ?? picture.alt;  // empty on the task where the words stand below it
    image.style.inlineSize = "";
    image.src = looked[n].href;
  }
  await Promise.allSettled(shown().map(({ image }) => image.decode()));
  if (!dialog.open) return;
  for (const one of shown()) {
    one.scale = whole(one);
    show(one, one.scale);
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("#task a.labelling-zoom");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  byPointer = event.detail > 0;
  chosen = link;
  dialog.showModal();
  fill();
});

dialog.addEventListener("close", () => {
  for (const { image } of panes) image.removeAttribute("src");
  if (byPointer) document.getElementById("task").focus({ preventScroll: true });
});
both.addEventListener("click", () => {
  wanted = !wanted;
  keep();
  fill();
});
for (const button of dialog.querySelectorAll("[data-step]")) {
  button.addEventListener("click", () => show(active(), active().scale * STEP ** Number(button.dataset.step)));
}

dialog.addEventListener("keydown", (event) => {
  const one = active();
  const scale = { "+": one.scale * STEP, "=": one.scale * STEP, "-": one.scale / STEP, 0: whole(one) }[event.key];
  if (scale === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  show(one, scale);
});

for (const one of panes) {
  const { view, image } = one;
  const place = ({ clientX, clientY }) => {
    const box = view.getBoundingClientRect();
    return { x: clientX - box.left, y: clientY - box.top };
  };
  view.addEventListener("scroll", () => followMoved(one));
  view.addEventListener("wheel", (event) => {
    event.preventDefault();
    show(one, one.scale * STEP ** Math.sign(-event.deltaY), place(event));
  }, { passive: false });
  // A tap or click goes between the whole image and its own size; a mouse that is held moves it.
  view.addEventListener("click", (event) => {
    if (drag?.moved) return;
    const isWhole = one.scale <= whole(one) * 1.01;
    show(one, isWhole ? Math.max(1, whole(one) * STEP ** 2) : whole(one), place(event));
  });
  view.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, moved: false, mouse: event.pointerType === "mouse" };
  });
  view.addEventListener("pointermove", (event) => {
    if (!drag?.mouse || !(event.buttons & 1)) return;
    const [x, y] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.moved && Math.hypot(x, y) < 4) return;
    view.scrollBy({ left: -x, top: -y, behavior: "instant" });
    drag = { ...drag, x: event.clientX, y: event.clientY, moved: true };
  });
  image.addEventListener("dragstart", (event) => event.preventDefault());
}
