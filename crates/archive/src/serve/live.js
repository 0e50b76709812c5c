// Shows the stream of a run. All data is inserted as text, never as markup.
(() => {
  const MAX_ROWS = 60, MAX_POINTS = 300, MAX_JOBS = 8;
  const state = document.getElementById("state"), rows = document.getElementById("intervals"), messages = document.getElementById("messages");
  const rate = (value) => Math.round(value).toLocaleString("en");
  const time = (ns) => (ns >= 1e9 ? (ns / 1e9).toFixed(2) + " s" : ns >= 1e6 ? (ns / 1e6).toFixed(2) + " ms" : ns >= 1e3 ? (ns / 1e3).toFixed(1) + " us" : ns + " ns");
  const words = { warm_up: "warm-up", measured: "measuring", cool_down: "cool-down", delay: "start delay", verify: "verification", draining: "draining" };
  const addMessage = (text) => {
    const item = document.createElement("li");
    item.textContent = text;
    messages.prepend(item);
    while (messages.children.length > MAX_ROWS) messages.lastChild.remove();
  };
  const addRow = (one) => {
    const row = document.createElement("tr");
    const mib = (one.read_bytes_per_sec + one.write_bytes_per_sec) / 1048576;
    const cells = [one.name, words[one.phase] || one.phase, (one.start_s + one.length_s).toFixed(1) + " s", rate(one.read_iops), rate(one.write_iops),
      mib.toFixed(1), time(one.latency_p50_ns), time(one.latency_p99_ns), time(one.latency_max_ns)];
    for (const text of cells) row.appendChild(document.createElement("td")).textContent = text;
    rows.prepend(row);
    while (rows.children.length > MAX_ROWS) rows.lastChild.remove();
  };
  // The intervals of each job of the step. Phases start at 0, so the axis continues from the
  // previous phase.
  const jobs = new Map();
  let step = 0;
  const addPoint = (one) => {
    if (one.step !== step) { jobs.clear(); step = one.step; }
    if (!jobs.has(one.job) && jobs.size === MAX_JOBS) return;
    const job = jobs.get(one.job) || { name: one.name, base: 0, end: 0, points: [] };
    jobs.set(one.job, job);
    if (job.base + one.start_s < job.end - 0.001) job.base = job.end;
    job.end = job.base + one.start_s + one.length_s;
    job.points.push({ at: job.end, rate: one.read_iops + one.write_iops + one.trim_iops, p99: one.latency_p99_ns });
    if (job.points.length > MAX_POINTS) job.points.shift();
  };
  const round = (value) => {
    const unit = 10 ** Math.floor(Math.log10(value));
    return [1, 2, 5, 10].find((step) => value <= step * unit) * unit;
  };
  const addShape = (svg, name, attributes, text) => {
    const shape = svg.appendChild(document.createElementNS("http://www.w3.org/2000/svg", name));
    for (const key in attributes) shape.setAttribute(key, attributes[key]);
    shape.textContent = text || "";
  };
  const draw = (figure, unit) => {
    const svg = document.getElementById(figure), all = [...jobs.values()], points = all.flatMap((job) => job.points);
    const first = Math.min(...points.map((point) => point.at)), last = Math.max(...points.map((point) => point.at));
    const top = round(Math.max(...points.map((point) => point[figure])) || 1);
    const x = (at) => 60 + (430 * (at - first)) / Math.max(last - first, 1e-9), y = (value) => 165 - (155 * value) / top;
    svg.textContent = "";
    for (const value of [0, top / 2, top]) {
      addShape(svg, "path", { class: "grid", d: `M60 ${y(value)}H490` });
      addShape(svg, "text", { x: 54, y: y(value) + 4, "text-anchor": "end" }, value ? unit(value) : "0");
    }
    addShape(svg, "text", { x: 60, y: 184 }, first.toFixed(0) + " s");
    addShape(svg, "text", { x: 490, y: 184, "text-anchor": "end" }, last.toFixed(0) + " s");
    all.forEach((job, number) => {
      const line = job.points.map((point) => x(point.at).toFixed(1) + " " + y(point[figure]).toFixed(1));
      addShape(svg, "path", { class: "line c-" + number, d: "M" + line.join("L") });
    });
  };
  const drawAll = () => {
    const legend = document.getElementById("legend"), many = jobs.size > 1;
    document.getElementById("charts").hidden = ![...jobs.values()].some((job) => job.points.length > 1);
    legend.textContent = "";
    [...jobs.values()].forEach((job, number) => {
      if (!many) return;
      const item = legend.appendChild(document.createElement("li"));
      const svg = item.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "svg"));
      svg.setAttribute("width", 22);
      svg.setAttribute("height", 10);
      addShape(svg, "path", { class: "c-" + number, d: "M0 5h22" });
      item.append(job.name);
    });
    draw("rate", rate);
    draw("p99", time);
  };
  // The phase of each job, with the time left if the phase has a time limit.
  const phases = new Map();
  const showState = () => {
    state.textContent = [...phases.values()].map((one) => {
      const text = one.name + ": " + (words[one.phase] || one.phase);
      return one.left > 0 ? text + ", " + Math.round(one.left) + " s left" : text;
    }).join("; ");
  };
  const source = new EventSource("/events");
  source.onopen = () => { rows.textContent = ""; messages.textContent = ""; jobs.clear(); };
  source.onmessage = (message) => {
    const one = JSON.parse(message.data);
    if (one.event === "interval") {
      addRow(one);
      addPoint(one);
      drawAll();
      const now = phases.get(one.job);
      if (now && now.phase === one.phase && now.length) {
        now.left = now.length - one.start_s - one.length_s;
        showState();
      }
    } else if (one.event === "phase") {
      if (phases.size && [...phases.values()][0].step !== one.step) phases.clear();
      phases.set(one.job, { step: one.step, name: one.name, phase: one.phase, length: (one.length_ns || 0) / 1e9, left: (one.length_ns || 0) / 1e9 });
      showState();
      addMessage(one.name + ": " + (words[one.phase] || one.phase));
    }
    else if (one.event === "preparing") state.textContent = "Preparing " + one.target + ": " + Math.floor(100 * one.done / Math.max(one.total, 1)) + " %";
    else if (one.event === "prepared") addMessage(one.target + ": " + one.how);
    else if (one.event === "notice") addMessage(one.finding.rule + ": " + one.finding.what);
    else if (one.event === "summary") { state.textContent = "The run has ended."; source.close(); }
  };
  source.onerror = () => { if (source.readyState !== EventSource.OPEN) state.textContent = "The run has ended or is unreachable."; };
})();
