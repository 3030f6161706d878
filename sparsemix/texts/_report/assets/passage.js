// A document: its topics, and its text with the topic of each word.

function passageView(record, state) {
  const shares = new Map();
  for (const [id, share] of record.shares) {
    const shown = topicOf.get(id).id;
    shares.set(shown, (shares.get(shown) || 0) + share);
  }
  const order = [...shares.keys()];
  const lit = new Set(order);
  const colour = (id) => `t${order.indexOf(id) % 8}`;
  const text = el("p", { class: "text", lang: "" });

  function paint() {
    text.replaceChildren(...record.text.map((piece, i) => {
      if (i % 2 === 0) return piece;
      const id = topicOf.get(record.topics[(i - 1) / 2]).id;
      const title = titleOf(topicOf.get(id), 4);
      return el("span", { class: lit.has(id) ? colour(id) : "dim", "data-topic": id, title }, piece);
    }));
  }

  const legend = el("ul", { class: "chips", "aria-label": "Topics of this document" },
    [...shares].map(([id, share]) => el("li", {},
      el("button", { type: "button", class: `chip ${colour(id)}`, "aria-pressed": "true",
        onclick: (event) => {
          const chip = event.currentTarget;
          if (lit.has(id)) lit.delete(id);
          else lit.add(id);
          chip.setAttribute("aria-pressed", String(lit.has(id)));
          paint();
        } }, `${percent(share)} ${titleOf(topicOf.get(id), 3)}`),
      " ", button("link", () => go({ topic: id, document: null }), "open"))));
  paint();
  const parent = topicOf.get(state.topic);
  return [
    button("back", () => go({ document: null }), parent ? `← topic ${parent.id}` : "← topics"),
    el("h2", { tabindex: "-1", id: "heading" }, record.name),
    record.about.length ? el("p", { class: "soft" }, record.about.join(" · ")) : null,
    legend,
    el("p", { class: "soft" }, "Words have the colour of the topic that explains them best; words without one are not in "
      + "the vocabulary. A topic's chip switches its colour."),
    text,
  ];
}
