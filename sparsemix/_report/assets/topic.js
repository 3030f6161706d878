// A topic's page.

function wordTable(topic) {
  const words = relevantWords(topic, data.shown);
  const most = Math.max(1, ...words.map(([word]) => data.counts[word]));
  return el("table", { class: "bars" },
    el("caption", {}, "Words: tokens in all texts (grey) and those of this topic (colour)"),
    words.map(([word, p]) => {
      const inTopic = data.counts[word] * Math.min(1, (p * topic.weight) / (data.mixed[word] || 1));
      const pair = el("div", { class: "pair", "aria-hidden": "true" }, el("span"), el("span"));
      pair.children[0].style.width = `${Math.min(100, (100 * data.counts[word]) / most).toFixed(2)}%`;
      pair.children[1].style.width = `${Math.min(100, (100 * inTopic) / most).toFixed(2)}%`;
      return el("tr", {},
        el("th", { scope: "row" }, button("link", () => go({ query: data.words[word].toLowerCase(), view: "list" }),
          data.words[word])),
        el("td", { class: "wide" }, pair),
        el("td", { class: "number", title: "probability in the topic" }, `${(100 * p).toPrecision(3)} %`),
        el("td", { class: "number soft" }, number(data.counts[word])));
    }));
}

function documentCard(place, share, topic) {
  const record = data.documents[place];
  const start = record.text.join("").replace(/\s+/g, " ").trim().slice(0, 260);
  return el("li", { class: "card" },
    button("link", () => go({ topic: topic.id, document: place }), record.name),
    el("span", { class: "soft" }, ` ${[`${percent(share)} of the document`, ...record.about].join(" · ")}`),
    el("p", { class: "soft" }, start));
}

function topicView(topic) {
  const coherence = topic.coherence === null ? "" : `, coherence ${topic.coherence.toFixed(3)}`;
  const place = topics.indexOf(topic) + 1;
  return [
    button("back", () => go({ topic: null, document: null }), "← all topics"),
    el("h2", { tabindex: "-1", id: "heading" }, nameOf(topic)),
    el("p", { class: "soft" }, `${topic.name ? `topic ${topic.members.join(", ")}: ` : ""}${percent(topic.weight)} of all `
      + `tokens, number ${place} of ${topics.length} by size${coherence}`),
    namesView(topic),
    wordTable(topic),
    topic.similar.length ? el("h3", {}, "Similar topics") : null,
    el("ul", { class: "chips" }, similarTo(topic).map(([other, affinity]) => el("li", {},
      button("chip", () => go({ topic: other.id, document: null }),
        `${other.name || `${other.id}: ${labelOf(other, 3).join(", ")}`} `,
        el("span", { class: "soft" }, percent(affinity)))))),
    ...strataOf(topic),
    topic.documents.length ? el("h3", {}, "Representative documents") : null,
    el("ul", { class: "list" }, topic.documents.map(([document, share]) => documentCard(document, share, topic))),
  ];
}
