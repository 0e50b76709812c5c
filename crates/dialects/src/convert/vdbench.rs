//! Converts a plan to a Vdbench parameter file: an SD for the workers of a job on a target, a WD
//! for each of their streams, an RD for each step. The text is then parsed again, and differences
//! are reported.

use model::access::Access;
use model::block_size::BlockSizes;
use model::plan::{Dialect, Extent, Phases, Plan, Process, Rate, Step, Stop, Stream, Target, TargetId, WriteThrough};

use super::shares::{list_operation_rates, pattern_direction};
use super::worker_groups::{AllowedDifferences, WorkerGroup, worker_groups};
use super::{Conversion, Form, compare};
use crate::diagnostic::Diagnostic;
use crate::notation::format_size;
use crate::vdbench::{self, VdbenchEnv};

/// Seconds of a run that does not end by time: Vdbench needs some.
const DEFAULT_SECONDS: u64 = 30;
/// The size of a target that is used unchanged.
const ANY_SIZE: u64 = 1 << 40;
/// The name under which the text is parsed again.
const FILE: &str = "plan.parm";

/// Converts a plan to Vdbench.
pub fn to_vdbench(plan: &Plan) -> Conversion {
    let text = text(plan);
    let differences = match parse(&text, plan.seed) {
        Ok(got) => compare::compare(plan, &got, Dialect::Vdbench),
        Err(problem) => compare::Differences::whole_test(format!("Vdbench refuses it: {}", problem.what)),
    };
    Conversion::new(Dialect::Vdbench, Form::JobFile, text, differences)
}

fn parse(text: &str, seed: u64) -> Result<Plan, Diagnostic> {
    let mut env = OneFile(text);
    let command = vdbench::read_command(&["-f".to_owned(), FILE.to_owned()], "")?;
    let parameters = vdbench::read_parameters(&command, &mut env)?;
    if let Some(refusal) = parameters.refusals.first() {
        return Err(refusal.clone());
    }
    let runs = vdbench::expand(&parameters, None)?;
    let (mut plan, _) = vdbench::lower_all(&runs, &parameters, &env, seed)?;
    let jobs = plan.steps.iter_mut().flat_map(|step| &mut step.jobs);
    for stream in jobs
        .flat_map(|job| &mut job.workers)
        .flat_map(|worker| &mut worker.streams)
    {
        let region = &mut stream.region;
        // It ends with the target, regardless of its size.
        region.length = region.length.filter(|length| length.bytes.0 < ANY_SIZE / 2);
    }
    Ok(plan)
}

/// A machine with nothing but the text.
struct OneFile<'a>(&'a str);

impl VdbenchEnv for OneFile<'_> {
    fn read_file(&mut self, _: &str) -> Result<String, String> {
        Ok(self.0.to_owned())
    }

    fn read_bytes(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.as_bytes().to_vec())
    }

    fn read_size(&self, path: &str) -> Option<u64> {
        let lun = format!(",lun={},", quote(path));
        let is_whole = |line: &str| line.contains(&lun) && !line.contains(",size=");
        self.0.lines().any(is_whole).then_some(ANY_SIZE)
    }

    fn is_local(&self, _: &str) -> bool {
        true
    }
}

/// A parameter and its value for a `T`; `None` if its default fits.
type Row<T> = (&'static str, fn(&T) -> Option<String>);

struct Disk {
    target: Target,
    stream: Stream,
    threads: u32,
}

const SD: &[Row<Disk>] = &[
    ("lun", |disk| Some(quote(&disk.target.path))),
    ("size", |disk| disk.size().map(format_size)),
    ("threads", |disk| Some(disk.threads.to_string())),
    ("openflags", |disk| {
        let sync = match disk.stream.cache.write_through {
            WriteThrough::Off => None,
            WriteThrough::Data => Some("o_dsync"),
            WriteThrough::DataAndMetadata => Some("o_sync"),
        };
        // Vdbench refuses a device without it.
        let is_device = disk.target.path.starts_with("/dev/");
        let flags: Vec<&str> = (disk.stream.cache.direct || is_device)
            .then_some("o_direct")
            .into_iter()
            .chain(sync)
            .collect();
        match flags[..] {
            [] => None,
            [value] => Some(value.to_owned()),
            _ => Some(format!("({})", flags.join(","))),
        }
    }),
    ("range", |disk| {
        let low = disk.stream.region.base.bytes.0;
        let high = disk.end()?;
        (low > 0 || disk.size() > Some(high)).then(|| format!("({low},{high})"))
    }),
];

impl Disk {
    /// True if both are the same SD, regardless of threads.
    fn is_same_sd(&self, other: &Disk) -> bool {
        let place = |disk: &Disk| {
            let rows = SD.iter().filter(|(key, _)| *key != "threads");
            rows.map(|(_, value)| value(disk)).collect::<Vec<_>>()
        };
        place(self) == place(other)
    }

    /// The end of its region, if it has one.
    fn end(&self) -> Option<u64> {
        let region = &self.stream.region;
        let bytes = |extent: Extent| (extent.percent == 0.0).then_some(extent.bytes.0);
        Some(bytes(region.base)? + bytes(region.length?)?)
    }

    fn size(&self) -> Option<u64> {
        self.target.prepare.size().map(|size| size.0).max(self.end())
    }
}

struct Load {
    sds: String,
    stream: Stream,
    /// Percent of the operations, where not all have the same.
    skew: Option<f64>,
    /// Its part of them, on a scale of its own.
    share: f64,
}

const WD: &[Row<Load>] = &[
    ("sd", |load| Some(load.sds.clone())),
    ("xfersize", |load| {
        let sizes = &load.stream.pattern.sizes[pattern_direction(&load.stream)];
        Some(match sizes {
            BlockSizes::Fixed { size: fixed } => format_size(fixed.0),
            BlockSizes::Range { low, high, .. } => format!(
                "({},{},{})",
                format_size(low.0),
                format_size(high.0),
                format_size(low.0)
            ),
            BlockSizes::Split { entries } => {
                let described = entries
                    .iter()
                    .map(|entry| format!("{},{}", format_size(entry.size.0), entry.percent));
                format!("({})", described.collect::<Vec<_>>().join(","))
            }
        })
    }),
    ("rdpct", |load| {
        Some((100.0 - load.stream.mix.write_share()).round().to_string())
    }),
    ("seekpct", |load| {
        let direction = pattern_direction(&load.stream);
        Some(match load.stream.access(direction) {
            Access::Random { .. } => "100".to_owned(),
            Access::Mixed(mixed) => mixed.random_percent[direction].to_string(),
            _ => "0".to_owned(),
        })
    }),
    ("skew", |load| {
        let rounded = |skew: f64| (skew * 1e6).round() / 1e6;
        load.skew.map(|skew| rounded(skew).to_string())
    }),
];

struct Run {
    wds: String,
    phases: Phases,
    stop: Stop,
    rates: Vec<Rate>,
}

const RD: &[Row<Run>] = &[
    ("wd", |run| Some(run.wds.clone())),
    ("iorate", |run| {
        let total: f64 = run.rates.iter().map(Rate::per_second).sum();
        Some(match total > 0.0 {
            true => total.round().to_string(),
            false => "max".to_owned(),
        })
    }),
    ("distribution", |run| match run.rates.first()?.process {
        Process::Linear => Some("deterministic".to_owned()),
        Process::Uniform => Some("uniform".to_owned()),
        Process::Poisson => None,
    }),
    ("elapsed", |run| {
        let measured = run.seconds();
        Some((if run.warm_up() > 1 { measured } else { measured + 1 }).to_string())
    }),
    ("interval", |_| Some("1".to_owned())),
    // Without it, the first second is the warm-up.
    ("warmup", |run| (run.warm_up() > 1).then(|| run.warm_up().to_string())),
];

impl Run {
    fn seconds(&self) -> u64 {
        let after = self.stop.after_ns.map(|after| (after.as_secs().round() as u64).max(1));
        after.unwrap_or(DEFAULT_SECONDS)
    }

    fn warm_up(&self) -> u64 {
        // A run has at least two intervals.
        match self.seconds() {
            1 => 1,
            _ => self.phases.warm_up_ns.as_secs().round() as u64,
        }
    }
}

/// The definitions of a file. Equal ones are written once.
#[derive(Default)]
struct Lines {
    sds: Vec<String>,
    wds: Vec<String>,
    rds: Vec<String>,
}

fn text(plan: &Plan) -> String {
    let mut lines = Lines::default();
    for step in &plan.steps {
        lines.add_step(plan, step);
    }
    let mut streams = plan.workers().flat_map(|worker| &worker.streams);
    let errors_max = streams.find_map(|stream| stream.on_error.errors_max);
    let general = format!("data_errors={}\n", errors_max.unwrap_or(1));
    general + &[lines.sds, lines.wds, lines.rds].concat().join("\n") + "\n"
}

impl Lines {
    fn add_step(&mut self, plan: &Plan, step: &Step) {
        let allowed = AllowedDifferences {
            depths: true,
            starts: true,
            ..AllowedDifferences::default()
        };
        let groups: Vec<WorkerGroup<'_>> = step.jobs.iter().flat_map(|job| worker_groups(job, allowed)).collect();
        let disks = group_disks(plan, &groups);
        let names: Vec<String> = disks.iter().map(|disk| define(&mut self.sds, "sd", SD, disk)).collect();
        let mut loads: Vec<Load> = Vec::new();
        let mut all_rates = Vec::new();
        for group in &groups {
            for stream in &group.worker().streams {
                let is_of = |disk: &Disk, id: &TargetId| disk.is_same_sd(&new_disk(plan, stream, *id));
                let place = |id: &TargetId| disks.iter().position(|disk| is_of(disk, id));
                let sds = stream
                    .target
                    .ids()
                    .iter()
                    .filter_map(place)
                    .map(|place| names[place].clone());
                let load = Load {
                    sds: list(&sds.collect::<Vec<_>>()),
                    stream: stream.clone(),
                    skew: None,
                    share: share(stream) * group.workers.len() as f64,
                };
                let has_same_wd = |listed: &&mut Load| {
                    format_definition("wd", "", WD, *listed) == format_definition("wd", "", WD, &load)
                };
                match loads.iter_mut().find(has_same_wd) {
                    Some(listed) => listed.share += load.share,
                    None => loads.push(load),
                }
            }
            let streams = group.workers.iter().flat_map(|worker| &worker.streams);
            all_rates.extend(streams.flat_map(list_operation_rates));
        }
        let total: f64 = loads.iter().map(|load| load.share).sum();
        if loads
            .iter()
            .any(|load| (load.share - loads[0].share).abs() > 1e-6 * total)
        {
            loads
                .iter_mut()
                .for_each(|load| load.skew = Some(100.0 * load.share / total));
        }
        let wds: Vec<String> = loads.iter().map(|load| define(&mut self.wds, "wd", WD, load)).collect();
        if let Some(job) = step.jobs.first() {
            let run = Run {
                wds: list(&wds),
                phases: job.phases,
                stop: job.stop,
                rates: all_rates,
            };
            let name = format!("run{}", self.rds.len() + 1);
            self.rds.push(format_definition("rd", &name, RD, &run));
        }
    }
}

/// The SDs of a step, with the slots of all workers on each.
fn group_disks(plan: &Plan, groups: &[WorkerGroup<'_>]) -> Vec<Disk> {
    let mut disks: Vec<Disk> = Vec::new();
    for group in groups {
        let mut own: Vec<Disk> = Vec::new();
        for stream in &group.worker().streams {
            for id in stream.target.ids() {
                let disk = new_disk(plan, stream, *id);
                if !own.iter().any(|listed| listed.is_same_sd(&disk)) {
                    own.push(disk);
                }
            }
        }
        let slots: u32 = group.workers.iter().map(|worker| worker.slots()).sum();
        let of_one = (slots / own.len().max(1) as u32).max(1);
        for disk in own {
            match disks.iter_mut().find(|listed| listed.is_same_sd(&disk)) {
                Some(listed) => listed.threads += of_one,
                None => disks.push(Disk {
                    threads: of_one,
                    ..disk
                }),
            }
        }
    }
    disks
}

fn new_disk(plan: &Plan, stream: &Stream, id: TargetId) -> Disk {
    Disk {
        target: plan.target(id).clone(),
        stream: stream.clone(),
        threads: 0,
    }
}

/// The name of the definition with these parameters, which is added if there is none.
fn define<T>(lines: &mut Vec<String>, kind: &'static str, rows: &[Row<T>], definition: &T) -> String {
    let written = |name: &str| format_definition(kind, name, rows, definition);
    let name = |index: usize| format!("{kind}{}", index + 1);
    let defined = (0..lines.len()).find(|index| lines[*index] == written(&name(*index)));
    let index = defined.unwrap_or(lines.len());
    if defined.is_none() {
        lines.push(written(&name(index)));
    }
    name(index)
}

fn format_definition<T>(kind: &str, name: &str, rows: &[Row<T>], definition: &T) -> String {
    let parameters = rows
        .iter()
        .filter_map(|(key, value)| Some(format!(",{key}={}", value(definition)?)));
    format!("{kind}={name}{}", parameters.collect::<String>())
}

fn list(names: &[String]) -> String {
    match names {
        [item] => item.clone(),
        _ => format!("({})", names.join(",")),
    }
}

/// Its part of the operations: its rate, or its weight.
fn share(stream: &Stream) -> f64 {
    match list_operation_rates(stream).iter().map(Rate::per_second).sum::<f64>() {
        0.0 => f64::from(stream.weight.max(1)),
        rate => rate,
    }
}

/// A path, in quotes if it has what ends a value. A quote in it cannot be written.
fn quote(path: &str) -> String {
    let path = path.replace('"', "");
    match path.contains([' ', ',', '=', '-', '(', ')']) {
        true => format!("\"{path}\""),
        false => path,
    }
}
