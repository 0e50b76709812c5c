//! The page of one run.

mod commands;
mod first_screen;
mod fleet;
mod jobs;
mod latency;
mod next_step;
mod quality;
mod repetition;
mod required;
mod resources;
mod settings;
mod time;

use model::Nanos;
use model::diagnosis::{JobDiagnosis, LimitTable};
use model::finding::{Finding, Severity};
use model::observation::Observation;
use model::results::{JobResults, Results};

use super::chart::{Chart, Mark};
use super::page::{Block, Clause, Line, Page, Section, Table, Verdict, mark_title};
use super::path;
use crate::numbers::{count, duration, format_rough, format_time, local_time};
use crate::summary::{Figures, JobSummary, LatencyFigures, Percentile, PercentileSupport, Summary};
use crate::{diagnosis, words};

pub use commands::{complete_advice, complete_sweep, permit_overwrite, run_command};
pub(crate) use first_screen::SCOPE;
pub use first_screen::{NAME_LABEL, advise_judging, describe_region, requirement_from_result, title_of_loads};
pub use latency::{nines, percentile_axis, percentile_curve};
use next_step::describe_place;
pub use next_step::{KEEP_AND_REPEAT, locate_commands, name_place, name_program};
pub use repetition::{add_options, name_of_repetition, names_output, repeat_command};
pub use required::{mark_limits, mark_mean, mark_required};
pub use resources::{PlanePoint, plane_chart, plane_chart_of_jobs};
pub use settings::{repeat_section, settings_section, tool_name};
pub(crate) use time::merge_into_columns;

/// Number of jobs whose sections are not folded.
const OPEN_JOBS: usize = 4;
/// Further jobs get tables only, so that the page stays readable and opens in any browser.
const MAX_JOBS_WITH_CHARTS: usize = 64;
/// From this average share on, a queue counts as full.
const FULL_QUEUE_SHARE: f64 = 0.98;
/// Percentiles of the table.
const PERCENTILES: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// Parts of a run's page in addition to its results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageContext {
    /// Whether the requirements were met.
    pub verdict: Verdict,
    /// Comparison with typical results of such storage, in sentences; may be empty.
    pub comparison: String,
    /// Other programs that disturbed the test: `the other programs (tar, dd)`.
    pub other_programs: Option<String>,
    /// The limit of each job.
    pub diagnoses: Vec<JobDiagnosis>,
    /// Level shifts of the jobs' rates.
    pub changes: Vec<Change>,
    /// Operations per second of the first job outside of its stalls, if it had some.
    pub calm_iops: Option<f64>,
}

/// A level shift of a job's rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Index of the step.
    pub step: usize,
    /// Index of the job in its step.
    pub job: usize,
    /// Seconds from the start of the measured window.
    pub at_secs: f64,
    /// Description of the shift.
    pub words: String,
}

/// The job or step of a chart, as part of its identifier and, if there are several, of its title.
pub(super) struct ChartScope {
    prefix: String,
    name: Option<String>,
}

impl ChartScope {
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

/// Creates the page of a run.
pub fn create_page(results: &Results, context: &PageContext) -> Page {
    let summary = Summary::from_results(results);
    let mut sections = Vec::new();
    sections.extend(overview_section(&summary));
    for (step, step_results) in results.steps.iter().enumerate() {
        for job in 0..step_results.jobs.len() {
            sections.extend(job_section(results, &summary, context, step, job));
        }
    }
    sections.extend(fleet::fleet_section(results, &summary));
    sections.extend(plane_section(results, &summary));
    sections.extend(paths_section(results, context));
    sections.extend(results.shared_limits.iter().map(shared_limits_section));
    sections.extend(limits_section(context));
    sections.extend(settings::system_section(results, &summary));
    sections.extend(repeat_section(results));
    sections.extend(settings_section(&[("plan".to_owned(), results)]));
    sections.extend(settings::equivalents_section(results));
    let main = without_repetitions(&summary, results, context);
    let quality = quality::assess_quality(context, &main);
    let judge = |quality: &Verdict| first_screen::advise_judgement(quality, context, results, &main);
    let next = quality.as_ref().and_then(judge);
    let mut page = Page {
        title: mark_title(
            words::describe_simulation(&results.plan),
            &first_screen::run_title(&main),
        ),
        charts: Vec::new(),
        table: None,
        about: first_screen::describe_run(results, &main),
        verdict: quality.unwrap_or_else(|| first_screen::add_scope(&context.verdict, &main)),
        lead: fleet::lost_hosts_lead(results)
            .into_iter()
            .chain(first_screen::lead_entries(context, results, &main))
            .chain(next)
            .chain(next_step::next_step(context, results))
            .collect(),
        tiles: first_screen::summary_tiles(&main, &context.verdict)
            .into_iter()
            .chain(fleet::fleet_tile(results))
            .collect(),
        findings: first_screen::complete_findings(results, &main, &context.verdict),
        sections,
        downloads: settings::list_downloads(results),
        provenance: provenance(&summary),
    };
    locate_commands(&mut page, results);
    let size = bytes_per_operation(&main, &page.sections);
    mark_required(&mut page, size);
    let promoted = jobs::promoted_charts(&main, summary.jobs.len() > 1);
    page.promote_charts(&promoted.iter().map(String::as_str).collect::<Vec<_>>());
    page
}

/// The bytes per operation of the only job, if its charts show no throughput because all operations
/// have this size.
fn bytes_per_operation(summary: &Summary, sections: &[Section]) -> Option<f64> {
    let [job] = &summary.jobs[..] else { return None };
    let blocks = sections.iter().flat_map(|section| &section.blocks);
    let mut charts = blocks.filter_map(|block| match block {
        Block::Chart(chart) => Some(chart),
        _ => None,
    });
    let total = &job.total;
    let is_known = total.bytes > 0 && !charts.any(|chart| is_throughput(chart));
    is_known.then_some(total.bytes as f64 / total.operations as f64)
}

/// Leaves out the jobs that `--confirm` repeats at twice the depth. They are evidence for the
/// diagnosis of the others, and have none.
fn without_repetitions(summary: &Summary, results: &Results, context: &PageContext) -> Summary {
    let mut main = summary.clone();
    let is_diagnosed = |job: &JobSummary| context.diagnoses.iter().any(|diagnosis| diagnosis.step == job.step);
    let is_repeated = results.plan.origin.arguments.iter().any(|word| word == "--confirm");
    if is_repeated && main.jobs.iter().any(is_diagnosed) {
        main.jobs.retain(is_diagnosed);
    }
    main
}

/// Description of a run, for pages of several runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// Load and target.
    pub title: String,
    /// Load, targets, time and machine, one line each.
    pub about: Vec<String>,
    /// Its targets.
    pub targets: String,
    /// The command line; empty if there was none.
    pub arguments: Vec<String>,
    /// The warnings of the checks.
    pub warnings: Vec<Finding>,
    /// The mark of simulated storage, if its target is simulated.
    pub simulation: Option<&'static str>,
    /// Where its command ran: `On host vm, in /data:`; `None` if unknown.
    pub place: Option<String>,
    /// Names of other programs that disturbed it.
    pub other_programs: Vec<String>,
}

impl Head {
    /// Describes a run.
    pub fn from_results(results: &Results) -> Head {
        let summary = Summary::from_results(results);
        Head {
            title: first_screen::run_title(&summary),
            about: first_screen::describe_run(results, &summary),
            targets: first_screen::list_targets(&summary),
            arguments: results.plan.origin.arguments.clone(),
            warnings: results
                .findings
                .iter()
                .filter(|finding| finding.severity != Severity::Note)
                .cloned()
                .collect(),
            simulation: words::describe_simulation(&results.plan),
            place: describe_place(results),
            other_programs: Vec::new(),
        }
    }
}

/// Describes the origin of a report: program, version, test, time, machine, seed.
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

/// Creates a table of a job's load and its CPU cost.
fn cost_table(summary: &Summary, job: &JobSummary) -> Table {
    let total = &job.total;
    let mut rows = vec![(
        "measured".to_owned(),
        format!(
            "{}, {} operations{}",
            duration(job.measured_ns),
            count(total.operations),
            format_errors(total)
        ),
    )];
    rows.extend(job.in_flight.map(|in_flight| {
        let full = if in_flight >= FULL_QUEUE_SHARE * job.depth as f64 {
            ": the queue was full"
        } else {
            ""
        };
        let words = format!("{in_flight:.1} of {} on average{full}", count(job.depth));
        ("in flight".to_owned(), words)
    }));
    rows.extend(job.flush.as_ref().map(|flush| {
        let format_percentile = |percent: f64| percentile_cell(&flush.latency, percent);
        let words = format!(
            "{}, mean {}, p50 {}, p99 {}, maximum {}; no latency of a write includes its flush",
            count(flush.operations),
            format_time(flush.latency.mean_ns),
            format_percentile(50.0),
            format_percentile(99.0),
            Nanos(flush.latency.max_ns)
        );
        ("flushes".to_owned(), words)
    }));
    let commit = job.commit_ns().map(|ns| format!("mean {}", format_time(ns)));
    rows.extend(commit.map(|words| ("commits, each a write and its flush".to_owned(), words)));
    let cpus: u32 = summary.hosts.iter().map(|host| host.cpus).sum();
    if cpus > 0 {
        let cpu_time = format_time(job.cpu.user_ns_per_operation + job.cpu.system_ns_per_operation);
        let words = format!("{:.2} of {cpus}, {cpu_time} per operation", job.cpu.processors);
        rows.push(("CPUs used by this test".into(), words));
    }
    Table::from_pairs("Load and cost", rows)
}

fn format_errors(figures: &Figures) -> String {
    match figures.errors {
        0 => String::new(),
        errors => format!(", {} failed", count(errors)),
    }
}

/// Formats a percentile, with a mark if it is weakly supported.
fn format_percentile(value: &Percentile) -> String {
    match value.support {
        PercentileSupport::Good => Nanos(value.ns).to_string(),
        PercentileSupport::Weak => format!("~{}", Nanos(value.ns)),
        PercentileSupport::None => "too few operations".into(),
    }
}

/// A cell of a table: a narrow one, because a job on files has many columns.
fn percentile_cell(latency: &LatencyFigures, percent: f64) -> String {
    let known = latency.percentile(percent);
    known
        .filter(|value| value.support != PercentileSupport::None)
        .map_or("-".into(), |value| format_percentile(&value))
}

/// A throughput; `-` for operations that transfer nothing.
fn throughput_cell(figures: &Figures, value: f64) -> String {
    match figures.bytes {
        0 => "-".to_owned(),
        _ => format_rough(value),
    }
}

/// Creates a table with a row for each job, if there are several.
fn overview_section(summary: &Summary) -> Option<Section> {
    if summary.jobs.len() < 2 {
        return None;
    }
    let row = |job: &JobSummary| {
        let total = &job.total;
        let format_percentile = |percent: f64| percentile_cell(&total.latency, percent);
        vec![
            match summary.jobs.last().is_some_and(|last| last.step > 0) {
                true => format!("step {}, {}", job.step + 1, job.name),
                false => job.name.clone(),
            },
            job.operations.clone(),
            format_rough(total.iops),
            throughput_cell(total, total.mb_per_sec),
            throughput_cell(total, total.mib_per_sec),
            format_time(total.latency.mean_ns),
            format_percentile(50.0),
            format_percentile(99.0),
            job.in_flight.map_or("-".into(), |average| format!("{average:.1}")),
        ]
    };
    let head = [
        "job", "load", "IOPS", "MB/s", "MiB/s", "mean", "median", "p99", "in flight",
    ];
    let table = Table::new("Jobs", &head, summary.jobs.iter().map(row).collect());
    Some(Section::new("Jobs", vec![Block::Table(table)]))
}

fn job_section(
    results: &Results,
    summary: &Summary,
    context: &PageContext,
    step: usize,
    job: usize,
) -> Option<Section> {
    let job_results = results.steps.get(step)?.jobs.get(job)?;
    let planned = results.plan.steps.get(step)?.jobs.get(job)?;
    let number = results.steps[..step].iter().map(|step| step.jobs.len()).sum::<usize>() + job;
    let figures = summary.jobs.get(number)?;
    let several = summary.jobs.len() > 1;
    let scope = ChartScope {
        prefix: if several {
            format!("s{step}j{job}-")
        } else {
            String::new()
        },
        name: several.then(|| job_results.name.clone()),
    };
    let mut blocks = vec![
        Block::Table(figures_table(figures)),
        Block::Table(cost_table(summary, figures)),
    ];
    if let Some(observation) = Observation::from_results(results, step, job).filter(|_| number < MAX_JOBS_WITH_CHARTS) {
        let changes = context
            .changes
            .iter()
            .filter(|change| (change.step, change.job) == (step, job));
        let marks: Vec<Mark> = changes
            .map(|change| time::time_mark(change.at_secs, &change.words))
            .collect();
        let is_mean = |clause: &Clause| matches!(clause.line, Some(Line::Latency(_)));
        let with_mean = context.verdict.clauses.iter().any(is_mean);
        let mut drawn: Vec<Chart> = job_charts(results, &scope, job_results, (&observation, with_mean), &marks)
            .into_iter()
            .flatten()
            .collect();
        let layers = find_diagnosis(context, step, job).map_or(&[][..], |found| &found.diagnosis.layers);
        let iops = figures.total.iops;
        let iops_alone = (!drawn.iter().any(is_throughput)).then_some(iops);
        let has_mean = context.verdict.clauses.is_empty() && figures.total.service.is_none();
        for chart in &mut drawn {
            let is_rate = chart.id.ends_with("iops");
            if is_rate || is_throughput(chart) {
                mark_limits(chart, layers, &context.verdict, iops_alone);
            }
            if is_rate && has_mean {
                mark_mean(chart, iops);
            }
        }
        blocks.extend(drawn.into_iter().filter_map(|chart| Block::chart_block(Some(chart))));
    }
    Some(Section {
        title: if several {
            job_results.name.clone()
        } else {
            "Measurements".into()
        },
        about: format!(
            "{}. {}; {}.",
            figures.operations,
            figures.load,
            words::describe_phases(planned)
        ),
        folded: number >= OPEN_JOBS,
        blocks,
    })
}

fn is_throughput(chart: &Chart) -> bool {
    chart.id.ends_with("throughput")
}

fn job_charts(
    results: &Results,
    scope: &ChartScope,
    job_results: &JobResults,
    (observation, with_mean): (&Observation, bool),
    marks: &[Mark],
) -> Vec<Option<Chart>> {
    let directions = job_results.directions();
    let paced = directions
        .iter()
        .any(|(_, direction)| direction.as_ref().is_some_and(|direction| direction.response.is_some()));
    // A single interval shows no course, and its axis would be empty.
    let [iops, bytes] = match observation.series.len() {
        0 | 1 => [None, None],
        _ => time::rate_charts(scope, job_results, observation, marks),
    };
    vec![
        iops,
        bytes,
        time::latency_charts(scope, job_results, (paced, with_mean), marks),
        time::heat_chart(scope, job_results),
        latency::percentile_charts(scope, &directions),
        resources::target_chart(scope, &resources::rates_by_target(results, job_results)),
    ]
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
    row("IOPS", &|figures| format_rough(figures.iops));
    row("MB/s (10^6)", &|figures| throughput_cell(figures, figures.mb_per_sec));
    row("MiB/s (2^20)", &|figures| throughput_cell(figures, figures.mib_per_sec));
    if columns.iter().any(|(_, figures)| figures.errors > 0) {
        row("failed", &|figures| count(figures.errors));
    }
    if columns.iter().any(|(_, figures)| figures.late > 0) {
        row("issued late", &|figures| count(figures.late));
    }
    latency_rows(&mut row, job.total.service.is_some());
    rows.retain(|row| row[1..].iter().any(|cell| cell != "-"));
    let is_percentile = |row: &&Vec<String>| row[0].contains(", p");
    let has_gaps = rows.iter().filter(is_percentile).flatten().any(|cell| cell == "-");
    Table {
        caption: match has_gaps {
            true => "Figures (percentiles with - : too few operations)".into(),
            false => "Figures".into(),
        },
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
    let format_latency =
        |value: fn(&LatencyFigures) -> u64| move |figures: &Figures| Nanos(value(&figures.latency)).to_string();
    row(&name("fastest"), &format_latency(|latency| latency.min_ns));
    row(&name("mean"), &|figures| format_time(figures.latency.mean_ns));
    for percent in PERCENTILES {
        row(&name(&format!("p{percent}")), &|figures| {
            percentile_cell(&figures.latency, percent)
        });
    }
    row(
        &name("slowest (one operation)"),
        &format_latency(|latency| latency.max_ns),
    );
    if paced {
        row("from issue to completion, mean", &|figures| {
            figures
                .service
                .as_ref()
                .map_or("-".into(), |service| format_time(service.mean_ns))
        });
        row("from issue to completion, p99", &|figures| {
            let service = figures.service.as_ref();
            service.map_or("-".into(), |service| percentile_cell(service, 99.0))
        });
    }
}

fn plane_section(results: &Results, summary: &Summary) -> Option<Section> {
    let points: Vec<PlanePoint> = Observation::all(results)
        .iter()
        .filter_map(PlanePoint::from_observation)
        .collect();
    let chart = plane_chart_of_jobs("plane", "Rate and latency", &points)?;
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
    let head = ["job", "configured", "achieved"];
    blocks.push(Block::Table(Table::new("Operations in flight", &head, depth)));
    Some(Section::new("Rate, latency and queue depth", blocks))
}

fn find_diagnosis(context: &PageContext, step: usize, job: usize) -> Option<&JobDiagnosis> {
    context
        .diagnoses
        .iter()
        .find(|diagnosis| (diagnosis.step as usize, diagnosis.job as usize) == (step, job))
}

fn paths_section(results: &Results, context: &PageContext) -> Option<Section> {
    let mut blocks = Vec::new();
    for (step, step_results) in results.steps.iter().enumerate() {
        for job in 0..step_results.jobs.len() {
            if blocks.len() < OPEN_JOBS {
                let diagnosis = find_diagnosis(context, step, job).map(|job_diagnosis| &job_diagnosis.diagnosis);
                blocks.extend(path::build_io_path(results, step, job, diagnosis).map(Block::Path));
            }
        }
    }
    let has_bottleneck = |block: &Block| match block {
        Block::Path(path) => path.layers.iter().any(|layer| layer.binds),
        _ => false,
    };
    let border = match blocks.iter().any(has_bottleneck) {
        true => " The bottleneck has a thick border.",
        false => "",
    };
    (!blocks.is_empty()).then(|| Section {
        title: "I/O path".into(),
        about: format!("The layers between this program and the medium.{border}"),
        blocks,
        ..Section::default()
    })
}

/// Creates the section on limits that concurrent jobs share.
pub fn shared_limits_section(table: &LimitTable) -> Section {
    let block = |caption: &str, mut rows: Vec<Vec<String>>| {
        let head = rows.remove(0);
        Block::Table(Table {
            caption: caption.into(),
            head,
            rows,
        })
    };
    let mut blocks: Vec<Block> = table.sentences.iter().cloned().map(Block::Text).collect();
    blocks.push(block("The storage below each job", diagnosis::format_job_rows(table)));
    blocks.push(block("Use of each limit", diagnosis::limit_rows(table)));
    Section::new(diagnosis::table_title(table), blocks)
}

/// Creates the section with the evidence of each diagnosis.
fn limits_section(context: &PageContext) -> Option<Section> {
    let mut blocks = Vec::new();
    for job in &context.diagnoses {
        let diagnosis = &job.diagnosis;
        blocks.push(Block::Text(format!(
            "{}: {}",
            job.name,
            diagnosis::format_sentence(&diagnosis.sentence)
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
                .map(|evidence| vec!["evidence".into(), diagnosis::format_evidence(evidence)]),
        );
        rows.extend(
            diagnosis
                .layers
                .iter()
                .map(|layer| vec!["limit".into(), diagnosis::format_limit(layer)]),
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
            caption: format!("Evidence: {}", job.name),
            head: Vec::new(),
            rows,
        }));
    }
    (!blocks.is_empty()).then(|| Section::folded("Evidence for the bottleneck", blocks))
}
