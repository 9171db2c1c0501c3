// Says a text to screen readers through the page's one live region.

export function announce(text) {
  const region = document.getElementById("announcer");
  // A region that already holds the same text stays silent, so it is emptied first.
  region.textContent = "";
  setTimeout(() => { region.textContent = text; }, 50);
}
