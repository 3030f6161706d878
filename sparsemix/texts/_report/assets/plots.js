// The map of topics, curves, columns.

const MAP = 600;
// Labels of the map, and the size of their letters.
const MOST_LABELS = 40;
const [LETTER, LINE] = [6.4, 14];
// Radii of circles: of a topic without weight, and the largest.
const [LEAST, WIDEST] = [2, 36];

const scale = (c) => MAP / 2 + c * (MAP / 2 - 42);

// The largest radii, linear in the roots of weights, at which no circle covers another.
function radiiOf(placed) {
  const most = Math.max(...placed.map((topic) => topic.weight)) || 1;
  const roots = placed.map((topic) => Math.sqrt(topic.weight / most));
  const points = placed.map((topic) => topic.at.map(scale));
  let room = WIDEST - LEAST;
  points.forEach(([x, y], i) => {
    for (let j = 0; j < i; j += 1) {
      const gap = Math.hypot(x - points[j][0], y - points[j][1]) - 2 * LEAST;
      room = Math.min(room, Math.max(0, gap) / (roots[i] + roots[j] || 1));
    }
  });
  return new Map(placed.map((topic, i) => [topic, LEAST + room * roots[i]]));
}

// Labels of the largest topics that have space: each below its circle, and none over another.
function labelsOf(placed, radii) {
  const taken = [];
  const labels = [];
  for (const topic of placed.slice(0, 4 * MOST_LABELS)) {
    const text = topic.name || labelOf(topic, 2).join(" ");
    const short = text.length > 26 ? `${text.slice(0, 25)}…` : text;
    const half = (short.length * LETTER) / 2;
    const x = Math.max(half, Math.min(MAP - half, scale(topic.at[0])));
    const below = scale(topic.at[1]) + radii.get(topic) + LINE - 3;
    const y = radii.get(topic) > 1.3 * half || below > MAP - 3 ? scale(topic.at[1]) + 4 : below;
    if (taken.some(([a, b, c]) => Math.abs(x - a) < half + c + 4 && Math.abs(y - b) < LINE)) continue;
    taken.push([x, y, half]);
    labels.push(svg("text", { x, y }, short));
    if (labels.length === MOST_LABELS) break;
  }
  return labels;
}

// The words of a topic in a box at its circle.
function noteOf(topic, r) {
  const words = labelOf(topic, 8);
  const lines = [nameOf(topic).slice(0, 48), words.slice(0, 4).join(", "), words.slice(4).join(", ")].filter(Boolean);
  const width = Math.min(MAP, Math.max(...lines.map((line) => line.length)) * LETTER + 16);
  const height = lines.length * LINE + 10;
  const [cx, cy] = topic.at.map(scale);
  const x = Math.max(0, Math.min(MAP - width, cx - width / 2));
  const y = cy - r - height - 4 > 0 ? cy - r - height - 4 : Math.min(MAP - height, cy + r + 4);
  return svg("g", { class: "note" }, svg("rect", { x, y, width, height, rx: 4 }),
    lines.map((line, i) => svg("text", { x: x + width / 2, y: y + LINE * (i + 1) + 1 }, line)));
}

function mapOfTopics(chosen, query, choose) {
  const placed = topics.filter((topic) => topic.at).sort(largest);
  const told = el("p", { class: "soft", role: "status" }, "Point at a circle, or use the arrow keys and Enter.");
  const radii = radiiOf(placed);
  const circles = new Map();
  let note = null;
  let pointed = chosen && chosen.at ? chosen : null;

  function point(topic) {
    if (pointed && circles.has(pointed)) circles.get(pointed).classList.remove("chosen");
    pointed = topic;
    circles.get(topic).classList.add("chosen");
    told.textContent = `${topic.name || `Topic ${topic.id}`}, ${percent(topic.weight)} of all tokens: ${labelOf(topic, 8).join(", ")}`;
    if (note) note.remove();
    note = noteOf(topic, radii.get(topic));
    picture.append(note);
  }

  // The nearest topic in the direction of an arrow key.
  function move(dx, dy) {
    if (!pointed) return point(placed[0]);
    let best = null;
    let least = Infinity;
    for (const topic of placed) {
      const [x, y] = [topic.at[0] - pointed.at[0], topic.at[1] - pointed.at[1]];
      const along = x * dx + y * dy;
      const cost = along > 1e-6 ? along + 2.5 * Math.abs(x * dy - y * dx) : Infinity;
      if (cost < least) [best, least] = [topic, cost];
    }
    if (best) point(best);
  }

  const keys = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const picture = svg("svg", {
    class: "map", viewBox: `0 0 ${MAP} ${MAP}`, tabindex: "0", role: "application",
    "aria-label": "Map of topics, similar ones near each other. Arrow keys move, Enter opens; the list has the same topics.",
    onkeydown: (event) => {
      if (keys[event.key]) {
        event.preventDefault();
        move(...keys[event.key]);
      } else if (event.key === "Enter" && pointed) choose(pointed);
    },
  });
  for (const topic of placed) {
    const off = !matches(topic, query);
    const circle = svg("circle", {
      cx: scale(topic.at[0]), cy: scale(topic.at[1]), r: radii.get(topic).toFixed(1), "data-topic": topic.id,
      class: [off ? "off" : "", unsure(topic), topic === pointed ? "chosen" : ""].join(" ").trim(),
      onclick: () => choose(topic), onpointerenter: () => point(topic),
    });
    circles.set(topic, circle);
    picture.append(circle);
  }
  picture.append(...labelsOf(placed, radii));
  if (pointed) point(pointed);
  return [picture, told];
}

function curve(record) {
  const [width, height, left, right, top, bottom] = [560, 200, 64, 14, 12, 30];
  const [xs, ys] = [record.points.map((point) => point[0]), record.points.map((point) => point[2])];
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const x = (value) => left + ((value - x0) / (x1 - x0 || 1)) * (width - left - right);
  const y = (value) => height - bottom - ((value - y0) / (y1 - y0 || 1)) * (height - top - bottom);
  const at = record.points.map((point) => `${x(point[0]).toFixed(1)},${y(point[2]).toFixed(1)}`);
  return el("section", {},
    el("h3", {}, `${record.label} after each pass`),
    svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
      "aria-label": `${record.label}: from ${number(ys[0])} to ${number(ys[ys.length - 1])}` },
      svg("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - right}` }),
      svg("text", { x: left - 6, y: height - bottom, "text-anchor": "end" }, number(y0)),
      svg("text", { x: left - 6, y: top + 8, "text-anchor": "end" }, number(y1)),
      svg("text", { x: left, y: height - 10 }, `epoch ${x0}`),
      svg("text", { x: width - right, y: height - 10, "text-anchor": "end" }, `epoch ${x1}`),
      svg("polyline", { class: "curve", points: at.join(" ") }),
      at.map((place) => svg("circle", { class: "point", cx: place.split(",")[0], cy: place.split(",")[1], r: 2.5 }))),
    el("details", {}, el("summary", { class: "soft" }, "as a table"),
      el("table", {},
        el("tr", {}, ["pass", "seconds", record.label].map((name) => el("th", { class: "number", scope: "col" }, name))),
        record.points.map((point) => el("tr", {},
          point.map((value) => el("td", { class: "number" }, number(value))))))));
}

// Shares of a topic by bin: columns where bins have an order, else bars.
function strataOf(topic) {
  return data.strata.map((stratum, i) => {
    const shares = topic.strata[i];
    const most = Math.max(...shares) || 1;
    const wordsAt = (b) => (topic.changes ? topic.changes[i][b] : [[], []]);
    const sizeAt = (b) => `${number(stratum.sizes[b])}${stratum.sizes[b] < stratum.few ? ", few" : ""}`;
    const rows = stratum.bins.map((name, b) => [name, shares[b], sizeAt(b), wordsAt(b)]);
    const [rising, falling] = (stratum.kind === "period" && topic.trend[0]) || [[], []];
    return el("section", {}, el("h3", {}, stratum.label),
      stratum.ordered ? columns(rows, most, stratum) : [],
      listed("Words that became more frequent", rising), listed("Words that became less frequent", falling),
      stratum.ordered
        ? el("details", {}, el("summary", { class: "soft" }, "as a table"), barTable(rows, most, stratum))
        : barTable([...rows].sort((a, b) => b[1] - a[1]), most, stratum));
  });
}

function columns(rows, most, stratum) {
  const [width, height] = [560, 116];
  const step = width / rows.length;
  const [first, last] = [rows[0][0], rows[rows.length - 1][0]];
  return [el("p", { class: "soft" }, `The highest column is ${percent(most)}.`),
    svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
      "aria-label": `${stratum.label}, from ${first} to ${last}, at most ${percent(most)}` },
      rows.map(([name, share, size], i) =>
        svg("rect", { class: "column", x: (i * step + 0.1 * step).toFixed(2), width: (0.8 * step).toFixed(2),
          y: (height - height * (share / most)).toFixed(2), height: (height * (share / most)).toFixed(2) },
          svg("title", {}, `${name}: ${percent(share)} of ${size} ${stratum.unit}`))),
      svg("path", { class: "axis", d: `M0 ${height}H${width}` })),
    el("p", { class: "ends soft" }, el("span", {}, first), el("span", {}, last))];
}

function listed(label, words) {
  return words.length ? el("p", {}, el("span", { class: "soft" }, `${label}: `), words.map((v) => data.words[v]).join(", "))
    : null;
}

function barTable(rows, most, stratum) {
  const caption = `${stratum.measure}, ${stratum.unit}, and words that are more (+) or less (−) frequent there than in the rest of the topic`;
  return el("table", { class: "bars" }, el("caption", {}, caption), rows.map(([name, share, size, [more, fewer]]) => {
    const words = [["+", more], ["−", fewer]].filter(([, list]) => list.length)
      .map(([sign, list]) => `${sign} ${list.map((v) => data.words[v]).join(", ")}`).join("; ");
    const breakable = name.split(/(?<=[_/])/).flatMap((part) => [part, el("wbr")]);
    return [el("tr", {}, el("th", { scope: "row" }, breakable), el("td", { class: "wide" }, bar(share / most, "meter")),
      el("td", { class: "number" }, percent(share)),
      el("td", { class: "number soft", title: stratum.unit }, size)),
    words ? el("tr", {}, el("td", { class: "soft", colspan: 4 }, words)) : null];
  }).flat());
}

// Effects of covariates on a topic; topics that are shown as one have none together.
function effectsOf(topic) {
  if (!data.effects || !topic.effects) return [];
  const { level, labels, curves } = data.effects;
  const points = (value) => `${value < 0 ? "−" : "+"}${Math.abs(100 * value).toFixed(1)}`;
  return [el("section", {}, el("h3", {}, "Effects of covariates"),
    el("table", { class: "effects" },
      el("caption", {}, `On the expected document share, in percentage points, with intervals of ${level}`),
      topic.effects.rows.map(([estimate, low, high], i) => el("tr", { class: low > 0 || high < 0 ? null : "soft" },
        el("th", { scope: "row" }, labels[i]), el("td", { class: "number" }, points(estimate)),
        el("td", { class: "number" }, `${points(low)} to ${points(high)}`)))),
    curves.flatMap(({ name, ends }, i) => effectCurve(topic.effects.curves[i], name, ends)))];
}

// The expected share of a topic along a number, in a band of its intervals.
function effectCurve(points, name, [first, last]) {
  const [width, height] = [560, 116];
  const [least, most] = [Math.min(0, ...points.flat()), Math.max(...points.flat())];
  const y = (value) => ((height * (most - value)) / (most - least || 1)).toFixed(1);
  const [mean, low, high] = [0, 1, 2].map((end) => points.map((point, i) =>
    `${((width * i) / (points.length - 1)).toFixed(1)},${y(point[end])}`));
  const told = `Expected document share by ${name}, between ${percent(least)} and ${percent(most)}`;
  return [el("p", { class: "soft" }, `${told}.`),
    svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
      "aria-label": `${told}, from ${first} to ${last}` },
      svg("polygon", { class: "band", points: [...low, ...high.reverse()].join(" ") }),
      svg("polyline", { class: "curve", points: mean.join(" ") }),
      svg("path", { class: "axis", d: `M0 ${y(0)}H${width}` })),
    el("p", { class: "ends soft" }, el("span", {}, first), el("span", {}, last))];
}
