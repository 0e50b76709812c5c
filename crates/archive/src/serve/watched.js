// Shows the stream of a run. Everything becomes text: nothing that comes in is markup.
(() => {
  const MAX_ROWS = 60;
  const state = document.getElementById("state"), rows = document.getElementById("intervals"), messages = document.getElementById("messages");
  const rate = (value) => Math.round(value).toLocaleString("en");
  const time = (ns) => (ns >= 1e9 ? (ns / 1e9).toFixed(2) + " s" : ns >= 1e6 ? (ns / 1e6).toFixed(2) + " ms" : ns >= 1e3 ? (ns / 1e3).toFixed(1) + " us" : ns + " ns");
  const words = { warm_up: "warm-up", measured: "measuring", cool_down: "cool-down", delay: "start delay", verify: "verification", draining: "draining" };
  const say = (text) => {
    const item = document.createElement("li");
    item.textContent = text;
    messages.prepend(item);
    while (messages.children.length > MAX_ROWS) messages.lastChild.remove();
  };
  const interval = (one) => {
    const row = document.createElement("tr");
    const mib = (one.read_bytes_per_sec + one.write_bytes_per_sec) / 1048576;
    const cells = [one.name, words[one.phase] || one.phase, (one.start_s + one.length_s).toFixed(1) + " s", rate(one.read_iops), rate(one.write_iops),
      mib.toFixed(1), time(one.latency_p50_ns), time(one.latency_p99_ns), time(one.latency_max_ns)];
    for (const text of cells) row.appendChild(document.createElement("td")).textContent = text;
    rows.prepend(row);
    while (rows.children.length > MAX_ROWS) rows.lastChild.remove();
  };
  const source = new EventSource("/events");
  source.onopen = () => { rows.textContent = ""; messages.textContent = ""; };
  source.onmessage = (message) => {
    const one = JSON.parse(message.data);
    if (one.event === "interval") interval(one);
    else if (one.event === "phase") { state.textContent = one.name + ": " + (words[one.phase] || one.phase); say(state.textContent); }
    else if (one.event === "preparing") state.textContent = "Preparing " + one.target + ": " + Math.floor(100 * one.done / Math.max(one.total, 1)) + " %";
    else if (one.event === "prepared") say(one.target + ": " + one.how);
    else if (one.event === "notice") say(one.finding.rule + ": " + one.finding.what);
    else if (one.event === "summary") { state.textContent = "The run is over."; source.close(); }
  };
  source.onerror = () => { if (source.readyState !== EventSource.OPEN) state.textContent = "The run is over, or cannot be reached any more."; };
})();
