// Keeps a page of the dashboard up to date: a websocket says what changed, htmx fetches the parts that show it.
// A part names in data-refreshed-by what it goes by ("fit", "labels", "evaluation", "newest", or several) and carries the values it
// was drawn with.

import { keepTimes } from "./ago.js";
import { heldIn, hold } from "./focus.js";
import { glide, markMoves, places } from "./moves.js";

const live = document.getElementById("live");
const words = { up: live.dataset.up, down: live.dataset.down };
const GIVE_UP_AFTER = 3;   // failed connections before polling begins
const POLL_MS = 5000;
const SILENCE_MS = 50000;  // the server says something at least every 20 s
const STATUS_MS = 1000;    // the line of state is fetched at most so often; a part as often as its data-every says

const known = {};
const asked = new Map();   // per part: the value it was last asked for, and when
let failures = 0;
let stopped = false;
let silence;
let due;

function say(state) {
  live.dataset.state = { live: "live", reconnecting: "reconnecting", polling: "reconnecting", off: "off" }[state];
  live.textContent = live.dataset[`word${state[0].toUpperCase()}${state.slice(1)}`];
}

function unfinished(part) {
  const field = part.contains(document.activeElement) && document.activeElement;
  if (field && field.matches("input, select") && field.value !== (field.defaultValue ?? field.value)) return true;
  const selection = getSelection();
  return !selection.isCollapsed && part.contains(selection.anchorNode);
}

function refresh(part, value, every) {
  const last = asked.get(part.id) ?? { value: undefined, at: 0 };
  if (last.value === value) return;
  const wait = last.at + every - Date.now();
  if (wait > 0 || unfinished(part)) {
    clearTimeout(due);
    due = setTimeout(check, Math.max(wait, 300));
    return;
  }
  asked.set(part.id, { value, at: Date.now() });
  htmx.trigger(part, "refresh");
}

function check() {
  if (document.hidden || stopped) return;
  const status = document.getElementById("status");
  const changed = ["fit", "labels", "engine"].filter((name) => name in known && String(known[name] ?? "") !== status.dataset[name]);
  if (changed.length) refresh(status, JSON.stringify(known), "fit" in changed ? 0 : STATUS_MS);
  for (const part of document.querySelectorAll("[data-refreshed-by]")) {
    const names = part.dataset.refreshedBy.split(" ");
    const isStale = names.some((name) => name in known && String(known[name] ?? "") !== part.dataset[name]);
    if (isStale) refresh(part, names.map((name) => known[name]).join(), Number(part.dataset.every ?? 0));
  }
}

function heard(socket) {
  clearTimeout(silence);
  silence = setTimeout(() => socket.close(), SILENCE_MS);
}

function connect() {
  if (stopped) return;
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${live.dataset.live}`);
  socket.onopen = () => { failures = 0; say("live"); heard(socket); };
  socket.onmessage = (event) => { heard(socket); Object.assign(known, JSON.parse(event.data)); check(); };
  socket.onclose = () => {
    clearTimeout(silence);
    if (stopped) return;
    failures += 1;
    say(failures < GIVE_UP_AFTER ? "reconnecting" : "polling");
    setTimeout(connect, Math.min(30000, 500 * 2 ** failures) * (0.5 + Math.random() / 2));
  };
}

function poll() {
  if (failures >= GIVE_UP_AFTER && !document.hidden && !stopped) htmx.trigger("#status", "refresh");
}

function readStatus() {
  const { fit, labels, engine, evaluation, newest } = document.getElementById("status").dataset;
  Object.assign(known, { fit, labels, engine, evaluation, newest });
}

let before;
let opened;
let held;
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!detail.target.dataset.refreshedBy) return;
  // Only a refresh glides: what a person asked for (another order, another page) is simply there.
  before = detail.requestConfig.triggeringEvent?.type === "refresh" ? places(detail.target) : null;
  held = heldIn(detail.target);
  opened = Array.from(detail.target.querySelectorAll("details[open][id]"), (details) => details.id);
});
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  const part = document.getElementById(detail.target.id);
  if (part?.id === "status" && failures >= GIVE_UP_AFTER) readStatus();
  if (part?.dataset.refreshedBy) {
    for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
    hold(part, held);
    if (before) glide(part, before);
  }
  check();
});
// Not before: until then htmx gives the new rows the classes of the old ones.
document.addEventListener("htmx:afterSettle", ({ detail }) => {
  const part = document.getElementById(detail.target.id);
  if (part?.dataset.refreshedBy) markMoves(part, words);
});
document.addEventListener("htmx:responseError", ({ detail }) => {
  // Signed out, or no longer a member: nothing more will come.
  if (![401, 403, 404].includes(detail.xhr.status) || !detail.target?.closest("#status")) return;
  stopped = true;
  say("off");
});
document.addEventListener("visibilitychange", check);

// Going back is a page of its own, with its own socket.
htmx.config.refreshOnHistoryMiss = true;
for (const part of document.querySelectorAll("[data-refreshed-by]")) markMoves(part, words);
keepTimes(live);
setInterval(poll, POLL_MS);
connect();
