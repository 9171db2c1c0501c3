// The task page: confirms a choice at once, sends it until the server has it, shows the next task and tells it.

import { keepTimes } from "./ago.js";
import { announce } from "./announce.js";
import * as ahead from "./labelling/ahead.js";
import { countMarks } from "./labelling/best_worst.js";
import { countCriteria } from "./labelling/criteria.js";
import { setOutSteps } from "./labelling/criteria_steps.js";
import * as draft from "./labelling/draft.js";
import "./labelling/keys.js";
import { median, took } from "./labelling/pace.js";
import { setOut } from "./labelling/ranking.js";
import "./labelling/skipping.js";
import * as stopwatch from "./labelling/stopwatch.js";
import "./labelling/swipe.js";
import { drop, keep, kept } from "./labelling/unsent.js";
import { holdBack } from "./labelling/waiting.js";

const CONFIRM_MS = 150;
const LONGEST_WAIT_S = 10;
const DOUBLE_CLICK_MS = 300;
const TOLD_CHARACTERS = 400;

let busy = false; // an answer or an undo is on its way, or waits to be sent again
let inFlight = false;
let confirmedAt = 0;
let said = ""; // what the answer on its way says, for screen readers
let attempts = 0;
let timer = null;
let renewed = false; // since an answer was refused, another token has been fetched
let following = ""; // where the answer goes that is on its way while the task after it is shown
let later = ""; // the form pressed meanwhile: it follows when the server has that answer
let shown = null;
let shownAt = 0;

const task = () => document.getElementById("task");
const annotator = () => task().dataset.annotator;
const isTask = (text) => /<section id="task"/.test(text);
const ownPath = () => document.getElementById("answer")?.getAttribute("action");
const parse = (text) => new DOMParser().parseFromString(text, "text/html").getElementById("task");
// Signing in or out in another tab turns the token that guards forms: the cookie has the one that counts.
const csrfToken = () => document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1];
const concernsTask = (detail) => detail.target?.id === "task";

// --- Answering --------------------------------------------------------------------------------------------------------

// The second half of a double click may fall on the next task's button; a quick annotator's next click comes later.
document.addEventListener("click", (event) => {
  const tooSoon = event.detail > 1 && performance.now() - shownAt < DOUBLE_CLICK_MS;
  if (tooSoon && event.target.closest("#answer button, #answer .criterion label, button[form=undo], [data-known-button]")) event.preventDefault();
}, { capture: true });

document.addEventListener("submit", (event) => {
  if (!event.target.matches("#answer, #undo, [data-known]")) return;
  if (busy) {
    event.preventDefault();
    event.stopImmediatePropagation();
    return;
  }
  const form = event.target;
  busy = true;
  said = form.dataset.said ?? "";
  if (form.id !== "answer") {
    if (!following) return;
    later = form.id;
  } else {
    confirm(event.submitter);
    if (!following && !ahead.isHeld()) return;
    const formData = new FormData(form, event.submitter);
    keepAnswer({ path: ownPath(), formData });
    if (!following) goOn();
  }
  event.preventDefault();
  event.stopImmediatePropagation();
}, { capture: true });

// Start, Continue and Finish are sent by the browser itself.
document.addEventListener("submit", (event) => {
  const field = event.target.querySelector("[name=csrfmiddlewaretoken]");
  if (field && csrfToken()) field.value = csrfToken();
});

// Shows the task held ready, if there is one, and sends the answer that was kept behind it.
function goOn() {
  if (ahead.isHeld()) {
    following = ownPath();
    ahead.put(task());
  }
  resend();
}

function confirm(button) {
  said = button.dataset.said;
  confirmedAt = performance.now();
  const card = document.getElementById(`option-${button.dataset.option ?? button.value}`);
  (card ?? button).classList.add("is-chosen");
}

document.addEventListener("htmx:configRequest", ({ detail }) => {
  if (!concernsTask(detail)) return;
  inFlight = true;
  detail.timeout = 20_000;
  if (csrfToken()) {
    detail.headers["X-CSRFToken"] = csrfToken();
    detail.formData.delete("csrfmiddlewaretoken");
  }
  if (detail.elt.id === "answer") keepAnswer(detail);
  if (detail.path === following) detail.formData.set("shown", task().dataset.token);
  for (const [name, hint] of Object.entries({ median_ms: median(annotator()), total: task().dataset.total })) {
    if (hint) detail.formData.set(name, hint);
  }
});

function keepAnswer(detail) {
  detail.formData.set("response_ms", stopwatch.elapsed());
  detail.formData.set("active_ms", stopwatch.activeMs());
  detail.formData.set("client_at", new Date().toISOString());
  const values = Object.fromEntries([...detail.formData].filter(([name]) => name !== "csrfmiddlewaretoken"));
  keep(annotator(), { path: detail.path, values, said, keptAt: Date.now() });
}

// --- The server's word ------------------------------------------------------------------------------------------------

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!concernsTask(detail)) return;
  detail.shouldSwap = isTask(detail.serverResponse) && !waitsOn(detail);
  if (!detail.shouldSwap) return;
  const told = parse(detail.serverResponse);
  if ("shown" in told.dataset) {
    detail.shouldSwap = false;
    renew(told);
    return;
  }
  if (!confirmedAt || attempts) said = arrived(kept(annotator(), detail.requestConfig.path));
  if (detail.xhr.status >= 400) said = ""; // the alert says what was refused
  for (const image of new DOMParser().parseFromString(detail.serverResponse, "text/html").images) {
    new Image().src = image.getAttribute("src");
  }
  const wait = Math.ceil(CONFIRM_MS - (performance.now() - confirmedAt));
  if (wait > 0) detail.swapOverride = `outerHTML swap:${wait}ms`;
});

// The milliseconds after which an answer may be sent again that came before the items could be read, else 0. They were
// read while the answer before was on its way; the server counts from when that arrived.
function waitsOn({ xhr, requestConfig }) {
  return kept(annotator(), requestConfig.path) ? 1000 * Number(xhr.status === 409 && xhr.getResponseHeader("Retry-After")) : 0;
}

// Brings what the server says besides the task that is shown already: how far one is, what undo takes back, what is next.
function renew(told) {
  for (const part of ["#notice", ".pair-progress", ".labelling-ways", ".labelling-undo", "#undo"]) {
    const [before, now] = [task().querySelector(part), told.querySelector(part)];
    if (!now) continue;
    const held = before?.contains(document.activeElement);
    if (before) before.replaceWith(now);
    else task().append(now);
    if (held) now.focus();
  }
  for (const name of ["heading", "total"]) if (told.dataset[name]) task().dataset[name] = told.dataset[name];
  htmx.process(document.getElementById("undo"));
  document.getElementById("unsent").hidden = true;
  delete document.getElementById("unsent").dataset.state;
  ahead.hold(told);
  if (document.getElementById("answer").dataset.wait) {
    document.getElementById("answer").dataset.wait = told.dataset.wait ?? "";
    if (!kept(annotator(), ownPath())) holdBack();
  }
  // A button that was pressed in vain keeps the focus, and with it the keys.
  if (document.activeElement?.matches("#answer button")) task().focus({ preventScroll: true });
  if (attempts) announce([arrived(kept(annotator(), following)), describe()].join(" "));
}

// After the server's word on the answer before: what was pressed on this task meanwhile.
function catchUp() {
  const form = document.getElementById(later);
  const isAnswered = ownPath() && kept(annotator(), ownPath());
  following = later = "";
  busy = false;
  if (isAnswered) {
    busy = true;
    goOn();
  } else if (form) form.requestSubmit();
}

document.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (!concernsTask(detail)) return;
  const { xhr, requestConfig } = detail;
  inFlight = false;
  const unsent = kept(annotator(), requestConfig.path);
  const isAnswer = Boolean(unsent);
  if (waitsOn(detail)) {
    timer = setTimeout(resend, waitsOn(detail));
  } else if (isTask(xhr.responseText)) {
    if (isAnswer) {
      drop(annotator(), unsent.path);
      if (xhr.status < 400) draft.drop(unsent.path);
      took(annotator(), Number(unsent.values.active_ms));
      setTimeout(resend, 2 * CONFIRM_MS); // another tab's may be left
    }
    attempts = 0;
    renewed = false;
    if ("shown" in parse(xhr.responseText).dataset) catchUp();
  } else if (isAnswer) {
    notDelivered(xhr.status, unsent.path);
  } else {
    busy = false;
    tell(xhr.status ? document.body.dataset.failed : document.body.dataset.offline);
  }
});

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (!concernsTask(detail) || shown === task()) return;
  following = later = "";
  ahead.hold(task());
  task().dispatchEvent(new CustomEvent("task:shown", { bubbles: true }));
});

document.addEventListener("task:shown", () => {
  busy = false;
  window.scrollTo({ top: 0, behavior: "instant" });
  show();
  task().focus({ preventScroll: true });
  announce([said, describe()].join(" "));
});

function show() {
  shown = task();
  shownAt = performance.now();
  stopwatch.restart();
  draft.putBack();
  countMarks();
  setOutSteps();
  countCriteria();
  setOut();
  holdBack();
}

function describe() {
  const section = task();
  if (!section.dataset.heading) return section.querySelector(".labelling-stop")?.innerText ?? "";
  const options = [...section.querySelectorAll(".option")].map((option) => {
    const parts = [...option.querySelectorAll(".item-sections .item-section")]; // of each its picture's words, else its text
    const image = (one) => one.querySelector("img");
    const told = (one) => image(one)?.dataset.words ?? image(one)?.alt ?? (one.querySelector(".item-body") ?? one).textContent;
    const title = option.querySelector(".item-caption-title")?.textContent;
    const text = title ?? (parts.length ? parts.map(told).join(" ") : told(option));
    const line = text.trim().replace(/\s+/g, " ");
    const end = /[.!?…。]$/.test(line) ? "" : "."; // of a sentence; a text that has its own gets no second
    return `${option.querySelector("h2").textContent}, ${line.slice(0, TOLD_CHARACTERS)}${line.length > TOLD_CHARACTERS ? "…" : end}`;
  });
  return [section.dataset.heading, ...options].join(" ");
}

function tell(text) {
  const callout = document.createElement("div");
  callout.className = "callout callout-bad";
  callout.setAttribute("role", "alert");
  callout.textContent = text;
  document.getElementById("notice").replaceChildren(callout);
}

// --- Sending again ----------------------------------------------------------------------------------------------------

// What is said once an answer that had waited is stored.
function arrived(unsent) {
  return unsent ? [task().dataset.arrived, unsent.said].join(" ") : said;
}

function notDelivered(status, path) {
  busy = true;
  if (status === 401) state("sign-in");
  else if (status === 404) {
    drop(annotator(), path);
    state("gone");
  } else if (status === 403 && renewed) state("reload");
  else if (status === 403) renewToken();
  else sendLater();
}

function sendLater() {
  state("retry");
  timer = setTimeout(resend, 1000 * Math.min(1.6 ** attempts, LONGEST_WAIT_S) * (0.75 + Math.random() / 2));
  attempts += 1;
}

// The token was turned while the answer was on its way, or its cookie is gone: this page, asked for again, brings one.
async function renewToken() {
  try {
    await fetch(task().dataset.path);
  } catch {
    sendLater();
    return;
  }
  renewed = true;
  resend();
}

function state(name) {
  const box = document.getElementById("unsent");
  const before = box.dataset.state;
  box.dataset.state = name;
  box.hidden = false;
  for (const line of box.querySelectorAll("[data-unsent]")) line.hidden = line.dataset.unsent !== name;
  if (before !== name) announce(box.querySelector(`[data-unsent=${name}]`).textContent.trim().replace(/\s+/g, " "));
}

function resend() {
  const unsent = kept(annotator());
  if (!unsent || inFlight) return;
  clearTimeout(timer);
  busy = unsent.path !== following || attempts > 0 || Boolean(ownPath() && kept(annotator(), ownPath()));
  const sent = htmx.ajax("POST", unsent.path, { source: "#task", target: "#task", swap: "outerHTML", values: unsent.values });
  sent.catch(() => {}); // htmx:afterRequest has told it
}

window.addEventListener("online", resend);
window.addEventListener("focus", resend);
document.addEventListener("click", (event) => { if (event.target.closest("[data-retry]")) resend(); });

// --- Where the focus rests, so that keys go on working ------------------------------------------------------------------

const help = document.getElementById("help");
help.addEventListener("beforetoggle", (event) => {
  const isElsewhere = document.activeElement !== document.body && !help.contains(document.activeElement);
  if (event.newState === "closed" && !isElsewhere) task().focus({ preventScroll: true });
});
// It covers the task, and where the focus is must be seen.
document.addEventListener("focusin", (event) => {
  if (help.matches(":popover-open") && !help.contains(event.target)) help.hidePopover();
});
document.addEventListener("click", (event) => {
  const byPointer = event.detail > 0;
  if (byPointer && event.target.closest("#task a[target=_blank]")) task().focus({ preventScroll: true });
});

keepTimes(document.getElementById("times"));
show();
ahead.hold(task());
ahead.ask(task());
resend();
