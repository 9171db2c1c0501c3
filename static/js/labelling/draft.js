// An answer that is half made and not sent yet (a ranking, marks, a comment) outlives a reload and a closed tab. It is kept
// under the address that it will be sent to, which names the presentation; the others of the same annotator are old.

const FIELDS = "select, textarea, .mark input";

const form = () => document.getElementById("answer");
const annotator = () => document.getElementById("task").dataset.annotator;
const prefix = () => `crowdrank-draft-${annotator()}-`;
const name = () => prefix() + form().getAttribute("action");
const isTask = () => form() && !location.pathname.includes("/preview/"); // there nothing is stored, here neither

const fields = () => [...form().querySelectorAll(FIELDS)];
const isMark = (field) => ["radio", "checkbox"].includes(field.type);

function given() {
  const told = fields().filter((field) => (isMark(field) ? field.checked : field.value));
  return told.map((field) => [field.name, field.value]);
}

function keep() {
  if (!isTask()) return;
  const values = given();
  try {
    if (values.length) localStorage.setItem(name(), JSON.stringify(values));
    else localStorage.removeItem(name());
  } catch {
    // Refused or full: then it lives as long as the page.
  }
}

// Puts what was kept for the task shown back into its form, before the page sets it out.
export function putBack() {
  if (!isTask()) return;
  let values = null;
  try {
    for (const other of Object.keys(localStorage).filter((one) => one.startsWith(prefix()) && one !== name())) {
      localStorage.removeItem(other);
    }
    values = JSON.parse(localStorage.getItem(name()));
  } catch {
    // Refused or spoilt: there is nothing to put back.
  }
  if (!Array.isArray(values) || given().length) return; // what the server shows again is newer
  for (const [key, value] of values) fill(fields().filter((field) => field.name === key), value);
}

function fill(found, value) {
  for (const field of found) {
    if (isMark(field)) field.checked ||= field.value === value;
    else field.value = value;
    field.closest("details")?.setAttribute("open", "");
  }
}

export function drop(path) {
  try {
    localStorage.removeItem(prefix() + path);
  } catch {
    // Refused: it was never stored.
  }
}

for (const event of ["input", "change"]) {
  document.addEventListener(event, ({ target }) => { if (target.closest?.("#answer")) keep(); });
}
