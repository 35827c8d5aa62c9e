"use strict";
// What every chart shares, and the two kinds of it: curves over layers, and matrices.

const data = JSON.parse(document.getElementById("data").textContent);
const redraws = []; // one function for each chart, run again when the colours change
const SYMBOLS = ["circle", "rect", "triangle", "diamond", "roundRect", "pin", "arrow", "emptyCircle"];
const WITHIN = { outerBoundsMode: "same", outerBoundsContain: "all" }; // labels and names of axes stay inside
const DASHES = ["solid", "dashed", "dotted"];

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const palette = (i) => colour(`c${i % 8}`);

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children); // strings become text, never markup
  return made;
}

function shown(value, whole) {
  if (value === null || Number.isNaN(value)) return "undefined";
  return whole || Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
}

function makeChart(box, renderer) {
  const chart = echarts.init(box, null, { renderer });
  new ResizeObserver(() => chart.resize()).observe(box);
  return chart;
}

function frame() {
  const axis = {
    axisLine: { lineStyle: { color: colour("line") } },
    axisTick: { lineStyle: { color: colour("line") } },
    axisLabel: { color: colour("muted"), hideOverlap: true },
    nameTextStyle: { color: colour("muted") },
    splitLine: { lineStyle: { color: colour("line"), opacity: 0.6 } },
  };
  const tooltip = {
    confine: true,
    backgroundColor: colour("paper"),
    borderColor: colour("line"),
    textStyle: { color: colour("ink") },
  };
  return { axis, tooltip, animation: false };
}

function legend(list, entries, toggle) {
  list.replaceChildren(
    ...entries.map((entry) => {
      const swatch = element("span", { class: entry.dot ? "swatch dot" : "swatch" });
      if (entry.dot) swatch.style.background = entry.colour;
      else swatch.style.borderTop = `3px ${entry.dash} ${entry.colour}`;
      const press = (event) => {
        const on = event.currentTarget.getAttribute("aria-pressed") !== "true";
        event.currentTarget.setAttribute("aria-pressed", String(on));
        toggle(entry.name, on);
      };
      const pressed = String(entry.on !== false);
      return element("li", {}, element("button", { type: "button", "aria-pressed": pressed, onclick: press }, swatch, entry.label ?? entry.name));
    }),
  );
}

// Curves

function band(spec, curve, fill, hidden) {
  const points = spec.layers.map((_, i) => [i, curve.low[i], curve.high[i]]);
  const usable = (i) => hidden || !points[i] || points[i].includes(null) || (spec.log && points[i][1] <= 0);
  const renderItem = (params, api) => {
    const i = params.dataIndex;
    if (usable(i)) return undefined;
    const at = (k, end) => api.coord([k, points[k][end]]);
    const [low, high] = [at(i, 1), at(i, 2)];
    const children = [{ type: "line", shape: { x1: low[0], y1: low[1], x2: high[0], y2: high[1] }, style: { stroke: fill, opacity: 0.6 } }];
    if (!usable(i + 1)) {
      const shape = { points: [low, at(i + 1, 1), at(i + 1, 2), high] };
      children.push({ type: "polygon", shape, style: { fill, opacity: 0.18 } });
    }
    return { type: "group", children };
  };
  return { type: "custom", data: points, encode: { x: 0, y: [1, 2] }, renderItem, silent: true, clip: true, z: 1 };
}

function curveSeries(spec, hidden) {
  const single = spec.layers.length === 1;
  const bands = [];
  const curves = spec.curves.map((curve, i) => {
    const off = hidden.has(curve.name);
    if (!off && curve.low.some((v) => v !== null)) bands.push(band(spec, curve, palette(i), off));
    const values = curve.values.map((v) => (off || v === null || (spec.log && v <= 0) ? "-" : v));
    const look = { color: palette(i) };
    const line = { ...look, width: 2, type: DASHES[i % 3] };
    return { type: "line", name: curve.name, data: values, symbol: SYMBOLS[i % 8], symbolSize: 7, itemStyle: look, lineStyle: line, z: 3 };
  });
  const lines = spec.lines.map((line, i) => {
    const style = { color: colour("muted"), width: 1.5, type: DASHES[(i + 1) % 3] };
    const values = spec.layers.map(() => (hidden.has(line.name) ? "-" : line.value));
    const mark = single ? "rect" : "none";
    return { type: "line", name: line.name, data: values, symbol: mark, symbolSize: [40, 2], itemStyle: { color: style.color }, lineStyle: style, z: 2 };
  });
  return [...bands, ...curves, ...lines];
}

function curveTip(spec, hidden, i) {
  const lines = spec.curves.filter((curve) => !hidden.has(curve.name)).map((curve) => {
    const ends = curve.low[i] === null || curve.low[i] === undefined ? "" : ` [${shown(curve.low[i])}, ${shown(curve.high[i])}]`;
    return element("p", {}, `${curve.name}: ${shown(curve.values[i])}${ends}`);
  });
  const more = spec.lines.filter((line) => !hidden.has(line.name)).map((line) => element("p", {}, `${line.name}: ${shown(line.value)}`));
  return element("div", { class: "tip" }, element("p", { class: "head" }, `layer ${spec.layers[i]}`), ...lines, ...more);
}

function drawCurves(figure, spec) {
  const box = element("div", { class: "box", role: "img", "aria-label": `${spec.label} by layer; the numbers stand in the table below` });
  const list = element("ul", { class: "legend", "aria-label": "Curves; press to hide or show" });
  figure.append(element("figcaption", {}, spec.label), box);
  if (spec.curves.length + spec.lines.length > 1) figure.append(list);
  const chart = makeChart(box, "svg");
  const hidden = new Set();
  const draw = () => {
    const { axis, tooltip, animation } = frame();
    chart.setOption(
      {
        animation,
        grid: { left: 4, right: 16, top: 12, bottom: 4, ...WITHIN },
        tooltip: { ...tooltip, trigger: "axis", formatter: (items) => curveTip(spec, hidden, items[0].dataIndex) },
        xAxis: { ...axis, type: "category", data: spec.layers.map(String), name: "layer", nameLocation: "middle", nameGap: 26, splitLine: { show: false } },
        yAxis: { ...axis, type: spec.log ? "log" : "value", scale: true },
        series: curveSeries(spec, hidden),
      },
      { replaceMerge: ["series"] },
    );
  };
  const entries = () => [
    ...spec.curves.map((curve, i) => ({ name: curve.name, colour: palette(i), dash: DASHES[i % 3], on: !hidden.has(curve.name) })),
    ...spec.lines.map((line, i) => ({ name: line.name, colour: colour("muted"), dash: DASHES[(i + 1) % 3], on: !hidden.has(line.name) })),
  ];
  const toggle = (name, on) => {
    if (on) hidden.delete(name);
    else hidden.add(name);
    draw();
  };
  redraws.push(() => {
    draw();
    legend(list, entries(), toggle);
  });
}

// Matrices

function drawMatrix(figure, spec) {
  const box = element("div", { class: "box", role: "img", "aria-label": `${spec.label} by ${spec.down_label} and ${spec.across_label}; the data hold the numbers` });
  const name = element("output", {});
  const slider = element("input", { type: "range", min: 0, max: spec.steps.length - 1, step: 1, "aria-label": spec.step_label || "number" });
  slider.value = spec.start;
  const places = spec.down_label === spec.across_label ? spec.down_label : `${spec.down_label} (down) and ${spec.across_label} (across)`;
  figure.append(element("figcaption", {}, `${spec.label} by ${places}`.trim()));
  if (spec.steps.length > 1) figure.append(element("label", { class: "step" }, name, slider));
  figure.append(box);
  box.style.height = `${Math.max(17, 1.7 * spec.down.length + 9)}rem`;
  const chart = makeChart(box, "svg");
  const draw = () => {
    const step = Number(slider.value);
    name.textContent = `${spec.step_label} ${spec.steps[step]}`.trim();
    slider.setAttribute("aria-valuetext", name.textContent);
    const cells = spec.values[step].flatMap((line, i) => line.map((value, k) => [k, i, value]));
    const values = cells.map((cell) => cell[2]).filter((value) => value !== null);
    const [low, high] = spec.whole ? [0, Math.max(...values)] : [Math.min(...values), Math.max(...values)];
    const { axis, tooltip, animation } = frame();
    const middle = (low + high) / 2;
    const tip = ({ data: [k, i, value] }) =>
      element("div", { class: "tip" }, `${spec.down_label} ${spec.down[i]}, ${spec.across_label} ${spec.across[k]}: ${shown(value, spec.whole)}`);
    const names = (list, more) => ({ ...axis, type: "category", data: list, splitLine: { show: false }, ...more });
    chart.setOption({
      animation,
      grid: { left: 4, right: 12, top: 40, bottom: 4, ...WITHIN },
      tooltip: { ...tooltip, formatter: tip },
      visualMap: { min: low, max: high === low ? low + 1 : high, precision: spec.whole ? 0 : 4, orient: "horizontal", left: "center", top: 0, itemHeight: 110, itemWidth: 12, calculable: false, text: [shown(high, spec.whole), shown(low, spec.whole)], textStyle: { color: colour("muted") }, inRange: { color: [colour("cold"), colour("hot")] } },
      xAxis: names(spec.across, { rotate: spec.across.length > 5 ? 45 : 0 }),
      yAxis: { ...names(spec.down), inverse: true },
      series: {
        type: "heatmap",
        data: cells.map((cell) => ({ value: cell, label: { color: cell[2] > middle ? colour("paper") : colour("ink") } })),
        label: { show: spec.across.length <= 8, formatter: ({ data: cell }) => (cell.value[2] === null ? "–" : shown(spec.whole ? cell.value[2] : Number(cell.value[2].toPrecision(3)))) },
        itemStyle: { borderColor: colour("paper"), borderWidth: 1 },
      },
    });
  };
  slider.addEventListener("input", draw);
  redraws.push(draw);
}
