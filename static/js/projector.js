// Counts down on the projector view: the server wrote the time left, this goes on by the server's clock.

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
