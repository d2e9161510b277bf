"use strict";
// One panel: errors of one target against gradients or seconds. The rows are in the page itself.
const rows = JSON.parse(document.getElementById("rows").textContent);
const names = [...new Set(rows.filter((r) => r.mode !== "reference").map((r) => r.sampler))];
const looks = JSON.parse(document.getElementById("looks").textContent);
const chart = document.getElementById("chart"), legend = document.getElementById("legend"), told = document.getElementById("told");
const choice = (id) => document.getElementById(id).value;
const SVG = "http://www.w3.org/2000/svg";
let chosen = null;

function add(parent, tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function number(value) {
  if (value === 0) return "0";
  return Math.abs(value) >= 1e4 || Math.abs(value) < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}

// A logarithmic scale; values at or below the smallest shown one are drawn there.
function scale(values, from, to) {
  const positive = values.filter((v) => v > 0);
  const low = Math.log10(Math.min(...positive)) - 0.1, high = Math.log10(Math.max(...positive)) + 0.1;
  const at = (v) => from + ((Math.max(Math.log10(Math.max(v, 1e-300)), low) - low) / (high - low)) * (to - from);
  const ticks = [], steps = high - low < 1.5 ? [1, 2, 5] : [1], stride = Math.ceil((high - low) / 6);
  for (let power = Math.floor(low); power <= high; power++)
    for (const step of steps) {
      const value = step * 10 ** power;
      if (Math.log10(value) >= low && Math.log10(value) <= high && (steps.length > 1 || power % stride === 0)) ticks.push(value);
    }
  return { at, ticks };
}

function draw() {
  const target = choice("target"), error = choice("error"), axis = choice("axis");
  const width = Math.max(chart.parentElement.clientWidth, 280), height = Math.max(280, Math.min(460, width * 0.62));
  chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
  chart.replaceChildren();
  const here = rows.filter((r) => r.target === target && r[error] !== null);
  const shown = here.filter((r) => r.mode !== "reference");
  if (!shown.length) return add(chart, "text", { x: 10, y: 30 }, "no sampler has a result here");
  const cost = (r) => (axis === "gradients" ? r.gradients + 1 : r.seconds);
  const x = scale(shown.map(cost), 54, width - 12), y = scale(here.map((r) => r[error]), height - 42, 12);
  for (const tick of x.ticks) {
    add(chart, "line", { x1: x.at(tick), x2: x.at(tick), y1: 12, y2: height - 42, class: "grid" });
    add(chart, "text", { x: x.at(tick), y: height - 26, "text-anchor": "middle" }, number(tick));
  }
  for (const tick of y.ticks) {
    add(chart, "line", { x1: 54, x2: width - 12, y1: y.at(tick), y2: y.at(tick), class: "grid" });
    add(chart, "text", { x: 48, y: y.at(tick) + 4, "text-anchor": "end" }, number(tick));
  }
  const what = axis === "gradients" ? "gradients per chain + 1" : "seconds of one core per chain";
  add(chart, "text", { x: width / 2, y: height - 6, "text-anchor": "middle" }, what);
  for (const r of here.filter((r) => r.mode === "reference"))
    add(chart, "line", { x1: 54, x2: width - 12, y1: y.at(r[error]), y2: y.at(r[error]), class: "floor" });
  for (const name of [...names.filter((n) => n !== chosen), chosen].filter((n) => n !== null)) {
    const own = shown.filter((r) => r.sampler === name);
    const group = add(chart, "g", { class: chosen === null ? "" : name === chosen ? "strong" : "faint", "data-name": name });
    const cold = own.filter((r) => r.mode === "cold");
    const points = cold.map((r) => `${x.at(cost(r))},${y.at(r[error])}`).join(" ");
    add(group, "polyline", { points, fill: "none", stroke: looks[name][0], "stroke-dasharray": looks[name][1] });
    for (const r of own) {
      const at = [x.at(cost(r)), y.at(r[error])];
      if (r.mode === "cold") add(group, "circle", { cx: at[0], cy: at[1], r: 3, fill: looks[name][0] });
      else add(group, "path", { d: `M${at[0] - 5} ${at[1] - 5}l10 10m0-10l-10 10`, stroke: looks[name][0], "stroke-width": 2 });
    }
    group.addEventListener("pointerenter", () => tell(name));
    group.addEventListener("click", () => choose(name));
  }
  tell(chosen);
  return null;
}

// The numbers of one sampler in words, below the panel.
function tell(name) {
  const target = choice("target"), error = choice("error"), axis = choice("axis");
  const own = rows.filter((r) => r.sampler === name && r.target === target && r[error] !== null);
  const floor = rows.find((r) => r.mode === "reference" && r.target === target);
  const parts = own.map((r) => `${r.mode} ${number(r[error])} after ${number(r[axis])}`);
  const least = floor && floor[error] !== null ? ` Reference draws: ${number(floor[error])}.` : "";
  told.textContent = name === null ? "Hover over a line, or choose a sampler." : parts.length ? `${name}: ${parts.join("; ")}.${least}` : `${name}: no result.`;
}

function choose(name) {
  chosen = chosen === name ? null : name;
  for (const button of legend.children) button.setAttribute("aria-pressed", String(button.textContent === chosen));
  draw();
}

for (const name of names) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = name;
  button.style.borderLeftColor = looks[name][0];
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => choose(name));
  legend.append(button);
}
for (const id of ["target", "error", "axis"]) document.getElementById(id).addEventListener("change", draw);
window.addEventListener("resize", draw);
draw();
