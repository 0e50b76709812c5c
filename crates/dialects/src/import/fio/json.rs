//! Reads fio's JSON of 3.x, with or without bins.

use model::finding::{Finding, Severity};
use model::observation::{BreakdownEntry, Concurrency, GeneratorCost, IoStats, Load, Observation};
use model::{Direction, Nanos, PerDirection};
use serde_json::Value;

use super::json_flows::{EntryFlows, parse_milliseconds, read_device, read_directions, sum_short_operations};
use super::{Options, completion_percentiles_finding, failed_job_finding, is_synchronous, merged_jobs_finding};
use crate::Diagnostic;
use crate::import::{Form, Imported, embedded, flow_sum, problem_at};

/// A report entry, with its job, group and options.
struct Entry {
    name: String,
    group: u64,
    options: Options,
    flows: EntryFlows,
    processor: Option<f64>,
    error: u64,
    errors: Option<u64>,
    short: Option<u64>,
    depth_level_one: Option<f64>,
    /// Run time of all its clones together.
    clone_time: Nanos,
}

/// Reads the last document of the text.
///
/// # Errors
/// The position where the JSON is malformed.
pub(in crate::import) fn read(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    let range = embedded::find_fio_json(text).unwrap_or(0..text.len());
    let before = embedded::line_number(text, range.start) - 1;
    let document: Value = serde_json::from_str(&text[range.clone()]).map_err(|error| {
        let line = text[range.clone()]
            .lines()
            .nth(error.line().saturating_sub(1))
            .unwrap_or_default();
        let message = format!("cannot parse the JSON: {error}");
        let problem = problem_at(file, error.line() + before, line, message);
        vec![problem.help("run fio again with --output=FILE: this report is truncated or edited")]
    })?;
    let mut imported = Imported::new(Form::FioJson);
    imported.started = document.get("time").and_then(Value::as_str).map(str::to_owned);
    // The text has no time zone.
    imported.started_unix_secs = document.get("timestamp").and_then(Value::as_u64);
    let version = document.get("fio version").and_then(Value::as_str).map(str::to_owned);
    let global = read_options(document.get("global options"));
    let listed = document.get("jobs").or_else(|| document.get("client_stats"));
    let listed = listed.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let entries: Vec<Entry> = listed.iter().filter_map(|job| read_entry(job, &global)).collect();
    let many_groups = entries.iter().any(|entry| entry.group != entries[0].group);
    let mut runs: Vec<&[Entry]> = Vec::new();
    runs.extend(
        entries.chunk_by(|entry, next| entry.name == next.name && entry.group == next.group && !is_grouped(entry)),
    );
    for run in &runs {
        let mut load = combine_clones(run, version.clone());
        if let (Some(measured), false) = (load.measured_ns, many_groups) {
            load.device = read_device(&document, measured);
        }
        imported.findings.extend(check_clones(run));
        imported.loads.push(load);
    }
    if let [only] = &runs[..] {
        imported.job_options.clone_from(&only[0].options.0);
    }
    let sums = sum_groups(&imported.loads, &runs, version);
    imported.loads.extend(sums);
    let failed = entries
        .iter()
        .filter_map(|entry| failed_job_finding(&entry.name, entry.error));
    imported.findings.extend(failed);
    Ok(imported)
}

fn is_grouped(entry: &Entry) -> bool {
    entry.options.flag("group_reporting").unwrap_or(false)
}

fn read_options(value: Option<&Value>) -> Options {
    let pairs = value.and_then(Value::as_object).into_iter().flatten();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Options(
        pairs
            .filter_map(|(name, value)| Some((name.clone(), text(value)?)))
            .collect(),
    )
}

fn read_entry(job: &Value, global: &Options) -> Option<Entry> {
    let job_options = read_options(job.get("job options"));
    let name = job.get("jobname").and_then(Value::as_str).unwrap_or("job");
    let cpu = |key: &str| job.get(key).and_then(Value::as_f64);
    // The sum over all clients would count them twice.
    if name == "All clients" {
        return None;
    }
    let level = job
        .get("iodepth_level")
        .and_then(|levels| levels.get("1"))
        .and_then(Value::as_f64);
    let mut options = Options(global.0.iter().chain(&job_options.0).cloned().collect());
    // The default engine on Windows is asynchronous. The depths that were reached show the engine's
    // kind.
    if options.get("ioengine").is_none() && level.is_some_and(|share| share > 0.0 && share < 99.0) {
        options.0.push(("ioengine".into(), "windowsaio".into()));
    }
    Some(Entry {
        name: name.to_owned(),
        group: job.get("groupid").and_then(Value::as_u64).unwrap_or(0),
        options,
        flows: read_directions(job)?,
        processor: cpu("usr_cpu")
            .zip(cpu("sys_cpu"))
            .map(|(user, system)| (user + system) / 100.0),
        error: job.get("error").and_then(Value::as_u64).unwrap_or(0),
        errors: job.get("total_err").and_then(Value::as_u64),
        short: sum_short_operations(job),
        depth_level_one: level,
        clone_time: parse_milliseconds(job, "job_runtime").unwrap_or_default(),
    })
}

/// Combines the entries of the clones of a job.
fn combine_clones(clones: &[Entry], version: Option<String>) -> Observation {
    let first = &clones[0];
    let is_single_clone = clones.len() == 1;
    let workers = if is_single_clone {
        // fio 3.33 omits `group_reporting` from its JSON. Without it, each clone has an entry.
        first.options.clones()
    } else {
        clones.len() as u32
    };
    let totals: Vec<&IoStats> = clones.iter().map(|clone| &clone.flows.total).collect();
    let covers_several_jobs = first.covers_several_jobs();
    let clones_per_entry = f64::from(workers) / clones.len() as f64;
    let with_all_clones = |flow: IoStats| IoStats {
        iops_deviation: flow
            .iops_deviation
            .filter(|_| !covers_several_jobs)
            .map(|deviation| deviation * clones_per_entry),
        ..flow
    };
    let busy: Vec<f64> = clones.iter().filter_map(|clone| clone.processor).collect();
    let single = workers as usize == clones.len() && busy.len() == clones.len();
    Observation {
        tool: "fio".into(),
        version,
        name: first.name.clone(),
        load: match covers_several_jobs {
            // The options are those of the last job.
            true => Load::default(),
            false => first.options.load(&first.name, workers),
        },
        started_unix_ns: None,
        measured_ns: flow_sum::longest_time(clones.iter().map(|clone| clone.flows.measured)),
        directions: PerDirection::from_fn(|direction| {
            let parts = clones.iter().map(|clone| &clone.flows.directions);
            flow_sum::sum_direction(parts, direction).map(with_all_clones)
        }),
        total: flow_sum::sum(&totals).map(with_all_clones).unwrap_or_default(),
        breakdown: if is_single_clone {
            Vec::new()
        } else {
            list_breakdown(clones)
        },
        generator: single.then(|| GeneratorCost {
            busiest_worker: busy.iter().copied().fold(0.0, f64::max),
            processors: busy.iter().sum(),
            ceiling_iops: None,
        }),
        errors: clones
            .iter()
            .map(|clone| clone.errors.or((clone.error == 0).then_some(0)))
            .sum(),
        short: clones.iter().map(|clone| clone.short).sum(),
        concurrency: Some(Concurrency {
            group: group_number(first.group),
            start_ns: first.options.window_start(),
            is_sum: false,
        }),
        ..Observation::default()
    }
}

fn group_number(group: u64) -> u32 {
    u32::try_from(group).unwrap_or(u32::MAX)
}

impl Entry {
    /// True if its figures prove that `group_reporting` merged several jobs into it.
    fn covers_several_jobs(&self) -> bool {
        let has_direction = |direction: Direction| self.flows.directions[direction].is_some();
        // Verification reads what a job wrote.
        let is_verified = self.options.get("verify").is_some();
        let has_foreign_direction = self.options.access().is_some_and(|kind| {
            has_direction(Direction::Read) && !kind.reads && !is_verified
                || has_direction(Direction::Write) && !kind.writes
        });
        let clones = f64::from(self.options.clones());
        let allowed = 1.02 * clones * self.options.depth() as f64;
        let total = &self.flows.total;
        let mean = total.latency.as_ref().and_then(|latency| latency.mean_ns);
        let exceeds_depth = total
            .iops
            .zip(mean)
            .is_some_and(|(iops, mean)| iops * mean / 1e9 > allowed);
        // A job may need some time to end, but not half of the measured time.
        let ran_longer = |time: Nanos| self.clone_time.as_secs() > (clones + 0.5) * time.as_secs();
        has_foreign_direction || exceeds_depth && self.flows.measured.is_some_and(ran_longer)
    }
}

fn list_breakdown(clones: &[Entry]) -> Vec<BreakdownEntry> {
    let parts = clones.iter().enumerate().flat_map(|(number, clone)| {
        let name = format!("{}, clone {number}", clone.name);
        let total = BreakdownEntry {
            name: name.clone(),
            direction: None,
            flow: clone.flows.total.clone(),
        };
        let of_directions = clone.flows.directions.iter().filter_map(move |(direction, flow)| {
            Some(BreakdownEntry {
                name: name.clone(),
                direction: Some(direction),
                flow: flow.clone()?,
            })
        });
        std::iter::once(total).chain(of_directions)
    });
    parts.collect()
}

fn check_clones(clones: &[Entry]) -> Vec<Finding> {
    let first = &clones[0];
    let mut findings = Vec::new();
    if clones.iter().any(|clone| clone.flows.completion_percentiles) {
        findings.push(completion_percentiles_finding(&first.name));
    }
    if clones.len() > 1 {
        let message = format!(
            "each of the {} clones has its own percentiles, which cannot be combined",
            clones.len()
        );
        let finding = Finding::new("PCT-PER-CLONE", Severity::Note, message).at(&*first.name);
        findings.push(finding.help("set group_reporting, so that fio combines them"));
    }
    if first.covers_several_jobs() {
        findings.push(merged_jobs_finding(&first.name));
        return findings;
    }
    let engine = first.options.get("ioengine").unwrap_or("the default, psync");
    let waits = first.options.get("ioengine").is_none_or(is_synchronous);
    let requested_depth = first.options.count("iodepth").unwrap_or(1);
    if waits && requested_depth > 1 && first.depth_level_one.is_none_or(|share| share > 99.0) {
        let message =
            format!("iodepth={requested_depth} had no effect: the engine ({engine}) has one operation in flight");
        let finding = Finding::new("SYNC-ENGINE", Severity::Warning, message).at(&*first.name);
        let help = "use an asynchronous engine (ioengine=io_uring or libaio, with direct=1), or more jobs";
        findings.push(
            finding
                .why("the engine completes each operation before it submits the next")
                .help(help),
        );
    }
    findings
}

/// The sum of the jobs of each group: their storage sees the sum.
fn sum_groups(loads: &[Observation], runs: &[&[Entry]], version: Option<String>) -> Vec<Observation> {
    let groups: Vec<u64> = runs.iter().map(|run| run[0].group).collect();
    let mut sums = Vec::new();
    for group in groups
        .iter()
        .enumerate()
        .filter(|(at, group)| !groups[..*at].contains(group))
        .map(|(_, group)| *group)
    {
        let group_loads = loads
            .iter()
            .zip(&groups)
            .filter(|(_, clone_group)| **clone_group == group)
            .map(|(load, _)| load);
        let members: Vec<&Observation> = group_loads.collect();
        if members.len() > 1 {
            sums.push(sum_observations(&members, group, version.clone()));
        }
    }
    sums
}

fn sum_observations(members: &[&Observation], group: u64, version: Option<String>) -> Observation {
    let totals: Vec<&IoStats> = members.iter().map(|member| &member.total).collect();
    let mut load = members[0].load.clone();
    for member in &members[1..] {
        let member_load = &member.load;
        load.targets.extend(member_load.targets.iter().cloned());
        load.workers = load.workers.zip(member_load.workers).map(|(a, b)| a.saturating_add(b));
        load.depth = load.depth.zip(member_load.depth).map(|(a, b)| a.saturating_add(b));
        load.block = load.block.filter(|block| member_load.block == Some(*block));
        load.random = load.random.filter(|random| member_load.random == Some(*random));
        load.direct = load.direct.filter(|direct| member_load.direct == Some(*direct));
        load.no_io |= member_load.no_io;
        load.closed_loop = load.closed_loop.zip(member_load.closed_loop).map(|(a, b)| a && b);
        load.size = load.size.filter(|size| member_load.size == Some(*size));
        load.warm_up_ns = load.warm_up_ns.zip(member_load.warm_up_ns).map(|(a, b)| a.min(b));
    }
    // The shares and rates of the jobs do not define one of the sum.
    (load.read_percent, load.rate_iops) = (None, None);
    Observation {
        tool: "fio".into(),
        version,
        name: format!("all jobs of group {group} together"),
        load,
        measured_ns: flow_sum::longest_time(members.iter().map(|member| member.measured_ns)),
        directions: PerDirection::from_fn(|direction| {
            flow_sum::sum_direction(members.iter().map(|member| &member.directions), direction)
        }),
        total: flow_sum::sum(&totals).unwrap_or_default(),
        errors: members.iter().map(|member| member.errors).sum(),
        short: members.iter().map(|member| member.short).sum(),
        concurrency: Some(Concurrency {
            group: group_number(group),
            is_sum: true,
            ..Concurrency::default()
        }),
        ..Observation::default()
    }
}
