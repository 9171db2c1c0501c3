// The question after the one shown, ready to be shown when that is answered: its texts, and its images decoded.

const MARGIN_MS = 15_000; // before its lease ends: so long the answer before it may take to reach the server

let ready = null;

// Takes the question that this task's fragment holds, in place of any other.
export function hold(section) {
  const template = section.querySelector("template[data-question-ahead]");
  ready = null;
  if (!template) return;
  const task = document.importNode(template.content, true).querySelector("#task");
  ready = { task, until: Date.now() + Number(template.dataset.questionAhead) - MARGIN_MS };
  template.remove();
  for (const image of task.querySelectorAll("img")) image.decode().catch(() => {}); // it is shown as far as it has come
}

export const isHeld = () => Boolean(ready && Date.now() < ready.until);

// Replaces the task by the one held, which is held no more.
export function put(section) {
  const { task } = ready;
  ready = null;
  section.replaceWith(task);
  htmx.process(task);
  task.dispatchEvent(new CustomEvent("task:shown", { bubbles: true }));
}

// Asks for a question to hold, for a page that came without one. No answer waits for it.
export async function ask(section) {
  if (ready || !section.dataset.ahead) return;
  const csrfmiddlewaretoken = document.querySelector("#answer [name=csrfmiddlewaretoken]")?.value ?? "";
  const body = new URLSearchParams({ shown: section.dataset.token, csrfmiddlewaretoken });
  try {
    const reply = await fetch(section.dataset.ahead, { method: "POST", body, headers: { "HX-Request": "true" } });
    const told = reply.ok && new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("task");
    if (told && told.dataset.token === document.getElementById("task").dataset.token && !ready) hold(told);
  } catch {
    // Without a network there is none ahead.
  }
}
