"use strict";

// Some browsers forbid storage for local files. The chosen theme then lasts until the page is closed.
const root = document.documentElement;
const stored = (...value) => {
  try { return value.length ? localStorage.setItem("snap-theme", ...value) : localStorage.getItem("snap-theme"); } catch { return null; }
};
if (["light", "dark"].includes(stored())) root.dataset.theme = stored();

addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const label = () => { button.lastElementChild.textContent = dark() ? "Light theme" : "Dark theme"; };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    stored(root.dataset.theme);
    label();
  });
  system.addEventListener("change", label);
  button.hidden = false;
  label();

  // Data are compressed on the page. A click unpacks them; without this script, the file is a .gz.
  for (const link of document.querySelectorAll("a[download$='.gz']")) {
    link.addEventListener("click", async (event) => {
      if (!link.download.endsWith(".gz")) return;
      event.preventDefault();
      const bytes = Uint8Array.from(atob(link.href.split(",")[1]), (letter) => letter.charCodeAt(0));
      const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      link.href = URL.createObjectURL(await new Response(unpacked).blob());
      link.download = link.download.slice(0, -3);
      link.click();
    });
  }

  // A click on a column's header sorts by it: ascending, descending, and as it was at first.
  const parsed = (cell) => {
    const text = cell.dataset.value ?? cell.textContent.trim();
    const found = text.replaceAll("−", "-").replaceAll(",", "").match(/[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?/gi);
    return { text, numbers: (found ?? []).map(Number) };
  };
  const order = (one, other, numeric) => {
    const pair = numeric || (one.text.startsWith("(") && other.text.startsWith("("));
    if (!pair) return one.text.localeCompare(other.text, "en", { numeric: true });
    const at = one.numbers.findIndex((number, n) => number !== other.numbers[n]);
    return at < 0 || numeric && at > 0 ? 0 : one.numbers[at] - other.numbers[at];
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const [body, rows, headers] = [table.tBodies[0], [...table.tBodies[0].rows], [...table.tHead.rows[0].cells]];
    headers.forEach((header, column) => {
      const numeric = header.classList.contains("numeric");
      const missing = (one) => (numeric ? !/^[^a-z]*\d/i.test(one.text) : /^[–—-]?$/.test(one.text));
      const sorter = document.createElement("button");
      sorter.type = "button";
      sorter.append(...header.childNodes);
      header.append(sorter);
      sorter.addEventListener("click", () => {
        const next = { ascending: "descending", descending: null }[header.getAttribute("aria-sort")];
        for (const other of headers) other.removeAttribute("aria-sort");
        if (next === null) return body.append(...rows);
        const direction = next ?? "ascending";
        header.setAttribute("aria-sort", direction);
        const keyed = rows.map((row) => ({ row, ...parsed(row.cells[column]) }));
        const present = keyed.filter((one) => !missing(one));
        present.sort((a, b) => (direction === "ascending" ? 1 : -1) * order(a, b, numeric));
        body.append(...[...present, ...keyed.filter(missing)].map((one) => one.row));
      });
    });
  }
});
