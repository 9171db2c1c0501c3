// What every page does when JavaScript runs: menus that close, copy buttons, focus on the first error, failed requests told.

import { announce } from "./announce.js";

const body = document.body;
document.documentElement.classList.remove("no-js");

function closeMenus(except) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (menu !== except) menu.open = false;
  }
}

document.addEventListener("click", (event) => closeMenus(event.target.closest("details.menu")));
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && event.target.closest("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

async function copy(button) {
  const input = document.getElementById(button.dataset.copy);
  input.select();
  try {
    await navigator.clipboard.writeText(input.value);
  } catch {
    // Without a secure context there is no clipboard: the text is selected, the person presses the keys.
    return;
  }
  const label = button.querySelector("span");
  const before = label.textContent;
  label.textContent = button.dataset.copied;
  announce(button.dataset.copied);
  setTimeout(() => { label.textContent = before; }, 2000);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
});

function notice(text) {
  const item = document.createElement("div");
  item.className = "callout callout-bad";
  item.textContent = text;
  document.getElementById("messages").replaceChildren(item);
}

function isPage(text) {
  return /^\s*<!doctype/i.test(text);
}

// An element with data-own-errors (or inside one) tells its failures itself.
function tellsItself(event) {
  return event.target.closest?.("[data-own-errors]");
}

document.addEventListener("htmx:beforeSwap", (event) => {
  const { detail } = event;
  const { xhr } = detail;
  if (new URL(xhr.responseURL || location.href, location.href).pathname === body.dataset.loginUrl && location.pathname !== body.dataset.loginUrl) {
    detail.shouldSwap = false;
    location.reload();
  } else if (xhr.status >= 400 && xhr.responseText && !isPage(xhr.responseText)) {
    // A refusal or an invalid form comes as a fragment for the same place.
    detail.shouldSwap = true;
    detail.isError = false;
  }
});
document.addEventListener("htmx:responseError", (event) => { if (!tellsItself(event)) notice(body.dataset.failed); });
for (const failure of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(failure, (event) => { if (!tellsItself(event)) notice(body.dataset.offline); });
}

document.querySelector("main [aria-invalid=true]")?.focus();

// On a narrow screen the tabs of a row scroll sideways: the current one is brought into the middle.
for (const current of document.querySelectorAll(".tabs li [aria-current]")) {
  const list = current.closest("ul");
  const [tab, row] = [current.getBoundingClientRect(), list.getBoundingClientRect()];
  list.scrollLeft += tab.left + tab.width / 2 - row.left - row.width / 2;
}
