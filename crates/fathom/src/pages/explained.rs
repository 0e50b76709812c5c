//! The page of a result of another tool.

use analysis::verdict::Outcome;
use model::Nanos;
use model::finding::Finding;
use model::observation::{IoStats, Observation};
use model::shell_word;
use model::stats::{Support, support};
use report::diagnosis::format_sentence;
use report::html::chart::{Axis, Chart, Form, Series, Tone, time_unit};
use report::html::page::{self, Block, Download, Lead, Page, Section, Table, Tile, Verdict};
use report::html::path::io_path_of_report;
use report::html::run::{
    KEEP_AND_REPEAT, PlanePoint, advise_judging, mark_limits, mark_mean, mark_required, nines, percentile_axis,
    plane_chart_of_jobs, requirement_from_result, shared_limits_section, title_of_loads,
};
use report::numbers::{duration, duration_with_unit, format_rough, format_time, local_time, rate, throughput};
use study::explain::{DISCLAIMER, ExplainedLoad, Explanation};

mod advice;

pub use advice::complete_advice;
use advice::{format_load_arguments, permit_writes};

/// Quantiles of sources with a whole distribution.
const SHOWN_QUANTILES: [f64; 10] = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// Builds the page of a result of another tool. `promised` describes the promise that judges it.
pub fn build_page(explanation: &Explanation, promised: &str) -> Page {
    let source = &explanation.source;
    let several = explanation.loads.len() > 1;
    let judged = explanation.loads.iter();
    let judged = judged.filter_map(|load| Some((load.observation.name.as_str(), load.verdict.as_ref()?, load.length)));
    let judged: Vec<_> = judged.collect();
    let is_judged = !judged.is_empty();
    let worst = study::suite::worst(judged.iter().map(|(_, verdict, _)| verdict.outcome));
    let verdict = super::verdict_of_jobs(promised, &judged, worst);
    let mut verdict = verdict.unwrap_or_else(|| assess(explanation));
    let busy = describe_busy_processors(explanation, &verdict);
    verdict.notes.extend(busy);
    verdict.notes.extend(describe_scope(explanation));
    let about = describe_source(explanation);
    let mut findings: Vec<Finding> = explanation.findings().cloned().collect();
    // It questions every other figure.
    findings.sort_by_key(|finding| finding.rule != "BUFFERED");
    let loads = explanation.loads.iter().enumerate();
    let mut sections: Vec<Section> = loads
        .map(|(number, load)| build_section(number, load, several, &verdict))
        .collect();
    sections.extend(explanation.shared_limits.iter().map(shared_limits_section));
    sections.extend(build_plane_section(explanation));
    let disclaimer = vec![Block::Text(DISCLAIMER.into())];
    sections.push(Section::new("What these figures do not show", disclaimer));
    let mut page = Page {
        table: None,
        title: describe_loads(explanation).unwrap_or_else(|| source.file.clone()),
        charts: Vec::new(),
        about,
        lead: {
            let limits = explanation.loads.iter().take(4).map(|load| build_lead(load, several));
            let next = match is_judged {
                true => advise_next_step(explanation, &verdict),
                false => advise_judgement(explanation),
            };
            limits.chain([next]).collect()
        },
        verdict,
        tiles: if several {
            Vec::new()
        } else {
            explanation
                .loads
                .iter()
                .flat_map(|load| build_tiles(&load.observation))
                .collect()
        },
        findings,
        sections,
        downloads: vec![Download::json(
            "explanation.json".into(),
            "All input and computed figures (JSON)",
            serde_json::to_string_pretty(explanation).unwrap_or_default(),
        )],
        provenance: format!("{}, read by fathom {}", source.file, env!("CARGO_PKG_VERSION")),
    };
    mark_required(&mut page, bytes_per_operation(explanation));
    if !several {
        page.promote_charts(&["iops", "percentiles"]);
    }
    page
}

/// The bytes per operation of a single load.
fn bytes_per_operation(explanation: &Explanation) -> Option<f64> {
    let [only] = &explanation.loads[..] else { return None };
    let total = &only.observation.total;
    Some(total.bytes_per_sec? / total.iops.filter(|iops| *iops > 0.0)?)
}

/// Describes the source, its time and its load, one line each.
fn describe_source(explanation: &Explanation) -> Vec<String> {
    let source = &explanation.source;
    let mut about = vec![format!("{}, {}", source.file, source.form)];
    let length = match &explanation.loads[..] {
        [only] => only
            .observation
            .measured_ns
            .map(|length| format!("measured for {}", duration(length))),
        _ => None,
    };
    let moment = source.started.as_deref().map(local_time);
    let host = source.host.as_ref().map(|host| format!("host {host}"));
    let when: Vec<String> = host.into_iter().chain(moment).chain(length).collect();
    about.extend((!when.is_empty()).then(|| when.join("; ")));
    about.extend(source.commands.iter().cloned());
    if let [only] = &explanation.loads[..] {
        about.extend(only.sentences.first().cloned());
    }
    about
}

fn build_plane_section(explanation: &Explanation) -> Option<Section> {
    let loads = explanation.loads.iter();
    let points: Vec<PlanePoint> = loads
        .filter_map(|load| PlanePoint::from_observation(&load.observation))
        .collect();
    let chart = Block::chart_block(plane_chart_of_jobs("plane", "Rate and latency", &points))?;
    Some(Section::new("Rate, latency and queue depth", vec![chart]))
}

/// Assesses a result without a promise.
fn assess(explanation: &Explanation) -> Verdict {
    let [only] = &explanation.loads[..] else {
        return Verdict::default();
    };
    let observation = &only.observation;
    let (word, tone, sentence) = match is_buffered(observation) {
        true => {
            let total = &observation.total;
            let rate = total.iops.map(|iops| format!("{} IOPS", format_rough(iops)));
            let mean = total.user_latency().and_then(|latency| latency.mean_ns);
            let figures: Vec<String> = rate.into_iter().chain(mean.map(format_time)).collect();
            let figures = match &figures[..] {
                [] => "the figures".to_owned(),
                figures => figures.join(" and "),
            };
            let sentence =
                format!("The operating system's cache was in use, so {figures} are not figures of the storage.");
            ("NOT THE STORAGE", page::Tone::Unsure, sentence)
        }
        false => (
            "MEASURED",
            page::Tone::Plain,
            super::compare_with_typical(observation).unwrap_or_default(),
        ),
    };
    Verdict::new(word, tone, sentence)
}

fn is_buffered(observation: &Observation) -> bool {
    observation.load.direct == Some(false)
}

/// States what it means that every processor was busy. Such load slows a test, so a PASS holds.
fn describe_busy_processors(explanation: &Explanation, verdict: &Verdict) -> Option<String> {
    let mut findings = explanation.findings();
    let busy = findings.find(|finding| finding.rule == "CPU-BUSY" && !finding.what.contains(": "))?;
    Some(match verdict.tone.is_pass() {
        true => format!(
            "{}, which slows a test: the PASS holds, but the storage may be faster.",
            format_sentence(&busy.what).trim_end_matches('.')
        ),
        false => format!("Do not rely on these figures: {} (see Findings).", busy.what),
    })
}

/// States what was measured: `Tested: 3 s, without a warm-up, on 32 MiB of data05.`
fn describe_scope(explanation: &Explanation) -> Option<String> {
    let [only] = &explanation.loads[..] else { return None };
    let load = &only.observation.load;
    let mut parts = vec![duration_with_unit(only.observation.measured_ns?)];
    parts.extend((load.warm_up_ns == Some(Nanos(0))).then(|| "without a warm-up".to_owned()));
    if let [target] = &load.targets[..] {
        let size = load.size.map_or_else(String::new, |size| format!("{size} of "));
        parts.push(format!("on {size}{target}"));
    }
    let is_small = only.findings.iter().any(|finding| finding.rule == "SMALL-FILE");
    parts.extend(is_small.then(|| "which caches can hold".to_owned()));
    Some(format!("Tested: {}.", parts.join(", ")))
}

/// Options of fio and of DiskSpd against a finding.
const OPTIONS_AGAINST: [(&str, &str, &str); 4] = [
    ("BUFFERED", "direct=1", "-Sh"),
    ("SHORT-RUN", "runtime=300, time_based", "-d300"),
    ("NO-WARM-UP", "ramp_time=30", "-W30"),
    ("SMALL-FILE", "a larger size=", "a larger -c"),
];

/// Advises to repeat a weak test with other options of its own tool.
fn advise_repetition(explanation: &Explanation) -> Option<String> {
    let [only] = &explanation.loads[..] else { return None };
    let tool = only.observation.tool.to_lowercase();
    let rules: Vec<&str> = explanation.findings().map(|finding| finding.rule.as_str()).collect();
    // Without these two, the figures are those of the storage for a long enough time.
    if !rules.iter().any(|rule| ["BUFFERED", "SHORT-RUN"].contains(rule)) {
        return None;
    }
    let options = OPTIONS_AGAINST.iter().filter(|(rule, ..)| rules.contains(rule));
    let options: Vec<&str> = options
        .filter_map(|(_, fio, diskspd)| match tool.as_str() {
            "fio" => Some(*fio),
            "diskspd" => Some(*diskspd),
            _ => None,
        })
        .collect();
    let (last, others) = options.split_last()?;
    Some(match others {
        [] => format!("Repeat the test with {last}."),
        others => format!("Repeat the test with {} and {last}.", others.join(", ")),
    })
}

/// Options of fio against a finding, with their values.
const FIO_OPTIONS_AGAINST: [(&str, &[(&str, &str)]); 3] = [
    ("BUFFERED", &[("direct", "1")]),
    ("SHORT-RUN", &[("runtime", "300"), ("time_based", "")]),
    ("NO-WARM-UP", &[("ramp_time", "30")]),
];

/// The command that repeats the only job of a report of fio with other options.
fn repeat_with_fio(explanation: &Explanation) -> Option<String> {
    let [only] = &explanation.loads[..] else { return None };
    let source = &explanation.source;
    let mut options = source.job_options.clone();
    if options.is_empty() || only.observation.tool != "fio" {
        return None;
    }
    let rules: Vec<&str> = explanation.findings().map(|finding| finding.rule.as_str()).collect();
    let changes = FIO_OPTIONS_AGAINST.iter().filter(|(rule, _)| rules.contains(rule));
    for (name, value) in changes.flat_map(|(_, changes)| changes.iter()) {
        options.retain(|(option, _)| option != name);
        options.push(((*name).to_owned(), (*value).to_owned()));
    }
    let is_small = rules.contains(&"SMALL-FILE");
    for (_, size) in options.iter_mut().filter(|(name, _)| is_small && name == "size") {
        "SIZE".clone_into(size);
    }
    options.retain(|(name, _)| name != "name");
    let words = options.iter().map(|(name, value)| match value.as_str() {
        "" => format!(" --{name}"),
        value => format!(" {}", shell_word(&format!("--{name}={value}"))),
    });
    let words: String = words.collect();
    let name = format!("--name={}", only.observation.name);
    let larger = match is_small {
        true => ", with a larger size=",
        false => "",
    };
    Some(format!(
        "to repeat it{larger}: `fio {}{words} --output-format=json --output=again.json`",
        shell_word(&name)
    ))
}

/// Advises the next step after a result without a promise: the command that judges by one.
fn advise_judgement(explanation: &Explanation) -> Lead {
    let only = match &explanation.loads[..] {
        [only] => Some(&only.observation),
        _ => None,
    };
    let limits =
        only.and_then(|observation| Some(requirement_from_result(observation.total.iops?, find_p99(observation))));
    let file = shell_word(&explanation.source.file);
    let judge = |limits: &str| format!("fathom report {file} --require {limits} -o page.html");
    let advice = match limits {
        // Limits from the figures of a cache say nothing about the storage.
        Some(_) if only.is_some_and(is_buffered) => None,
        Some(limits) => Some(advise_judging(&judge(&limits))),
        None => Some(format!(
            "judge it by your own limits instead of these: `{}`",
            judge("'iops>=4000,p99<=3ms'")
        )),
    };
    let repetition = advise_repetition(explanation);
    let command = repetition.as_ref().and_then(|_| repeat_with_fio(explanation));
    Lead {
        topic: "What next".into(),
        sentence: repetition.unwrap_or_default(),
        advice: command.into_iter().chain(advice).collect(),
    }
}

/// Finds the p99, with its name in requirements: of all operations, or else of each direction.
fn find_p99(observation: &Observation) -> Vec<(String, f64)> {
    let value = |flow: &IoStats| flow.user_latency()?.quantile(0.99);
    match value(&observation.total) {
        Some(value) => vec![("p99".to_owned(), value)],
        None => {
            let flows = observation.directions.iter();
            let flows = flows.filter_map(|(direction, flow)| Some((direction, value(flow.as_ref()?)?)));
            flows
                .map(|(direction, value)| (format!("{}.p99", direction.word()), value))
                .collect()
        }
    }
}

/// Joins the requirement to a command-line argument.
fn join_requirement(explanation: &Explanation) -> String {
    let verdicts = explanation.loads.iter().filter_map(|load| load.verdict.as_ref());
    let mut clauses: Vec<&str> = Vec::new();
    for verdict in verdicts.flat_map(|verdict| &verdict.clauses) {
        if !clauses.contains(&verdict.clause.text.as_str()) {
            clauses.push(&verdict.clause.text);
        }
    }
    shell_word(&clauses.join(",")).into_owned()
}

/// Advises the next step after a verdict, with a command.
fn advise_next_step(explanation: &Explanation, verdict: &Verdict) -> Lead {
    let require = join_requirement(explanation);
    let measure = match &explanation.loads[..] {
        [only] => format_load_arguments(&only.observation).map(|load| {
            let command = format!("`fathom verify {load} --require {require} --report page.html`");
            permit_writes(&command, &only.observation)
        }),
        _ => None,
    };
    let worst = study::suite::worst(
        explanation
            .loads
            .iter()
            .filter_map(|load| Some(load.verdict.as_ref()?.outcome)),
    );
    let repetition = advise_repetition(explanation);
    // The options are those of fathom.
    let actions = verdict.actions.iter();
    let actions = actions.map(|action| format_sentence(action.split(": --").next().unwrap_or(action)));
    // The options of the repetition include this.
    let includes = |action: &String| {
        let included = ["Repeat without the operating system's cache", "Repeat for the full"];
        repetition.is_some() && included.into_iter().any(|start| action.starts_with(start))
    };
    let mut sentences: Vec<String> = actions.filter(|action| !includes(action)).collect();
    sentences.extend(match (worst, &repetition) {
        (Outcome::Pass, None) => Some(KEEP_AND_REPEAT.to_owned()),
        (Outcome::Fail, _) => Some("Remove the limit and repeat.".to_owned()),
        (_, repetition) => repetition.clone(),
    });
    if worst != Outcome::Pass || repetition.is_some() {
        sentences.push("Or measure with fathom, which also reads the device's own counters:".into());
    }
    Lead {
        topic: "What next".into(),
        sentence: sentences.join(" "),
        advice: {
            let command = repetition.and_then(|_| repeat_with_fio(explanation));
            measure.into_iter().chain(command).collect()
        },
    }
}

/// Describes the loads, and their target if they have the same; `None` if the source lacks it.
fn describe_loads(explanation: &Explanation) -> Option<String> {
    let loads = || explanation.loads.iter().map(|load| &load.observation);
    let first = loads().next()?;
    let is_shared = loads().all(|observation| observation.load.targets == first.load.targets);
    let target = match &first.load.targets[..] {
        [target] if is_shared => format!(" — {target}"),
        _ => String::new(),
    };
    let mut words: Vec<String> = loads().map(describe_load).collect::<Option<_>>()?;
    let words = match words.len() {
        1 => words.remove(0),
        _ => title_of_loads(words),
    };
    Some(words + &target)
}

fn describe_load(observation: &Observation) -> Option<String> {
    let load = &observation.load;
    let order = if load.random? { "random" } else { "sequential" };
    let mix = match load.read_percent? {
        100.0 => "reads".to_owned(),
        0.0 => "writes".to_owned(),
        percent => format!("operations, {percent:.0} % reads"),
    };
    let depth = load.depth.map_or_else(String::new, |depth| format!(", QD {depth}"));
    Some(format!("{} {order} {mix}{depth}", load.block?))
}

fn build_lead(load: &ExplainedLoad, several: bool) -> Lead {
    Lead {
        topic: match several {
            true => format!("What limits {}", load.observation.name),
            false => "What limits it".into(),
        },
        sentence: format_sentence(&load.diagnosis.sentence),
        advice: complete_advice(load),
    }
}

fn build_tiles(observation: &Observation) -> Vec<Tile> {
    let total = &observation.total;
    let mut tiles = Vec::new();
    tiles.extend(total.iops.map(|iops| {
        Tile::new(
            "Operations per second",
            format!("{} IOPS", format_rough(iops)),
            String::new(),
        )
    }));
    tiles.extend(total.bytes_per_sec.map(|bytes| {
        let mib = format!("{} MiB/s", format_rough(bytes / f64::from(1 << 20)));
        Tile::new("Throughput", format!("{} MB/s", format_rough(bytes / 1e6)), mib)
    }));
    let latency = total.user_latency();
    let in_flight = analysis::identities::estimate_queue_fill(observation).map(|found| {
        let depth_text = found.depth.map_or_else(String::new, |depth| format!(" of {depth}"));
        format!("{:.1}{depth_text} in flight on average", found.in_flight)
    });
    tiles.extend(
        latency
            .and_then(|latency| latency.mean_ns)
            .map(|mean| Tile::new("Mean latency", format_time(mean), in_flight.unwrap_or_default())),
    );
    // With separate figures for reads and writes, shows the slower ones.
    let p99 = find_p99(observation);
    let slowest = p99.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    tiles.extend(slowest.map(|(name, value)| {
        let note = match name.strip_suffix(".p99") {
            Some(direction) if p99.len() > 1 => format!("{direction}s, the slower ones"),
            _ => String::new(),
        };
        Tile::new("99 % took no longer than", format_time(*value), note)
    }));
    tiles
}

fn build_section(number: usize, load: &ExplainedLoad, several: bool, verdict: &Verdict) -> Section {
    let observation = &load.observation;
    let id = |chart: &str| {
        if several {
            format!("l{number}-{chart}")
        } else {
            chart.to_owned()
        }
    };
    // The head of the page describes a single load.
    let sentences = load.sentences.iter().skip(usize::from(!several));
    let mut blocks: Vec<Block> = sentences.cloned().map(Block::Text).collect();
    blocks.push(Block::Table(build_figures_table(observation)));
    if !load.limits.is_empty() {
        let rows = load.limits.iter().map(|limit| {
            vec![
                limit.layer.clone(),
                format!("{:.1} %", 100.0 * limit.share),
                limit.source.clone(),
            ]
        });
        let table = Table::new("Known limits", &["limit", "used", "source"], rows.collect());
        blocks.push(Block::Table(table));
    }
    blocks.extend(io_path_of_report(observation, &load.diagnosis).map(Block::Path));
    for chart in [
        build_rate_chart(&id("iops"), load, verdict),
        build_percentile_chart(&id("percentiles"), observation),
        build_core_chart(&id("cores"), observation),
    ] {
        blocks.extend(Block::chart_block(chart));
    }
    Section {
        title: if several {
            observation.name.clone()
        } else {
            "Measurements".into()
        },
        folded: number >= 8,
        blocks,
        ..Section::default()
    }
}

fn build_figures_table(observation: &Observation) -> Table {
    let mut columns: Vec<(String, &IoStats)> = observation
        .directions
        .iter()
        .filter_map(|(direction, flow)| Some((format!("{}s", direction.word()), flow.as_ref()?)))
        .collect();
    if columns.len() != 1 {
        columns.push(("all".into(), &observation.total));
    }
    let has_completion = |flow: &IoStats| flow.user_latency().is_some_and(|latency| latency.completion.is_some());
    let [median, p99, p999] = match columns.iter().any(|(_, flow)| has_completion(flow)) {
        true => ["median (clat)", "p99 (clat)", "p99.9 (clat)"],
        false => ["median", "p99", "p99.9"],
    };
    type Value = fn(&IoStats) -> Option<String>;
    let rows: [(&str, Value); 9] = [
        ("operations", |flow| flow.operations.map(report::numbers::count)),
        ("IOPS", |flow| flow.iops.map(rate)),
        ("MB/s (10^6)", |flow| {
            flow.bytes_per_sec.map(|bytes| throughput(bytes / 1e6))
        }),
        ("MiB/s (2^20)", |flow| {
            flow.bytes_per_sec.map(|bytes| throughput(bytes / f64::from(1 << 20)))
        }),
        ("mean", |flow| flow.user_latency()?.mean_ns.map(format_time)),
        (median, |flow| flow.user_latency()?.quantile(0.5).map(format_time)),
        (p99, |flow| flow.user_latency()?.quantile(0.99).map(format_time)),
        (p999, |flow| flow.user_latency()?.quantile(0.999).map(format_time)),
        ("slowest (one operation)", |flow| {
            flow.user_latency()?.max_ns.map(format_time)
        }),
    ];
    let row = |(name, value): (&str, Value)| {
        let values = columns
            .iter()
            .map(|(_, flow)| value(flow).unwrap_or_else(|| "-".into()));
        std::iter::once(name.to_owned()).chain(values).collect()
    };
    Table {
        caption: "Figures in the source".into(),
        head: std::iter::once(String::new())
            .chain(columns.iter().map(|(name, _)| name.clone()))
            .collect(),
        rows: rows.into_iter().map(row).collect(),
    }
}

fn build_rate_chart(id: &str, load: &ExplainedLoad, verdict: &Verdict) -> Option<Chart> {
    let observation = &load.observation;
    if observation.series.len() < 2 {
        return None;
    }
    let points = observation
        .series
        .iter()
        .map(|point| (point.start_ns.as_secs(), point.iops()));
    let mut chart = Chart {
        id: id.into(),
        title: "Operations per second over time".into(),
        about: "The report's interval series.".into(),
        x: Axis::linear("time in the measured window", "s"),
        y: Axis::from_zero("IOPS", "IOPS"),
        series: vec![Series::new("all", Form::Steps, points).tone(Tone::Total)],
        ..Chart::default()
    };
    let iops = observation.total.iops;
    mark_limits(&mut chart, &load.diagnosis.layers, verdict, iops);
    if let Some(iops) = iops.filter(|_| verdict.clauses.is_empty() && observation.load.rate_iops.is_none()) {
        mark_mean(&mut chart, iops);
    }
    Some(chart)
}

fn build_percentile_chart(id: &str, observation: &Observation) -> Option<Chart> {
    let flows = observation
        .directions
        .iter()
        .filter_map(|(direction, flow)| Some((format!("{}s", direction.word()), flow.as_ref()?)));
    let mut curves: Vec<(String, Vec<(f64, f64)>)> = flows
        .map(|(name, flow)| (name, list_quantiles(flow)))
        .filter(|(_, points)| points.len() > 1)
        .collect();
    if curves.is_empty() {
        curves = vec![("all".into(), list_quantiles(&observation.total))];
    }
    let slowest = curves
        .iter()
        .flat_map(|(_, points)| points)
        .map(|point| point.1)
        .fold(0.0, f64::max);
    let (unit, ns) = time_unit(slowest / 4.0);
    // An axis of nines cannot show the maximum.
    let shown = |point: &&(f64, f64)| point.0 < 1.0;
    let line = |(name, points): &(String, Vec<(f64, f64)>)| {
        let points = points.iter().filter(shown);
        let mut line = Series::new(
            name.as_str(),
            Form::Points,
            points.clone().map(|(share, value)| (nines(*share), value / ns)),
        );
        let words = points.map(|(share, _)| format!("{} % took no longer", (share * 1e8).round() / 1e6));
        line.words = words.collect();
        line
    };
    let furthest = curves.iter().flat_map(|(_, points)| points.iter().filter(shown));
    let furthest = furthest.map(|(share, _)| nines(*share)).fold(0.0, f64::max);
    let chart = Chart {
        id: id.into(),
        title: "Latency by percentile".into(),
        about: "The report's percentiles: at p99, 99 % took no longer. Percentiles with fewer than \
            ten operations beyond them are omitted."
            .into(),
        x: percentile_axis(furthest),
        y: Axis::log("latency", unit),
        series: curves.iter().map(line).collect(),
        ..Chart::default()
    };
    (!chart.is_empty()).then_some(chart)
}

/// Lists the source's quantiles with enough operations beyond them, or those of its whole
/// distribution.
fn list_quantiles(flow: &IoStats) -> Vec<(f64, f64)> {
    let Some(latency) = flow.user_latency() else {
        return Vec::new();
    };
    let operations = latency.samples.or(flow.operations);
    let is_supported = |share: f64| operations.is_none_or(|n| support(share, n) != Support::None);
    match latency.quantiles.is_empty() {
        false => {
            // A minimum that includes the submission may exceed the lowest percentiles.
            let is_possible = |value: f64| latency.min_ns.is_none_or(|min| value >= min);
            let stated = latency.quantiles.iter();
            let shown = stated.filter(|(share, value)| is_supported(*share) && is_possible(*value));
            shown.copied().collect()
        }
        true => SHOWN_QUANTILES
            .iter()
            .filter_map(|share| Some((*share, latency.quantile(*share)?)))
            .collect(),
    }
}

fn build_core_chart(id: &str, observation: &Observation) -> Option<Chart> {
    type Part = fn(&model::observation::CoreShare) -> f64;
    let parts: [(&str, Part, Tone); 2] = [
        ("programs", |core| core.user, Tone::Read),
        ("kernel", |core| core.kernel, Tone::Write),
    ];
    let cpu_time_series = |(words, part, tone): (&str, Part, Tone)| {
        let bars = observation
            .cores
            .iter()
            .map(|core| (format!("CPU {}", core.cpu), Some(100.0 * part(core))));
        Series::over_names(words, Form::Stack, bars).tone(tone)
    };
    (!observation.cores.is_empty()).then(|| Chart {
        id: id.into(),
        title: "Processors".into(),
        about: "The report's utilisation of each processor.".into(),
        x: Axis::names("processor"),
        y: Axis::from_zero("busy", "%"),
        series: parts.into_iter().map(cpu_time_series).collect(),
        ..Chart::default()
    })
}
