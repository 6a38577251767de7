// The page of `defrag serve`.
import { ask, bar, count, enter, find, make, marked, shown, signed } from "./common.js";

const state = { models: [], kind: "texts", given: null, found: [], why: null };
let latest = null; // the current request; earlier ones are aborted

// Models

async function open() {
  state.models = (await ask("v1/models")).models;
  find("ask").hidden = find("results").hidden = false;
  find("served").textContent = state.models.map((one) => `${one.name}, ${count(one.labels, "label")}`).join(" · ");
  const kinds = [...new Set(state.models.map((one) => one.takes))];
  find("kinds").hidden = kinds.length < 2;
  for (const kind of kinds) {
    const radio = make("input", { type: "radio", name: "kind", value: kind, checked: kind === kinds[0] });
    radio.addEventListener("change", () => { choose(kind); update(); });
    find("kinds").append(make("label", {}, radio, kind === "texts" ? " Text" : " Features"));
  }
  choose(kinds[0]);
  find("input").focus();
}

function choose(kind) {
  state.kind = kind;
  const own = state.models.filter((one) => one.takes === kind);
  const boxes = own.map((one, place) => make("input", { type: "checkbox", name: "model", value: one.name, checked: place < 3 }));
  for (const box of boxes) box.addEventListener("change", update);
  find("models").replaceChildren(find("models").firstElementChild, ...boxes.map((box) => make("label", {}, box, ` ${box.value}`)));
  find("models").hidden = own.length < 2;
  find("asked").textContent = kind === "texts" ? "Text" : "Features";
  find("hint").textContent = kind === "texts"
    ? "Paste or write a text. Ctrl+Enter suggests at once."
    : 'Names and values, "sparse:1.5 matrix", or a JSON object. A name alone counts 1.';
}

function features(text) {
  if (text.trim().startsWith("{")) return JSON.parse(text);
  const row = Object.create(null);
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const at = word.lastIndexOf(":");
    const value = at > 0 ? Number(word.slice(at + 1)) : 1;
    if (Number.isNaN(value) || word.endsWith(":")) throw new Error(`"${word}" should be name:value`);
    row[at > 0 ? word.slice(0, at) : word] = value;
  }
  return row;
}

// Labels

async function update() {
  latest?.abort();
  const request = (latest = new AbortController());
  const text = find("input").value;
  const chosen = [...document.querySelectorAll("[name=model]:checked")].map((box) => box.value);
  if (!text.trim() || !chosen.length || !find("k").checkValidity()) {
    const missing = !text.trim() ? "" : chosen.length ? "The number of labels must be from 1 to 1,000." : "Choose a model.";
    return show(null, [], missing);
  }
  let given;
  try {
    given = state.kind === "texts" ? { text } : { row: features(text) };
  } catch (error) {
    return show(null, [], error.message);
  }
  find("lists").setAttribute("aria-busy", "true");
  const found = await Promise.all(chosen.map(async (model) => {
    try {
      const body = { ...given, model, k: Number(find("k").value) };
      return { model, labels: (await ask("v1/suggest", body, request.signal)).labels };
    } catch (error) {
      return { model, labels: [], error: error.message };
    }
  }));
  if (request === latest) show(given, found);
}

function show(given, found, message = "") {
  if (JSON.stringify(given) !== JSON.stringify(state.given)) close();
  Object.assign(state, { given, found, message });
  if (state.why && !found.some((one) => one.model === state.why.model)) close();
  const scores = found.flatMap((one) => one.labels.map((label) => label.score));
  find("threshold").max = Math.max(1, Math.ceil(Math.max(0, ...scores)));
  find("threshold").min = Math.min(0, Math.floor(Math.min(0, ...scores)));
  find("lists").setAttribute("aria-busy", "false");
  filter();
}

const threshold = () => Number(find("threshold").value);
const above = (one) => one.labels.filter((label) => label.score >= threshold());

function filter() {
  find("least").textContent = threshold().toFixed(2).replace("-", "−");
  const lists = state.found.map((one) => ({ ...one, labels: above(one) }));
  const [n, all] = [lists, state.found].map((found) => found.reduce((sum, one) => sum + one.labels.length, 0));
  const asked = state.found.length > 0;
  find("status").textContent = state.message || (!asked ? "They appear here, best first."
    : !all ? "No labels: nothing in the input is known to the model."
    : n < all ? `${n} of ${count(all, "label")}` : `${count(all, "label")}. Choose one to see why.`);
  find("status").classList.toggle("error", Boolean(state.message));
  find("json").disabled = find("tsv").disabled = !n;
  const owners = new Map();
  for (const { labels } of lists) for (const { label } of labels) owners.set(label, (owners.get(label) || 0) + 1);
  find("lists").replaceChildren(...lists.map((one) => list(one, lists.length > 1, owners)));
}

function list({ model, labels, error }, compared, owners) {
  const largest = Number(find("threshold").max);
  const items = labels.map(({ label, score, name: called = String(label) }) => {
    const name = make("span", { className: "name" }, called);
    if (called !== String(label)) name.title = label;
    if (compared && owners.get(label) === 1) name.append(make("small", {}, "only here"));
    const button = make("button", { type: "button" }, name, make("span", { className: "score" }, shown(score)), bar(score / largest));
    button.setAttribute("aria-pressed", state.why?.model === model && state.why.label === label);
    button.addEventListener("click", () => explain(model, label, called, button));
    return make("li", {}, button);
  });
  const section = make("section", {}, make("ol", {}, ...items));
  if (compared) section.prepend(make("h3", {}, model, " ", make("small", {}, count(labels.length, "label"))));
  if (error) section.append(make("p", { className: "error" }, error));
  return section;
}

// Why

async function explain(model, label, called, opener) {
  if (state.why?.model === model && state.why.label === label) return close();
  const why = { model, label };
  state.why = why;
  for (const button of find("lists").querySelectorAll("button")) button.setAttribute("aria-pressed", button === opener);
  find("question").textContent = `Why ${called}?`;
  let found = null;
  try {
    found = (await ask("v1/explain", { ...state.given, model, label, features: 12 })).explanations[0];
  } catch (error) {
    find("answer").textContent = error.message;
  }
  if (state.why !== why) return;
  for (const id of ["highlighted", "key"]) find(id).hidden = !found?.segments;
  document.querySelector("#why .scroll").hidden = find("notes").hidden = !found;
  find("answer").classList.toggle("error", !found);
  if (found) answer(found, model);
  find("why").hidden = false;
  find("question").focus({ preventScroll: true });
  find("why").scrollIntoView({ block: "nearest" });
}

function answer(found, model) {
  const word = found.segments ? "word" : "feature";
  const { scores } = state.models.find((one) => one.name === model);
  const kind = scores === "probability" ? "Probability" : "Score";
  find("answer").textContent = `${kind} ${shown(found.score)} in ${model}; without any known ${word} it would be ${shown(found.base)}.`;
  find("feature").textContent = found.segments ? "Words" : "Feature";
  find("notes").textContent = [`Found ${found.how}.`, ...found.notes].join(" ");
  find("highlighted").replaceChildren(...marked(found.segments || []));
  const largest = Math.max(...found.features.map((one) => Math.abs(one.contribution)), 1e-12);
  const rows = found.features.map((one) => row(one.name, one.contribution, one.without, largest));
  if (Math.abs(found.rest) > 5e-4) rows.push(row(`other ${word}s`, found.rest, null, largest, "sum"));
  find("parts").replaceChildren(...rows);
}

function row(name, adds, without, largest, className = "") {
  const sign = bar(Math.abs(adds) / largest, adds < 0 ? "bar minus" : "bar");
  return make("tr", { className },
    make("th", { scope: "row" }, name),
    make("td", {}, signed(adds), sign),
    make("td", {}, without === null ? "" : shown(without)));
}

function close() {
  const inside = find("why").contains(document.activeElement);
  find("why").hidden = true;
  const opener = find("lists").querySelector("[aria-pressed=true]");
  opener?.setAttribute("aria-pressed", "false");
  if (inside) opener?.focus();
  state.why = null;
}

// Copies

async function copy(text, name, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Browsers offer the clipboard API to https and localhost only; fall back to execCommand.
    const area = make("textarea", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  find("status").textContent = `Copied as ${name}.`;
}

const lists = () => state.found.map((one) => ({ model: one.model, labels: above(one) }));
const cell = (value) => String(value).replace(/[\t\r\n]+/g, " ");

find("json").addEventListener("click", (event) => copy(`${JSON.stringify(lists(), null, 2)}\n`, "JSON", event.currentTarget));
find("tsv").addEventListener("click", (event) => {
  const named = state.found.some(({ labels }) => labels.some(({ name }) => name !== undefined));
  const columns = named ? ["label", "name", "score"] : ["label", "score"];
  const rows = lists().flatMap(({ model, labels }) => labels.map((one) => [model, ...columns.map((column) => one[column] ?? "")].map(cell)));
  copy([["model", ...columns], ...rows].map((cells) => `${cells.join("\t")}\n`).join(""), "TSV", event.currentTarget);
});

// Events

let pause = 0;
function soon() {
  clearTimeout(pause);
  pause = setTimeout(update, 300);
}
find("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(pause);
  update();
});
find("input").addEventListener("input", soon);
find("k").addEventListener("input", soon);
find("threshold").addEventListener("input", filter);
find("close").addEventListener("click", close);
find("lists").addEventListener("keydown", (event) => {
  const buttons = [...find("lists").querySelectorAll("button")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const next = buttons[buttons.indexOf(document.activeElement) + step];
  if (!step || !next) return;
  event.preventDefault();
  next.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && state.why) close();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) find("ask").requestSubmit();
});
enter(open);
