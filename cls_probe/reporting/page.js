// The page: charts into their places, tables that sort, downloads, light and dark, print.

const root = document.documentElement;
root.classList.add("script");

document.querySelectorAll("[data-charts]").forEach((place) => {
  data.charts[Number(place.dataset.charts)].forEach((spec, i) => {
    const wide = spec.kind === "curves" && i === 0 && spec.curves.length + spec.lines.length > 3;
    const figure = element("figure", { class: wide ? "wide" : "" });
    place.append(figure);
    (spec.kind === "curves" ? drawCurves : drawMatrix)(figure, spec);
  });
});
const rowMap = data.points === null ? null : drawMap(data.points);
const redraw = () => redraws.forEach((draw) => draw());
redraw();

// Light and dark

const asked = matchMedia("(prefers-color-scheme: dark)");
const remembered = (theme) => {
  try {
    if (theme) localStorage.setItem("cls-probe-theme", theme);
    return localStorage.getItem("cls-probe-theme");
  } catch {
    return null; // a browser that keeps nothing for files
  }
};
const isDark = () => (root.dataset.theme ?? (asked.matches ? "dark" : "light")) === "dark";
const themeButton = document.getElementById("theme");

function paint(theme) {
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  themeButton.textContent = isDark() ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", isDark() ? "change to light colours" : "change to dark colours");
  redraw();
}

themeButton.addEventListener("click", () => paint(remembered(isDark() ? "light" : "dark") ?? (isDark() ? "light" : "dark")));
asked.addEventListener("change", () => paint(root.dataset.theme));
paint(remembered());

let before;
addEventListener("beforeprint", () => {
  before = { theme: root.dataset.theme, closed: [...document.querySelectorAll("details:not([open])")] };
  before.closed.forEach((details) => { details.open = true; });
  paint("light");
});
addEventListener("afterprint", () => {
  before.closed.forEach((details) => { details.open = false; });
  paint(before.theme);
});

// Tables

function sortBy(table, column, header) {
  const down = header.getAttribute("aria-sort") === "ascending";
  const value = (row) => row.cells[column].dataset.value;
  const number = (text) => (text === "" ? NaN : Number(text));
  const rows = [...table.tBodies[0].rows];
  const numeric = rows.every((row) => value(row) === "" || !Number.isNaN(number(value(row))));
  rows.sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    if (left === "" || right === "") return (left === "") - (right === ""); // undefined stays last
    const order = numeric ? number(left) - number(right) : left.localeCompare(right);
    return down ? -order : order;
  });
  table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  table.tBodies[0].append(...rows);
}

document.querySelectorAll("table").forEach((table) => {
  table.querySelectorAll("th .sort").forEach((button) => {
    const header = button.closest("th");
    button.addEventListener("click", () => sortBy(table, header.cellIndex, header));
  });
  [...table.tBodies[0].rows].forEach((row) => {
    [...row.cells].forEach((cell) => {
      const { value } = cell.dataset;
      if (value && Number.isNaN(Number(value))) cell.classList.add(value.length > 60 ? "wrap" : "text");
    });
  });
  table.querySelectorAll("th[scope]").forEach((header) => {
    const cells = [...table.tBodies[0].rows].map((row) => row.cells[header.cellIndex]);
    if (cells.some((cell) => cell.matches(".text, .wrap"))) header.classList.add("text");
  });
});

// Downloads

const quoted = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
const finite = (value) => (Number.isNaN(value) ? null : value);

function projectionAs(form, download) {
  const { points, codes, coordinates } = rowMap;
  const map = rowMap.maps[download.map];
  const rows = points.rows ?? [...Array(points.n_rows).keys()];
  const label = (r) => (codes === null ? "" : points.names[codes[r]]);
  const places = map.layers.map((_, step) => rows.map((_, r) => coordinates(map, step, r).slice(0, 2).map(finite)));
  if (form === "json") {
    const labels = codes === null ? null : rows.map((_, r) => label(r));
    return `${JSON.stringify({ ...download.rest, labels, coordinates: places })}\n`;
  }
  const { columns, measures } = download;
  const lines = map.layers.flatMap((layer, step) =>
    rows.map((row, r) => {
      const [x, y] = places[step][r];
      const record = { ...measures[step], layer, row, label: label(r), x, y, undefined: map.undefined[step] };
      return columns.map((name) => quoted(String(record[name] ?? ""))).join(",");
    }),
  );
  return [columns.join(","), ...lines, ""].join("\n");
}

function downloadText(result, form) {
  const download = data.downloads[result];
  return download.map === undefined ? download[form] : projectionAs(form, download);
}

document.querySelectorAll(".download").forEach((button) => {
  button.addEventListener("click", () => {
    const { result, form } = button.dataset;
    const url = URL.createObjectURL(new Blob([downloadText(Number(result), form)], { type: form === "csv" ? "text/csv" : "application/json" }));
    element("a", { href: url, download: `${data.downloads[Number(result)].name}.${form}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  });
});
