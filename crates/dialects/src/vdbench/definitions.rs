//! Items to definitions: the contents of a parameter file, with defaults filled in.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::plan::ErrorPolicy;

use super::blocks::{Block, group, invalid, refuse};
use super::commands::Commands;
use super::data::{Dedup, parse_pattern};
use super::files::{self, FormatWords, Fsd, Fwd};
use super::general::parse_general;
use super::hosts::{Host, parse_hosts, parse_selected_labels, repeat_for_hosts};
use super::notes::{explain_remark, note_unused_parameters};
use super::runs::{MaxData, parse_max_data};
use super::scan::{Item, ScannedFiles, scan};
use super::streams::DIRECT_FLAGS;
use super::table::{Kind, RunKind, Section};
use super::validation::Validation;
use super::values::{MAX_RATE, append_number};
use super::workloads::parse_wd;
use super::{Command, CopiedLines, VdbenchEnv};
use crate::{Diagnostic, Location};

/// The contents of a parameter file.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    /// Before any definition.
    pub general: General,
    /// Host definitions.
    pub hosts: Vec<Host>,
    /// Remove all trees before the first run.
    pub cleans: bool,
    /// Storage definitions.
    pub sds: Vec<Sd>,
    /// Workload definitions.
    pub wds: Vec<Wd>,
    /// The `wd=default` in effect at the end of the file.
    pub default_wd: Wd,
    /// File system definitions.
    pub fsds: Vec<Fsd>,
    /// File system workload definitions.
    pub fwds: Vec<Fwd>,
    /// How trees are made: `fwd=format`.
    pub format_fwd: Fwd,
    /// Run definitions.
    pub rds: Vec<Rd>,
    /// Data validation.
    pub validation: Option<Validation>,
    /// Reasons to refuse a run, but not a simulation.
    pub refusals: Vec<Diagnostic>,
    /// Parameters, variables and text without effect, one sentence each.
    pub notes: Vec<String>,
    /// The files as read.
    pub copies: Vec<CopiedLines>,
}

/// General parameters.
#[derive(Clone, Debug, Default)]
pub struct General {
    /// `formatsds=`.
    pub format: Option<bool>,
    /// `formatxfersize=`.
    pub format_block: Option<u64>,
    /// `histogram=`: upper limits in microseconds; empty: the default ones.
    pub histogram: Vec<u64>,
    /// `compratio=`.
    pub compratio: f64,
    /// `dedupratio=` and related parameters.
    pub dedup: Option<Dedup>,
    /// `pattern=`: data to write.
    pub pattern: Option<Vec<u8>>,
    /// `create_anchors=`.
    pub create_anchors: bool,
    /// `loop=`: a number of times.
    pub repeats: Option<u64>,
    /// `loop=`: a number of seconds.
    pub repeat_seconds: Option<u64>,
    /// `data_errors=`: errors that end a run.
    pub data_errors: Option<u64>,
    /// `concatenatesds=`: the SDs of a workload are one long SD.
    pub concatenates: bool,
    /// `monitor=`: the file that ends runs.
    pub monitor: Option<String>,
    /// Commands before the first run and after the last.
    pub commands: Commands,
}

impl General {
    /// Default number of errors that end a run.
    const DATA_ERRORS: u64 = 50;

    /// Number of data or I/O errors that ends a run.
    pub fn errors_max(&self) -> u64 {
        self.data_errors.unwrap_or(General::DATA_ERRORS)
    }

    /// The reaction to a failed operation on an SD.
    pub(super) fn error_policy(&self) -> ErrorPolicy {
        match self.errors_max() {
            1 => ErrorPolicy::default(),
            max => ErrorPolicy {
                errors_max: Some(max),
                report_tolerated: true,
                ..ErrorPolicy::default()
            },
        }
    }
}

/// A storage definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sd {
    /// Name after `sd=`.
    pub name: String,
    /// File or device.
    pub lun: String,
    /// `size=`.
    pub size: Option<u64>,
    /// `threads=`.
    pub threads: u32,
    /// `openflags=`.
    pub flags: Vec<String>,
    /// `range=`.
    pub range: Option<(f64, f64)>,
    /// `offset=`.
    pub offset: u64,
    /// `align=`.
    pub align: u64,
    /// `hitarea=`.
    pub hitarea: u64,
    /// `journal=`.
    pub journal: Option<String>,
    /// The labels of `host=`; empty: all.
    pub hosts: Vec<String>,
}

/// Sizes of transfers.
#[derive(Clone, Debug, PartialEq)]
pub enum Transfer {
    /// One.
    One(u64),
    /// Size and percent.
    Shares(Vec<(u64, f64)>),
    /// From, to, by.
    Steps(u64, u64, u64),
}

with_defaults! {
    /// A workload definition.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Wd {
        /// Name after `wd=`.
        pub name: String,
        /// Its SDs, by name.
        pub sds: Arc<BTreeSet<String>>,
        /// `xfersize=`.
        pub xfersize: Transfer = Transfer::One(4096),
        /// Percent of reads.
        pub rdpct: u32 = 100,
        /// Percent of random addresses; −1 for `eof`.
        pub seekpct: i32 = 100,
        /// `seekpct=(poisson,midpoint)`.
        pub poisson: Option<f64>,
        /// `stride=`.
        pub stride: Option<(u64, u64)>,
        /// `skew=`.
        pub skew: Option<f64>,
        /// Percent of reads and of writes in the hit area.
        pub hits: (f64, f64) = (0.0, 0.0),
        /// `range=` or `hotband=`.
        pub range: Option<(f64, f64)>,
        /// `hotband=` was given.
        pub has_hotband: bool,
        /// `openflags=`.
        pub flags: Vec<String>,
        /// `streams=`.
        pub streams: Option<u32>,
        /// `threads=`, with `concatenatesds=yes`.
        pub threads: Option<u32>,
        /// `iorate=`: the WD's own operations per second.
        pub rate: Option<f64>,
        /// `priority=`.
        pub priority: Option<u32>,
        /// The labels of `host=`; empty: all.
        pub hosts: Vec<String>,
    }
}

/// A run definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rd {
    /// Name after `rd=`.
    pub name: String,
    /// `wd=`.
    pub wds: Vec<String>,
    /// `fwd=`.
    pub fwds: Vec<String>,
    /// `format=`.
    pub format: FormatWords,
    /// `operations=`, by number.
    pub operations: Vec<usize>,
    /// `sd=`.
    pub sds: Vec<String>,
    /// `fsd=`.
    pub fsds: Vec<String>,
    /// `iorate=` or `fwdrate=`; −∞ means `curve`.
    pub rates: Vec<f64>,
    /// `curve=`.
    pub curve: Vec<f64>,
    /// `stopcurve=`.
    pub stopcurve: Option<f64>,
    /// Seconds.
    pub elapsed: u64,
    /// Seconds.
    pub interval: u64,
    /// Seconds.
    pub warmup: u64,
    /// Seconds.
    pub pause: u64,
    /// The first word of `distribution=`.
    pub distribution: String,
    /// The second, for varying rates.
    pub base: String,
    /// `maxdata=` and related parameters.
    pub maxdata: Option<MaxData>,
    /// `openflags=`.
    pub flags: Vec<String>,
    /// Varying parameters, the outermost first, each with its values.
    pub loops: Vec<(&'static str, Vec<f64>)>,
    /// Commands before and after each of its runs.
    pub commands: Commands,
    /// Its place in the file.
    pub at: Option<Location>,
}

/// `iorate=curve`.
pub(super) const CURVE: f64 = f64::NEG_INFINITY;

/// Reads the parameter files that a command line names.
///
/// # Errors
/// The first mistake.
pub fn read_parameters(command: &Command, env: &mut dyn VdbenchEnv) -> Result<Parameters, Diagnostic> {
    read_definitions(command, env).map_err(explain_remark)
}

fn read_definitions(command: &Command, env: &mut dyn VdbenchEnv) -> Result<Parameters, Diagnostic> {
    let scanned = scan(&command.files, &command.variables, command.plus.as_deref(), env)?;
    let ScannedFiles {
        items,
        copies,
        mut notes,
    } = scanned;
    let blocks = repeat_for_hosts(group(items)?)?;
    notes.extend(note_unused_parameters(&blocks));
    let mut parameters = Parameters {
        notes,
        copies,
        cleans: command.cleans,
        ..Parameters::default()
    };
    parameters.general.compratio = 1.0;
    for block in &blocks {
        refuse(block, &mut parameters.refusals);
    }
    files::check(&blocks)?;
    parameters.format_fwd = files::default_format();
    for block in &blocks {
        match block.section {
            Section::General => {
                parameters.general = parse_general(block)?;
                parameters.general.pattern = parse_pattern(block, env)?;
                parameters.validation = Validation::with_parameters(command.validation.as_ref(), block)?;
            }
            Section::Host => {
                for host in parse_hosts(block, env)? {
                    if parameters.hosts.iter().any(|other| other.label == host.label) {
                        return Err(block.error(format!("An HD can only be defined once: hd={}", host.label)));
                    }
                    parameters.hosts.push(host);
                }
            }
            Section::Sd => parse_sds(block, &mut parameters)?,
            Section::Wd => {
                let wd = parse_wd(block, &parameters)?;
                match block.name == "default" {
                    true => parameters.default_wd = wd,
                    false => parameters.wds.push(wd),
                }
            }
            Section::Rd if block.name != "default" => {
                let rd = parse_rd(block, command)?;
                if parameters.rds.iter().any(|other| other.name == rd.name) {
                    return Err(block.error(format!("Duplicate RD names not allowed: {}", rd.name)));
                }
                parameters.rds.push(rd);
            }
            Section::Fsd => files::parse_fsds(block, &mut parameters.fsds)?,
            Section::Fwd if block.name == "format" => parameters.format_fwd = files::format_fwd(block)?,
            Section::Fwd if block.name != "default" => {
                let hosts = parse_selected_labels(block, &parameters)?;
                parameters.fwds.push(Fwd {
                    hosts,
                    ..files::parse_fwd(block)?
                });
            }
            Section::Replay => parameters.refusals.push(
                block
                    .error(format!(
                        "`rg={}` is not supported: traces of Swat are not replayed",
                        block.name
                    ))
                    .help("remove `rg=`"),
            ),
            Section::Rd | Section::Fwd => {}
        }
    }
    parameters.refuse_fleet_settings();
    refuse_contradictions(&parameters)?;
    Ok(parameters)
}

fn refuse_contradictions(parameters: &Parameters) -> Result<(), Diagnostic> {
    let varies = |rd: &Rd| rd.loops.iter().any(|(field, _)| *field == "compratio");
    let general = &parameters.general;
    let is_other = general.compratio > 1.0 || general.dedup.is_some() || parameters.rds.iter().any(varies);
    if general.pattern.is_some() && (is_other || parameters.validation.is_some()) {
        let message = "`pattern=` together with `compratio=`, `dedupratio=` or data validation is not supported";
        return Err(Diagnostic::new(message).help("remove one of them"));
    }
    if parameters.rds.is_empty() {
        return Err(
            Diagnostic::new("No RD parameters specified").help("add a run: `rd=rd1,wd=*,iorate=max,elapsed=60`")
        );
    }
    Ok(())
}

/// An SD, or those that `count=` makes from it.
fn parse_sds(block: &Block, parameters: &mut Parameters) -> Result<(), Diagnostic> {
    if block.name == "default" {
        return Ok(());
    }
    let hosts = parse_selected_labels(block, parameters)?;
    let count = |field: &str| {
        block
            .params
            .iter()
            .filter(|(row, _)| row.canonical_name == field)
            .count()
    };
    if count("host") > 1 && count("lun") > 1 {
        let message = format!("sd={}: a `lun=` for each `host=` is not supported", block.name);
        let help = "define a separate SD for each host";
        parameters.refusals.push(block.error(message).help(help));
    }
    for number in block.counted()? {
        let sd = Sd {
            hosts: hosts.clone(),
            ..parse_sd(block, number)?
        };
        if parameters.sds.iter().any(|other| other.name == sd.name) {
            return Err(block.error(format!("An SD can only be defined once: sd={}", sd.name)));
        }
        parameters.sds.push(sd);
    }
    Ok(())
}

fn parse_sd(block: &Block, number: Option<u64>) -> Result<Sd, Diagnostic> {
    let name = append_number(&block.name, number);
    let lun = block.item("lun").map(Item::single_value).unwrap_or_default();
    if lun.is_empty() {
        return Err(block
            .error(format!("No lun name specified for sd={name}"))
            .help("set `lun=` to a file or device"));
    }
    let flags = parse_flags(block)?;
    let is_direct = flags.iter().any(|flag| DIRECT_FLAGS.contains(&flag.as_str()));
    if lun.starts_with("/dev/") && !is_direct {
        return Err(block
            .error(format!(
                "On Linux 'openflags=o_direct' is required for any lun starting with '/dev/': {lun}"
            ))
            .help("add `openflags=o_direct`; without it, the page cache would answer"));
    }
    let offset = block.number("offset")?.unwrap_or(0.0) as u64;
    let align = block.number("align")?.unwrap_or(0.0) as u64;
    if !offset.is_multiple_of(512) {
        return Err(block.error("SD offset= parameter must be multiple of 512 bytes"));
    }
    if !align.is_multiple_of(512) {
        return Err(block.error("SD align= parameter must be multiple of 512 bytes"));
    }
    let threads = files::check_threads(block, block.part("threads")?.unwrap_or(8.0))?;
    Ok(Sd {
        lun: append_number(&lun, number),
        name,
        size: block.part("size")?.map(|size| size as u64),
        threads,
        flags,
        range: parse_range(block, "range")?,
        offset,
        align,
        journal: block.item("journal").map(Item::single_value),
        hitarea: block.number("hitarea")?.map_or(1 << 20, |bytes| bytes as u64),
        hosts: Vec::new(),
    })
}

/// `range=` or `hotband=`.
pub(super) fn parse_range(block: &Block, field: &str) -> Result<Option<(f64, f64)>, Diagnostic> {
    match block.numbers(field)?[..] {
        [] => Ok(None),
        [low, high, ..] if high > low => Ok(Some((low, high))),
        [_, _, ..] => Err(block.error(format!(
            "'{field}=' parameter. Second value must be higher than first value"
        ))),
        [_] => Err(block.error(format!(
            "'{field}=' parameter must be specified with a beginning and ending range, e.g. '{field}=(10,20)'"
        ))),
    }
}

pub(super) fn parse_flags(block: &Block) -> Result<Vec<String>, Diagnostic> {
    const KNOWN: &[&str] = &["none", "o_direct", "directio", "o_sync", "o_dsync", "o_rsync", "fsync"];
    let mut flags = Vec::new();
    for word in block.expanded_values("openflags") {
        let flag = word.to_ascii_lowercase();
        match flag.strip_prefix("0x").map(flags_of_number) {
            Some(Some(names)) => flags.extend(names.into_iter().map(str::to_owned)),
            None if KNOWN.contains(&flag.as_str()) => flags.push(flag),
            _ => {
                return Err(block
                    .error(format!("Invalid 'openflags=' parameter for Linux: {flag}"))
                    .help(format!("it takes {}, and their numbers (`0x4000`)", KNOWN.join(", "))));
            }
        }
    }
    Ok(flags)
}

/// The names of flags of Linux's `open`, from a hexadecimal number. `None` if it has others.
fn flags_of_number(digits: &str) -> Option<Vec<&'static str>> {
    const O_DIRECT: u64 = if cfg!(target_arch = "aarch64") {
        0x1_0000
    } else {
        0x4000
    };
    const O_DSYNC: u64 = 0x1000;
    // It contains the bit of O_DSYNC.
    const O_SYNC: u64 = 0x10_1000;
    let mut rest = u64::from_str_radix(digits, 16).ok()?;
    let mut names = Vec::new();
    for (bits, name) in [(O_DIRECT, "o_direct"), (O_SYNC, "o_sync"), (O_DSYNC, "o_dsync")] {
        if rest & bits == bits {
            names.push(name);
            rest &= !bits;
        }
    }
    (rest == 0).then_some(names)
}

/// Vdbench's times are Java `int`s.
const MAX_SECONDS: u64 = i32::MAX as u64;

fn parse_rd(block: &Block, command: &Command) -> Result<Rd, Diagnostic> {
    let seconds = |field: &str, typed: Option<u64>, default: f64| {
        let seconds = match typed {
            Some(seconds) => seconds,
            None => match block.number(field)?.unwrap_or(default) {
                seconds if seconds >= 0.0 => seconds as u64,
                wrong => return Err(block.invalid(field, wrong).help("specify seconds")),
            },
        };
        match seconds > MAX_SECONDS {
            true => Err(block
                .error(format!("Invalid '{field}=' parameter: {seconds} seconds"))
                .help(format!("the maximum is {MAX_SECONDS} seconds"))),
            false => Ok(seconds),
        }
    };
    let elapsed = seconds("elapsed", command.elapsed, 30.0)?;
    let interval = seconds("interval", command.interval, 1.0)?;
    if interval == 0 {
        return Err(block.invalid("interval", 0).help("specify 1 second or more"));
    }
    let warmup = seconds("warmup", command.warmup, 0.0)?;
    if elapsed < interval * 2 {
        return Err(block.error("'elapsed=' time value must be at least twice the 'interval=' value"));
    }
    if !elapsed.is_multiple_of(interval) {
        return Err(block.error(format!(
            "'elapsed={elapsed}' must be multiple of 'interval={interval}'."
        )));
    }
    if !warmup.is_multiple_of(interval) {
        return Err(block.error(format!("'interval={interval}' must be multiple of 'warmup={warmup}'.")));
    }
    let (distribution, base) = parse_distribution(block)?;
    let rates = parse_rates(block)?;
    let mut loops = parse_loops(block)?;
    let has_list = rates.len() > 1 && !["variable", "spike"].contains(&distribution);
    loops.extend(has_list.then(|| (rate_parameter(block), rates.clone())));
    Ok(Rd {
        name: block.name.clone(),
        wds: block.expanded_values("wd"),
        format: files::format_words(block, command.format.as_ref())?,
        operations: files::parse_operations(block, &block.expanded_values("operations"))?,
        fwds: block.expanded_values("fwd"),
        sds: block.expanded_values("sd"),
        fsds: block.expanded_values("fsd"),
        rates,
        curve: Some(block.numbers("curve")?)
            .filter(|points| !points.is_empty())
            .unwrap_or_else(|| vec![10.0, 50.0, 70.0, 80.0, 90.0, 100.0]),
        stopcurve: block.number("stopcurve")?,
        elapsed,
        interval,
        warmup,
        pause: seconds("pause", None, 0.0)?,
        distribution: distribution.to_owned(),
        base,
        maxdata: parse_max_data(block)?,
        flags: parse_flags(block)?,
        loops,
        commands: Commands::read(block)?,
        at: Some(block.at.clone()),
    })
}

/// The distribution of arrivals, and the base of `variable` and `spike`.
fn parse_distribution(block: &Block) -> Result<(&'static str, String), Diagnostic> {
    let distribution = block
        .expanded_values("distribution")
        .first()
        .map_or("exponential".into(), |word| word.to_ascii_lowercase());
    const NAMES: [&str; 5] = ["exponential", "uniform", "deterministic", "variable", "spike"];
    let Some(distribution) = NAMES
        .iter()
        .find(|name| distribution.len() >= 2 && name.starts_with(&distribution))
    else {
        return Err(block.error(format!("Unknown keyword value: {distribution}")));
    };
    let base = match &block.expanded_values("distribution")[..] {
        [] | [_] => "exponential".to_owned(),
        [_, base] if ["variable", "spike"].contains(distribution) && NAMES[..3].contains(&&**base) => base.clone(),
        _ => {
            return Err(block
                .error("'distribution=' with these words is not supported")
                .help("use one word, or a pair such as `(variable,uniform)`"));
        }
    };
    Ok((distribution, base))
}

/// The lists of values for which a run definition is repeated, by field; of several lists of a
/// field, the last takes effect.
fn parse_loops(block: &Block) -> Result<Vec<(&'static str, Vec<f64>)>, Diagnostic> {
    let mut loops: Vec<(&'static str, Vec<f64>)> = Vec::new();
    for (row, item) in &block.params {
        let is_loop = row.name.starts_with("for") && row.name != "format" && row.kind == Kind::Numbers
            || LOOPS.contains(&row.name);
        let is_of_operations = row.name == "foroperations";
        if is_loop || is_of_operations {
            let values = match is_of_operations {
                true => files::parse_operations(block, &item.expanded_values())?
                    .into_iter()
                    .map(|number| number as f64)
                    .collect(),
                false => item.numbers(row.name)?.unwrap_or_default(),
            };
            if values.is_empty() {
                let message = format!(
                    "For_loop(): 'rd={},{}=' or …: the list of NUMERIC values is empty. ",
                    block.name, row.name
                );
                return Err(item.error(message));
            }
            let field = if is_of_operations {
                "operation"
            } else {
                row.canonical_name
            };
            loops.retain(|(looped_field, _)| *looped_field != field);
            loops.push((field, values));
        }
    }
    Ok(loops)
}

/// Names of loop parameters without `for`.
const LOOPS: &[&str] = &[
    "xfersize", "threads", "rdpct", "rhpct", "whpct", "seekpct", "hitarea", "compratio",
];

fn rate_parameter(block: &Block) -> &'static str {
    match block.run_kind() {
        RunKind::Raw => "iorate",
        RunKind::Files => "fwdrate",
    }
}

fn parse_rates(block: &Block) -> Result<Vec<f64>, Diagnostic> {
    let Some(item) = block.item(rate_parameter(block)) else {
        return Ok(Vec::new());
    };
    match (
        item.numbers("iorate")?,
        item.single_value().to_ascii_lowercase().as_str(),
    ) {
        (Some(numbers), _) => Ok(numbers),
        (None, "max") => Ok(vec![MAX_RATE]),
        (None, "curve") => Ok(vec![CURVE]),
        (None, word) => Err(item
            .error(invalid("iorate", word))
            .help("use a number, `max` or `curve`")),
    }
}
