// Skipping with a reason: who opens the question, by its key too, goes on in it.

const box = () => document.querySelector("#answer .answer-skip");

document.addEventListener("toggle", (event) => {
  if (event.target === box() && box().open) box().querySelector("input").focus();
}, { capture: true });

// Typing means "something else".
document.addEventListener("input", ({ target }) => {
  if (!target.matches(".answer-skip [name=reason_words]")) return;
  const other = box().querySelector("[name=reason][value='']");
  if (other) other.checked = true;
});
