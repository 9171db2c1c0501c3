// Says beside "Done" how much of the answer is given.

export function count(n) {
  const text = document.querySelector("#answer [data-count]");
  if (text) text.textContent = text.dataset.count.replace("{n}", n);
}
