// State, the parts of the page, and where they are.

const VIEWS = { list: "Topics", map: "Map", ...(grouped < 0 ? {} : { groups: "Groups" }), similar: "Similar", data: "Data" };
const state = {
  view: "list", query: "", sort: "supported", topic: null, document: null, word: null,
  sets: Math.max(1, Math.min(20, Math.round(Math.sqrt(topics.length)))),
};
const app = document.getElementById("app");
document.body.className = "scripted";
const side = el("main", { class: "side" });
const detail = el("section", { class: "detail", "aria-label": "Topic" });
const content = el("div");
// A page within a page has no address of its own.
const addressed = location.protocol !== "about:";

function go(change, still) {
  const moved = ["topic", "document", "word"].some((key) => key in change);
  Object.assign(state, moved ? { word: null } : {}, change);
  const place = state.document !== null ? `document=${state.document}&topic=${state.topic}`
    : state.topic !== null ? `topic=${state.topic}${state.word === null ? "" : `&word=${state.word}`}` : "";
  if (addressed && location.hash.slice(1) !== place && !still) history.pushState(null, "", `#${place}`);
  show(!still && moved);
}

function readAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const [topic, document, word] = ["topic", "document", "word"].map((name) => asked.get(name));
  state.topic = topic !== null && topicOf.has(Number(topic)) ? topicOf.get(Number(topic)).id : null;
  state.document = document !== null && data.documents[Number(document)] ? Number(document) : null;
  state.word = word !== null && data.words[Number(word)] !== undefined ? Number(word) : null;
}

function show(moved) {
  const topic = state.topic === null ? null : topicOf.get(state.topic);
  for (const tab of tabs.children) {
    if (tab.dataset.view === state.view) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  if (search.value.toLowerCase() !== state.query) search.value = state.query;
  tools.hidden = state.view === "data";
  sortLabel.hidden = state.view !== "list";
  // The slider of similar topics keeps the focus while its view is replaced.
  const held = document.activeElement && content.contains(document.activeElement) ? document.activeElement.id : "";
  const views = { list: listView, map: () => mapOfTopics(topic, state.query, (t) => go({ topic: t.id, document: null })),
    groups: groupView, similar: similarView, data: dataView };
  content.replaceChildren(...views[state.view](state).filter(Boolean));
  if (held && document.getElementById(held)) document.getElementById(held).focus();
  const shown = state.document !== null ? passageView(data.documents[state.document], state)
    : topic && state.word !== null ? contextView(state.word, topic)
    : topic ? topicView(topic) : [el("p", { class: "soft" }, "Choose a topic to see its words and documents.")];
  detail.replaceChildren(...shown.filter(Boolean));
  columnsOfPage.className = `columns ${topic || state.document !== null ? "has-detail" : "no-detail"}`;
  if (moved) {
    detail.scrollTop = 0;
    const heading = document.getElementById("heading");
    if (heading) heading.focus({ preventScroll: true });
    if (matchMedia("(max-width: 60rem)").matches) window.scrollTo(0, 0);
  }
}

const tabs = el("nav", { "aria-label": "Views" }, Object.entries(VIEWS).map(([view, name]) => {
  const tab = button("", () => go({ view, topic: matchMedia("(max-width: 60rem)").matches ? null : state.topic,
    document: null }, true), name);
  tab.dataset.view = view;
  return tab;
}));
let waiting = 0;
const search = el("input", { type: "search", id: "search", placeholder: "word or document", autocomplete: "off",
  oninput: () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => go({ query: search.value.trim().toLowerCase() }, true), 120);
  } });
const sortLabel = el("label", {}, "Sort",
  el("select", { id: "sort", onchange: (event) => go({ sort: event.target.value }, true) },
    Object.entries(SORTS).map(([key, [name]]) => el("option", { value: key }, name))));
const slider = el("input", { type: "range", id: "relevance", min: 0, max: 1, step: 0.1, value: settings.relevance,
  "aria-label": "Words: from distinctive to frequent",
  oninput: (event) => {
    settings.relevance = Number(event.target.value);
    show(false);
  } });
const tools = el("div", { class: "tools" },
  el("label", { class: "grow" }, "Search", search), sortLabel,
  el("label", { class: "grow" }, el("span", { class: "ends" }, el("span", {}, "distinctive words"),
    el("span", {}, "frequent words")), slider));
const columnsOfPage = el("div", { class: "columns" }, side, detail);
side.append(tools, content);
const head = el("header", {}, el("h1", {}, data.title),
  el("p", { class: "soft" }, data.facts.slice(0, 5).map(([label, value]) => `${label} ${value}`).join(" · ")), tabs);
app.append(head, columnsOfPage);

window.addEventListener("popstate", () => {
  readAddress();
  show(true);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && (state.topic !== null || state.document !== null)) {
    go(state.document !== null ? { document: null } : state.word !== null ? { word: null } : { topic: null });
  } else if (event.key === "/" && !["INPUT", "SELECT"].includes(document.activeElement.tagName)) {
    event.preventDefault();
    go({ view: "list" }, true);
    search.focus();
  }
});
const sized = () => document.documentElement.style.setProperty("--head", `${head.offsetHeight + 1}px`);
window.addEventListener("resize", sized);
sized();
if (addressed) readAddress();
// On a wide screen the first topic is open from the start.
if (state.topic === null && topics.length && matchMedia("(min-width: 60.01rem)").matches) {
  state.topic = topics[0].id;
  if (addressed) history.replaceState(null, "", `#topic=${state.topic}`);
}
show(false);
