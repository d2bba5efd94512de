// The review queue: search, filter and sort the works of queue-data.js, fifty of them on a page.
// What is asked for stands in the form, is kept in the address, and goes along into the other
// language. Texts of works enter the page as text, never as markup.
"use strict";

const data = globalThis.scorerQueue;
const words = JSON.parse(document.getElementById("words").textContent);
const form = document.querySelector("form.filters");
const table = document.querySelector("table.queue");
const lang = document.documentElement.lang;
const ON_PAGE = 50;
const NO_CALL = 0;
const CONSENSUS = 2;

const whole = new Intl.NumberFormat(lang);
const plural = new Intl.PluralRules(lang);
const three = new Intl.NumberFormat(lang, {
  minimumFractionDigits: 3, maximumFractionDigits: 3, roundingMode: "halfEven",
});
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

// ---- the works, in columns

const heads = Object.keys(data.scores);
const scores = Object.fromEntries(heads.map((head) => [head, Object.fromEntries(
  Object.entries(data.scores[head]).map(([target, values]) => [target, Float32Array.from(values)]),
)]));
const targets = words.targets.map((target) => target.name);
const categories = words.targets.filter((target) => target.kind === "category");
const places = Float32Array.from({ length: data.works }, (_, work) => -work);
const years = Float32Array.from(data.year, (year) => year ?? NaN);
const coded = (column, work) => column.words[column.at[work]];
const folded = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const searched = data.id.map((id, work) => folded(
  [data.title[work], coded(data.venue, work), id].filter(Boolean).join("\n"),
));
// A work's address at OpenAlex or doi.org, as people paste it, is searched as the id that it holds.
const ADDRESS = /^(?:https?:\/\/)?(?:(?:www\.|api\.)?openalex\.org\/(?:works\/)?|(?:dx\.|www\.)?doi\.org\/)(?=.)/;
function withoutAddress(part) {
  const id = part.replace(ADDRESS, "");
  if (id === part) return part;
  try {
    return /^w\d+/.exec(id)?.[0] ?? decodeURIComponent(id);
  } catch {
    return id; // a % that stands for itself
  }
}
const callOf = (target, work) => data.calls[target].charCodeAt(work) - 48;
const strongest = (work) => Math.max(...categories.map(({ name }) => callOf(name, work)));

const means = {};
function meanOf(target) {
  if (!means[target]) {
    const columns = heads.map((head) => scores[head][target]).filter(Boolean);
    means[target] = Float64Array.from({ length: data.works }, (_, work) => (
      columns.reduce((sum, column) => sum + column[work], 0) / columns.length
    ));
  }
  return means[target];
}

// ---- what is asked for

const NAMES = ["q", "target", "calls", "from", "to", "lang", "field", "sort", "order"];
let page = 0;

function offered(select, values) {
  values.forEach(([value, text]) => select.add(new Option(text, value)));
}

function offerSorts() {
  const { sort, target } = form.elements;
  const chosen = sort.value;
  sort.length = 0;
  offered(sort, [["", words.place]]);
  if (target.value) {
    offered(sort, [["mean", words.mean], ...headsOf(target.value).map((head) => [head, head])]);
  }
  offered(sort, [["disagreement", words.disagreement]]);
  if (data.calls) offered(sort, [["uncertainty", words.uncertainty]]);
  offered(sort, [["year", words.year]]);
  sort.value = [...sort.options].some(({ value }) => value === chosen) ? chosen : "";
}

const headsOf = (target) => heads.filter((head) => scores[head][target]);

function keys() {
  const { sort, target } = form.elements;
  if (sort.value === "mean") return meanOf(target.value);
  if (sort.value === "year") return years;
  if (sort.value === "") return places;
  if (sort.value in scores) return scores[sort.value][target.value];
  return data[sort.value];
}

function fits() {
  const asked = Object.fromEntries(NAMES.map((name) => [name, form.elements[name]?.value ?? ""]));
  const parts = folded(asked.q).split(/\s+/).filter(Boolean).map(withoutAddress);
  const call = asked.target ? (work) => callOf(asked.target, work) : strongest;
  const called = {
    consensus: (work) => call(work) === CONSENSUS,
    candidate: (work) => call(work) === 1,
    called: (work) => call(work) !== NO_CALL,
    none: (work) => call(work) === NO_CALL,
  }[asked.calls];
  const tests = [];
  if (called) tests.push(called);
  if (asked.from) tests.push((work) => years[work] >= Number(asked.from));
  if (asked.to) tests.push((work) => years[work] <= Number(asked.to));
  for (const name of ["lang", "field"]) {
    if (asked[name]) {
      const code = data[name].words.indexOf(asked[name]);
      tests.push((work) => data[name].at[work] === code);
    }
  }
  if (parts.length) tests.push((work) => parts.every((part) => searched[work].includes(part)));
  return (work) => tests.every((test) => test(work));
}

function found() {
  const fit = fits();
  const works = [];
  for (let work = 0; work < data.works; work += 1) if (fit(work)) works.push(work);
  const by = keys();
  const up = form.elements.order.value === "up";
  // What has no value comes last, either way; ties stand in the list's order.
  return works.sort((one, two) => {
    const [a, b] = [by[one] ?? NaN, by[two] ?? NaN];
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b) || one - two;
    return (up ? a - b : b - a) || one - two;
  });
}

// ---- what is shown

function made(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null));
  return element;
}

function isolated(text) {
  return made("bdi", { dir: "auto" }, text);
}

function columns() {
  const target = form.elements.target.value;
  const shown = target ? headsOf(target).map((head) => [head, head, scores[head][target]]) : [];
  if (target && shown.length > 1) shown.push(["mean", words.mean, meanOf(target)]);
  return [...shown, ["disagreement", words.disagreement, data.disagreement]];
}

function head() {
  const { sort, order } = form.elements;
  const cells = [["", words.work], ...(data.calls ? [[null, words.call]] : []), ...columns()];
  const row = made("tr", { role: "row" });
  for (const [name, text] of cells) {
    const cell = made("th", { scope: "col", role: "columnheader" });
    if (name === null || name === "") {
      cell.append(text);
    } else {
      const button = made("button", { type: "button" }, text);
      button.dataset.sort = name;
      cell.className = "number";
      cell.append(button);
      if (sort.value === name) cell.ariaSort = order.value === "up" ? "ascending" : "descending";
    }
    row.append(cell);
  }
  table.tHead.replaceChildren(row);
}

function titleOf(work) {
  const title = data.title[work] || words.no_title;
  if (work >= data.pages) return isolated(title);
  return made("a", { href: `works/${data.page[work]}` }, isolated(title));
}

function callsOf(work) {
  return words.targets.flatMap(({ name, label }) => {
    const call = callOf(name, work);
    if (call === NO_CALL) return [];
    const kind = call === CONSENSUS ? "consensus" : "candidate";
    return [made("span", { className: `call ${kind}` }, filled(words.chip, { label, call: words[kind] })), " "];
  });
}

function rowOf(work) {
  const facts = [coded(data.venue, work), data.year[work], coded(data.lang, work)];
  const told = facts.filter((fact) => fact !== null && fact !== undefined).join(" · ");
  const cell = (className, ...children) => made("td", { className, role: "cell" }, ...children);
  const row = made("tr", { role: "row" },
    cell("work",
      made("span", { className: "title" }, titleOf(work)),
      made("span", { className: "quiet small" }, isolated(told), told ? " · " : "", data.id[work])),
    data.calls ? cell("calls", ...callsOf(work)) : null);
  for (const [, name, values] of columns()) {
    const number = cell("number", three.format(values[work]));
    number.dataset.name = name;
    row.append(number);
  }
  return row;
}

function show() {
  const works = found();
  const pages = Math.max(1, Math.ceil(works.length / ON_PAGE));
  page = Math.min(Math.max(page, 0), pages - 1);
  const shown = works.slice(page * ON_PAGE, (page + 1) * ON_PAGE);
  head();
  table.tBodies[0].replaceChildren(...shown.map(rowOf));
  const counted = filled(words[`found.${plural.select(works.length)}`] ?? words["found.other"], {
    found: whole.format(works.length), all: whole.format(data.works),
  });
  const range = shown.length ? filled(words.shown, {
    from: whole.format(page * ON_PAGE + 1), to: whole.format(page * ON_PAGE + shown.length),
  }) : words.nothing;
  document.getElementById("found").textContent = `${counted}. ${range}`;
  document.getElementById("page").textContent = filled(words.page, {
    page: whole.format(page + 1), pages: whole.format(pages),
  });
  document.getElementById("previous").disabled = page === 0;
  document.getElementById("next").disabled = page === pages - 1;
}

// ---- what is done

function keep() {
  const said = new URLSearchParams();
  for (const name of NAMES) {
    const value = form.elements[name]?.value;
    if (value) said.set(name, value);
  }
  if (page) said.set("page", page + 1);
  kept.write(said);
}

function changed() {
  offerSorts();
  page = 0;
  show();
  keep();
}

function turned(to) {
  page = to;
  show();
  keep();
  document.getElementById("works").scrollIntoView();
}

function restore() {
  const said = kept.read();
  for (const name of NAMES) {
    if (name === "sort") offerSorts(); // which there are depends on the target
    const field = form.elements[name];
    if (field) field.value = said.get(name) ?? "";
  }
  page = (Number(said.get("page")) || 1) - 1;
  show();
}

const languageNames = new Intl.DisplayNames(lang, { type: "language" });
function named(code) {
  try {
    return `${languageNames.of(code)} (${code})`;
  } catch {
    return code; // a frame may have what is no code
  }
}

offered(form.elements.lang, data.lang.words.map((code) => [code, named(code)]));
offered(form.elements.field, data.field.words.map((field) => [field, field]));
form.elements.target.addEventListener("input", () => {
  offerSorts();
  // Who asks for a target wants the works that rank high there.
  if (form.elements.target.value && !form.elements.sort.value) form.elements.sort.value = "mean";
});
form.addEventListener("input", changed);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(changed));
table.tHead.addEventListener("click", ({ target }) => {
  const name = target.dataset.sort;
  if (name === undefined) return;
  const { sort, order } = form.elements;
  order.value = sort.value === name && order.value === "" ? "up" : "";
  sort.value = name;
  changed();
  table.tHead.querySelector(`button[data-sort="${CSS.escape(name)}"]`).focus();
});
document.getElementById("previous").addEventListener("click", () => turned(page - 1));
document.getElementById("next").addEventListener("click", () => turned(page + 1));
window.addEventListener("hashchange", () => {
  if (location.hash.startsWith("#?")) restore();
});
restore();
