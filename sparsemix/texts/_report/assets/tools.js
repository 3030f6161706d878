// The data, and how elements are made. Whatever comes from data becomes text, never markup.

const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function button(className, action, ...children) {
  return el("button", { type: "button", class: className, onclick: action }, ...children);
}

function bar(share, className) {
  const inner = el("span");
  inner.style.width = `${Math.max(0, Math.min(100, 100 * share)).toFixed(2)}%`;
  return el("span", { class: className || "meter", "aria-hidden": "true" }, inner);
}

function percent(share) {
  return `${(100 * share).toFixed(share < 0.1 ? 2 : 1)} %`;
}

function number(value) {
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
}
