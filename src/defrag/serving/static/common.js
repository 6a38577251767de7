// What the pages share. Input and output are set as text, never as HTML.
export const find = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

export const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
export const shown = (score) => score.toFixed(3).replace("-", "−");
export const signed = (score) => (score < 0 ? "" : "+") + shown(score);

let token = "";

export async function ask(path, body, signal) {
  const headers = { "content-type": "application/json" };
  if (token) headers.authorization = `Bearer ${token}`;
  const options = body ? { method: "POST", headers, body: JSON.stringify(body), signal } : { headers };
  const response = await fetch(path, options);
  if (response.ok) return response.json();
  const answer = await response.json().catch(() => ({}));
  throw Object.assign(new Error(answer.error || `status ${response.status}`), { status: response.status });
}

// Calls a function that asks the server; if it wants a token, again when the user has given one.
export async function enter(start) {
  try {
    await start();
  } catch (error) {
    if (error.status !== 401) {
      find("served").textContent = `The server does not answer: ${error.message}`;
      return find("served").classList.add("error");
    }
    if (token) find("served").textContent = "The token is wrong.";
    find("access").hidden = false;
    find("access").onsubmit = (event) => {
      event.preventDefault();
      token = find("token").value;
      enter(start);
    };
    return find("token").focus();
  }
  find("access").hidden = true;
}

export function bar(part, className = "bar") {
  const filled = make("span");
  filled.style.width = `${100 * Math.min(1, Math.max(0, part))}%`;
  const node = make("span", { className }, filled);
  node.setAttribute("aria-hidden", "true");
  return node;
}

// The pieces of an explained text, as the server splits it: Python and JavaScript count characters
// differently.
export function marked(segments) {
  const heaviest = Math.max(...segments.map((piece) => Math.abs(piece.weight)), 1e-12);
  return segments.map(({ text, weight }) => {
    if (Math.abs(weight) < heaviest / 50) return text;
    const mark = make("mark", { className: weight < 0 ? "minus" : "plus" }, text);
    mark.style.setProperty("--strength", `${Math.round(8 + (32 * Math.abs(weight)) / heaviest)}%`);
    return mark;
  });
}
