"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Some browsers forbid storage for local files. The choice then lasts until the page is closed.
  const remembered = {
    get() { try { return localStorage.getItem("snap-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("snap-theme", value); } catch { /* not stored */ } },
  };

  root.classList.add("js");
  if (["light", "dark"].includes(remembered.get())) root.dataset.theme = remembered.get();

  function themes() {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const button = document.getElementById("theme");
    const current = () => root.dataset.theme ?? (system.matches ? "dark" : "light");
    const label = () => {
      button.querySelector("span").textContent = current() === "dark" ? "Light theme" : "Dark theme";
    };
    button.addEventListener("click", () => {
      root.dataset.theme = current() === "dark" ? "light" : "dark";
      remembered.set(root.dataset.theme);
      label();
    });
    system.addEventListener("change", label);
    button.hidden = false;
    label();
  }

  // The contents collapse on a narrow screen and stay open beside the page on a wide one.
  function contents() {
    const details = document.getElementById("contents");
    const narrow = matchMedia("(max-width: 63.99rem)");
    const fit = () => { details.open = !narrow.matches; };
    narrow.addEventListener("change", fit);
    fit();
    details.addEventListener("click", (event) => {
      if (narrow.matches && event.target.closest("a")) details.open = false;
    });

    const links = new Map(all("a", details).map((link) => [link.hash.slice(1), link]));
    const seen = new Set();
    const mark = () => {
      const here = [...links.keys()].filter((id) => seen.has(id)).pop();
      if (here === undefined) return;
      for (const [id, link] of links) {
        if (id === here) link.setAttribute("aria-current", "location");
        else link.removeAttribute("aria-current");
      }
      for (const item of all("li", details)) {
        item.classList.toggle("current", item.querySelector("[aria-current]") !== null);
      }
    };
    const watch = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) seen.add(entry.target.id);
        else seen.delete(entry.target.id);
      }
      mark();
    }, { rootMargin: "-15% 0px -80% 0px" });
    for (const id of links.keys()) {
      const target = document.getElementById(id);
      if (target) watch.observe(target);
    }
  }

  // Sorting: ascending, descending, and back to the original order.
  function number(text) {
    const plain = text.trim().replaceAll("−", "-").replaceAll(",", "");
    const found = /^[<>≈~]?\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)/i.exec(plain);
    return found ? Number(found[1]) : null;
  }

  // Parse (0.01, 0.3) as two numbers, because a collator does not sort such pairs correctly.
  function pair(text) {
    const found = /^\(([\d.e+-]+), ([\d.e+-]+)\)/i.exec(text);
    return found && [Number(found[1]), Number(found[2])];
  }

  function sorting() {
    const collator = new Intl.Collator("en", { numeric: true });
    const next = { none: "ascending", ascending: "descending", descending: "none" };
    for (const table of all("table.sortable")) {
      const body = table.tBodies[0];
      const original = [...body.rows];
      const headers = [...table.tHead.rows[0].cells];
      headers.forEach((header, column) => {
        const numeric = header.classList.contains("numeric");
        const text = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
        // Missing and diverged values come last in both directions.
        const missing = (row) => (numeric ? number(text(row)) === null : /^[–—-]?$/.test(text(row)));
        const compare = (a, b) => {
          if (numeric) return number(text(a)) - number(text(b));
          const [one, two] = [pair(text(a)), pair(text(b))];
          if (one && two) return one[0] - two[0] || one[1] - two[1];
          return collator.compare(text(a), text(b));
        };
        const button = document.createElement("button");
        button.type = "button";
        button.append(...header.childNodes);
        header.append(button);
        button.addEventListener("click", () => {
          const order = next[header.getAttribute("aria-sort") ?? "none"];
          for (const other of headers) other.removeAttribute("aria-sort");
          let rows = original;
          if (order !== "none") {
            header.setAttribute("aria-sort", order);
            const sign = order === "ascending" ? 1 : -1;
            const present = original.filter((row) => !missing(row));
            present.sort((a, b) => sign * compare(a, b));
            rows = [...present, ...original.filter(missing)];
          }
          body.append(...rows);
        });
      });
    }
  }

  function enlarging() {
    const viewer = document.getElementById("viewer");
    const stage = viewer.querySelector(".viewer-stage");
    const buttons = all(".enlarge");
    let shown = 0;
    const show = (index) => {
      shown = (index + buttons.length) % buttons.length;
      const source = buttons[shown].parentElement.querySelector("img");
      const image = source.cloneNode();
      stage.replaceChildren(image);
      stage.scrollTo(0, 0);
      const title = buttons[shown].getAttribute("aria-label").replace(/^Enlarge: /, "");
      document.getElementById("viewer-title").textContent = title;
      document.getElementById("viewer-count").textContent = `${shown + 1} of ${buttons.length}`;
    };
    buttons.forEach((button, index) => {
      button.hidden = false;
      button.addEventListener("click", () => {
        show(index);
        viewer.showModal();
        viewer.querySelector("[data-close]").focus();
      });
    });
    viewer.addEventListener("click", (event) => {
      const step = event.target.closest("[data-step]");
      if (step) show(shown + Number(step.dataset.step));
      else if (event.target.closest("[data-close]") || event.target === viewer || event.target === stage) {
        viewer.close();
      }
    });
    viewer.addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft") show(shown - 1);
      else if (event.key === "ArrowRight") show(shown + 1);
      else return;
      event.preventDefault();
    });
    viewer.addEventListener("close", () => stage.replaceChildren());
  }

  function expanding() {
    const button = document.getElementById("expand");
    const details = all(".scorecard details");
    button.hidden = details.length === 0;
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(open));
      for (const one of details) one.open = open;
    });
  }

  function printing() {
    let closed = [];
    addEventListener("beforeprint", () => {
      closed = all("main details:not([open])");
      for (const details of closed) details.open = true;
    });
    addEventListener("afterprint", () => {
      for (const details of closed) details.open = false;
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    themes();
    contents();
    sorting();
    enlarging();
    expanding();
    printing();
    root.classList.add("ready");
  });
})();
