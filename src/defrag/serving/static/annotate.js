// The page of `defrag annotate`: one text after another, its labels by keyboard or mouse.
import { ask, bar, count, enter, find, make, marked, shown, signed } from "./common.js";

const state = { id: null, text: null, labels: [], chosen: new Set(), skipped: [], busy: false };

async function next() {
  const { documents, done, left } = await ask("v1/next", { skipped: state.skipped });
  find("served").classList.remove("error");
  find("served").textContent = `${count(done, "text")} done, ${left.toLocaleString("en")} left`;
  show(documents[0] || { text: null, labels: [], proposed: [], reason: "All texts are done or skipped." });
}

function show({ id, text, labels, proposed, reason }) {
  Object.assign(state, { id, text, labels, chosen: new Set(proposed) });
  find("document").hidden = find("choice").hidden = false;
  find("reason").textContent = reason;
  find("text").textContent = text ?? "";
  find("text").scrollTop = 0;
  find("why").textContent = "";
  find("words").value = "";
  find("found").replaceChildren();
  draw();
}

function draw() {
  find("accept").disabled = find("skip").disabled = state.text === null;
  find("labels").replaceChildren(...state.labels.map(item));
}

function item({ label, score, name = label }, place) {
  const title = make("span", { className: "name" }, name);
  if (place < 9) title.prepend(make("kbd", {}, String(place + 1)), " ");
  if (name !== label) title.title = label;
  const button = make("button", { type: "button" }, title,
    make("span", { className: "score" }, score === undefined ? "added" : shown(score)), bar(score ?? 0));
  button.setAttribute("aria-pressed", state.chosen.has(label));
  button.addEventListener("click", () => toggle(label));
  const why = make("button", { type: "button", className: "why" }, "why");
  why.setAttribute("aria-label", `Why ${name}?`);
  why.addEventListener("click", () => explain(label, name));
  return make("li", {}, button, why);
}

function toggle(label) {
  const place = state.labels.findIndex((one) => one.label === label);
  const within = find("labels").contains(document.activeElement);
  if (!state.chosen.delete(label)) state.chosen.add(label);
  draw();
  if (within) find("labels").children[place].firstChild.focus();
}

function add(label, name) {
  if (!state.labels.some((one) => one.label === label)) state.labels.push({ label, name });
  state.chosen.add(label);
  find("words").value = "";
  find("found").replaceChildren();
  draw();
  find("words").blur();
}

async function explain(label, name) {
  const { text } = state;
  let said;
  try {
    const found = (await ask("v1/explain", { text, label, features: 4 })).explanations[0];
    if (text !== state.text) return;
    if (found.segments) find("text").replaceChildren(...marked(found.segments));
    const parts = found.features.map((one) => `${one.name} ${signed(one.contribution)}`).join(", ");
    said = `${name}: ${shown(found.score)} by ${parts || "nothing in the text"}.`;
  } catch (error) {
    said = error.message;
  }
  find("why").textContent = said;
}

// What changes the texts that are done: one request at a time.
async function act(work) {
  if (state.busy) return;
  state.busy = true;
  try {
    await work();
  } catch (error) {
    find("served").textContent = `Not saved: ${error.message}`;
    find("served").classList.add("error");
  }
  state.busy = false;
}

const accept = () => state.text !== null && act(async () => {
  const labels = state.labels.map((one) => one.label).filter((label) => state.chosen.has(label));
  await ask("v1/corrections", { text: state.text, labels });
  await next();
});

const skip = () => state.text !== null && act(async () => {
  state.skipped.push(state.id);
  await next();
});

const undo = () => act(async () => {
  const { text, done } = await ask("v1/undo", {});
  const { labels } = await ask("v1/suggest", { text, k: 20 });
  find("served").textContent = `Undone: ${count(done, "text")} done`;
  show({ text, labels, proposed: [], reason: "This text has no labels again." });
});

let latest = null;
async function search() {
  const words = find("words").value.trim();
  latest?.abort();
  if (!words) return find("found").replaceChildren();
  const request = (latest = new AbortController());
  let labels = [];
  try {
    ({ labels } = await ask("v1/labels", { words, k: 6 }, request.signal));
  } catch (error) {
    if (error.name === "AbortError") return;
  }
  if (request !== latest) return;
  const found = labels.map(({ label, name }) => [label, name, name]);
  const same = (one) => one.toLowerCase() === words.toLowerCase();
  if (!labels.some(({ label, name }) => same(label) || same(name))) found.push([words, words, `${words} (a new label)`]);
  find("found").replaceChildren(...found.map(([label, name, title]) => {
    const button = make("button", { type: "button" }, make("span", { className: "name" }, title));
    button.addEventListener("click", () => add(label, name));
    return make("li", {}, button);
  }));
}

find("accept").addEventListener("click", accept);
find("skip").addEventListener("click", skip);
find("undo").addEventListener("click", undo);
find("words").addEventListener("input", search);
document.addEventListener("keydown", (event) => {
  const typing = event.target === find("words");
  if (event.ctrlKey || event.metaKey || event.altKey || find("choice").hidden) return;
  if (typing && event.key === "Escape") return find("words").blur();
  if (event.key === "Enter" && typing) find("found").querySelector("button")?.click();
  else if (event.key === "Enter" && !event.target.closest("button")) accept();
  else if (event.key === "ArrowDown" && typing) find("found").querySelector("button")?.focus();
  else if (typing) return;
  else if (event.key >= "1" && event.key <= "9" && state.labels[event.key - 1]) toggle(state.labels[event.key - 1].label);
  else if (event.key === "/") find("words").focus();
  else if (event.key === "s") skip();
  else if (event.key === "u") undo();
  else if (event.key === "w" && state.labels.length) {
    const row = [...find("labels").children].findIndex((one) => one.contains(document.activeElement));
    const { label, name = label } = state.labels[Math.max(0, row)];
    explain(label, name);
  } else return;
  event.preventDefault();
});
enter(next);
