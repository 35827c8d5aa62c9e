// The map of the rows: one point a row, with layers, classes, texts and search.

const MOST_FOUND = 50;

function unpacked(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Kind(bytes.buffer);
}

function drawMap(points) {
  const at = (id) => document.getElementById(`map-${id}`);
  const codes = points.classes === null ? null : unpacked(points.classes, Uint16Array);
  const maps = points.maps.map((map) => ({ ...map, xy: unpacked(map.xy, Float32Array) }));
  const lower = points.texts === null ? null : points.texts.map((text) => text.toLowerCase());
  const rowName = (r) => `row ${points.rows === null ? r : points.rows[r]}`;
  const classOf = (r) => (codes === null ? "" : points.names[codes[r]]);
  const coordinates = (map, step, r) => {
    const place = 2 * (step * points.n_rows + r);
    return [map.xy[place], map.xy[place + 1], r];
  };
  const state = { map: maps[0], step: 0, hidden: new Set(), found: null, selected: null };
  const chart = makeChart(at("box"), "canvas");

  // Groups: what a colour stands for, made anew for each layer where it depends on the layer

  const groupings = {};
  const grouped = (names, of, colours) =>
    names.map((name, i) => ({ name, colour: () => colours(i), symbol: SYMBOLS[i % 4], rows: [], of })).map((group) => {
      for (let r = 0; r < points.n_rows; r++) if (of(r) === group.name) group.rows.push(r);
      return group;
    }).filter((group) => group.rows.length);
  if (codes !== null) groupings["class"] = () => grouped(points.names, classOf, palette);
  const RIGHT_WRONG = ["right", "wrong"];
  const verdictColour = (i) => colour(i ? "wrong" : "right");
  if (points.wrong !== null) {
    const wrongAt = Object.fromEntries(Object.entries(points.wrong).map(([layer, rows]) => [layer, new Set(rows)]));
    groupings["layer probe right or wrong"] = () => {
      const wrong = wrongAt[state.map.layers[state.step]];
      return wrong === undefined ? grouped(["not probed"], () => "not probed", palette) : grouped(RIGHT_WRONG, (r) => RIGHT_WRONG[Number(wrong.has(r))], verdictColour);
    };
  }
  if (points.predicted !== null) {
    const said = (r) => points.predicted[r];
    if (codes !== null) {
      const verdict = (r) => (said(r) === classOf(r) ? "right" : "wrong");
      groupings["prediction right or wrong"] = () => grouped(RIGHT_WRONG, verdict, verdictColour);
    }
    groupings["predicted class"] = () => grouped([...new Set([...points.names, ...points.predicted])], said, palette);
  }
  if (!Object.keys(groupings).length) groupings["nothing"] = () => grouped(["rows"], () => "rows", palette);
  state.grouping = Object.values(groupings)[0];
  state.groups = state.grouping();

  // Drawing

  function head(r) {
    const said = points.predicted === null ? "" : `, predicted ${points.predicted[r]}`;
    return [rowName(r), classOf(r)].filter(Boolean).join(", ") + said;
  }

  function tip(item) {
    const r = item.data[2];
    const text = points.texts === null ? "" : points.texts[r];
    return element("div", { class: "tip" }, element("p", { class: "head" }, head(r)), element("p", {}, text.length > 400 ? `${text.slice(0, 400)}…` : text));
  }

  function series() {
    const size = points.n_rows > 4000 ? 4 : points.n_rows > 1000 ? 5 : 7;
    const place = (r) => coordinates(state.map, state.step, r);
    const bright = state.found === null ? 0.75 : 0.12;
    const all = state.groups.map((group, i) => ({
      id: `group-${i}`, name: group.name, type: "scatter", symbol: group.symbol, symbolSize: size, progressive: 0,
      data: state.hidden.has(group.name) ? [] : group.rows.map(place),
      itemStyle: { color: group.colour(), opacity: bright }, emphasis: { scale: 1.8, itemStyle: { opacity: 1 } },
    }));
    const visible = new Set(state.groups.filter((g) => !state.hidden.has(g.name)).flatMap((g) => g.rows));
    const found = (state.found ?? []).filter((r) => visible.has(r));
    const ring = { symbol: "circle", type: "scatter", z: 5 };
    all.push({ ...ring, id: "found", data: found.map(place), symbolSize: size + 3, itemStyle: { color: (item) => groupOf(item.data[2]).colour(), borderColor: colour("ink"), borderWidth: 1 } });
    const chosen = state.selected === null ? [] : [place(state.selected)];
    all.push({ ...ring, id: "selected", data: chosen, symbolSize: 18, itemStyle: { color: "transparent", borderColor: colour("ink"), borderWidth: 2.5 } });
    return all;
  }

  const groupOf = (r) => state.groups.find((group) => group.of(r) === group.name) ?? state.groups[0];

  function draw(zoomOut) {
    const { axis, tooltip, animation } = frame();
    const [x, y] = state.map.axes[state.step];
    const undefinedBecause = state.map.undefined[state.step];
    const zoom = (key) => ({ type: "inside", [key]: 0, filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, preventDefaultMouseMove: true, ...(zoomOut ? { start: 0, end: 100 } : {}) });
    chart.setOption(
      {
        animation,
        grid: { left: 6, right: 16, top: 14, bottom: 6, ...WITHIN },
        tooltip: { ...tooltip, trigger: "item", formatter: tip },
        xAxis: { ...axis, type: "value", scale: true, name: x, nameLocation: "middle", nameGap: 28, splitNumber: 4 },
        yAxis: { ...axis, type: "value", scale: true, name: y, nameLocation: "middle", nameGap: 36, splitNumber: 4 },
        dataZoom: [zoom("xAxisIndex"), zoom("yAxisIndex")],
        series: undefinedBecause ? [] : series(),
      },
      { replaceMerge: ["series"] },
    );
    at("message").hidden = !undefinedBecause;
    at("message").textContent = `layer ${state.map.layers[state.step]}: undefined: ${undefinedBecause}`;
    at("layer-name").textContent = state.map.layers[state.step];
    at("layer").setAttribute("aria-valuetext", `layer ${state.map.layers[state.step]}`);
  }

  function drawLegend() {
    const entries = state.groups.map((group) => ({ name: group.name, label: `${group.name} (${group.rows.length})`, colour: group.colour(), dot: true, on: !state.hidden.has(group.name) }));
    legend(at("legend"), entries, (name, on) => {
      if (on) state.hidden.delete(name);
      else state.hidden.add(name);
      draw();
    });
    at("legend").hidden = entries.length < 2;
  }

  // What the controls do

  function select(r) {
    state.selected = r;
    const text = points.texts === null ? "" : points.texts[r];
    at("detail").replaceChildren(element("p", { class: "head" }, head(r)), element("p", {}, text));
    draw();
  }

  function search() {
    const wanted = at("search").value.trim().toLowerCase();
    const hit = (r) => (lower === null ? rowName(r).endsWith(` ${wanted}`) : lower[r].includes(wanted));
    state.found = wanted ? [...Array(points.n_rows).keys()].filter(hit) : null;
    const found = state.found ?? [];
    const more = found.length > MOST_FOUND ? `, the first ${MOST_FOUND} are listed` : "";
    at("count").textContent = wanted ? `${found.length} of ${points.n_rows} rows${more}` : "";
    const entry = (r) => {
      const text = points.texts === null ? "" : points.texts[r].slice(0, 200);
      return element("li", {}, element("button", { type: "button", onclick: () => select(r) }, element("span", { class: "head" }, `${head(r)}: `), text));
    };
    at("found").replaceChildren(...found.slice(0, MOST_FOUND).map(entry));
    draw();
  }

  function zoom(factor) {
    const { dataZoom } = chart.getOption();
    dataZoom.forEach(({ start, end }, dataZoomIndex) => {
      const [middle, half] = [(start + end) / 2, Math.min(50, ((end - start) / 2) * factor)];
      const from = Math.min(Math.max(0, middle - half), 100 - 2 * half);
      chart.dispatchAction({ type: "dataZoom", dataZoomIndex, start: from, end: from + 2 * half });
    });
  }

  function regroup() {
    state.groups = state.grouping();
    drawLegend();
  }

  function useMap(index) {
    const layer = state.map.layers[state.step];
    state.map = maps[index];
    const same = state.map.layers.indexOf(layer);
    state.step = same >= 0 ? same : state.map.layers.length - 1;
    at("layer").max = state.map.layers.length - 1;
    at("layer").value = state.step;
  }

  function choices(id, names, change) {
    at(id).replaceChildren(...names.map((name, i) => element("option", { value: i }, name)));
    at(id).addEventListener("change", () => change(Number(at(id).value)));
    at(`${id}-label`).hidden = names.length < 2;
  }

  choices("method", maps.map((map) => map.name), (i) => { useMap(i); regroup(); draw(true); });
  choices("colour", Object.keys(groupings), (i) => {
    state.grouping = Object.values(groupings)[i];
    state.hidden.clear();
    regroup();
    draw();
  });
  at("layer").addEventListener("input", () => { state.step = Number(at("layer").value); regroup(); draw(true); });
  at("layer-label").hidden = Math.max(...maps.map((map) => map.layers.length)) < 2;
  at("search").addEventListener("input", search);
  at("in").addEventListener("click", () => zoom(0.6));
  at("out").addEventListener("click", () => zoom(1 / 0.6));
  at("reset").addEventListener("click", () => draw(true));
  chart.on("click", (item) => select(item.data[2]));
  state.step = state.map.layers.length - 1;
  useMap(0);
  redraws.push(() => { regroup(); draw(); });

  return { points, codes, maps, coordinates };
}
