// Names that people give to topics. Topics of one name are shown as one: `topics` has them joined,
// those of most supported tokens first.

const names = new Map(Object.entries(data.names || {}).map(([id, name]) => [Number(id), name]));
let topics = [];
let topicOf = new Map(); // of every topic of the model, the one that is shown
let mostWeight = 0; // the token share of the largest topic
let unsaved = false;

function sumOf(members, shares) {
  const parts = members.map(shares);
  return (parts[0] || []).map((_, b) => parts.reduce((sum, part) => sum + part[b], 0));
}

function joined(members) {
  const name = names.get(members[0].id) || "";
  const ids = members.map((topic) => topic.id);
  if (members.length === 1) return { ...members[0], name, members: ids };
  const [weight, supported] = ["weight", "supported"].map((key) => members.reduce((sum, topic) => sum + topic[key], 0));
  const p = new Map();
  for (const topic of members) {
    topic.words.forEach((word, i) => p.set(word, (p.get(word) || 0) + (topic.p[i] * topic.weight) / (weight || 1)));
  }
  const words = [...p.keys()].sort((a, b) => p.get(b) - p.get(a));
  const documents = new Map();
  for (const [place, share] of members.flatMap((topic) => topic.documents)) {
    documents.set(place, Math.max(share, documents.get(place) || 0));
  }
  return {
    ...members[0], name, members: ids, weight, supported, coherence: null, repeats: null, found: null, stability: null, changes: null, trend: [],
    effects: null,
    words, p: words.map((word) => p.get(word)),
    documents: [...documents].sort((a, b) => b[1] - a[1]).slice(0, 5),
    similar: members.flatMap((topic) => topic.similar).filter(([id]) => !ids.includes(id)).sort((a, b) => b[1] - a[1]),
    strata: data.strata.map((_, i) => sumOf(members, (topic) => topic.strata[i])),
  };
}

function arrange() {
  const groups = new Map();
  for (const topic of data.topics) {
    const key = names.get(topic.id) || topic.id;
    groups.set(key, [...(groups.get(key) || []), topic]);
  }
  topics = [...groups.values()].map(joined).sort((a, b) => b.supported - a.supported || b.weight - a.weight);
  mostWeight = Math.max(...topics.map((topic) => topic.weight), 1e-12);
  topicOf = new Map(topics.flatMap((topic) => topic.members.map((id) => [id, topic])));
}

// Similar topics as they are shown, each once.
function similarTo(topic) {
  const found = new Map();
  for (const [id, affinity] of topic.similar) {
    const other = topicOf.get(id);
    if (other !== topic && !found.has(other)) found.set(other, affinity);
  }
  return [...found].slice(0, 5);
}

function rename(topic, name) {
  const plain = name.replace(/\s+/g, " ").trim().slice(0, 200);
  for (const id of topic.members) {
    if (plain) names.set(id, plain);
    else names.delete(id);
  }
  unsaved = true;
  arrange();
  go({ topic: topicOf.get(topic.id).id, document: null }, true);
}

function saveNames() {
  const rows = data.topics.map((topic) => topic.id).sort((a, b) => a - b).filter((id) => names.has(id))
    .map((id) => `${id},"${names.get(id).replaceAll('"', '""')}"\r\n`);
  const file = new Blob([`topic,name\r\n${rows.join("")}`], { type: "text/csv" });
  const link = el("a", { href: URL.createObjectURL(file), download: "names.csv" });
  document.body.append(link);
  link.click();
  link.remove();
  unsaved = false;
}

function namesView(topic) {
  const known = [...new Set(names.values())].filter((name) => name !== topic.name);
  return el("details", { class: "naming", open: unsaved },
    el("summary", { class: "soft" }, topic.name ? "Change the name" : "Name this topic"),
    el("div", { class: "tools" },
      el("label", { class: "grow" }, "Name; topics of one name are shown as one",
        el("input", { id: "name", value: topic.name, list: "known", maxlength: 200, autocomplete: "off",
          onchange: (event) => rename(topic, event.target.value) }))),
    el("datalist", { id: "known" }, known.map((name) => el("option", { value: name }))),
    el("div", { class: "chips" },
      topic.members.length > 1
        ? button("chip", () => rename(topic, ""), `separate topics ${topic.members.join(", ")}`) : null,
      button("chip", saveNames, "save names.csv")),
    el("p", { class: "soft" }, "The page forgets names when it is closed. “sparsemix report FOLDER --names names.csv” "
      + "writes saved names to the page, the table and the model."));
}

window.addEventListener("beforeunload", (event) => {
  if (unsaved) event.preventDefault();
});
arrange();
