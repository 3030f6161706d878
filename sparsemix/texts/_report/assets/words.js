// Words of topics by relevance: lambda log p(w | k) + (1 - lambda) log(p(w | k) / p(w)), Sievert and Shirley 2014.

const settings = { relevance: data.relevance };

function relevantWords(topic, n) {
  const scored = topic.words.map((word, i) => {
    const p = Math.max(topic.p[i], 1e-300);
    const everywhere = Math.max(data.counts[word], 0.5) / data.nTokens;
    return [word, topic.p[i], Math.log(p) - (1 - settings.relevance) * Math.log(everywhere)];
  });
  scored.sort((a, b) => b[2] - a[2]);
  return scored.slice(0, n);
}

function labelOf(topic, n) {
  return relevantWords(topic, n).map(([word]) => data.words[word]);
}

function nameOf(topic) {
  return topic.name || `Topic ${topic.id}: ${labelOf(topic, 3).join(", ")}`;
}

function titleOf(topic, n) {
  return topic.name || `topic ${topic.id}: ${labelOf(topic, n).join(", ")}`;
}

// Words of several topics together, for a branch of the tree.
function sharedWords(members, n) {
  const p = new Map();
  let weight = 0;
  for (const topic of members) {
    weight += topic.weight;
    topic.words.forEach((word, i) => p.set(word, (p.get(word) || 0) + topic.weight * topic.p[i]));
  }
  const words = [...p.keys()];
  return labelOf({ words, p: words.map((word) => p.get(word) / (weight || 1)) }, n);
}

// The topics that have the searched text in a word of theirs, or in a document's name.
function matches(topic, query) {
  if (!query) return true;
  if (topic.members.some((id) => `topic ${id}` === query) || topic.name.toLowerCase().includes(query)) return true;
  return (
    topic.words.some((word) => data.words[word].toLowerCase().includes(query)) ||
    topic.documents.some(([document]) => data.documents[document].name.toLowerCase().includes(query))
  );
}

// A word, with the searched part marked.
function marked(text, query) {
  const at = query ? text.toLowerCase().indexOf(query) : -1;
  if (at < 0) return [text];
  return [text.slice(0, at), el("mark", {}, text.slice(at, at + query.length)), text.slice(at + query.length)];
}
