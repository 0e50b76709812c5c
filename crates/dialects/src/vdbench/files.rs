//! File system definitions: `fsd=`, `fwd=` and `format=`.

use model::plan::FileOperationKind;

use super::blocks::Block;
use super::definitions::{Transfer, parse_flags};
use super::scan::Item;
use super::table::Section;
use super::values::append_number;
use super::workloads::{matches_name, parse_percent, parse_poisson, transfer};
use crate::Diagnostic;

/// A file system definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fsd {
    /// Name after `fsd=`.
    pub name: String,
    /// `anchor=`.
    pub anchor: String,
    /// `depth=`.
    pub depth: u32,
    /// `width=`.
    pub width: u32,
    /// `files=`.
    pub files: u32,
    /// `sizes=`, each with its percentage.
    pub sizes: Vec<(u64, f64)>,
    /// `totalsize=`.
    pub total: Option<u64>,
    /// `workingsetsize=`.
    pub working_set: Option<u64>,
    /// `distribution=all`.
    pub fills_all_levels: bool,
    /// `openflags=`.
    pub flags: Vec<String>,
    /// `journal=`.
    pub journal: Option<String>,
    /// `shared=yes`: several hosts use it.
    pub is_shared: bool,
    /// The ranks of the hosts that use it in a run; empty: this process.
    pub ranks: Vec<usize>,
}

with_defaults! {
    /// A file system workload definition.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Fwd {
        /// Name after `fwd=`.
        pub name: String,
        /// Its FSDs, by name.
        pub fsds: Vec<String>,
        /// `operation=`, by number.
        pub operation: usize,
        /// `rdpct=`.
        pub rdpct: Option<u8>,
        /// `fileio=random`.
        pub is_random: bool,
        /// `fileio=(random,shared)`.
        pub shares_files: bool,
        /// `fileio=(sequential,delete)`.
        pub deletes_first: bool,
        /// `fileselect=random` or `poisson`.
        pub selects_at_random: bool,
        /// `fileselect=(poisson,midpoint)`.
        pub poisson: Option<f64>,
        /// `fileselect=once`.
        pub once: bool,
        /// `xfersize=`.
        pub xfersize: Transfer = Transfer::One(4096),
        /// `threads=`.
        pub threads: u32 = 1,
        /// `stopafter=`: blocks; if negative, a percentage of the file.
        pub stopafter: Option<f64>,
        /// `skew=`.
        pub skew: Option<f64>,
        /// `target=`: the FSD to which files are copied or moved.
        pub target: Option<String>,
        /// `openflags=`; empty: the flags of its FSDs.
        pub flags: Vec<String>,
        /// The labels of `host=`; empty: all.
        pub hosts: Vec<String>,
        /// The ranks of these hosts in a run; empty: this process.
        pub ranks: Vec<usize>,
        /// Reasons to refuse a run with it.
        pub refusal: Option<String>,
    }
}

/// The keywords of `format=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormatWords {
    /// The treatment of trees before the run.
    pub tree: Option<TreeFormat>,
    /// Skip the run itself.
    pub only: bool,
    /// Only before the first turn of the loops.
    pub once: bool,
    /// Creating the tree ends after `elapsed=`.
    pub limited: bool,
}

/// The kind of format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeFormat {
    /// Recreate the tree.
    All,
    /// Create what is missing.
    Restart,
    /// Recreate its directories, without files.
    Directories,
    /// Remove it.
    Clean,
}

/// Operations by their numbers, with the kind of operation that each counts as.
pub const OPERATIONS: &[(&str, FileOperationKind)] = &[
    ("read", FileOperationKind::ReadBlock),
    ("write", FileOperationKind::WriteBlock),
    ("mkdir", FileOperationKind::Mkdir),
    ("rmdir", FileOperationKind::Rmdir),
    ("copy", FileOperationKind::Copy),
    ("move", FileOperationKind::Move),
    ("create", FileOperationKind::Create),
    ("delete", FileOperationKind::Delete),
    ("getattr", FileOperationKind::Stat),
    ("setattr", FileOperationKind::SetTimes),
    ("access", FileOperationKind::Access),
    ("open", FileOperationKind::Open),
    ("close", FileOperationKind::Close),
];

/// The row of an operation.
pub(super) fn find_operation(name: &str) -> Option<usize> {
    OPERATIONS.iter().position(|(operation, _)| *operation == name)
}

const FORMATS: &[&str] = &[
    "no", "yes", "restart", "only", "clean", "directories", "once", "limited", "complete",
];

/// Checks definitions of FSDs and FWDs, and their use in RDs.
pub(super) fn check(blocks: &[Block]) -> Result<(), Diagnostic> {
    let blocks_in = |section: Section| {
        blocks
            .iter()
            .filter(move |block| block.section == section && block.name != "default")
    };
    let mut anchors: Vec<(String, String)> = Vec::new();
    for fsd in blocks_in(Section::Fsd) {
        if anchors.iter().any(|(name, _)| *name == fsd.name) {
            return Err(fsd.error(format!("Duplicate fsd name: {}", fsd.name)));
        }
        let anchor = fsd.expanded_values("anchor").into_iter().next().unwrap_or_default();
        if anchor.is_empty() {
            return Err(fsd.error(format!("Directory name required for fsd={}", fsd.name)));
        }
        anchors.push((fsd.name.clone(), anchor));
    }
    let is_inside = |outer: &str, inner: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
    if let Some((outer, inner)) = anchors.iter().find_map(|outer| {
        let inner = anchors.iter().find(|inner| is_inside(&outer.1, &inner.1))?;
        Some((outer, inner))
    }) {
        let message = "Directory (anchor) names used in fsd parameters may not be parents or children of each other: ";
        return Err(Diagnostic::new(message).help(format!("separate fsd={} and fsd={}", outer.0, inner.0)));
    }
    for fwd in blocks_in(Section::Fwd).filter(|fwd| fwd.name != "format") {
        if find_operation(&fwd.name).is_some() {
            return Err(fwd.error(format!("fwd name may not match a valid operation: fwd={}", fwd.name)));
        }
        check_workload(fwd, &anchors)?;
    }
    for rd in blocks_in(Section::Rd) {
        for word in rd.expanded_values("format") {
            if !FORMATS
                .iter()
                .any(|format| word.len() >= 2 && format.starts_with(&word))
            {
                return Err(rd.error(format!("Invalid contents of 'format=' parameter: {word}")));
            }
        }
        if rd.item("fwd").is_some() && rd.item("fwdrate").is_none() {
            return Err(rd.error(format!("No fwdrate= specified for rd={}", rd.name)));
        }
    }
    Ok(())
}

fn check_workload(fwd: &Block, anchors: &[(String, String)]) -> Result<(), Diagnostic> {
    let fsds = fwd.expanded_values("fsd");
    if fsds.is_empty() {
        return Err(fwd.error("fwd parameter requires at least one 'fsd='"));
    }
    if let Some(missing) = fsds
        .iter()
        .find(|wanted| !anchors.iter().any(|(name, _)| matches_name(wanted, name)))
    {
        return Err(fwd.error(format!("Could not find fsd={missing} for fwd={}", fwd.name)));
    }
    for target in fwd.expanded_values("target") {
        if !anchors.iter().any(|(name, _)| *name == target) {
            return Err(fwd.error(format!("Could not find fsd={target} for fwd={}", fwd.name)));
        }
    }
    let operations = fwd.expanded_values("operation");
    if operations.len() > 1 {
        return Err(fwd.error(format!("'fwd={},operations=' accepts only ONE parameter.", fwd.name)));
    }
    if let Some(unknown) = operations.iter().find(|word| find_operation(word).is_none()) {
        return Err(fwd.error(format!("Unknown operation: {unknown}")));
    }
    let sizes = fwd.numbers("xfersizes")?;
    let sum: f64 = sizes
        .chunks(2)
        .filter_map(|pair| pair.get(1))
        .map(|share| share.abs())
        .sum();
    match sizes.len() > 1 && (sum - 100.0).abs() > 0.0001 {
        true => Err(fwd.error("Xfersize distribution does not add up to 100")),
        false => Ok(()),
    }
}

pub(super) fn check_threads(block: &Block, threads: f64) -> Result<u32, Diagnostic> {
    match (1.0..=65_536.0).contains(&threads) {
        true => Ok(threads as u32),
        false => Err(block.invalid("threads", threads).help("use 1 to 65536")),
    }
}

/// An FSD, or those that `count=` makes from it.
pub(super) fn parse_fsds(block: &Block, all: &mut Vec<Fsd>) -> Result<(), Diagnostic> {
    if block.name == "default" {
        return Ok(());
    }
    let anchor = block.expanded_values("anchor").into_iter().next().unwrap_or_default();
    let whole_number = |field: &str, default: f64, max: f64| match block.number(field)?.unwrap_or(default) {
        value if (0.0..=max).contains(&value) && value.fract() == 0.0 => Ok(value as u32),
        value => Err(block.invalid(field, value)),
    };
    let numbers = block.numbers("sizes")?;
    let sizes = match numbers[..] {
        [] => vec![(4096, 100.0)],
        [size] => vec![(size as u64, 100.0)],
        [mean, 0.0] => sizes_around(mean as u64),
        _ => numbers
            .chunks(2)
            .map(|pair| (pair[0] as u64, pair.get(1).map_or(0.0, |share| share.abs())))
            .collect(),
    };
    let sum: f64 = sizes.iter().map(|(_, share)| share).sum();
    if (sum - 100.0).abs() > 0.0001 {
        return Err(block.error(format!("'sizes=' distribution does not add up to 100: {sum}")));
    }
    let bytes = |field: &str| match block.part(field)? {
        Some(value) if value < 1.0 => Err(block.invalid(field, value).help("specify a number of bytes")),
        value => Ok(value.map(|value| value as u64)),
    };
    let distribution = block
        .expanded_values("distribution")
        .into_iter()
        .next()
        .unwrap_or("bottom".into());
    if !["bottom", "all"].contains(&&*distribution) {
        return Err(block
            .invalid("distribution", distribution)
            .help("it can be `bottom` or `all`"));
    }
    for number in block.counted()? {
        let fsd = Fsd {
            total: bytes("totalsize")?,
            working_set: bytes("workingsetsize")?,
            fills_all_levels: distribution == "all",
            name: append_number(&block.name, number),
            anchor: append_number(&anchor, number).trim_end_matches('/').to_owned(),
            depth: whole_number("depth", 1.0, 32.0)?,
            width: whole_number("width", 1.0, 1_000_000.0)?,
            files: whole_number("files", 10.0, 268_435_456.0)?,
            sizes: sizes.clone(),
            flags: parse_flags(block)?,
            journal: block.item("journal").map(Item::single_value),
            is_shared: block.is_yes("shared"),
            ranks: Vec::new(),
        };
        if fsd.has_too_many_directories() {
            return Err(block
                .error(format!("fsd={}: {}", fsd.name, fsd.describe_directories()))
                .help("use a smaller `depth=` or `width=`"));
        }
        all.push(fsd);
    }
    Ok(())
}

/// Sizes from half to one and a half of a mean, equally likely: multiples of 1 KiB to 1 MiB, the
/// largest unit that suits the mean.
fn sizes_around(mean: u64) -> Vec<(u64, f64)> {
    const MAX_SIZES: u64 = 200;
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    let units = [(100 * KIB, KIB), (MIB, 10 * KIB), (10 * MIB, 100 * KIB)];
    let unit = units
        .into_iter()
        .find(|(max, _)| mean <= *max)
        .map_or(MIB, |(_, unit)| unit);
    let (low, high) = (mean.div_ceil(2).div_ceil(unit), mean.saturating_add(mean / 2) / unit);
    let step = (high.saturating_sub(low) / MAX_SIZES).max(1);
    let sizes: Vec<u64> = (low..=high).step_by(step as usize).map(|count| count * unit).collect();
    match sizes.len() {
        0 => vec![(mean, 100.0)],
        count => sizes.into_iter().map(|size| (size, 100.0 / count as f64)).collect(),
    }
}

/// An FWD.
pub(super) fn parse_fwd(block: &Block) -> Result<Fwd, Diagnostic> {
    let words = |field: &str| -> Vec<String> {
        block
            .expanded_values(field)
            .iter()
            .map(|word| word.to_ascii_lowercase())
            .collect()
    };
    let is_abbreviation = |word: &str, full_word: &str| word.len() >= 3 && full_word.starts_with(word);
    let mut refusal = None;
    let fileio = |order: &str, how: &str| matches!(&words("fileio")[..], [first, second] if is_abbreviation(first, order) && second == how);
    let (shares_files, deletes_first) = (fileio("random", "shared"), fileio("sequential", "delete"));
    let once = words("fileselect")[..] == ["once"];
    let poisson = parse_poisson(block, "fileselect")?;
    let mut order = |field: &'static str| {
        let mut words = words(field);
        if (shares_files || deletes_first) && field == "fileio" {
            words.truncate(1);
        }
        if poisson.is_some() && field == "fileselect" {
            return Ok(true);
        }
        let first = words.first().map_or("sequential", String::as_str);
        let is_known =
            is_abbreviation(first, "sequential") || is_abbreviation(first, "random") || once && field == "fileselect";
        if words.len() > 1 {
            refusal.get_or_insert(format!("`{field}=({})`", words.join(",")));
        } else if !is_known {
            return Err(block.invalid(field, first));
        }
        Ok(is_abbreviation(first, "random"))
    };
    let (is_random, selects_at_random) = (order("fileio")?, order("fileselect")?);
    if shares_files && (selects_at_random || once) {
        refusal.get_or_insert("`fileio=(random,shared)` with `fileselect=random`, `poisson` or `once`".into());
    }
    if deletes_first && (block.item("stopafter").is_some() || block.item("rdpct").is_some()) {
        refusal.get_or_insert("`fileio=(sequential,delete)` with `stopafter=` or `rdpct=`".into());
    }
    let stopafter = match block.item("stopafter") {
        None => None,
        Some(item) => match super::values::parse_number(&item.single_value(), false).filter(|value| *value != 0.0) {
            Some(value) => Some(value),
            None => return Err(block.invalid("stopafter", item.single_value())),
        },
    };
    Ok(Fwd {
        name: block.name.clone(),
        fsds: block.expanded_values("fsd"),
        operation: parse_operations(block, &block.expanded_values("operation"))?
            .first()
            .copied()
            .unwrap_or(0),
        rdpct: match block.item("rdpct") {
            Some(item) if item.numbers("rdpct")?.is_some() => Some(parse_percent(block, "rdpct", 0.0)? as u8),
            _ => None,
        },
        is_random,
        shares_files,
        deletes_first,
        selects_at_random,
        poisson,
        once,
        xfersize: transfer(block, "xfersizes")?,
        threads: check_threads(block, block.number("threads")?.unwrap_or(1.0))?,
        stopafter,
        skew: block.number("skew")?.filter(|skew| *skew > 0.0),
        target: block.expanded_values("target").into_iter().next(),
        flags: parse_flags(block)?,
        hosts: Vec::new(),
        ranks: Vec::new(),
        refusal,
    })
}

/// The default of `fwd=format`.
pub(super) fn default_format() -> Fwd {
    Fwd {
        name: "format".into(),
        xfersize: Transfer::One(131_072),
        threads: 8,
        ..Fwd::default()
    }
}

/// `fwd=format`.
pub(super) fn format_fwd(block: &Block) -> Result<Fwd, Diagnostic> {
    let default = default_format();
    Ok(Fwd {
        xfersize: match block.item("xfersizes") {
            Some(_) => transfer(block, "xfersizes")?,
            None => default.xfersize.clone(),
        },
        threads: check_threads(block, block.number("threads")?.unwrap_or(8.0))?,
        flags: parse_flags(block)?,
        ..default
    })
}

/// The numbers of these operations.
pub(super) fn parse_operations(block: &Block, words: &[String]) -> Result<Vec<usize>, Diagnostic> {
    let number = |word: &String| {
        let operation = find_operation(word);
        operation.ok_or_else(|| block.error(format!("Unknown operation: {word}")))
    };
    words.iter().map(number).collect()
}

/// `format=`, or the command line's replacement for it.
pub(super) fn format_words(block: &Block, forced: Option<&String>) -> Result<FormatWords, Diagnostic> {
    let words = forced.map_or_else(|| block.expanded_values("format"), |word| vec![word.clone()]);
    let has = |format: &str| {
        words
            .iter()
            .any(|word| word.len() >= 2 && format.starts_with(word.as_str()))
    };
    if has("no") || words.is_empty() {
        return Ok(FormatWords::default());
    }
    if has("complete") {
        return Err(block.error("'format=yes' and 'format=complete' are mutually exclusive."));
    }
    if has("limited") && !has("only") {
        let message = "'format=limited' can only be used with 'format=only'";
        return Err(block.error(message).help("use `format=(yes,limited,only)`"));
    }
    let loops = block
        .params
        .iter()
        .any(|(row, _)| row.name.starts_with("for") && row.name != "format");
    if has("once") && !loops {
        return Err(block.error("'format=once' can only be used with 'forxxx=' parameters"));
    }
    Ok(FormatWords {
        tree: Some(match () {
            () if has("clean") => TreeFormat::Clean,
            () if has("directories") => TreeFormat::Directories,
            () if has("restart") => TreeFormat::Restart,
            () => TreeFormat::All,
        }),
        only: has("only"),
        once: has("once"),
        limited: has("limited"),
    })
}
