//! Run definitions to runs: a run for each turn of the loops, with the values that the loops set.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::Nanos;
use model::plan::{ErrorPolicy, Phases};

use super::blocks::{Block, invalid};
use super::commands::Commands;
use super::data::Dedup;
use super::definitions::{CURVE, Parameters, Rd, Sd, Transfer, Wd};
use super::file_runs::{FileLoad, FileRun};
use super::files::{FormatWords, OPERATIONS};
use super::notes::explain_remark;
use super::values::{MAX_RATE, format_loop_value, format_rate};
use super::workloads::{divide_skew, find_named};
use crate::Diagnostic;

with_defaults! {
    /// One run.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Run {
        /// Its name in reports.
        pub name: String,
        /// Operations per second.
        pub rate: RunRate,
        /// The rate that a simulation shows: the first rate of a list.
        pub first_rate: RunRate,
        /// Seconds; `None` for the lay-out.
        pub elapsed: Option<u64>,
        /// Seconds.
        pub interval: u64 = 1,
        /// Seconds; 0: the first interval is the warm-up.
        pub warmup: u64,
        /// Seconds to wait after it.
        pub pause: u64,
        /// How arrivals are spaced.
        pub distribution: String,
        /// All operations of a second are due at its start.
        pub at_once: bool,
        /// Rates of a list over time, with their seconds.
        pub course: Vec<(f64, u64)>,
        /// `maxdata=` and related parameters.
        pub maxdata: Option<MaxData>,
        /// `openflags=` of the RD.
        pub flags: Vec<String>,
        /// Its workloads with their share of the operations in percent.
        pub workloads: Vec<(Wd, f64)>,
        /// Its SDs in order of definition.
        pub sds: Vec<Sd>,
        /// Compression ratio of written data.
        pub compratio: f64 = 1.0,
        /// Duplicates in written data.
        pub dedup: Option<Dedup>,
        /// True if a workload has a share of its own, so shares are also enforced under `max`.
        pub controlled: bool,
        /// Varying parameters, in the form of reports.
        pub loops: Vec<(String, String)>,
        /// True if the RD sets `threads=`.
        pub has_threads_loop: bool,
        /// Points of a curve in percent, for the run that finds its base.
        pub points: Vec<f64>,
        /// True for a point of a curve.
        pub is_point: bool,
        /// `data_errors=`.
        pub on_error: ErrorPolicy,
        /// `stopcurve=`.
        pub stopcurve: Option<f64>,
        /// Its work on trees of files.
        pub files: Option<FileRun>,
        /// Commands before and after it.
        pub commands: Commands,
    }
}

/// The rates of `distribution=variable` and `spike`: pairs of a rate and its seconds. Percentages
/// are of the highest rate, or of `elapsed=`.
fn parse_rate_steps(rd: &Rd) -> Result<Vec<(f64, u64)>, String> {
    const MAX_SECONDS: u64 = 3600;
    if !["variable", "spike"].contains(&rd.distribution.as_str()) {
        return Ok(Vec::new());
    }
    let highest = rd.rates.iter().step_by(2).copied().fold(0.0, f64::max);
    let resolve_percent = |value: f64, total: f64| if value < 0.0 { -value / 100.0 * total } else { value };
    let pairs = rd.rates.chunks_exact(2);
    let pairs: Vec<(f64, u64)> = pairs
        .map(|pair| {
            (
                resolve_percent(pair[0], highest),
                resolve_percent(pair[1], rd.elapsed as f64) as u64,
            )
        })
        .collect();
    let seconds: u64 = pairs.iter().map(|(_, seconds)| seconds).sum();
    let is_list = rd.rates.len().is_multiple_of(2) && highest > 0.0;
    if !is_list || pairs.iter().any(|(_, seconds)| *seconds == 0) {
        let (name, distribution) = (&rd.name, &rd.distribution);
        return Err(format!(
            "rd={name}: distribution={distribution} needs pairs of a rate and its seconds: iorate=(100,10,500,5)"
        ));
    }
    if seconds > rd.elapsed.min(MAX_SECONDS) {
        let elapsed = rd.elapsed;
        return Err(format!(
            "rd={}: the list of iorate= takes {seconds} seconds, longer than elapsed={elapsed} or {MAX_SECONDS} seconds",
            rd.name
        ));
    }
    Ok(pairs)
}

/// Number of bytes that ends a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaxData {
    /// Name of the parameter, such as `maxdataread`.
    pub name: &'static str,
    /// Bytes, or up to 100 times the size of the SDs.
    pub bytes: f64,
}

pub(super) fn parse_max_data(block: &Block) -> Result<Option<MaxData>, Diagnostic> {
    let mut max_data = None;
    for name in ["maxdata", "maxdataread", "maxdatawritten"] {
        let Some(bytes) = block.number(name)? else { continue };
        if bytes <= 0.0 {
            let error = block.invalid(name, bytes);
            return Err(error.help("specify bytes, or up to 100 times the size of the SDs"));
        }
        if let Some(MaxData { name: other_name, .. }) = max_data.replace(MaxData { name, bytes }) {
            return Err(block.error(format!(
                "rd={}: not supported: `{name}=` together with `{other_name}=`",
                block.name
            )));
        }
    }
    Ok(max_data)
}

/// The rate of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum RunRate {
    /// As fast as possible.
    #[default]
    Max,
    /// The same, to find the base of a curve.
    Curve,
    /// Operations per second.
    Number(f64),
    /// Percentage of the last observed rate.
    OfLast(f64),
    /// A list of rates over time.
    Variable,
}

/// The runs of all RDs, each in the order of its loops; `from` names the first RD.
///
/// # Errors
/// A workload or SD that is missing, shares that do not add up, a rate that is missing.
pub fn expand(parameters: &Parameters, from: Option<&str>) -> Result<Vec<Run>, Diagnostic> {
    expand_runs(parameters, from).map_err(explain_remark)
}

fn expand_runs(parameters: &Parameters, from: Option<&str>) -> Result<Vec<Run>, Diagnostic> {
    let first = match from {
        None => 0,
        Some(name) => parameters.rds.iter().position(|rd| rd.name == name).ok_or_else(|| {
            Diagnostic::new(format!("Could not find RD={name}, requested by -r"))
                .help("name a run definition of the file")
        })?,
    };
    let mut runs = Vec::new();
    for rd in &parameters.rds[first..] {
        let fail = |what: String| match &rd.at {
            Some(at) => Diagnostic::new(what).at(at.clone()),
            None => Diagnostic::new(what),
        };
        if rd.rates.is_empty() || rd.rates == [0.0] {
            return Err(fail("iorate= parameter is missing.".into()).help("add `iorate=max`, or a number"));
        }
        let wds = workloads(rd, parameters).map_err(fail)?;
        let single = rd.sds.iter().any(|sd| sd == "single");
        let copies: Vec<(String, Vec<String>)> = match single {
            false => vec![(rd.name.clone(), rd.sds.clone())],
            // All SDs of the file, even if no workload names them.
            true => {
                let sds = parameters.sds.iter();
                sds.map(|sd| (format!("{}_{}", rd.name, sd.name), vec![sd.name.clone()]))
                    .collect()
            }
        };
        for (name, sds) in copies {
            let run = base_run(rd, name, &sds, &wds, parameters).map_err(fail)?;
            turns(rd, run, &mut runs).map_err(fail)?;
        }
        if let Some(RunRate::OfLast(percent)) = runs.first().map(|run| run.rate) {
            let message = format!(
                "rd={}: a rate of {percent}% is a percentage of the last observed rate, but no run precedes it",
                rd.name
            );
            return Err(fail(message).help("set a number or `max` in the first RD"));
        }
    }
    Ok(runs)
}

/// The workloads of an RD, in order.
fn workloads(rd: &Rd, parameters: &Parameters) -> Result<Vec<Wd>, String> {
    let wds = find_named(&rd.wds, &parameters.wds, |wd| &wd.name)
        .map_err(|wanted| format!("Could not find WD={wanted} for RD={}", rd.name))?;
    match wds.is_empty() && rd.fwds.is_empty() {
        true if rd.sds.is_empty() => Err(format!("No wd= or fwd= specified for rd={}", rd.name)),
        // Without a workload, the latest defaults are one.
        true => Ok(vec![Wd {
            name: "default".into(),
            ..parameters.default_wd.clone()
        }]),
        false => Ok(wds),
    }
}

/// A run before its loops.
fn base_run(rd: &Rd, name: String, sds: &[String], wds: &[Wd], parameters: &Parameters) -> Result<Run, String> {
    let mut wds = wds.to_vec();
    if !sds.is_empty() {
        let sds = find_named(sds, &parameters.sds, |sd| &sd.name)
            .map_err(|wanted| format!("Could not find sd={wanted} for rd={}", rd.name))?;
        let names: Arc<BTreeSet<String>> = Arc::new(sds.into_iter().map(|sd| sd.name).collect());
        wds.iter_mut().for_each(|wd| wd.sds = Arc::clone(&names));
    }
    if let Some(wd) = wds.iter().find(|wd| wd.sds.is_empty()) {
        return Err(format!("No sd= specified for wd={}", wd.name));
    }
    let controlled = wds.iter().any(|wd| wd.skew.is_some() || wd.priority.is_some());
    check_priorities(rd, &wds)?;
    let (workloads, total) = divide_skew(wds, |wd| wd.skew);
    if rd.fwds.is_empty() && (total - 100.0).abs() > 0.0001 {
        return Err(format!("rd={}: Total skew must add up to 100: {total:.2}", rd.name));
    }
    let used = parameters
        .sds
        .iter()
        .filter(|sd| workloads.iter().any(|(wd, _)| wd.sds.contains(&sd.name)));
    let first = rd.rates.first().copied().unwrap_or(MAX_RATE);
    let course = parse_rate_steps(rd)?;
    let rate = match course.is_empty() {
        true => decode_rate(first),
        false => RunRate::Variable,
    };
    Ok(Run {
        name,
        rate,
        first_rate: rate,
        elapsed: Some(rd.elapsed),
        interval: rd.interval,
        warmup: rd.warmup,
        pause: rd.pause,
        distribution: match rate {
            RunRate::Variable => rd.base.clone(),
            _ => rd.distribution.clone(),
        },
        at_once: rd.distribution == "spike",
        course,
        maxdata: rd.maxdata,
        commands: rd.commands.clone(),
        flags: rd.flags.clone(),
        sds: used.cloned().collect(),
        workloads,
        compratio: parameters.general.compratio,
        dedup: parameters.general.dedup,
        controlled,
        points: if rate == RunRate::Curve {
            rd.curve.clone()
        } else {
            Vec::new()
        },
        stopcurve: rd.stopcurve,
        on_error: parameters.general.error_policy(),
        files: FileRun::from_rd(rd, parameters)?,
        ..Run::default()
    })
}

/// Orders workloads: those with a rate of their own come first.
fn check_priorities(rd: &Rd, wds: &[Wd]) -> Result<(), String> {
    let Some(paced) = wds.iter().find(|wd| wd.rate.is_some()) else {
        return Ok(());
    };
    for (number, wd) in wds.iter().enumerate() {
        let Some(priority) = wd.priority else {
            return Err(format!(
                "rd={}: wd={} has no priority=, which all WDs need together with wd={}, which has iorate=",
                rd.name, wd.name, paced.name
            ));
        };
        if let Some(other) = wds[..number].iter().find(|other| other.priority == wd.priority) {
            return Err(format!(
                "rd={}: wd={} and wd={} have the same priority={priority}",
                rd.name, other.name, wd.name
            ));
        }
    }
    Ok(())
}

fn decode_rate(rate: f64) -> RunRate {
    match rate {
        _ if rate == CURVE => RunRate::Curve,
        _ if rate == MAX_RATE => RunRate::Max,
        _ if rate < 0.0 => RunRate::OfLast(-rate),
        _ => RunRate::Number(rate),
    }
}

/// All turns of the loops of an RD, the first loop outermost.
fn turns(rd: &Rd, run: Run, all: &mut Vec<Run>) -> Result<(), String> {
    const MAX_TURNS: usize = 100_000;
    let count = rd
        .loops
        .iter()
        .try_fold(1usize, |product, (_, values)| product.checked_mul(values.len()));
    let Some(count) = count.filter(|count| all.len() + count <= MAX_TURNS) else {
        return Err(format!(
            "rd={}: the `forxxx` parameters expand to more than {MAX_TURNS} runs",
            rd.name
        ));
    };
    for turn in 0..count {
        let mut copy = run.clone();
        let mut below = count;
        for (field, values) in &rd.loops {
            below /= values.len();
            set(&mut copy, field, values[turn / below % values.len()])?;
        }
        if let Some(files) = &mut copy.files
            && turn > 0
            && files.format.once
        {
            files.format = FormatWords::default();
        }
        all.push(copy);
    }
    Ok(())
}

fn set(run: &mut Run, field: &str, value: f64) -> Result<(), String> {
    let shown = match field {
        "iorate" | "fwdrate" => format_rate(value),
        "operation" => OPERATIONS[value as usize].0.to_owned(),
        _ => format_loop_value(value),
    };
    run.loops.push((field.to_owned(), shown.clone()));
    if let Some(files) = &mut run.files {
        files.set(field, value);
    }
    let wds = run.workloads.iter_mut().map(|(wd, _)| wd);
    match field {
        "totalsize" | "wss" if value < 1.0 => {
            return Err(format!(
                "rd={}: {}; specify a number of bytes",
                run.name,
                invalid(field, shown)
            ));
        }
        "iorate" | "fwdrate" => run.rate = decode_rate(value),
        "xfersize" => wds.for_each(|wd| wd.xfersize = Transfer::One(value as u64)),
        "rdpct" => wds.for_each(|wd| wd.rdpct = value.abs() as u32),
        "seekpct" => wds.for_each(|wd| {
            wd.seekpct = value.abs() as i32;
            wd.poisson = wd.poisson.filter(|_| wd.has_hotband);
        }),
        "rhpct" => wds.for_each(|wd| wd.hits.0 = value.abs()),
        "whpct" => wds.for_each(|wd| wd.hits.1 = value.abs()),
        "threads" => {
            run.sds.iter_mut().for_each(|sd| sd.threads = value as u32);
            run.has_threads_loop = true;
        }
        "hitarea" => run.sds.iter_mut().for_each(|sd| sd.hitarea = value as u64),
        "compratio" => run.compratio = value,
        // Those of file systems are only shown.
        _ => {}
    }
    let is_valid = match field {
        "xfersize" => (1.0..2_147_483_648.0).contains(&value),
        "threads" => (1.0..=65_536.0).contains(&value),
        "compratio" => value >= 1.0,
        "rdpct" | "seekpct" | "rhpct" | "whpct" => value.abs() <= 100.0,
        _ => true,
    };
    match is_valid {
        true => Ok(()),
        false => Err(format!("rd={}: {}", run.name, invalid(field, value))),
    }
}

/// The rate of a point of a curve: rounded up to a multiple of 100 above 1000, else of 10.
pub fn rate_of_point(base: f64, percent: f64) -> f64 {
    let rate = (base.round() as u64).saturating_mul(percent as u64) / 100;
    let step = if rate > 1000 { 100 } else { 10 };
    rate.next_multiple_of(step).max(step) as f64
}

impl Run {
    /// The run of one point of its curve.
    #[must_use]
    pub fn point(&self, percent: f64, base: f64) -> Run {
        let rate = RunRate::Number(rate_of_point(base, percent));
        Run {
            name: format!("{}_({}%)", self.name, percent as u64),
            rate,
            first_rate: rate,
            points: Vec::new(),
            commands: Commands::default(),
            is_point: true,
            ..self.clone()
        }
    }

    /// `For loops: …` of reports.
    pub fn loops_text(&self) -> String {
        match self.loops.is_empty() {
            true => "For loops: None".into(),
            false => {
                let pairs: Vec<String> = self
                    .loops
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                format!("For loops: {}", pairs.join(" "))
            }
        }
    }

    /// The text after `Starting RD=`, or `Simulating RD=` if rates of lists are not known yet.
    pub fn start_text(&self, simulated: bool) -> String {
        let rate = if simulated { self.first_rate } else { self.rate };
        let elapsed = match (self.elapsed, self.warmup) {
            (None, _) => "elapsed=(none)".into(),
            (Some(elapsed), 0) => format!("elapsed={elapsed}"),
            (Some(elapsed), warmup) => format!("elapsed={elapsed} warmup={warmup}"),
        };
        let (name, loops) = (&self.name, self.loops_text());
        if let Some(files) = &self.files {
            return match rate {
                _ if files.makes.is_some() => name.clone(),
                RunRate::Max => format!("{name}; {elapsed}; fwdrate=max. {loops}"),
                RunRate::Curve => format!("{name}; {elapsed}; fwdrate=curve. {loops}"),
                rate => format!("{name}; {elapsed}; fwdrate={}; {loops}", rate.text(false)),
            };
        }
        format!("{name}; I/O rate: {}; {elapsed}; {loops}", rate.text(self.controlled))
    }

    /// The number of intervals of the whole run, and the first one that is averaged.
    pub fn intervals(&self) -> (u64, u64) {
        let elapsed = self.elapsed.unwrap_or(u64::MAX / 2);
        match self.warmup {
            0 => (elapsed / self.interval, 2),
            warmup => ((warmup + elapsed) / self.interval, warmup / self.interval + 1),
        }
    }

    /// Every transfer is a multiple of these bytes.
    pub fn has_transfers_of(&self, unit: u64) -> bool {
        self.workloads.iter().all(|(wd, _)| match &wd.xfersize {
            Transfer::One(size) => size.is_multiple_of(unit),
            Transfer::Shares(shares) => shares.iter().all(|(size, _)| size.is_multiple_of(unit)),
            Transfer::Steps(min, _, align) => min.is_multiple_of(unit) && align.is_multiple_of(unit),
        })
    }

    /// Seconds until it ends.
    pub(super) fn measured_seconds(&self) -> Option<u64> {
        self.elapsed.map(|elapsed| match (self.ends_with_data(), self.warmup) {
            (true, warmup) => elapsed + warmup,
            (false, 0) => elapsed - self.interval,
            (false, _) => elapsed,
        })
    }

    pub(super) fn unsupported(&self, what: &str, help: &str) -> Diagnostic {
        Diagnostic::new(format!("rd={}: not supported: {what}", self.name)).help(help)
    }

    /// Its phases; a run that may end before the warm-up does has no warm-up.
    pub(super) fn phases(&self, can_end_early: bool) -> Phases {
        Phases {
            warm_up_ns: Nanos::secs(match (can_end_early, self.warmup) {
                (true, _) => 0,
                (false, 0) => self.interval,
                (false, warmup) => warmup,
            }),
            ..Phases::default()
        }
    }

    /// The number of bytes that ends the run. All SDs together have `size` bytes.
    pub(super) fn byte_limit(&self, size: Option<u64>) -> Result<Option<u64>, Diagnostic> {
        let Some(MaxData { name, bytes }) = self.maxdata else {
            return Ok(None);
        };
        let reads: Vec<f64> = match &self.files {
            None => self.workloads.iter().map(|(wd, _)| f64::from(wd.rdpct)).collect(),
            Some(files) => files.loads().iter().map(FileLoad::read_percent).collect(),
        };
        let all_read = |percent: f64| reads.iter().all(|reads| *reads == percent);
        match (name, bytes.abs(), size) {
            // None of these bytes are ever transferred.
            ("maxdataread", ..) if all_read(0.0) => Ok(None),
            ("maxdatawritten", ..) if all_read(100.0) => Ok(None),
            ("maxdataread", ..) if !all_read(100.0) => {
                Err(self.unsupported("`maxdataread=` together with writes", "use `maxdata=`"))
            }
            ("maxdatawritten", ..) if !all_read(0.0) => {
                Err(self.unsupported("`maxdatawritten=` together with reads", "use `maxdata=`"))
            }
            (_, times, Some(size)) if times <= 100.0 => Ok(Some((size as f64 * times) as u64)),
            (_, times, None) if times <= 100.0 => Err(self.unsupported(
                &format!("`{name}={times}` on files"),
                "specify a number of bytes above 100",
            )),
            (_, bytes, _) => Ok(Some(bytes as u64)),
        }
    }

    /// True if a workload ends with its SD.
    pub fn ends_with_data(&self) -> bool {
        self.files.as_ref().is_some_and(FileRun::can_run_out)
            || self.maxdata.is_some()
            || self.workloads.iter().any(|(wd, _)| wd.seekpct < 0)
    }
}

impl RunRate {
    /// As start lines show it.
    fn text(self, controlled: bool) -> String {
        let kind = if controlled { "Controlled" } else { "Uncontrolled" };
        match self {
            RunRate::Max => format!("{kind} MAX"),
            RunRate::Curve => format!("{kind} curve"),
            RunRate::Number(rate) => format_rate(rate),
            RunRate::OfLast(percent) => format_rate(-percent),
            RunRate::Variable => "Variable".into(),
        }
    }

    /// As `reqrate` of the flat file shows it.
    pub fn requested(self) -> f64 {
        match self {
            RunRate::Max => MAX_RATE,
            RunRate::Curve => 9_999_977.0,
            RunRate::Number(rate) => rate,
            RunRate::OfLast(percent) => -percent,
            RunRate::Variable => 0.0,
        }
    }
}
