// Long texts side by side: each in a box of its own, all scrolling together in proportion, if the annotator wants that;
// remembered. Where texts stand below each other there is no such choice: only one is read at a time.

const NAME = "crowdrank-scroll-together";
const LONG = 0.7; // of the window's height: longer texts are worth it
const LINE = 60; // pixels that an arrow key moves

let wanted = read();
const following = new WeakMap(); // where each box was put by another one's scrolling

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

const button = () => document.querySelector("#answer [data-scroll-together]");
const boxes = () => [...document.querySelectorAll("#answer .option > .item-body")];
const range = (box) => box.scrollHeight - box.clientHeight;
// Without an id: htmx gives elements that have one their first class back after a swap.
const grid = () => document.querySelector("#answer :is(.pair-grid, .set-grid)");
const isOn = () => Boolean(grid()?.matches(".is-scrolling"));

function standSideBySide() {
  const lefts = boxes().map((box) => box.getBoundingClientRect().left);
  return new Set(lefts.map(Math.round)).size > 1;
}

function setUp() {
  if (!button()) return;
  const isLong = standSideBySide() && boxes().some((box) => box.scrollHeight > innerHeight * LONG);
  button().parentElement.hidden = !isLong;
  apply(isLong && wanted);
}

function apply(on) {
  grid().classList.toggle("is-scrolling", on);
  button().setAttribute("aria-pressed", String(on));
  for (const box of boxes()) {
    if (on) {
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-labelledby", box.parentElement.getAttribute("aria-labelledby"));
      box.addEventListener("scroll", follow);
    } else {
      for (const name of ["tabindex", "role", "aria-labelledby"]) box.removeAttribute(name);
      box.removeEventListener("scroll", follow);
    }
  }
}

function follow({ target: leader }) {
  if (Math.abs((following.get(leader) ?? -9) - leader.scrollTop) < 2) return;
  following.delete(leader);
  const part = range(leader) > 0 ? leader.scrollTop / range(leader) : 0;
  for (const box of boxes()) {
    if (box === leader || range(box) <= 0) continue;
    const top = Math.round(part * range(box));
    following.set(box, top);
    box.scrollTo({ top, behavior: "instant" });
  }
}

document.addEventListener("click", (event) => {
  if (!event.target.closest("#answer [data-scroll-together]")) return;
  wanted = !wanted;
  keep();
  apply(wanted);
  if (event.detail > 0) document.getElementById("task").focus({ preventScroll: true });
});

// Where the focus rests on the task, the keys that scroll a page scroll the texts.
document.addEventListener("keydown", (event) => {
  const rests = document.activeElement === document.body || document.activeElement.matches("main, #task");
  if (!isOn() || !rests || event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
  const longest = boxes().reduce((one, other) => (range(other) > range(one) ? other : one));
  const page = longest.clientHeight * 0.9;
  const by = { ArrowDown: LINE, ArrowUp: -LINE, PageDown: page, PageUp: -page, End: range(longest), Home: -range(longest) }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  longest.scrollBy({ top: by, behavior: "instant" });
});

document.addEventListener("task:shown", setUp);
addEventListener("resize", setUp); // a phone on its side has room for two
setUp();
