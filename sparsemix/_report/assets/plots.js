// The map of topics, curves, columns.

const MAP = 600;
const placed = topics.filter((topic) => topic.at);

function radius(topic) {
  const most = Math.max(...placed.map((other) => other.weight)) || 1;
  return 3 + Math.min(34, 190 / Math.sqrt(placed.length + 4)) * Math.sqrt(topic.weight / most);
}

function mapOfTopics(chosen, query, choose) {
  const told = el("p", { class: "soft", role: "status" }, "Point at a circle, or use the arrow keys and Enter.");
  const scale = (c) => MAP / 2 + c * (MAP / 2 - 42);
  const circles = new Map();
  let pointed = chosen && chosen.at ? chosen : null;

  function point(topic) {
    if (pointed && circles.has(pointed)) circles.get(pointed).classList.remove("chosen");
    pointed = topic;
    circles.get(topic).classList.add("chosen");
    told.textContent = `Topic ${topic.id}, ${percent(topic.weight)}: ${labelOf(topic, 8).join(", ")}`;
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
      cx: scale(topic.at[0]), cy: scale(topic.at[1]), r: radius(topic).toFixed(1), "data-topic": topic.id,
      class: [off ? "off" : "", topic === pointed ? "chosen" : ""].join(" ").trim(),
      onclick: () => choose(topic), onpointerenter: () => point(topic),
    }, svg("title", {}, nameOf(topic)));
    circles.set(topic, circle);
    picture.append(circle);
  }
  for (const topic of placed.slice(0, 60)) {
    if (radius(topic) < 7) break;
    picture.append(svg("text", { x: scale(topic.at[0]), y: scale(topic.at[1]) + 4 }, String(topic.id)));
  }
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

// Shares of a topic by bin: columns in time, bars by group.
function strataOf(topic) {
  return data.strata.map((stratum, i) => {
    const shares = topic.strata[i] || [];
    if (!shares.length) return null;
    const most = Math.max(...shares) || 1;
    const rows = stratum.bins.map((name, b) => [name, shares[b], stratum.sizes[b]]);
    return el("section", {}, el("h3", {}, stratum.label),
      stratum.label === "Share over time" ? columns(rows, most) : null,
      stratum.label === "Share over time"
        ? el("details", {}, el("summary", { class: "soft" }, "as a table"), barTable(rows, most))
        : barTable([...rows].sort((a, b) => b[1] - a[1]), most));
  });
}

function columns(rows, most) {
  const [width, height] = [560, 130];
  const step = width / rows.length;
  return svg("svg", { viewBox: `0 0 ${width} ${height + 20}`, width, height: height + 20, role: "img",
    "aria-label": `Share by time, from ${rows[0][0]} to ${rows[rows.length - 1][0]}, at most ${percent(most)}` },
    rows.map(([name, share, size], i) =>
      svg("rect", { class: "column", x: (i * step + 0.1 * step).toFixed(2), width: (0.8 * step).toFixed(2),
        y: (height - (height - 14) * (share / most)).toFixed(2), height: ((height - 14) * (share / most)).toFixed(2) },
        svg("title", {}, `${name}: ${percent(share)} of ${number(size)} documents`))),
    svg("path", { class: "axis", d: `M0 ${height}H${width}` }),
    svg("text", { x: 0, y: 10 }, `${percent(most)}`),
    svg("text", { x: 0, y: height + 14 }, rows[0][0]),
    svg("text", { x: width, y: height + 14, "text-anchor": "end" }, rows[rows.length - 1][0]));
}

function barTable(rows, most) {
  return el("table", { class: "bars" }, el("caption", {}, "Mean share, and documents"), rows.map(([name, share, size]) => el("tr", {},
    el("th", { scope: "row" }, name), el("td", { class: "wide" }, bar(share / most, "meter")),
    el("td", { class: "number" }, percent(share)),
    el("td", { class: "number soft", title: "documents" }, number(size)))));
}
