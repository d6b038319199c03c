"use strict";
// Charts that follow a form. Every field of the form has the name of a parameter of the charts.
(() => {
  // The Vega views by the name of their chart, for tests and for the console.
  const views = (window.snapViews = {});
  const options = {
    ast: true, // expressions are interpreted, because the page's policy forbids eval
    actions: false,
    defaultStyle: false,
    renderer: "svg",
    tooltip: { id: "explore-tooltip", disableDefaultStyle: true },
  };

  function start(form) {
    const section = form.id.split("-")[0];
    const part = (id) => document.getElementById(`${section}-${id}`);
    const { data, charts, choices } = JSON.parse(part("content").textContent);
    const places = [...document.querySelectorAll(`[data-chart][data-section="${section}"]`)];
    const fields = [...form.elements].filter((field) => field.name);
    const boxes = fields.filter((field) => field.type === "checkbox");
    const slider = fields.find((field) => field.type === "range");

    const chosen = () => {
      const values = {};
      for (const { name, type, value, checked } of fields.filter((field) => !field.disabled)) {
        values[name] = type === "checkbox" ? [...(values[name] ?? []), ...(checked ? [value] : [])] : value;
      }
      return values;
    };

    const matches = (cell, [name, value]) => {
      if ((cell[name] ?? null) === null) return true;
      if (Array.isArray(value)) return value.includes(cell[name]);
      return value === "best" ? cell.best : value === String(cell[name]);
    };
    const having = (values) =>
      data.cells.filter((cell) => Object.entries(values).every((value) => matches(cell, value)));

    // Only what the learner has can be chosen.
    const offer = () => {
      const { dataset, learner } = chosen();
      const cells = having({ dataset, learner });
      for (const box of boxes) {
        box.disabled = !cells.some((cell) => cell[box.name] === box.value);
        box.labels[0].hidden = box.disabled;
      }
      if (form.elements.lambda) form.elements.lambda.disabled = cells.every((cell) => cell.lambda === null);
    };

    // Say in words what is shown, and what of the choice is missing.
    const say = () => {
      const cells = having(chosen());
      const lost = cells.filter((cell) => cell.note);
      const notes = lost.map((cell) => `${cell.title.replace("\n", ", ")}: ${cell.note}`);
      const offered = boxes.filter((box) => !box.disabled);
      const checked = offered.filter((box) => box.checked);
      for (const box of checked) {
        if (cells.some((cell) => cell[box.name] === box.value)) continue;
        notes.push(`${box.labels[0].innerText}: no result with this choice.`);
      }
      if (offered.length && !checked.length) notes.push("Choose at least one configuration.");
      const items = notes.map((textContent) => Object.assign(document.createElement("li"), { textContent }));
      part("notes").replaceChildren(...items);
      const lists = fields.filter((field) => field.selectedOptions && !field.disabled);
      const words = lists.map((list) => `${list.labels[0].innerText}: ${list.selectedOptions[0].text}`);
      if (offered.length) words.push(`${checked.length} of ${offered.length} configurations`);
      part("choice").textContent = words.join(" · ");
      if (slider) slider.ariaValueText = part("now").textContent = choices[slider.name][slider.value][1];
      for (const place of places) {
        place.hidden = !cells.some((cell) => cell.has.includes(place.dataset.rows));
        place.nextElementSibling.hidden = !place.hidden; // the sentence instead of the chart
      }
    };

    const set = (view) => {
      for (const [name, value] of Object.entries(chosen())) view.signal(name, value);
      view.runAsync();
    };
    const update = () => {
      offer();
      say();
      places.map((place) => views[place.dataset.chart]).filter(Boolean).forEach(set);
    };

    // Panels fill the width in one to four columns, and keep their shape.
    const draw = async (place) => {
      const { clientWidth: width, dataset: { chart } } = place;
      if (!width || place.drawn === width) return;
      place.drawn = width;
      const spec = structuredClone(charts[chart]);
      const parts = spec.spec.vconcat ?? [spec.spec];
      const { axis, spacing } = spec.usermeta;
      const columns = (width - axis + spacing) / (parts[0].width + spacing);
      spec.columns = Math.max(1, Math.min(4, Math.floor(columns)));
      const wide = Math.floor((width - axis + spacing) / spec.columns) - spacing;
      for (const part of parts) {
        part.height = Math.round((part.height * wide) / part.width);
        part.width = wide;
      }
      for (const param of spec.params) param.value = chosen()[param.name] ?? param.value;
      views[chart]?.finalize();
      views[chart] = (await vegaEmbed(place, { ...spec, datasets: data }, options)).view;
      set(views[chart]); // the choice may have changed
    };
    let drawing = Promise.resolve();
    const sized = new ResizeObserver((entries) => {
      for (const { target } of entries) drawing = drawing.then(() => draw(target));
    });
    const near = new IntersectionObserver(
      (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => sized.observe(entry.target)),
      { rootMargin: "300px" },
    );

    const write = () => {
      const query = new URLSearchParams(chosen()).toString().replaceAll("%2C", ",");
      history.replaceState(null, "", `#${section}?${query}`);
    };
    const restore = () => {
      const [start, query] = location.hash.split("?");
      if (start !== `#${section}` || query === undefined) return;
      const wanted = new URLSearchParams(query);
      for (const field of fields.filter((field) => wanted.has(field.name))) {
        const [value, before] = [wanted.get(field.name), field.value];
        if (field.type === "checkbox") field.checked = value.split(",").includes(before);
        else if ((field.value = value) !== field.value) field.value = before; // there is no such choice
      }
      update();
      form.closest("section").scrollIntoView();
    };

    form.hidden = false;
    form.addEventListener("input", update);
    form.addEventListener("change", write);
    form.addEventListener("click", ({ target }) => {
      if (target === part("play")) play(target, slider);
      if (target.dataset.check === undefined) return;
      for (const box of boxes) box.checked = target.dataset.check === "all";
      form.dispatchEvent(new Event("input"));
      form.dispatchEvent(new Event("change"));
    });
    if (slider) part("play").hidden = matchMedia("(prefers-reduced-motion: reduce)").matches;
    addEventListener("hashchange", restore);
    update();
    restore();
    for (const place of places) near.observe(place);
  }

  // Move the slider to its end, step by step.
  let playing;
  function play(button, slider) {
    const stop = () => {
      playing = clearInterval(playing);
      button.textContent = "Play";
      slider.dispatchEvent(new Event("change", { bubbles: true }));
    };
    if (playing) return stop();
    button.textContent = "Pause";
    if (slider.value === slider.max) slider.value = slider.min;
    playing = setInterval(() => {
      slider.stepUp();
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      if (slider.value === slider.max) stop();
    }, 500);
  }

  const begin = () => document.querySelectorAll("form[data-section]").forEach(start);
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
  else begin();
})();
