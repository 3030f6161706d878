// What stands on the left: the list of topics, the map, groups of documents, similar topics, the data.

const measured = topics.some((topic) => topic.found);
const largest = (a, b) => b.weight - a.weight;
const SORTS = {
  supported: [measured ? "largest and surest first" : "largest first", (a, b) => b.supported - a.supported || largest(a, b)],
  ...(measured ? { weight: ["largest first", largest] } : {}),
  coherence: ["most coherent first", (a, b) => (b.coherence ?? -2) - (a.coherence ?? -2)],
  ...(measured ? { found: ["surest first", (a, b) => (b.found ? b.found[0] : -1) - (a.found ? a.found[0] : -1)
    || (b.stability ?? -1) - (a.stability ?? -1)] } : {}),
  id: ["by number", (a, b) => a.id - b.id],
  words: ["by first word", (a, b) => (labelOf(a, 1)[0] || "").localeCompare(labelOf(b, 1)[0] || "")],
};

// The class of topics that at most half of the runs with other seeds find.
function unsure(topic) {
  return topic.found && 2 * topic.found[0] <= topic.found[1] ? "unsure" : "";
}

// Mean likeness of the topic to its counterparts in runs with other seeds.
function stabilityOf(topic) {
  return topic.stability === null || topic.stability === undefined ? "" : `stability ${topic.stability.toFixed(2)}, `;
}

function topicRow(topic, state) {
  const chosen = state.topic === topic.id;
  const words = labelOf(topic, 10).flatMap((word, i) => [i ? ", " : "", ...marked(word, state.query)]);
  return el("li", {}, el("button", { type: "button", class: `row ${unsure(topic)}`, "data-topic": topic.id,
    "aria-current": chosen ? "true" : null, onclick: () => go({ topic: topic.id, document: null }) },
    el("span", { class: "head" },
      el("span", {}, `topic ${topic.members.join(", ")}`), bar(topic.weight / mostWeight),
      el("span", { class: "number", title: "share of the tokens of all documents" }, `${percent(topic.weight)} of tokens`),
      topic.coherence === null ? null : el("span", { class: "number" }, `coherence ${topic.coherence.toFixed(2)}`),
      topic.found ? el("span", { class: "number", title: "runs with other seeds that find the topic" },
        `${stabilityOf(topic)}found by ${topic.found.join(" of ")}`) : null,
      topic.repeats ? el("span", { class: "number" }, `like ${topic.repeats}`) : null),
    topic.name ? el("strong", { class: "words" }, ...marked(topic.name, state.query)) : null,
    el("span", { class: "words" }, ...words)));
}

function listView(state) {
  const found = topics.filter((topic) => matches(topic, state.query)).sort(SORTS[state.sort][1]);
  const said = state.query ? `${found.length} of ${topics.length} topics have “${state.query}”` : `${topics.length} topics`;
  return [el("p", { class: "soft", role: "status", id: "found" }, said),
    el("ul", { class: "list", "aria-label": "Topics" }, found.map((topic) => topicRow(topic, state)))];
}

// The division of the documents into groups; -1 without one.
const grouped = data.strata.findIndex((stratum) => stratum.kind === "group");
// Topics that a group shows.
const OF_GROUP = 10;

// Mean share of a topic in the documents of all groups.
function shareInAll(topic) {
  const sizes = data.strata[grouped].sizes;
  const all = sizes.reduce((sum, size) => sum + size, 0);
  return sizes.reduce((sum, size, b) => sum + size * topic.strata[grouped][b], 0) / all;
}

function topicOfGroup(topic, share, inAll, most, state) {
  return el("li", {}, el("button", { type: "button", class: `row ${unsure(topic)}`, "data-topic": topic.id,
    "aria-current": state.topic === topic.id ? "true" : null, onclick: () => go({ topic: topic.id, document: null }) },
    el("span", { class: "head" },
      el("span", {}, `topic ${topic.members.join(", ")}`), bar(share / most),
      el("span", { class: "number", title: "mean document share" }, `${percent(share)}, ${percent(inAll)} in all groups`)),
    el("span", { class: "words" }, ...marked(topic.name || labelOf(topic, 6).join(", "), state.query))));
}

// Groups of documents, each with the topics whose share there exceeds the share in all groups most.
function groupView(state) {
  const stratum = data.strata[grouped];
  const found = topics.filter((topic) => matches(topic, state.query)).map((topic) => [topic, shareInAll(topic)]);
  const most = Math.max(...topics.flatMap((topic) => topic.strata[grouped]), 1e-9);
  return [el("p", { class: "soft" }, "The topics that a group of documents has more of than all groups together."),
    ...stratum.bins.map((name, b) => {
      const excess = ([topic, inAll]) => topic.strata[grouped][b] - inAll;
      const more = found.filter((one) => excess(one) > 0);
      const first = more.sort((one, other) => excess(other) - excess(one)).slice(0, OF_GROUP);
      return el("details", { class: "fold", open: b === 0 },
        el("summary", {}, el("strong", {}, name), el("span", { class: "soft" },
          ` ${number(stratum.sizes[b])} ${stratum.unit}${stratum.sizes[b] < stratum.few ? ", few" : ""}`)),
        el("ul", { class: "list" },
          first.map(([topic, inAll]) => topicOfGroup(topic, topic.strata[grouped][b], inAll, most, state))));
    })];
}

// Sets of similar topics: those of the tree after all merges but the last few.
function setsOf(n) {
  const size = data.tree.order.length;
  const parent = new Map();
  data.tree.merges.slice(0, Math.max(0, size - n)).forEach(([a, b], i) => {
    parent.set(a, size + i);
    parent.set(b, size + i);
  });
  const sets = new Map();
  for (const leaf of data.tree.order) {
    let node = leaf;
    while (parent.has(node)) node = parent.get(node);
    sets.set(node, [...(sets.get(node) || []), topicOf.get(data.topics[leaf].id)]);
  }
  return [...sets.values()].map((members) => [...new Set(members)]);
}

function similarView(state) {
  const most = Math.min(60, data.tree.order.length);
  const sets = setsOf(Math.min(state.sets, most));
  const slider = el("input", { type: "range", min: 1, max: most, step: 1, value: Math.min(state.sets, most),
    id: "sets", oninput: (event) => go({ sets: Number(event.target.value) }, true) });
  return [el("div", { class: "tools" },
    el("label", { class: "grow" }, `${sets.length} sets of similar topics`, slider)),
    ...sets.map((members) => {
      const found = members.filter((topic) => matches(topic, state.query));
      const weight = members.reduce((sum, topic) => sum + topic.weight, 0);
      const open = found.some((topic) => topic.id === state.topic) || (state.query && found.length > 0);
      return found.length === 0 ? null : el("details", { class: "fold", open: Boolean(open) },
        el("summary", {}, el("strong", {}, sharedWords(members, 6).join(", ")),
          el("span", { class: "soft" }, ` ${members.length} topics, ${percent(weight)} of tokens`)),
        el("ul", { class: "list" }, found.map((topic) => topicRow(topic, state))));
    }),
    data.topics.length > data.tree.order.length
      ? el("p", { class: "soft" }, `The last ${data.topics.length - data.tree.order.length} topics are in the list alone.`)
      : null];
}

function dataView() {
  return [el("h2", {}, "Data and learning"),
    el("dl", {}, data.facts.map(([label, value]) => el("div", {}, el("dt", {}, label), el("dd", {}, value)))),
    ...data.curves.map(curve),
    data.load ? el("section", {}, el("h3", {}, "Load the model"), el("pre", { tabindex: "0" }, data.load)) : null,
    el("section", {}, el("h3", {}, "What the numbers are"),
      el("p", {}, "The token share of a topic is its part of the tokens of all documents, so long documents count more. A document "
        + "share is its part of the tokens of one document; means over time and by group count each document once. Coherence is the "
        + "mean normalised pointwise mutual information of pairs of its ten most probable words: 1 when they always occur "
        + "in the same documents, 0 when they are independent, -1 when they never meet."),
      el("p", {}, "Words are sorted by relevance: at the end of the slider by their probability in the topic, at its "
        + "beginning by how much more probable they are in the topic than in all texts. The circles of the map are the "
        + "larger the larger the topic; similar topics are near each other, and distances far apart mean little."
        + (measured ? " Topics that at most half of the runs with other seeds find are dashed." : "")),
      measured ? el("p", {}, "The list begins with the topics of the largest token share times the share of runs with other seeds that "
        + "find them. Numbers of topics are those of the model.") : null),
    el("p", { class: "soft" }, data.made)];
}
