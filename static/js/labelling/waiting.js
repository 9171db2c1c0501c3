// The shortest time to read: until it is over, the answers can't be pressed. The server holds to it in any case.

let timer = null;

export function holdBack() {
  clearTimeout(timer);
  const form = document.getElementById("answer");
  const wait = Number(form?.dataset.wait ?? 0);
  if (!wait) return;
  hold(form, true);
  timer = setTimeout(() => hold(form, false), wait);
}

function hold(form, on) {
  for (const button of form.querySelectorAll("button[name=answer]")) button.disabled = on;
  form.querySelector("[data-waiting]").hidden = !on;
}
