"use strict";
// Draws the charts of a report from the figures that stand beside them, each when it comes near the reader's eyes. `data-state` of
// the root tells how far it is: `loading`, `drawing`, `drawn`, or `failed`.
(() => {
  const root = document.documentElement;
  const css = name => getComputedStyle(root).getPropertyValue(name).trim();
  const figures = [...document.querySelectorAll("figure.chart")];
  // The library reads a little markup in texts: what users wrote is not markup.
  const plain = words => String(words).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const behind = axis => axis.unit ? " " + axis.unit : "";
  const titled = axis => !axis.unit || axis.unit === axis.title ? axis.title : `${axis.title} (${axis.unit})`;

  const library = async () => {
    if (window.Plotly) return;
    const packed = document.getElementById("library");
    if (!packed) throw new Error("the chart library is missing");
    if (!window.DecompressionStream) throw new Error("this browser is too old to draw the charts");
    const bytes = Uint8Array.from(atob(packed.textContent), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    packed.remove();
    if (!window.Plotly) throw new Error("the chart library did not start");
  };

  const colours = chart => {
    const next = css("--next").split(" ");
    let index = 0;
    return chart.series.map(series => series.tone === "next" ? next[index++ % next.length] : css("--" + series.tone));
  };

  const axis = (one, extra) => {
    const made = {
      title: { text: plain(titled(one)), font: { size: 13 } }, automargin: true, gridcolor: css("--line"), linecolor: css("--line"),
      zerolinecolor: css("--line"), type: one.scale === "log" ? "log" : one.scale === "names" ? "category" : "linear",
      ...(one.from_zero ? { rangemode: "tozero" } : {}), ...extra,
    };
    if (one.ticks) { made.tickangle = 0; made.tickvals = one.ticks.map(tick => tick.at); made.ticktext = one.ticks.map(tick => plain(tick.words)); }
    if (one.scale === "log") made.exponentformat = "none";
    return made;
  };

  const clear = colour => {
    const value = parseInt(colour.slice(1), 16);
    return `rgba(${value >> 16},${value >> 8 & 255},${value & 255},0.18)`;
  };

  const traces = (chart, shades) => {
    const out = [];
    chart.series.forEach((series, index) => {
      const colour = series.weak ? css("--other") : shades[index];
      const group = "series" + index;
      const on = { yaxis: series.right ? "y2" : "y", legendgroup: group, meta: index };
      if (series.low && series.high && series.form !== "bars" && series.form !== "stack") {
        const kept = series.x.map((x, at) => [x, series.low[at], series.high[at]]).filter(one => one[1] !== null && one[2] !== null);
        const edge = (at, fill) => ({
          x: kept.map(one => one[0]), y: kept.map(one => one[at]), type: "scatter", mode: "lines", line: { width: 0 }, hoverinfo: "skip", ...on,
          ...(fill ? { fill: "tonexty", fillcolor: clear(colour) } : {}),
        });
        if (kept.length > 1) out.push(edge(1, false), edge(2, true));
      }
      const names = plain(series.name);
      const words = series.words ? series.words.map(plain) : null;
      const where = series.right ? chart.right : chart.y;
      const over = chart.x.ticks ? "" : `%{x}${plain(behind(chart.x))}: `;
      const trace = {
        x: series.x.map(x => typeof x === "string" ? plain(x) : x), y: series.y, name: names, ...on, text: words || undefined,
        hovertemplate: `${names}: ${over}%{y}${plain(behind(where))}${words ? "<br>%{text}" : ""}<extra></extra>`,
      };
      if (series.form === "bars" || series.form === "stack") {
        trace.type = "bar"; trace.marker = { color: colour };
        if (words) trace.textposition = "none";
        if (series.low && series.high) trace.error_y = {
          type: "data", symmetric: false, array: series.high.map((high, at) => high - series.y[at]), arrayminus: series.low.map((low, at) => series.y[at] - low), color: css("--ink"),
        };
      } else {
        trace.type = "scatter";
        trace.mode = { line: "lines", steps: "lines", points: "lines+markers", dots: "markers", guide: "lines" }[series.form];
        trace.line = { color: colour, width: series.form === "guide" ? 1 : 2, shape: series.form === "steps" ? "hv" : "linear", dash: series.weak ? "dot" : series.form === "guide" ? "dash" : "solid" };
        trace.marker = { color: colour, size: 7 };
        trace.connectgaps = false;
        if (series.form === "guide") {
          // Guides say at their end what they are, and are no figures.
          Object.assign(trace, { mode: "lines+text", hoverinfo: "skip", textposition: "top left", textfont: { size: 11, color: colour }, cliponaxis: false });
          trace.text = series.x.map((_, at) => at === series.x.length - 1 ? names : "");
          delete trace.hovertemplate;
        }
      }
      out.push(trace);
    });
    return out;
  };

  const heat = chart => {
    const map = chart.heat, log = chart.y.scale === "log";
    const y = map.y.map(value => typeof value === "string" ? plain(value) : log ? Math.log10(value) : value);
    const z = map.z.map(row => row.map(value => value === null ? null : map.log ? Math.log10(value) : value));
    const [from, to] = css("--heat").split(" ");
    const said = map.y.map(value => map.x.map(() => typeof value === "string" ? plain(value) : Number(value.toPrecision(3)) + plain(behind(chart.y))));
    return {
      type: "heatmap", x: map.x.map(x => typeof x === "string" ? plain(x) : x), y, z, text: said, customdata: map.z, colorscale: [[0, from], [1, to]], hoverongaps: false, showscale: false, meta: 0,
      hovertemplate: `%{x}${plain(behind(chart.x))}, about %{text}: %{customdata} ${plain(map.title)}<extra></extra>`,
    };
  };

  const marks = (chart, layout) => {
    layout.shapes = []; layout.annotations = [];
    for (const mark of chart.marks || []) {
      const colour = css("--" + mark.tone), upright = mark.across === "x";
      const on = upright ? chart.x : chart.y;
      const to = mark.to ?? mark.at;
      layout.shapes.push({
        type: mark.to === undefined ? "line" : "rect", xref: upright ? "x" : "paper", yref: upright ? "paper" : "y", layer: "below",
        x0: upright ? mark.at : 0, x1: upright ? to : 1, y0: upright ? 0 : mark.at, y1: upright ? 1 : to,
        line: { color: colour, width: mark.to === undefined ? 2 : 0, dash: "dash" }, ...(mark.to === undefined ? {} : { fillcolor: colour, opacity: 0.12 }),
      });
      const at = on.scale === "log" ? Math.log10(mark.at) : mark.at;
      layout.annotations.push({
        text: plain(mark.words), showarrow: false, xref: upright ? "x" : "paper", yref: upright ? "paper" : "y", x: upright ? at : 1, y: upright ? 1 : at,
        xanchor: upright ? "left" : "right", yanchor: upright ? "top" : "bottom", font: { size: 12, color: colour },
      });
    }
  };

  const layout = chart => {
    const made = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: css("--ink"), family: "system-ui, sans-serif", size: 12 }, height: window.innerWidth < 600 ? 280 : 340,
      margin: { l: 50, r: 15, t: 15, b: 45 }, showlegend: false, hovermode: !chart.heat && chart.x.scale === "linear" ? "x" : "closest", hoverlabel: { namelength: -1 }, hoverdistance: -1, xaxis: axis(chart.x), yaxis: axis(chart.y),
      barmode: chart.series.some(series => series.form === "stack") ? "stack" : "group",
    };
    if (chart.right) made.yaxis2 = axis(chart.right, { overlaying: "y", side: "right", showgrid: false });
    if (chart.heat && chart.y.scale === "log") {
      const values = chart.heat.y.map(Math.log10), low = Math.min(...values), high = Math.max(...values);
      const ticks = [];
      for (let power = Math.ceil(low); power <= Math.floor(high); power++) ticks.push(power);
      made.yaxis.type = "linear"; delete made.yaxis.dtick;
      if (ticks.length > 0) { made.yaxis.tickvals = ticks; made.yaxis.ticktext = ticks.map(power => String(Number((10 ** power).toPrecision(1)))); }
      else { made.yaxis.tickvals = values; made.yaxis.ticktext = chart.heat.y.map(value => String(Number(value.toPrecision(3)))); }
    }
    marks(chart, made);
    return made;
  };

  const toggles = (figure, chart, drawing) => {
    const box = figure.querySelector(".toggles");
    if (chart.heat) return;
    const shades = colours(chart), kept = new Map([...box.querySelectorAll("input")].map(input => [input.value, input.checked]));
    box.textContent = "";
    chart.series.forEach((series, index) => {
      if (series.form === "guide") return;
      const label = document.createElement("label"), input = document.createElement("input"), swatch = document.createElement("i");
      input.type = "checkbox"; input.value = String(index); input.checked = kept.get(String(index)) ?? true;
      swatch.style.background = series.weak ? css("--other") : shades[index];
      label.append(input, swatch, series.name);
      const show = () => {
        const of = drawing.data.map((trace, at) => trace.meta === index ? at : -1).filter(at => at >= 0);
        window.Plotly.restyle(drawing, { visible: input.checked }, of);
      };
      input.addEventListener("change", show);
      box.append(label);
      if (!input.checked) show();
    });
  };

  const draw = figure => {
    const drawing = figure.querySelector(".drawing");
    const chart = JSON.parse(figure.querySelector("script.figure").textContent);
    drawing.querySelector(".noscript")?.remove();
    const data = chart.heat ? [heat(chart)] : traces(chart, colours(chart));
    const settings = { responsive: true, displaylogo: false, displayModeBar: "hover", modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"], toImageButtonOptions: { filename: chart.id } };
    window.Plotly.react(drawing, data, layout(chart), settings);
    toggles(figure, chart, drawing);
    figure.dataset.drawn = "yes";
  };

  const failed = error => {
    root.dataset.state = "failed";
    for (const note of document.querySelectorAll(".drawing .noscript")) note.textContent = `The chart cannot be drawn: ${error.message}. Its figures are below it.`;
  };

  const begin = async () => {
    root.dataset.state = "loading";
    await library();
    root.dataset.state = "drawing";
    const pending = new Set(figures);
    const one = figure => { if (pending.delete(figure)) draw(figure); if (pending.size === 0) root.dataset.state = "drawn"; };
    const all = () => { for (const details of document.querySelectorAll("section > details")) details.open = true; [...pending].forEach(one); };
    const seen = new IntersectionObserver(entries => entries.filter(entry => entry.isIntersecting).forEach(entry => one(entry.target)), { rootMargin: "800px" });
    figures.forEach(figure => seen.observe(figure));
    window.fathomDrawAll = all;
    window.addEventListener("beforeprint", () => { all(); figures.forEach(draw); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => figures.filter(figure => figure.dataset.drawn).forEach(draw));
    if (pending.size === 0) root.dataset.state = "drawn";
  };

  for (const button of document.querySelectorAll("button.download")) button.addEventListener("click", () => {
    const words = JSON.parse(document.getElementById(button.dataset.of).textContent);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([words], { type: button.dataset.media }));
    link.download = button.dataset.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
  for (const button of document.querySelectorAll("button.copy")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
      button.textContent = "Copied";
    });
  }
  if (figures.length > 0) begin().catch(failed); else root.dataset.state = "drawn";
})();
