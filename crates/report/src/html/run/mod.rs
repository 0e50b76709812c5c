//! The page of one run.

mod first_screen;
mod fleet;
mod latency;
mod resources;
mod settings;
mod time;

use std::collections::BTreeMap;

use model::diagnosis::{JobDiagnosis, LimitTable};
use model::observation::Observation;
use model::results::{JobResults, Results};
use model::{Direction, Nanos};

use super::chart::{Across, Chart, Mark, Tone, unit_ns};
use super::page::{Block, Line, Page, Section, Table, Verdict};
use super::path;
use crate::numbers::{count, duration, local_time, rate, rough, throughput, time as time_words};
use crate::summary::{Figures, JobSummary, LatencyFigures, Percentile, PercentileSupport, Summary};
use crate::{diagnosis, words};

pub use first_screen::{KEEP_AND_REPEAT, complete_advice, complete_sweep, limits_just_kept, with_options};
pub use latency::{nines, percentile_axis, percentile_curve};
pub use resources::{PlanePoint, plane};
pub use settings::called;
pub(crate) use time::columns;

/// Jobs that have their charts open when the page opens.
const OPEN_JOBS: usize = 4;
/// Of more jobs than these only the tables are shown: the page must stay readable, and open in any
/// browser.
const MAX_JOBS_WITH_CHARTS: usize = 64;
/// A queue of which so much was used on average was full.
const FULL: f64 = 0.98;
/// A known limit is drawn if the load used so much of it.
const NEAR: f64 = 0.5;
/// Percentiles of the table.
const SHOWN: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// What is known of a run beside its results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beside {
    /// Whether what was promised is kept.
    pub verdict: Verdict,
    /// How the result compares with what such storage usually delivers, in sentences; may be empty.
    pub usual: String,
    /// What limited each job.
    pub diagnoses: Vec<JobDiagnosis>,
    /// Moments at which a job's rate changed its level, in seconds of its measured window.
    pub changes: Vec<Change>,
}

/// A moment at which the rate of a job changed its level.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Index of the step.
    pub step: usize,
    /// Index of the job in its step.
    pub job: usize,
    /// Seconds from the start of the measured window.
    pub at_secs: f64,
    /// The change in words.
    pub words: String,
}

/// The job of a chart: part of its identifier, and of its title where there are several.
pub(super) struct Place {
    prefix: String,
    name: Option<String>,
}

impl Place {
    fn id(&self, chart: &str) -> String {
        format!("{}{chart}", self.prefix)
    }

    fn title(&self, title: &str) -> String {
        match &self.name {
            None => title.to_owned(),
            Some(name) => format!("{title}: {name}"),
        }
    }
}

pub(super) fn tone_of(direction: Direction) -> Tone {
    match direction {
        Direction::Read => Tone::Read,
        Direction::Write => Tone::Write,
        Direction::Trim => Tone::Trim,
    }
}

/// The page of a run.
pub fn page(results: &Results, beside: &Beside) -> Page {
    let summary = Summary::from_results(results);
    let mut sections = Vec::new();
    sections.extend(overview(&summary));
    for (step, found) in results.steps.iter().enumerate() {
        for job in 0..found.jobs.len() {
            sections.extend(job_section(results, &summary, beside, step, job));
        }
    }
    sections.extend(fleet::section(results, &summary));
    sections.extend(plane_section(results, &summary));
    sections.extend(paths(results, beside));
    sections.extend(results.shared_limits.iter().map(shared_limits));
    sections.extend(limits(beside));
    sections.push(settings::system(results, &summary));
    sections.push(settings::settings(results, &summary));
    sections.extend(settings::commands(results));
    let mut page = Page {
        title: first_screen::title(results, &summary),
        charts: Vec::new(),
        about: first_screen::about(results, &summary),
        verdict: first_screen::with_scope(&beside.verdict, &summary),
        lead: fleet::lead(results)
            .into_iter()
            .chain(first_screen::worth(beside, results, &summary))
            .chain(first_screen::lead(beside, results, &summary))
            .chain(first_screen::next(&beside.verdict, results))
            .collect(),
        tiles: first_screen::tiles(&summary)
            .into_iter()
            .chain(fleet::tile(results))
            .collect(),
        findings: first_screen::complete_findings(results, &summary),
        sections,
        downloads: settings::downloads(results),
        provenance: provenance(&summary),
    };
    mark_promises(&mut page);
    if summary.jobs.len() == 1 {
        page.raise_charts(&["iops", "percentiles"]);
    }
    page
}

/// What a run was, for pages of several runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Load and target.
    pub title: String,
    /// What and where it was, a line each.
    pub about: Vec<String>,
    /// The words of the command line; empty if there was none.
    pub arguments: Vec<String>,
}

impl Head {
    /// The head of the page of a run.
    pub fn from_results(results: &Results) -> Head {
        let summary = Summary::from_results(results);
        Head {
            title: first_screen::title(results, &summary),
            about: first_screen::about(results, &summary),
            arguments: results.plan.origin.arguments.clone(),
        }
    }
}

/// Draws what was promised into the charts of its figure.
fn mark_promises(page: &mut Page) {
    let blocks = page.sections.iter_mut().flat_map(|section| &mut section.blocks);
    let charts = blocks.filter_map(|block| match block {
        Block::Chart(chart) => Some(chart),
        _ => None,
    });
    for chart in charts {
        let place = |line: Line| match line {
            Line::Iops(rate) => chart.id.ends_with("iops").then_some(rate),
            Line::Throughput(bytes) => chart.id.ends_with("throughput").then_some(bytes / 1e6),
            Line::Latency(ns) => chart
                .id
                .ends_with("latency-over-time")
                .then_some(ns / unit_ns(&chart.y.unit)),
        };
        let marks = page.verdict.clauses.iter().filter_map(|clause| {
            Some(Mark {
                across: Across::Y,
                at: place(clause.line?)?,
                to: None,
                words: crate::numbers::group_thousands(&clause.promised),
                tone: Tone::Limit,
            })
        });
        let marks: Vec<Mark> = marks.collect();
        chart.marks.extend(marks);
    }
}

/// What made a report, of what, when.
pub fn provenance(summary: &Summary) -> String {
    let host = summary
        .hosts
        .first()
        .map(|host| format!(", on {}", host.name))
        .unwrap_or_default();
    format!(
        "{} {} (engine revision {}), {}, {}{host}, seed {}",
        summary.tool.name,
        summary.tool.version,
        summary.tool.engine_revision,
        summary.name,
        local_time(&summary.started),
        summary.seed
    )
}

/// What a job's load cost, and how much of it there was.
fn cost_table(summary: &Summary, job: &JobSummary) -> Table {
    let total = &job.total;
    let mut rows = vec![(
        "measured".to_owned(),
        format!(
            "{}, {} operations{}",
            duration(job.measured_ns),
            count(total.operations),
            errors(total)
        ),
    )];
    rows.extend(job.in_flight.map(|in_flight| {
        let full = if in_flight >= FULL * job.depth as f64 {
            ": the queue was full"
        } else {
            ""
        };
        let words = format!("{in_flight:.1} of {} on average{full}", count(job.depth));
        ("in flight".to_owned(), words)
    }));
    rows.extend(job.flush.as_ref().map(|flush| {
        let at = |percent: f64| {
            flush
                .latency
                .percentile(percent)
                .map_or("-".into(), |one| percentile(&one))
        };
        let words = format!(
            "{}, mean {}, p50 {}, p99 {}, maximum {}",
            count(flush.operations),
            time_words(flush.latency.mean_ns),
            at(50.0),
            at(99.0),
            Nanos(flush.latency.max_ns)
        );
        ("flushes".to_owned(), words)
    }));
    let cpus: u32 = summary.hosts.iter().map(|host| host.cpus).sum();
    if cpus > 0 {
        let each = time_words(job.cpu.user_ns_per_operation + job.cpu.system_ns_per_operation);
        let words = format!("{:.2} of {cpus}, {each} per operation", job.cpu.processors);
        rows.push(("CPUs used by this test".into(), words));
    }
    Table::of_pairs("Load and cost", rows)
}

fn errors(figures: &Figures) -> String {
    match figures.errors {
        0 => String::new(),
        errors => format!(", {} failed", count(errors)),
    }
}

/// A percentile with a mark where it is weak.
fn percentile(one: &Percentile) -> String {
    match one.support {
        PercentileSupport::Good => Nanos(one.ns).to_string(),
        PercentileSupport::Weak => format!("~{}", Nanos(one.ns)),
        PercentileSupport::None => "unsupported".into(),
    }
}

/// A row for each job, where there are several.
fn overview(summary: &Summary) -> Option<Section> {
    if summary.jobs.len() < 2 {
        return None;
    }
    let row = |job: &JobSummary| {
        let total = &job.total;
        let at = |percent: f64| {
            total
                .latency
                .percentile(percent)
                .map_or("-".into(), |one| percentile(&one))
        };
        vec![
            match summary.jobs.last().is_some_and(|last| last.step > 0) {
                true => format!("step {}, {}", job.step + 1, job.name),
                false => job.name.clone(),
            },
            job.operations.clone(),
            rate(total.iops),
            throughput(total.mb_per_sec),
            throughput(total.mib_per_sec),
            time_words(total.latency.mean_ns),
            at(50.0),
            at(99.0),
            job.in_flight.map_or("-".into(), |average| format!("{average:.1}")),
        ]
    };
    Some(Section {
        title: "Jobs".into(),
        blocks: vec![Block::Table(Table {
            caption: "Every job".into(),
            head: [
                "job", "load", "IOPS", "MB/s", "MiB/s", "mean", "median", "p99", "in flight",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows: summary.jobs.iter().map(row).collect(),
        })],
        ..Section::default()
    })
}

fn job_section(results: &Results, summary: &Summary, beside: &Beside, step: usize, job: usize) -> Option<Section> {
    let found = results.steps.get(step)?.jobs.get(job)?;
    let asked = results.plan.steps.get(step)?.jobs.get(job)?;
    let number = results.steps[..step].iter().map(|step| step.jobs.len()).sum::<usize>() + job;
    let figures = summary.jobs.get(number)?;
    let several = summary.jobs.len() > 1;
    let place = Place {
        prefix: if several {
            format!("s{step}j{job}-")
        } else {
            String::new()
        },
        name: several.then(|| found.name.clone()),
    };
    let mut blocks = vec![
        Block::Table(figures_table(figures)),
        Block::Table(cost_table(summary, figures)),
    ];
    if let Some(seen) = Observation::from_results(results, step, job).filter(|_| number < MAX_JOBS_WITH_CHARTS) {
        let changes = beside
            .changes
            .iter()
            .filter(|change| (change.step, change.job) == (step, job));
        let marks: Vec<Mark> = changes
            .map(|change| time::moment(change.at_secs, &change.words))
            .collect();
        let mut drawn: Vec<Chart> = charts(results, &place, found, &seen, &marks)
            .into_iter()
            .flatten()
            .collect();
        let rates = drawn.iter_mut().filter(|chart| chart.id.ends_with("iops"));
        rates.for_each(|chart| chart.marks.extend(rate_lines(figures, beside, step, job)));
        blocks.extend(drawn.into_iter().filter_map(|chart| Block::chart(Some(chart))));
    }
    Some(Section {
        title: if several {
            found.name.clone()
        } else {
            "What was measured".into()
        },
        about: format!("{}. {}; {}.", figures.operations, figures.load, words::phases(asked)),
        folded: number >= OPEN_JOBS,
        blocks,
    })
}

/// Lines in a chart of rates: known limits that the load came near, and the mean unless there is a
/// promise.
fn rate_lines(figures: &JobSummary, beside: &Beside, step: usize, job: usize) -> Vec<Mark> {
    let line = |at: f64, words: String, tone: Tone| Mark {
        across: Across::Y,
        at,
        to: None,
        words,
        tone,
    };
    let layers = diagnosis_of(beside, step, job).map_or(&[][..], |one| &one.diagnosis.layers);
    // The rate that the test sets itself is the promise, or the line itself.
    let near = layers
        .iter()
        .filter(|layer| layer.unit == "IOPS" && layer.share >= NEAR && layer.source != "the test itself");
    let limits = near.map(|layer| {
        line(
            layer.limit,
            format!("{}: {}", layer.layer, rate(layer.limit)),
            Tone::Other,
        )
    });
    let mean = beside.verdict.clauses.is_empty() && figures.total.service.is_none();
    let mean = mean.then(|| {
        line(
            figures.total.iops,
            format!("mean {}", rough(figures.total.iops)),
            Tone::Total,
        )
    });
    limits.chain(mean).collect()
}

fn charts(
    results: &Results,
    place: &Place,
    found: &JobResults,
    seen: &Observation,
    marks: &[Mark],
) -> Vec<Option<Chart>> {
    let directions = found.directions();
    let paced = directions
        .iter()
        .any(|(_, one)| one.as_ref().is_some_and(|one| one.response.is_some()));
    let [iops, bytes] = time::rates(place, found, seen, marks);
    vec![
        iops,
        bytes,
        Some(time::latencies(place, found, paced, marks)),
        time::heat(place, found),
        latency::percentiles(place, &directions),
        latency::cumulative(place, &directions),
        resources::targets(place, &by_target(results, found)),
        found
            .in_flight()
            .and_then(|in_flight| resources::side_by_side(place, in_flight.average, found.total().total.mean())),
    ]
}

/// Rates of each target of a job whose streams have one target each: name, operations and millions
/// of bytes per second.
fn by_target(results: &Results, found: &JobResults) -> Vec<(String, f64, f64)> {
    let mut sums: BTreeMap<u32, (u32, f64, f64)> = BTreeMap::new();
    for worker in &found.workers {
        let seconds = worker.measured_ns.as_secs();
        for stream in &worker.streams {
            let [target] = stream.targets[..] else {
                return Vec::new();
            };
            let (mut operations, mut bytes) = (0.0, 0.0);
            for (_, direction) in stream.directions.iter() {
                if let Some(direction) = direction.as_ref().filter(|_| seconds > 0.0) {
                    operations += direction.operations as f64 / seconds;
                    bytes += direction.bytes.0 as f64 / seconds / 1e6;
                }
            }
            let sum = sums.entry(target).or_insert((worker.rank, 0.0, 0.0));
            *sum = (sum.0, sum.1 + operations, sum.2 + bytes);
        }
    }
    let name = |target: u32, rank: u32| {
        let target = results.plan.targets.get(target as usize);
        let path = target.map_or("", |target| &target.path);
        // The same name stands for another target on each host.
        let rank_of = |fleet: &'_ model::fleet::Fleet| {
            let facts = fleet.ranks.get(rank as usize)?;
            Some(format!("{rank} {}: {path}", facts.host))
        };
        let of_rank = results.fleet.as_ref().and_then(rank_of);
        of_rank.unwrap_or_else(|| path.to_owned())
    };
    sums.into_iter()
        .map(|(target, (rank, operations, bytes))| (name(target, rank), operations, bytes))
        .collect()
}

fn figures_table(job: &JobSummary) -> Table {
    let plural = |(name, figures)| {
        let name = match name {
            "read" if job.files.is_empty() => "reads",
            "write" if job.files.is_empty() => "writes",
            "trim" => "trims",
            other => other,
        };
        (name, figures)
    };
    let mut columns: Vec<(&str, &Figures)> = job.kinds().into_iter().map(plural).collect();
    if columns.len() != 1 {
        columns.push(("all", &job.total));
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, value: &dyn Fn(&Figures) -> String| {
        let values = columns.iter().map(|(_, figures)| value(figures));
        rows.push(std::iter::once(name.to_owned()).chain(values).collect());
    };
    row("operations", &|figures| count(figures.operations));
    row("IOPS", &|figures| rate(figures.iops));
    row("MB/s (10^6)", &|figures| throughput(figures.mb_per_sec));
    row("MiB/s (2^20)", &|figures| throughput(figures.mib_per_sec));
    if columns.iter().any(|(_, figures)| figures.errors > 0) {
        row("failed", &|figures| count(figures.errors));
    }
    if columns.iter().any(|(_, figures)| figures.late > 0) {
        row("due and not issued in time", &|figures| count(figures.late));
    }
    latency_rows(&mut row, job.total.service.is_some());
    Table {
        caption: "Figures".into(),
        head: std::iter::once("")
            .chain(columns.iter().map(|(name, _)| *name))
            .map(str::to_owned)
            .collect(),
        rows,
    }
}

/// Adds a row to a table: its name, and its value in each column.
type AddRow<'a> = dyn FnMut(&str, &dyn Fn(&Figures) -> String) + 'a;

fn latency_rows(row: &mut AddRow<'_>, paced: bool) {
    let name = |what: &str| match paced {
        true => format!("response time, {what}"),
        false => format!("latency, {what}"),
    };
    let of = |value: fn(&LatencyFigures) -> u64| move |figures: &Figures| Nanos(value(&figures.latency)).to_string();
    row(&name("fastest"), &of(|latency| latency.min_ns));
    row(&name("mean"), &|figures| time_words(figures.latency.mean_ns));
    for percent in SHOWN {
        row(&name(&format!("p{percent}")), &|figures| {
            figures
                .latency
                .percentile(percent)
                .map_or("-".into(), |one| percentile(&one))
        });
    }
    row(&name("slowest (one operation)"), &of(|latency| latency.max_ns));
    if paced {
        row("from issue to completion, mean", &|figures| {
            figures
                .service
                .as_ref()
                .map_or("-".into(), |service| time_words(service.mean_ns))
        });
    }
}

fn plane_section(results: &Results, summary: &Summary) -> Option<Section> {
    let points: Vec<PlanePoint> = Observation::all(results)
        .iter()
        .filter_map(PlanePoint::from_observation)
        .collect();
    let chart = plane("plane", "Rate and latency", &points)?;
    let mut blocks = vec![Block::Chart(Box::new(chart))];
    let depth: Vec<Vec<String>> = summary
        .jobs
        .iter()
        .filter_map(|job| {
            Some(vec![
                job.name.clone(),
                count(job.depth),
                format!("{:.2}", job.in_flight?),
            ])
        })
        .collect();
    blocks.push(Block::Table(Table {
        caption: "Operations in flight".into(),
        head: ["job", "configured", "achieved"].map(str::to_owned).to_vec(),
        rows: depth,
    }));
    Some(Section {
        title: "Rate, latency and queue depth".into(),
        blocks,
        ..Section::default()
    })
}

fn diagnosis_of(beside: &Beside, step: usize, job: usize) -> Option<&JobDiagnosis> {
    beside
        .diagnoses
        .iter()
        .find(|one| (one.step as usize, one.job as usize) == (step, job))
}

fn paths(results: &Results, beside: &Beside) -> Option<Section> {
    let mut blocks = Vec::new();
    for (step, found) in results.steps.iter().enumerate() {
        for job in 0..found.jobs.len() {
            if blocks.len() < OPEN_JOBS {
                let diagnosis = diagnosis_of(beside, step, job).map(|one| &one.diagnosis);
                blocks.extend(path::io_path(results, step, job, diagnosis).map(Block::Path));
            }
        }
    }
    (!blocks.is_empty()).then(|| Section {
        title: "The path of an operation".into(),
        about: "What an operation goes through, from this program to the medium. The bottleneck has a thick border."
            .into(),
        blocks,
        ..Section::default()
    })
}

/// Limits that jobs share which ran at the same time.
pub fn shared_limits(table: &LimitTable) -> Section {
    let block = |caption: &str, mut rows: Vec<Vec<String>>| {
        let head = rows.remove(0);
        Block::Table(Table {
            caption: caption.into(),
            head,
            rows,
        })
    };
    let mut blocks: Vec<Block> = table.sentences.iter().cloned().map(Block::Text).collect();
    blocks.push(block("The storage below each job", diagnosis::job_rows(table)));
    blocks.push(block("What the jobs use of each limit", diagnosis::limit_rows(table)));
    Section {
        title: diagnosis::table_title(table).into(),
        blocks,
        ..Section::default()
    }
}

/// The figures behind what limits.
fn limits(beside: &Beside) -> Option<Section> {
    let mut blocks = Vec::new();
    for one in &beside.diagnoses {
        let diagnosis = &one.diagnosis;
        blocks.push(Block::Text(format!(
            "{}: {}",
            one.name,
            diagnosis::sentence(&diagnosis.sentence)
        )));
        let confirmed = match diagnosis.confirmed {
            Some(true) => "confirmed",
            Some(false) => "not confirmed",
            None => "not tried",
        };
        let mut rows = vec![vec!["rule".into(), diagnosis.answer.rule().to_owned()]];
        rows.push(vec!["a second run at twice the depth".into(), confirmed.into()]);
        rows.extend(
            diagnosis
                .evidence
                .iter()
                .map(|evidence| vec!["evidence".into(), diagnosis::evidence_words(evidence)]),
        );
        rows.extend(
            diagnosis
                .layers
                .iter()
                .map(|layer| vec!["limit".into(), diagnosis::limit_words(layer)]),
        );
        rows.extend(
            diagnosis
                .also
                .iter()
                .map(|also| vec![format!("also {}", also.rule), also.what.clone()]),
        );
        rows.extend(
            diagnosis
                .missing
                .iter()
                .map(|missing| vec!["not judged".into(), missing.clone()]),
        );
        blocks.push(Block::Table(Table {
            caption: format!("Evidence: {}", one.name),
            head: Vec::new(),
            rows,
        }));
    }
    (!blocks.is_empty()).then(|| Section {
        title: "What limits it: the evidence".into(),
        folded: true,
        blocks,
        ..Section::default()
    })
}
