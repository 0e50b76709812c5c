"use strict";
// What a reader can do with the charts of a report, which are there without it: point at values, zoom along the horizontal axis,
// hide series. The values are those of the JSON beside each drawing.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const make = (name, values, parent) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(values)) element.setAttribute(key, value);
    parent.append(element);
    return element;
  };
  const behind = axis => axis && axis.unit ? " " + axis.unit : "";
  const shown = value => typeof value === "string" ? value : Number(value.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 6 });

  const attach = figure => {
    const chart = JSON.parse(figure.querySelector("script.figure").textContent);
    for (const series of chart.series) if (series.x.step) { const { start, step } = series.x; series.x = series.y.map((_, at) => start + at * step); }
    const box = figure.querySelector(".drawing"), plot = box.querySelector("svg.plot"), area = plot.querySelector("svg.area");
    const [left, top, width, height] = plot.dataset.area.split(" ").map(Number);
    const [low, high] = plot.dataset.x.split(" ").map(Number), scale = plot.dataset.scale;
    const hidden = new Set();
    let [from, to] = [0, 1];
    const names = [];
    for (const series of chart.series) for (const x of series.x) if (typeof x === "string" && !names.includes(x)) names.push(x);
    const value = x => scale === "names" ? names.indexOf(x) + 0.5 : scale === "log" ? Math.log10(x) : x;
    const place = x => (value(x) - low) / (high - low);
    const places = chart.series.map(series => series.x.map(place));

    const cursor = make("path", { class: "cursor", d: "" }, plot);
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    box.append(tip);

    // The words for a place of the plot area, 0 to 1 across and up; and the place of the value that is nearest.
    const wordsOfCell = (across, up) => {
      const map = chart.heat, column = Math.min(map.x.length - 1, Math.floor(across * map.x.length));
      const row = Math.min(map.y.length - 1, Math.floor(up * map.y.length)), cell = map.z[row][column];
      const head = `${shown(map.x[column])}${behind(chart.x)}, ${shown(map.y[row])}${behind(chart.y)}`;
      return [head, [cell === null ? "nothing" : `${shown(Number(cell.toPrecision(3)))} ${map.title}`], (column + 0.5) / map.x.length];
    };
    const wordsOfSeries = across => {
      let nearest = Infinity;
      const distance = at => Math.abs(at - across);
      chart.series.forEach((series, index) => {
        if (hidden.has(index) || series.form === "guide") return;
        series.y.forEach((y, at) => { const there = places[index][at]; if (y !== null && distance(there) < distance(nearest)) nearest = there; });
      });
      if (!Number.isFinite(nearest)) return null;
      const lines = [];
      let head = null;
      chart.series.forEach((series, index) => {
        if (hidden.has(index) || series.form === "guide") return;
        series.y.forEach((y, at) => {
          if (y === null || places[index][at] !== nearest || lines.length > 12) return;
          if (!chart.x.ticks) head ??= shown(series.x[at]) + behind(chart.x);
          const words = series.words && series.words[at] ? ` (${series.words[at]})` : "";
          lines.push(`${series.name}: ${shown(y)}${behind(series.right ? chart.right : chart.y)}${words}`);
        });
      });
      return [head, lines, nearest];
    };

    const show = (across, up) => {
      const found = chart.heat ? wordsOfCell(across, up) : wordsOfSeries(across);
      if (!found) return hide();
      const [head, lines, at] = found;
      tip.textContent = "";
      for (const line of head === null ? lines : [head, ...lines]) {
        const row = document.createElement("div");
        row.textContent = line;
        tip.append(row);
      }
      tip.hidden = false;
      const x = left + (at - from) / (to - from) * width, ratio = box.clientWidth / 560;
      cursor.setAttribute("d", x >= left - 1 && x <= left + width + 1 ? `M${x} ${top}V${top + height}` : "");
      const room = box.clientWidth - tip.offsetWidth, beside = x * ratio + 12;
      tip.style.left = `${Math.max(0, beside > room ? x * ratio - tip.offsetWidth - 12 : beside)}px`;
      tip.style.top = `${top * ratio}px`;
    };
    const hide = () => { tip.hidden = true; cursor.setAttribute("d", ""); };
    const spot = event => {
      const frame = plot.getBoundingClientRect();
      const x = ((event.clientX - frame.left) / frame.width * 560 - left) / width;
      const y = 1 - ((event.clientY - frame.top) / frame.height * plot.viewBox.baseVal.height - top) / height;
      return [from + Math.min(1, Math.max(0, x)) * (to - from), Math.min(0.999, Math.max(0, y)), x];
    };

    // Ticks at round values of the part that is shown.
    const ticks = () => {
      plot.querySelectorAll("g.zoomed").forEach(tick => tick.remove());
      const whole = from === 0 && to === 1, own = !whole && scale === "linear";
      for (const mark of plot.querySelectorAll("[data-at]")) {
        const at = (Number(mark.dataset.at) - from) / (to - from);
        mark.setAttribute("visibility", at < -0.001 || at > 1.001 || own && mark.matches("g.tick") ? "hidden" : "visible");
        if (whole) mark.removeAttribute("transform"); else mark.setAttribute("transform", `translate(${(at - Number(mark.dataset.at)) * width} 0)`);
      }
      if (!own) return;
      const [first, last] = [from, to].map(at => low + at * (high - low)), rough = (last - first) / 5, power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map(factor => factor * power).find(step => step >= rough);
      for (let tick = Math.ceil(first / step) * step; tick <= last; tick += step) {
        const x = left + (tick - first) / (last - first) * width, group = make("g", { class: "tick zoomed" }, plot);
        make("path", { class: "grid", d: `M${x} ${top}V${top + height}` }, group);
        make("text", { x, y: top + height + 15, "text-anchor": "middle" }, group).textContent = Number(tick.toPrecision(10));
      }
    };
    const zoom = (first, last) => {
      [from, to] = [first, last];
      area.setAttribute("viewBox", `${from * width} 0 ${(to - from) * width} ${height}`);
      plot.dataset.shown = `${low + from * (high - low)} ${low + to * (high - low)}`;
      ticks();
      hide();
    };
    plot.dataset.shown = plot.dataset.x;

    let begun = null;
    plot.addEventListener("pointerdown", event => { begun = spot(event); });
    plot.addEventListener("pointerup", event => {
      const ended = spot(event);
      if (begun && Math.abs(ended[2] - begun[2]) > 0.03 && begun[2] > -0.1) zoom(Math.min(begun[0], ended[0]), Math.max(begun[0], ended[0]));
      begun = null;
    });
    plot.addEventListener("dblclick", () => zoom(0, 1));
    plot.addEventListener("pointermove", event => { const [x, y] = spot(event); show(x, y); });
    plot.addEventListener("pointerleave", () => { begun = null; hide(); });
    for (const entry of figure.querySelectorAll("ul.legend li")) {
      const index = Number(entry.dataset.series), input = document.createElement("input"), label = document.createElement("label");
      input.type = "checkbox";
      input.checked = true;
      label.append(input, ...entry.childNodes);
      entry.append(label);
      input.addEventListener("change", () => {
        if (input.checked) hidden.delete(index); else hidden.add(index);
        area.querySelector(`[data-series="${index}"]`).setAttribute("visibility", input.checked ? "visible" : "hidden");
      });
    }
  };

  // The values are read when a chart comes near the reader's eyes, so that a long page opens at once.
  const seen = new IntersectionObserver(entries => entries.filter(entry => entry.isIntersecting).forEach(entry => {
    seen.unobserve(entry.target);
    attach(entry.target);
  }), { rootMargin: "800px" });
  for (const figure of document.querySelectorAll("figure.chart")) if (figure.querySelector("svg.plot[data-area]")) seen.observe(figure);
  // On paper every part is shown, except for the figures of charts.
  const closed = document.querySelectorAll("main details:not(.figures):not([open])");
  for (const [moment, open] of [["beforeprint", true], ["afterprint", false]]) window.addEventListener(moment, () => { for (const details of closed) details.open = open; });

  for (const button of document.querySelectorAll("button.download")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const bytes = Uint8Array.from(atob(document.getElementById(button.dataset.of).textContent), letter => letter.charCodeAt(0));
      const words = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([words], { type: button.dataset.media }));
      link.download = button.dataset.file;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
  }
  for (const button of document.querySelectorAll("button.copy")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
      button.textContent = "Copied";
    });
  }
  document.documentElement.dataset.state = "ready";
})();
