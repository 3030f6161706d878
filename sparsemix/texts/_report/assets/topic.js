// A topic's page.

// The width of the bars over that of the longest coloured one.
const ROOM = 1.25;

function wordTable(topic) {
  const words = relevantWords(topic, data.shown);
  const tokensOf = ([word, p]) => data.counts[word] * Math.min(1, (p * topic.weight) / (data.mixed[word] || 1));
  const most = ROOM * Math.max(...words.map(tokensOf)) || 1;
  return el("table", { class: "bars" },
    el("caption", {}, "Words: tokens in all texts (grey; striped where a bar is cut) and those of this topic (colour)"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "word"), el("td"),
      ["probability in the topic", "tokens in all texts"].map((name) => el("th", { scope: "col", class: "number" }, name)))),
    el("tbody", {}, words.map(([word, p]) => {
      const inTopic = tokensOf([word, p]);
      const pair = el("div", { class: "pair", "aria-hidden": "true" },
        el("span", { class: data.counts[word] > most ? "cut" : null }), el("span"));
      pair.children[0].style.width = `${Math.min(100, (100 * data.counts[word]) / most).toFixed(2)}%`;
      pair.children[1].style.width = `${Math.min(100, (100 * inTopic) / most).toFixed(2)}%`;
      return el("tr", {},
        el("th", { scope: "row" }, button("link", () => go({ word }), data.words[word])),
        el("td", { class: "wide" }, pair),
        el("td", { class: "number" }, `${(100 * p).toPrecision(3)} %`),
        el("td", { class: "number soft" }, number(data.counts[word])));
    })));
}

function documentCard(place, share, topic) {
  const record = data.documents[place];
  const start = record.text.join("").replace(/\s+/g, " ").trim();
  return el("li", { class: "card" },
    button("link", () => go({ topic: topic.id, document: place }), record.name),
    el("span", { class: "soft" }, ` ${[`${percent(share)} of the ${data.unit}`, ...record.about].join(" · ")}`),
    el("p", { class: "soft" }, start.length > 260 ? `${start.slice(0, 259)}…` : start));
}

function topicView(topic) {
  const coherence = topic.coherence === null ? "" : `, coherence ${topic.coherence.toFixed(3)}`;
  const place = topics.indexOf(topic) + 1;
  return [
    button("back", () => go({ topic: null, document: null }), "← all topics"),
    el("h2", { tabindex: "-1", id: "heading" }, nameOf(topic)),
    el("p", { class: "soft" }, `${topic.name ? `topic ${topic.members.join(", ")}: ` : ""}${percent(topic.weight)} of all `
      + `tokens, number ${place} of ${topics.length} by size${coherence}`),
    topic.coherence === null ? null : el("p", { class: "soft" }, "Coherence: how often the main words of the topic occur in the "
      + "same documents; 1 is always, 0 as often as by chance, −1 never."),
    topic.found ? el("p", { class: `soft ${unsure(topic)}` }, `Found by ${topic.found.join(" of ")} runs with other seeds`
      + `${unsure(topic) ? ": do not build on this topic alone." : "."}`
      + (stabilityOf(topic) ? ` Stability ${topic.stability.toFixed(2)}: mean likeness to its counterparts, 1 if equal.` : "")) : null,
    namesView(topic),
    wordTable(topic),
    topic.similar.length ? el("h3", {}, "Similar topics") : null,
    el("ul", { class: "chips" }, similarTo(topic).map(([other, affinity]) => el("li", {},
      button("chip", () => go({ topic: other.id, document: null }),
        `${other.name || `${other.id}: ${labelOf(other, 3).join(", ")}`} `,
        el("span", { class: "soft" }, percent(affinity)))))),
    ...effectsOf(topic),
    ...strataOf(topic),
    topic.documents.length ? el("h3", {}, `Representative ${data.unit}s`) : null,
    el("ul", { class: "list" }, topic.documents.map(([document, share]) => documentCard(document, share, topic))),
  ];
}
