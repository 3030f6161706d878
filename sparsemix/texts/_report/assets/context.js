// A word in the documents of the page, one line for each occurrence (keyword in context).

const [MOST_LINES, AROUND] = [30, 40];

// Scripts without spaces between words.
const UNSPACED = new RegExp(["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"]
  .map((name) => `\\p{Script=${name}}`).join("|"), "u");

// The places of a word in texts: whole words in any case; the parts of a phrase may have spaces or a hyphen between them.
function patternOf(word) {
  const plain = word.trim().replace(/[.*+?^${}()|[\]\\/]/g, "\\$&").replace(/[\s_]+/g, "[\\s_-]+");
  const letter = "[\\p{L}\\p{M}\\p{N}]";
  return new RegExp(UNSPACED.test(word) ? plain : `(?<!${letter})${plain}(?!${letter})`, "giu");
}

function contextView(v, topic) {
  const word = data.words[v];
  const own = topic.documents.map(([place]) => place);
  const lines = [];
  for (const place of new Set([...own, ...data.documents.keys()])) {
    const text = data.documents[place].text.join("").replace(/\s+/g, " ");
    for (const found of text.matchAll(patternOf(word))) lines.push([place, text, found.index, found[0]]);
  }
  const shown = lines.length > MOST_LINES ? `The first ${MOST_LINES} of ` : "";
  return [
    button("back", () => go({ word: null }), `← topic ${topic.id}`),
    el("h2", { tabindex: "-1", id: "heading" }, `“${word}” in context`),
    el("p", { class: "soft" }, `${shown}${lines.length} ${lines.length === 1 ? "occurrence" : "occurrences"} in the documents of `
      + "this page, those of the topic first; the page has the beginnings of these documents"),
    button("chip", () => go({ query: word.toLowerCase(), view: "list", word: null,
      topic: matchMedia("(max-width: 60rem)").matches ? null : topic.id }), "topics with this word"),
    el("ul", { class: "context" }, lines.slice(0, MOST_LINES).map(([place, text, at, form]) => el("li", { dir: "auto" },
      el("span", { class: "before" }, el("span", {}, [...text.slice(0, at)].slice(-AROUND).join(""))),
      el("span", {}, el("mark", {}, form), [...text.slice(at + form.length)].slice(0, AROUND).join("")),
      button("link", () => go({ document: place }), data.documents[place].name)))),
  ];
}
