// The page of `podberth playground`. It sends three texts to the server, and shows the answer; it decides nothing.
import { createEditor } from "./editor.js";

const QUIET_MILLISECONDS = 250;
const PATIENCE_MILLISECONDS = 2000; // an older answer that takes longer is given up for the next one
const FOLLOW_MILLISECONDS = 10000; // how often a live cluster is read
const NAMES = ["policy", "workload", "cluster"];
const LABELS = { policy: "policy, YAML", workload: "pod or workload, YAML", cluster: "cluster, YAML" };
const SIGNS = { "+": "add", "-": "cut", "!": "error", "@": "note" };
const FITS = {
  kept: ["●", "fits before and after"], gained: ["+", "fits after the policies only"],
  lost: ["−", "fits before the policies only"], out: ["·", "does not fit"],
};
const at = (id) => document.getElementById(id);
const editors = {};
let timer, running, began, answered;

function make(tag, fields, ...children) {
  const element = Object.assign(document.createElement(tag), fields);
  element.append(...children.filter((each) => each !== null));
  return element;
}

function session() {
  const texts = Object.fromEntries(NAMES.map((name) => [name, editors[name].text()]));
  return { version: 1, ...texts, namespace: at("namespace").value };
}

async function post(kind, content, signal) {
  const response = await fetch(kind, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content), signal,
  });
  const found = await response.json();
  if (!response.ok) throw new Error(found.message);
  return found;
}

async function ask(name, kind, place) {
  try {
    return await post(kind, { session: session(), in: name, ...place });
  } catch {
    return null; // the next answer says what is wrong
  }
}

function changed() {
  clearTimeout(timer);
  timer = setTimeout(() => {
    refresh();
    if (location.hash.length > 1) link(); // the address has carried the session so far
  }, QUIET_MILLISECONDS);
}

// `remark` is said beside the time of the answer.
async function refresh(remark = "") {
  if (running && performance.now() - began < PATIENCE_MILLISECONDS) {
    changed();
    return;
  }
  running?.abort();
  const mine = (running = new AbortController());
  began = performance.now();
  at("state").textContent = "asking";
  try {
    show(await post("answer", { session: session() }, mine.signal));
    at("state").textContent = `answered in ${Math.round(performance.now() - began)} ms${remark}`;
  } catch (error) {
    if (error.name !== "AbortError") at("state").textContent = `no answer: ${error.message}`;
  } finally {
    if (running === mine) running = null;
  }
}

// ---- the answer ----------------------------------------------------------------------------------------------------

function show(answer) {
  answered = answer;
  for (const name of NAMES) editors[name].mark(answer.marks[name]);
  const unknown = answer.unknownNamespaces.map((each) => make("li", { className: "note" }, each));
  at("results").replaceChildren(
    ...about("Policies", problems("policy", answer)),
    ...about("Cluster", [...problems("cluster", answer), ...unknown]),
    ...answer.results.map(result),
  );
  showDifference();
  const chosen = at("pod").selectedIndex;
  at("pod").replaceChildren(...answer.explained.map((pod) => make("option", {}, named(pod))));
  at("pod").selectedIndex = Math.min(Math.max(chosen, 0), answer.explained.length - 1);
  at("choice").hidden = answer.explained.length < 2;
  showPod();
  at("tests").textContent = answer.tests.text;
  at("copy").disabled = !answer.tests.text;
  at("copied").textContent = answer.tests.text ? "" : "nothing to copy: the tests have no case";
  at("failing").textContent = answer.tests.failing.join("; ");
}

function showDifference() {
  const lines = at("record").checked ? answered.diffWithRecord : answered.diff;
  at("diff").replaceChildren(...lines.map((text) => make("span", { className: SIGNS[text[0]] ?? "" }, text)));
}

function problems(name, answer) {
  return answer.marks[name].filter((mark) => mark.level !== "note")
    .map((mark) => line(mark.level, name, mark.from.line + 1, mark.source, mark.message));
}

function about(title, items) {
  return items.length ? [make("h3", {}, title), make("ul", {}, ...items)] : [];
}

function named(pod) {
  return [`${pod.kind}/${pod.name}`, pod.path].filter(Boolean).join(" ");
}

function result(found) {
  const rows = [["error", found.errors], ["error", found.denials], ["warning", found.warnings], ["note", found.notes]];
  const reasons = [...new Set(found.changes.map((each) => `${each.policy}: ${each.reason}`))];
  return make("div", {},
    make("h3", {}, `${found.title}: `, make("span", { className: found.verdict }, found.verdict),
      found.skippedAs ? ` (${found.skippedAs})` : ""),
    make("ul", {},
      ...rows.flatMap(([level, all]) => all.map((each) => line(level, "workload", each.line, each.policy,
        [each.field, each.message].filter(Boolean).join(": ")))),
      ...reasons.map((reason) => make("li", { className: "note" }, reason))));
}

function line(level, name, number, source, message) {
  const go = make("button", { type: "button", className: "goto", onclick: () => editors[name].go(number) },
    `${name}:${number}`);
  return make("li", {}, make("span", { className: level }, level), " ", go, ` ${[source, message].filter(Boolean).join(": ")}`);
}

function showPod() {
  const pod = answered.explained[at("pod").selectedIndex];
  const known = pod ? "no node is known: the cluster has none" : "no pod is known: the workload has none without an error";
  const unknown = answered.isDecided ? known : "not decided: the policy or the cluster has an error";
  at("map").replaceChildren(...(pod?.nodes ? nodes(pod.nodes) : [make("p", { className: "note" }, unknown)]));
  const more = answered.morePods ? [make("p", { className: "note" }, `${answered.morePods} more pods are checked, not shown`)] : [];
  at("trace").replaceChildren(...(pod ? pod.policies.map(policy) : []), ...more);
}

function nodes(found) {
  const before = new Set(found.before.fit), after = new Set(found.after?.fit ?? []);
  const fit = (name) => (after.has(name) ? (before.has(name) ? "kept" : "gained") : before.has(name) ? "lost" : "out");
  const free = found.after?.free ? `, ${found.after.free.length} of these with the devices free` : "";
  return [
    // Messages of policies count with the tolerations that these add.
    make("p", {}, `before: ${before.size} of ${found.known} nodes fit, with the pod's own tolerations`, ...leftOut(found.before)),
    make("p", {}, found.after ? `after: ${after.size} of ${found.known} nodes fit${free}` : "after: the pod is denied",
      ...leftOut(found.after)),
    ...answered.map.flatMap((kind) => [
      make("h3", {}, `${kind.title}: ${kind.nodes.length} nodes`),
      make("ul", { className: "nodes" }, ...kind.nodes.map((node) => make("li",
        { className: fit(node.name), title: [FITS[fit(node.name)][1], node.state].filter(Boolean).join("; ") },
        `${FITS[fit(node.name)][0]} ${node.name}${node.state ? ` (${node.state})` : ""}`))),
    ]),
    make("p", { className: "note" }, Object.values(FITS).map((each) => each.join(" ")).join(", ")),
  ];
}

function leftOut(reach) {
  const reasons = (reach?.excluded ?? []).map((each) => `${each.nodes.length} ${each.why}`);
  return reasons.length ? [make("span", { className: "note" }, `; left out: ${reasons.join(", ")}`)] : [];
}

function policy(found) {
  const reviews = found.reviews.map((review) => make("details", { open: true },
    make("summary", {}, `${review.phase}: ${review.matched ? "applies" : `does not apply: ${review.why}`}`),
    make("ul", {}, ...[...review.variables, ...review.expressions].map(expression))));
  return make("div", {}, make("h3", {}, `${found.kind} ${found.name}`), ...reviews);
}

function expression(found) {
  return make("li", {}, make("code", {}, `${found.path} = ${value(found)}`), parts(found.parts));
}

function parts(found = []) {
  if (!found.length) return null;
  return make("ul", {}, ...found.map((part) => make("li", { className: part.asked ? "" : "note" },
    make("code", {}, part.asked ? `${part.text} = ${value(part)}` : `${part.text}: not asked`),
    part.elements ? make("ul", {}, ...part.elements.map((each) => make("li", {},
      make("code", {}, `${JSON.stringify(each.element)}: ${value(each)}`)))) : null,
    parts(part.parts))));
}

function value(found) {
  return "error" in found ? `error: ${found.error}` : found.absent ? "absent" : JSON.stringify(found.value);
}

// ---- a live cluster ------------------------------------------------------------------------------------------------

let read = "not read yet"; // when the live cluster was read

async function follow() {
  if (at("follow").checked) {
    try {
      const response = await fetch("live");
      const found = await response.json();
      if (!response.ok) throw new Error(found.message);
      if (at("follow").checked && found.text !== editors.cluster.text()) editors.cluster.replace(found.text);
      read = `read at ${new Date().toLocaleTimeString()}`;
      at("read").textContent = read;
    } catch (error) {
      at("read").textContent = `the cluster cannot be read: ${error.message} (${read})`;
    }
  }
  setTimeout(follow, FOLLOW_MILLISECONDS);
}

// ---- sessions ------------------------------------------------------------------------------------------------------

function encoded(content) {
  const bytes = new TextEncoder().encode(JSON.stringify(content));
  return btoa(Array.from(bytes, (each) => String.fromCharCode(each)).join("")).replaceAll("+", "-").replaceAll("/", "_");
}

function decoded(text) {
  const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(bytes, (each) => each.charCodeAt(0)));
}

// Return the session in a file's text, read by the server as `podberth playground FILE` does.
function opened(text) {
  let content;
  try {
    content = JSON.parse(text);
  } catch {
    throw new Error("got no JSON, want a session that the page has saved");
  }
  return post("session", { session: content });
}

async function open(text) {
  try {
    const found = await opened(text);
    for (const name of NAMES) editors[name].replace(found[name]);
    at("namespace").value = found.namespace;
    changed();
  } catch (error) {
    at("state").textContent = `the file cannot be opened: ${error.message}`;
  }
}

function save() {
  const address = URL.createObjectURL(new Blob([JSON.stringify(session(), null, 2)], { type: "application/json" }));
  make("a", { href: address, download: "playground.json" }).click();
  URL.revokeObjectURL(address);
}

function link() {
  history.replaceState(null, "", `#${encoded(session())}`);
}

async function copy() {
  try {
    await navigator.clipboard.writeText(answered.tests.text);
    at("copied").textContent = "copied";
  } catch { // without TLS, a browser lets only pages of its own machine copy
    at("copied").textContent = "the browser refuses; select the text and copy it";
  }
}

async function start() {
  let begun = await (await fetch("session")).json();
  const live = begun.live;
  let remark = "";
  try {
    if (location.hash.length > 1) begun = await opened(decoded(location.hash.slice(1)));
  } catch (error) {
    const why = error instanceof DOMException ? "it is cut off or changed" : error.message; // of atob
    remark = `; the link has no session: ${why}`;
  }
  for (const name of NAMES) {
    editors[name] = createEditor({
      parent: at(name), label: LABELS[name], text: begun[name], changed,
      ask: (kind, place) => ask(name, kind, place),
    });
  }
  at("namespace").value = begun.namespace;
  at("namespace").addEventListener("input", changed);
  at("pod").addEventListener("change", showPod);
  at("record").addEventListener("change", () => answered && showDifference());
  at("save").addEventListener("click", save);
  at("open").addEventListener("click", () => at("file").click());
  at("file").addEventListener("change", async () => {
    const [file] = at("file").files;
    at("file").value = ""; // so that the same file can be opened again
    if (file) open(await file.text());
  });
  at("link").addEventListener("click", () => {
    link();
    at("state").textContent = "the address of the page now carries the session";
  });
  at("copy").addEventListener("click", copy);
  await refresh(remark);
  at("live").hidden = !live;
  if (live) follow();
}

start();
