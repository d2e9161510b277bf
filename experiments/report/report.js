"use strict";

// Tables: a click (or Enter, or Space) on a heading sorts by it, a second one reverses the order. Missing values come last.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  headings.forEach((heading, column) => heading.querySelector("button").addEventListener("click", () => {
    const descending = heading.getAttribute("aria-sort") === "ascending";
    headings.forEach((other) => other.setAttribute("aria-sort", "none"));
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const numeric = heading.classList.contains("number");
    const key = (row) => row.cells[column].dataset.key;
    const compare = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
      const order = numeric ? (Number(x) > Number(y)) - (Number(x) < Number(y)) : x.localeCompare(y, "en", { numeric: true });
      return descending ? -order : order;
    };
    body.append(...[...body.rows].sort(compare));
  }));
}

// What belongs to a cell, in figures and tables: hovering names it and highlights it everywhere, filters hide it
// everywhere, and a click shows its probed rounds.
const described = JSON.parse(document.getElementById("cells-data").textContent);
const shapes = new Map();
for (const node of document.querySelectorAll("[data-cell]")) {
  if (!shapes.has(node.dataset.cell)) shapes.set(node.dataset.cell, []);
  shapes.get(node.dataset.cell).push(node);
}
const tip = document.getElementById("tip");
let hovered = null;
const hover = (id, event) => {
  if (id !== hovered) {
    for (const node of shapes.get(hovered) || []) node.classList.remove("on");
    for (const node of shapes.get(id) || []) node.classList.add("on");
    document.documentElement.classList.toggle("hovering", id !== null);
    hovered = id;
  }
  const known = id === null ? undefined : described[id];
  tip.hidden = !known || !event || Boolean(event.target.closest("table"));
  if (tip.hidden) return;
  tip.textContent = `${known.name}: ${known.text}`;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${Math.max(4, event.clientY - tip.offsetHeight - 10)}px`;
};
const owner = (event) => {
  const node = event.target instanceof Element ? event.target.closest("[data-cell]") : null;
  return node ? node.dataset.cell : null;
};
document.addEventListener("mousemove", (event) => hover(owner(event), event));
document.addEventListener("mouseleave", () => hover(null));

let showRounds = () => {};
document.addEventListener("click", (event) => {
  const id = owner(event);
  if (id !== null && event.target.closest("svg")) showRounds(id);
});

const filters = document.getElementById("filters");
if (filters) {
  const selects = [...filters.querySelectorAll("select")];
  const apply = () => {
    let kept = 0;
    for (const [id, { settings }] of Object.entries(described)) {
      const wanted = selects.every(({ value, dataset }) => value === "" || settings[dataset.filter] === value);
      kept += wanted;
      for (const node of shapes.get(id) || []) node.classList.toggle("filtered", !wanted);
    }
    const all = Object.keys(described).length;
    document.getElementById("filter-count").textContent = kept === all ? "" : `${kept} of ${all} cells shown`;
  };
  for (const select of selects) select.addEventListener("change", apply);
  filters.hidden = false;
}
addEventListener("beforeprint", () => { for (const details of document.querySelectorAll("details")) details.open = true; });

// The per-round view.
const view = document.getElementById("round");
if (view) {
  const { cells, metrics, colours } = JSON.parse(document.getElementById("rounds-data").textContent);
  const find = (name) => document.getElementById(name);
  const pickCell = find("pick-cell"), pickRound = find("pick-round"), pickCoordinate = find("pick-coordinate");

  const element = (name, attributes = {}, text = "", within = "") => {
    const node = within === "svg" ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== "") node.textContent = text;
    return node;
  };
  const shape = (parent, name, attributes, text = "") => parent.appendChild(element(name, attributes, text, "svg"));
  const short = (value) => value === null || value === undefined ? "–"
    : typeof value === "string" ? value : String(Number(value.toPrecision(3))).replace("-", "−");

  const fill = (select, options, wanted) => {
    select.replaceChildren(...options.map(([value, text]) => element("option", { value }, text)));
    if (options.some(([value]) => value === wanted)) select.value = wanted;
    select.disabled = options.length < 2;
  };

  // Axes of a plot as wide as its card, so that its letters keep their size on any screen.
  const plot = (target, height, title, { x, y, xTicks, yTicks, xLabel, yText = short, yShift = 0 }) => {
    const width = Math.max(240, target.clientWidth);
    const box = { left: 52, right: width - 20, top: 8, bottom: height - 40 };
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title }, "", "svg");
    const at = {
      x: (value) => box.left + (value - x[0]) / ((x[1] - x[0]) || 1) * (box.right - box.left),
      y: (value) => box.bottom - (value - y[0]) / ((y[1] - y[0]) || 1) * (box.bottom - box.top),
    };
    for (const value of yTicks) {
      shape(svg, "line", { x1: box.left, x2: box.right, y1: at.y(value), y2: at.y(value), stroke: "#000", "stroke-opacity": 0.12 });
      shape(svg, "text", { x: box.left - 6, y: at.y(value + yShift) + 4, "text-anchor": "end" }, yText(value));
    }
    for (const [value, text] of xTicks) shape(svg, "text", { x: at.x(value), y: box.bottom + 16, "text-anchor": "middle" }, text);
    shape(svg, "path", { d: `M${box.left} ${box.top}V${box.bottom}H${box.right}`, fill: "none", stroke: "#1a1a1a" });
    shape(svg, "text", { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle" }, xLabel);
    target.replaceChildren(svg);
    return { svg, at, box };
  };
  const steps = (low, high, count) => {
    const rough = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999);
    const ticks = [];
    for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-6; value += step) ticks.push(Number(value.toPrecision(12)));
    return ticks;
  };
  const key = (entries) => {
    const list = element("ul", { class: "key" });
    for (const [colour, text] of entries) {
      const item = element("li");
      const mark = element("span");
      mark.style.background = colour;
      item.append(mark, text);
      list.append(item);
    }
    return list;
  };
  const absent = (target, text) => target.replaceChildren(element("p", { class: "fine" }, text));

  const drawActions = (cell, round) => {
    const target = find("actions");
    find("actions-key").replaceChildren();
    find("actions-table").replaceChildren();
    if (!round.arms) return absent(target, "No action probabilities were stored for this round.");
    const count = round.arms.length, exact = round.exact.some((value) => value !== null);
    const most = Math.max(0.05, ...round.probability, ...round.exact.map((value) => value ?? 0));
    const every = Math.ceil(count * 26 / Math.max(240, target.clientWidth));
    const { svg, at } = plot(target, 230, `Action probabilities of ${cell.label} and of exact draws, by arm`, {
      x: [-0.5, count - 0.5], y: [0, most * 1.05], yTicks: steps(0, most, 4), xLabel: "arm",
      xTicks: round.arms.map((arm, index) => [index, String(arm)]).filter((_, index) => index % every === 0),
    });
    const bar = (index, value, from, share, colour, series) => {
      if (!value) return;
      const left = at.x(index + from), top = at.y(value);
      shape(svg, "rect", { x: left, y: top, width: at.x(index + from + share) - left, height: at.y(0) - top, fill: colour, "data-series": series });
    };
    round.arms.forEach((_, index) => {
      bar(index, round.probability[index], exact ? -0.4 : -0.3, exact ? 0.4 : 0.6, cell.colour, "sampler");
      if (exact) bar(index, round.exact[index], 0, 0.4, "#000", "exact");
    });
    find("actions-key").append(key([[cell.colour, cell.label + (cell.label === "exact" ? ", as used" : "")], ...(exact ? [["#000", "exact draws"]] : [])]));
    const table = element("table");
    table.append(element("caption", {}, round.left_out ? `Without ${round.left_out} arms of least probability.` : "All arms."));
    const head = table.createTHead().insertRow(), body = table.createTBody();
    for (const text of ["arm", cell.label, "exact draws"]) head.append(element("th", { scope: "col" }, text));
    round.arms.forEach((arm, index) => {
      const row = body.insertRow();
      row.append(element("th", { scope: "row" }, String(arm)));
      for (const value of [round.probability[index], round.exact[index]]) row.append(element("td", { class: "number" }, short(value)));
    });
    find("actions-table").append(table);
  };

  const drawTrace = (name, chains) => {
    const { low, high, thin, trace } = chains, length = trace[0].length;
    const { svg, at } = plot(find("trace"), 230, `Trace of ${name}: ${trace.length} chains`, {
      x: [0, Math.max(1, (length - 1) * thin)], y: [-30, 1029],
      yTicks: high > low ? steps(low, high, 4).map((value) => (value - low) / (high - low) * 999) : [0],
      yText: (level) => short(low + level / 999 * (high - low)),
      xTicks: steps(0, (length - 1) * thin, 5).map((value) => [value, String(value)]), xLabel: thin > 1 ? `draw (one in ${thin} is shown)` : "draw",
    });
    trace.forEach((chain, index) => {
      let pen = "M";
      const path = chain.map((level, draw) => {
        if (level === null) { pen = "M"; return ""; }
        const point = `${pen}${at.x(draw * thin).toFixed(1)} ${at.y(level).toFixed(1)}`;
        pen = "L";
        return point;
      }).join("");
      shape(svg, "path", { d: path, fill: "none", stroke: colours[index], "stroke-width": 1.2, "stroke-opacity": 0.75 });
    });
  };

  const drawRanks = (name, chains) => {
    const { ranks } = chains, bins = ranks[0].length, count = ranks.length;
    const even = ranks.flat().reduce((sum, value) => sum + value, 0) / (bins * count);
    const most = Math.max(...ranks.flat(), 2 * even);
    const height = 40 + 48 * count;
    const { svg, at } = plot(find("ranks"), height, `Ranks of ${name}: a histogram for each of ${count} chains, flat where they agree`, {
      x: [0, bins], y: [0, count], yTicks: ranks.map((_, chain) => chain), yText: (chain) => `chain ${count - chain}`, yShift: 0.4,
      xTicks: [0, 0.5, 1].map((share) => [share * bins, `${share * 100}%`]), xLabel: "rank among the draws of all chains",
    });
    ranks.forEach((bars, chain) => {
      const base = count - 1 - chain;
      bars.forEach((value, bin) => {
        const top = at.y(base + 0.92 * value / most);
        shape(svg, "rect", { x: at.x(bin) + 0.5, y: top, width: at.x(bin + 1) - at.x(bin) - 1, height: at.y(base) - top, fill: colours[chain], "fill-opacity": 0.75 });
      });
      const level = at.y(base + 0.92 * even / most);
      shape(svg, "line", { x1: at.x(0), x2: at.x(bins), y1: level, y2: level, stroke: "#000", "stroke-dasharray": "4 3" });
    });
  };

  const drawMetrics = (round) => {
    const list = find("round-metrics");
    list.replaceChildren();
    for (const [name, heading] of metrics) {
      if (!round.metrics || round.metrics[name] === undefined || round.metrics[name] === null) continue;
      list.append(element("dt", {}, heading), element("dd", {}, short(round.metrics[name])));
    }
  };

  let drawn = 0;
  const draw = () => {
    const cell = cells[Number(pickCell.value)];
    const round = cell.rounds.find((one) => String(one.round) === pickRound.value);
    drawn = view.clientWidth;
    drawActions(cell, round);
    const name = pickCoordinate.value, chains = round.chains && round.chains[name];
    if (chains) { drawTrace(name, chains); drawRanks(name, chains); }
    else for (const id of ["trace", "ranks"]) absent(find(id), "No chains were stored for this round.");
    drawMetrics(round);
    const run = round.run === undefined ? "" : `, run ${round.run}`;
    const { total_variation: tv, total_variation_floor: floor } = round.metrics || {};
    const distance = typeof tv === "number" ? `: total variation to exact ${short(tv)}` + (typeof floor === "number" ? ` (${short(floor)} for equal distributions)` : "") : "";
    find("round-summary").textContent = `${cell.label} on ${cell.panel}, round ${round.round}${run}${distance}.`;
  };
  const coordinatePicked = () => draw();
  const roundPicked = () => {
    const round = cells[Number(pickCell.value)].rounds.find((one) => String(one.round) === pickRound.value);
    fill(pickCoordinate, Object.keys(round.chains || {}).map((name) => [name, name]), pickCoordinate.value);
    draw();
  };
  const cellPicked = () => {
    const { rounds } = cells[Number(pickCell.value)];
    const wanted = String(opening ?? (pickRound.value || rounds[Math.floor((rounds.length - 1) / 2)].round));
    opening = null;
    fill(pickRound, rounds.map(({ round }) => [String(round), String(round)]), wanted);
    roundPicked();
  };
  for (const panel of new Set(cells.map((cell) => cell.panel))) {
    const group = element("optgroup", { label: panel });
    cells.forEach((cell, index) => { if (cell.panel === panel) group.append(element("option", { value: index }, cell.label)); });
    pickCell.append(group);
  }
  // It opens where the draws are furthest from exact ones, beyond what sampling error explains.
  const excess = ({ metrics }) => {
    const { total_variation: tv, total_variation_floor: floor } = metrics || {};
    return typeof tv === "number" ? tv - (typeof floor === "number" ? floor : 0) : -Infinity;
  };
  let worst = [Math.max(cells.findIndex((cell) => cell.label !== "exact"), 0), null, -Infinity];
  cells.forEach((cell, index) => {
    if (cell.label === "exact") return;
    for (const round of cell.rounds) if (excess(round) > worst[2]) worst = [index, String(round.round), excess(round)];
  });
  pickCell.value = String(worst[0]);
  let opening = worst[1];
  showRounds = (id) => {
    const index = cells.findIndex((cell) => cell.id === id);
    if (index < 0) return;
    pickCell.value = String(index);
    opening = cells[index].rounds.reduce((a, b) => excess(b) > excess(a) ? b : a).round;
    cellPicked();
    document.getElementById("rounds").scrollIntoView();
  };
  pickCell.addEventListener("change", cellPicked);
  pickRound.addEventListener("change", roundPicked);
  pickCoordinate.addEventListener("change", coordinatePicked);
  view.hidden = false;
  cellPicked();
  addEventListener("resize", () => { if (view.clientWidth !== drawn) draw(); });
}
