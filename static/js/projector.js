// Keeps the projector view up to date: the server pushes what changed (server-sent events); where it can't, the page asks
// every five seconds. And counts down: the server wrote the time left, this goes on by the server's clock.

const ASK_MS = 5000;
const AGAIN_MS = 60000; // after the server would not stream

let frame;
let ahead = 0; // of the server's clock

function left(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const two = (n) => String(n).padStart(2, "0");
  return `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}

function update() {
  const clock = document.querySelector("[data-deadline]");
  if (!clock) return;
  if (clock !== frame) {
    frame = clock;
    ahead = Date.now() - Date.parse(clock.dataset.now);
  }
  const rest = Date.parse(clock.dataset.deadline) - (Date.now() - ahead);
  const text = rest > 0 ? left(rest) : clock.dataset.over;
  const shown = clock.querySelector("time");
  if (shown.textContent !== text) shown.textContent = text;
}

setInterval(update, 1000);

const address = document.getElementById("stream").dataset.stream;
let stream;

function connect() {
  stream?.close();
  if (document.hidden) return; // a browser has few connections to one site: what nobody looks at needs none
  stream = new EventSource(`${address}&seen=${encodeURIComponent(document.getElementById("projector").dataset.version)}`);
  stream.onmessage = ({ data }) => { htmx.swap("#projector", data, { swapStyle: "outerHTML" }); update(); };
  stream.addEventListener("ended", () => location.reload());
}

function ask() {
  if (!document.hidden && stream?.readyState !== EventSource.OPEN) htmx.trigger("#projector", "ask");
}

document.addEventListener("visibilitychange", connect);
setInterval(ask, ASK_MS);
setInterval(() => { if (stream?.readyState === EventSource.CLOSED) connect(); }, AGAIN_MS);
connect();
