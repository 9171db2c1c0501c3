// The page of own keys: a key pressed in a field replaces the one before.

document.addEventListener("input", (event) => {
  if (!event.target.matches(".keys-grid input") || event.isComposing || !event.data) return;
  event.target.value = [...event.data].at(-1);
});
