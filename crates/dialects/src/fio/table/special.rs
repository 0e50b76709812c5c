//! Parsers of options with their own grammar.

use model::PerDirection;

use super::reader::{Notice, OptionError, ParseResult, Reader, assign_directions};
use super::row::Field;
use crate::fio::lower;
use crate::fio::options::replay::Skip;
use crate::fio::options::typed::{
    CpuRange, Distribution, LogName, Piece, PrioritySplit, Range, Split, SyncFileRange, Zone,
};
use crate::fio::options::{JobOptions, pattern};
use crate::fio::plan::files::join_path;
use crate::fio::values::{self, Unit};

/// The maximum number of block sizes or zones of a direction.
const MAX_ENTRIES: usize = 64;

pub(super) fn parse_filename(reader: &mut Reader<'_>, text: &str) -> ParseResult {
    // Like fio, this joins directory and name immediately: a later directory has no effect. Each
    // option adds to earlier names, including the names of [global]; a repeated name means the same
    // file.
    let files = &mut reader.job.files;
    let directory = files.directory.first().cloned();
    files.filename.extend(
        values::split_names(text)
            .iter()
            .map(|name| join_path(directory.as_deref(), name)),
    );
    Ok(())
}

pub(super) fn parse_directory(reader: &mut Reader<'_>, text: &str) -> ParseResult {
    let names = values::split_names(text);
    let is_dry = reader.is_dry;
    for name in names.iter().filter(|_| !is_dry) {
        let is_directory = reader.env.as_ref().map(|env| env.is_directory(name));
        let Some(Ok(true)) = is_directory else {
            if let Some(Err(why)) = is_directory {
                let line = format!("fio: file:fathom:0, func=lstat, error={why}");
                reader.notices.push(Notice::Out(line));
            }
            let hint = format!("create the directory (mkdir -p {name}), or name an existing one");
            reader.notices.push(Notice::Hint(hint));
            return Err(reader.fail(format!("fio: {name} is not a directory")));
        };
    }
    reader.job.files.directory = names;
    Ok(())
}

pub(super) fn parse_service_type(reader: &mut Reader<'_>, tail: &str) -> ParseResult {
    let parameter = tail.strip_prefix(':').and_then(values::parse_real);
    let zipf = reader.job.files.file_service_type == crate::fio::options::files::ServiceType::Zipf;
    if zipf && parameter == Some(1.0) {
        return Err(reader.fail("fio: zipf theta must be different than 1.0"));
    }
    reader.job.files.file_service_count = parameter;
    Ok(())
}

/// Parses the suffix of `rw`: how often a position is drawn, or how far a sequential job skips.
pub(super) fn parse_sequence(reader: &mut Reader<'_>, tail: &str) -> ParseResult {
    let rw = reader.job.pattern.rw;
    if reader.readonly && rw.changes_data() {
        return Err(OptionError::ReadOnly);
    }
    let step = tail.strip_prefix(':').map(|text| match rw.is_random() {
        true => leading_integer(text),
        false => reader.number(text).map_or(0, |number| number.signed()),
    });
    reader.job.pattern.rw_step = step.unwrap_or(0);
    Ok(())
}

impl pattern::Rw {
    /// Blocks are written or discarded.
    pub fn changes_data(self) -> bool {
        !matches!(self, pattern::Rw::Read | pattern::Rw::RandRead)
    }

    /// Positions are drawn.
    pub fn is_random(self) -> bool {
        use pattern::Rw;
        match self {
            Rw::RandRead | Rw::RandWrite | Rw::RandTrim | Rw::RandReadWrite | Rw::RandTrimWrite => true,
            Rw::Read | Rw::Write | Rw::Trim | Rw::ReadWrite | Rw::TrimWrite => false,
        }
    }
}

pub(super) fn time_range(reader: &mut Reader<'_>, text: &str) -> ParseResult {
    let delay = parse_range(reader, text, Unit::Seconds)?;
    if let Some(row) = super::find("startdelay") {
        reader.check_bounds(row, delay.low)?;
        reader.check_bounds(row, delay.high)?;
    }
    reader.job.job.startdelay = delay;
    Ok(())
}

pub(super) fn parse_range(reader: &Reader<'_>, text: &str, unit: Unit) -> Result<Range, OptionError> {
    let (numbers, _) = values::parse_numbers(text, unit, reader.job.kb_base());
    let low = numbers.first().copied().flatten().ok_or(OptionError::Failed)?.raw;
    let high = numbers.get(1).copied().flatten().map_or(low, |number| number.raw);
    Ok(Range { low, high })
}

pub(super) fn block_range(reader: &mut Reader<'_>, text: &str) -> ParseResult {
    let mut ranges = Vec::new();
    for (index, piece) in values::split_at_separators(text, &[','])
        .into_iter()
        .take(3)
        .enumerate()
    {
        let ends = values::split_at_separators(piece, &['-', ':']);
        let numbers: Vec<_> = ends.iter().map(|end| reader.number(end)).collect();
        match numbers.as_slice() {
            [Ok(a), Ok(b)] => ranges.push(Some(Range {
                low: a.raw.min(b.raw),
                high: a.raw.max(b.raw),
            })),
            _ if index == 0 => return Err(OptionError::Failed),
            _ => ranges.push(None),
        }
    }
    if let Some(row) = super::find("bsrange") {
        for range in ranges.iter().flatten() {
            reader.check_bounds(row, range.low)?;
        }
    }
    assign_directions(&mut reader.job.pattern.bsrange, &ranges, false);
    Ok(())
}

pub(super) fn block_split(reader: &mut Reader<'_>, text: &str) -> ParseResult {
    let mut lists = Vec::new();
    for list in values::split_at_separators(text, &[',']).into_iter().take(3) {
        let (mut sizes, mut shares) = (Vec::new(), Vec::new());
        let entries = values::split_at_separators(list, &[':']).into_iter();
        // fio ends a list at an empty entry.
        for entry in entries.take_while(|entry| !entry.is_empty()).take(MAX_ENTRIES) {
            let (size, percent) = entry.split_once('/').unwrap_or((entry, ""));
            let Ok(size) = reader.number(size) else {
                return Err(reader.fail("fio: split conversion failed"));
            };
            sizes.push(size.raw);
            shares.push(parse_share(percent, 100));
        }
        let Some(shares) = fill_shares(&shares) else {
            return Err(reader.fail("fio: bssplit percentages add to more than 100%"));
        };
        let splits = sizes.into_iter().zip(shares);
        let splits = splits.map(|(bytes, percent)| Split { bytes, percent });
        lists.push(Some(splits.collect()));
    }
    assign_directions(&mut reader.job.pattern.bssplit, &lists, false);
    Ok(())
}

/// Priorities by block size: for reads, and for writes if they differ.
pub(super) fn parse_priorities(reader: &mut Reader<'_>, text: &str) -> ParseResult {
    let mut lists = Vec::new();
    for list in values::split_at_separators(text, &[',']).into_iter().take(2) {
        let mut entries = Vec::new();
        for entry in values::split_at_separators(list, &[':']).into_iter().take(MAX_ENTRIES) {
            entries.push(parse_priority(reader, entry)?);
        }
        lists.push(Some(entries));
    }
    let mut splits = PerDirection::default();
    assign_directions(&mut splits, &lists, false);
    // Trims have no priorities.
    splits.trim.clear();
    reader.job.engine.cmdprio_bssplit = Some(splits);
    Ok(())
}

fn parse_priority(reader: &mut Reader<'_>, entry: &str) -> Result<PrioritySplit, OptionError> {
    let mut fields = entry.split('/');
    let size = fields.next().unwrap_or_default();
    let Ok(size) = reader.number(size) else {
        return Err(reader.fail("fio: split conversion failed"));
    };
    let numbers: Vec<u64> = fields
        .filter(|field| !field.is_empty())
        .map(|field| leading_integer(field).max(0) as u64)
        .collect();
    let (percent, priority) = match numbers[..] {
        [] => (0, None),
        [percent] => (percent, None),
        [percent, class, level] => (percent, Some((class, level, 0))),
        [percent, class, level, hint] => (percent, Some((class, level, hint))),
        _ => return Err(reader.fail("fio: invalid cmdprio_bssplit format")),
    };
    if priority.is_some_and(|(class, level, hint)| class > 3 || level > 7 || hint > 1023) {
        return Err(reader.fail("fio: invalid cmdprio_bssplit format"));
    }
    Ok(PrioritySplit {
        bytes: size.raw,
        percent: percent.min(100),
        priority,
    })
}

/// Parses the operations that a replay skips, separated by commas.
pub(super) fn replay_skip(reader: &mut Reader<'_>, text: &str) -> ParseResult {
    let mut skipped = Vec::new();
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let kind = match word {
            "read" => Skip::Reads,
            "write" => Skip::Writes,
            "trim" => Skip::Trims,
            "sync" => Skip::Syncs,
            other => return Err(reader.fail(format!("Unknown skip type: {other}"))),
        };
        skipped.push(kind);
    }
    reader.job.replay.replay_skip = skipped;
    Ok(())
}

/// Parses a power of two.
pub(super) fn replay_align(reader: &mut Reader<'_>, text: &str) -> ParseResult {
    let align = reader.number(text)?.signed();
    if align < 0 || align > 0 && !(align as u64).is_power_of_two() {
        return Err(reader.fail("replay_align: must be a power-of-2"));
    }
    reader.job.replay.replay_align = align;
    Ok(())
}

/// A percentage, at most `max`; `None` if it is blank.
fn parse_share(text: &str, max: i64) -> Option<u64> {
    (!text.is_empty()).then(|| leading_integer(text).clamp(0, max) as u64)
}

/// Divides the remaining percentage equally among blank shares. `None` if several are blank and
/// nothing remains.
fn fill_shares(shares: &[Option<u64>]) -> Option<Vec<u64>> {
    let total: u64 = shares.iter().flatten().sum();
    let blank = shares.iter().filter(|share| share.is_none()).count() as u64;
    if total > 100 && blank > 1 {
        return None;
    }
    let blank_share = 100u64.saturating_sub(total).checked_div(blank).unwrap_or(0);
    Some(shares.iter().map(|share| share.unwrap_or(blank_share)).collect())
}

pub(super) fn parse_distribution(reader: &mut Reader<'_>, tail: &str) -> ParseResult {
    use pattern::DistributionName as Name;
    let tail = tail.strip_prefix(':').unwrap_or_default();
    let named = reader.job.pattern.random_distribution;
    let is_curve = matches!(named, Name::Zipf | Name::Pareto | Name::Normal);
    let is_number = |text: &str| text.is_empty() || values::parse_real(text).is_some();
    if is_curve && !tail.split(':').take(2).all(is_number) {
        return Err(reader.fail("fio: random postfix parsing failed"));
    }
    let mut numbers = tail.split(':').map(values::parse_real);
    let (first, center) = (numbers.next().flatten(), numbers.next().flatten());
    let distribution = match reader.job.pattern.random_distribution {
        Name::Random => Distribution::Even,
        Name::Zipf => {
            let theta = first.unwrap_or(1.1);
            if theta == 1.0 {
                return Err(reader.fail("fio: zipf theta must different than 1.0"));
            }
            Distribution::Zipf { theta, center }
        }
        Name::Pareto => {
            let h = first.unwrap_or(0.2);
            if h <= 0.0 || h >= 1.0 {
                return Err(reader.fail("fio: pareto input out of range (0 < input < 1.0)"));
            }
            Distribution::Pareto { h, center }
        }
        Name::Normal => {
            let deviation = first.unwrap_or(0.0);
            if !(0.0..100.0).contains(&deviation) {
                return Err(reader.fail("fio: normal deviation out of range (0 <= input < 100.0)"));
            }
            Distribution::Normal { deviation, center }
        }
        Name::Zoned => Distribution::Zoned(parse_zones(reader, tail, true)?),
        Name::ZonedAbs => Distribution::ZonedAbsolute(parse_zones(reader, tail, false)?),
        Name::Sequence => Distribution::Sequence(
            tail.split(',')
                .take(MAX_ENTRIES)
                .map(|block| reader.number(block).map(|number| number.raw))
                .collect::<Result<_, _>>()?,
        ),
    };
    reader.job.pattern.distribution = distribution;
    Ok(())
}

/// Larger shares of the accesses are refused like this one.
const MAX_REFUSED: i64 = 101;

/// Parses zones: shares of the accesses, and sizes. In percent, both columns add up to 100.
fn parse_zones(reader: &mut Reader<'_>, text: &str, percent: bool) -> Result<PerDirection<Vec<Zone>>, OptionError> {
    let mut lists = Vec::new();
    for list in text.split(',').take(3) {
        let (mut accesses, mut sizes) = (Vec::new(), Vec::new());
        for entry in list.split(':').take(MAX_ENTRIES) {
            let (access, size) = entry.split_once('/').unwrap_or((entry, ""));
            sizes.push(match percent {
                true => parse_share(size, 100),
                false => Some(reader.number(size)?.raw),
            });
            accesses.push(parse_share(access, MAX_REFUSED));
        }
        let accesses = fill_shares(&accesses).ok_or(OptionError::Failed)?;
        let sizes: Vec<u64> = match percent {
            true => fill_shares(&sizes).ok_or(OptionError::Failed)?,
            false => sizes.into_iter().flatten().collect(),
        };
        let columns: &[(&str, &[u64])] = match percent {
            true => &[("access", &accesses), ("area", &sizes)],
            false => &[("access", &accesses)],
        };
        for (what, column) in columns {
            let sum: u64 = column.iter().sum();
            if sum > 100 {
                return Err(reader.fail("fio: zone_split percentages add to more than 100%"));
            }
            if sum < 100 {
                return Err(reader.fail(format!(
                    "fio: {what} percentage don't add up to 100 for zoned random distribution (got={sum})"
                )));
            }
        }
        let zones = accesses.into_iter().zip(sizes);
        lists.push(Some(zones.map(|(access, size)| Zone { access, size }).collect()));
    }
    let mut values = PerDirection::default();
    assign_directions(&mut values, &lists, false);
    Ok(values)
}

pub(super) fn parse_steady_state(reader: &mut Reader<'_>, tail: &str) -> ParseResult {
    use crate::fio::options::pace::Criterion;
    let Some(text) = tail.strip_prefix(':') else {
        return Err(reader.fail("fio: steadystate threshold must be specified in addition to criterion"));
    };
    let percent = text.ends_with('%');
    let iops = matches!(reader.job.pace.steadystate, Criterion::Iops | Criterion::IopsSlope);
    let limit = match percent || iops {
        true => values::parse_real(text),
        false => reader.number(text).ok().map(|number| number.raw as f64),
    };
    let Some(limit) = limit else {
        let message = if iops { "IOPS" } else { "BW" };
        return Err(reader.fail(format!("fio: steadystate {message} threshold postfix parsing failed")));
    };
    if reader.debugs_parsing {
        let line = match (percent, iops) {
            (true, _) => format!("threshold to {limit:.6}%"),
            (false, true) => format!("IOPS threshold to {limit:.6}"),
            (false, false) => format!("BW threshold to {limit:.0}"),
        };
        reader
            .notices
            .push(Notice::Out(format!("parse    set steady state {line}")));
    }
    reader.job.pace.steadystate_limit = limit;
    reader.job.pace.steadystate_percent = percent;
    Ok(())
}

pub(super) fn sync_file_range(reader: &mut Reader<'_>, text: &str) -> ParseResult {
    let (words, every) = text.split_once(':').unwrap_or((text, "1"));
    let mut range = SyncFileRange {
        every: leading_integer(every),
        ..SyncFileRange::default()
    };
    for word in words.split(',') {
        match word {
            "wait_before" => range.wait_before = true,
            "write" => range.write = true,
            "wait_after" => range.wait_after = true,
            _ => return Err(OptionError::Failed),
        }
    }
    reader.job.queue.sync_file_range = range;
    Ok(())
}

pub(super) fn parse_errors(reader: &mut Reader<'_>, text: &str) -> ParseResult {
    let names = |list: &str| {
        list.split(':')
            .filter(|name| !name.is_empty())
            .map(str::to_string)
            .collect()
    };
    reader.job.job.ignore_error = text.split(',').take(3).map(names).collect();
    Ok(())
}

pub(super) fn set_log_name(log: &mut Option<LogName>, text: &str) -> ParseResult {
    *log = Some(match text {
        "" => LogName::OfJob,
        name => LogName::Named(name.to_string()),
    });
    Ok(())
}

pub(super) fn parse_cpu_mask(reader: &mut Reader<'_>, text: &str) -> ParseResult {
    let mask = reader.number(text)?.signed();
    let cpu_beyond_max = (0..i64::BITS).find(|cpu| mask >> cpu & 1 == 1 && *cpu > reader.max_cpu());
    if let Some(cpu) = cpu_beyond_max {
        return Err(reader.fail_on_cpu(cpu.into()));
    }
    reader.job.system.cpumask = Some(mask);
    Ok(())
}

pub(super) fn parse_cpu_nodes(reader: &mut Reader<'_>, text: &str) -> ParseResult {
    check_nodes(reader, text)?;
    reader.job.system.numa_cpu_nodes = Some(text.to_owned());
    Ok(())
}

pub(super) fn parse_memory_policy(reader: &mut Reader<'_>, text: &str) -> ParseResult {
    check_nodes(reader, text.split_once(':').map_or("", |(_, nodes)| nodes))?;
    reader.job.system.numa_mem_policy = Some(text.to_owned());
    Ok(())
}

/// Refuses nodes that this machine lacks. Lowering refuses a malformed list.
fn check_nodes(reader: &mut Reader<'_>, text: &str) -> ParseResult {
    let machine = reader.machine();
    let mut nodes = lower::system::nodes(text).into_iter().flatten();
    let missing = nodes.find(|node| machine.is_some_and(|machine| !machine.has_numa_node(*node)));
    match missing {
        Some(_) => Err(reader.fail("fio: numa_parse_nodestring failed")),
        None => Ok(()),
    }
}

/// Parses ranges of processors. Ranges are expanded later, so the numbers and their count are
/// limited.
pub(super) fn parse_cpus(reader: &mut Reader<'_>, (option, at): Field<Vec<CpuRange>>, text: &str) -> ParseResult {
    let mut listed = 0;
    let mut ranges = Vec::new();
    let max_cpu = i64::from(reader.max_cpu());
    for piece in text.split(',').filter(|piece| !piece.trim().is_empty()) {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let (first, last) = (leading_integer(first).max(0), leading_integer(last).max(0));
        if first.max(last) > max_cpu {
            return Err(reader.fail_on_cpu(first.max(max_cpu + 1)));
        }
        listed += (last - first + 1).max(0);
        if listed > max_cpu + 1 {
            return Err(reader.fail(format!("fio: {option}: the list has more than {} CPUs", max_cpu + 1)));
        }
        ranges.push(CpuRange {
            first: first as u32,
            last: last as u32,
        });
    }
    *at(reader.job) = ranges;
    Ok(())
}

/// The leading integer, as C's `atoi` reads it; 0 if there is none.
fn leading_integer(text: &str) -> i64 {
    let text = text.trim_start();
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let end = unsigned
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(unsigned.len());
    let digits = &unsigned[..end];
    let value: i64 = digits.parse().unwrap_or(if digits.is_empty() { 0 } else { i64::MAX });
    if unsigned.len() < text.len() { -value } else { value }
}

/// Parses a sequence of `0x` with hexadecimal digits, `"text"`, `'file'`, decimal numbers and `%o`.
pub(super) fn parse_pieces(text: &str) -> Result<Vec<Piece>, OptionError> {
    pieces(text).ok_or(OptionError::Failed)
}

fn pieces(text: &str) -> Option<Vec<Piece>> {
    let (mut rest, mut pieces) = (text, Vec::new());
    while let Some(first) = rest.chars().next() {
        let piece;
        (piece, rest) = match first {
            '"' => {
                let (inner, rest) = parse_quoted(&rest[1..], '"')?;
                (Piece::Bytes(inner.into_bytes()), rest)
            }
            '\'' => {
                let (inner, rest) = parse_quoted(&rest[1..], '\'')?;
                (Piece::File(inner), rest)
            }
            '%' => (Piece::Offset, rest.strip_prefix("%o")?),
            _ => match rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
                Some(digits) => parse_hexadecimal(digits)?,
                None => parse_decimal(rest)?,
            },
        };
        pieces.push(piece);
    }
    (!pieces.is_empty()).then_some(pieces)
}

/// The text up to the closing mark, and the rest. A backslash quotes the next character.
fn parse_quoted(text: &str, mark: char) -> Option<(String, &str)> {
    let mut inner = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => inner.push(letters.next()?.1),
            _ if letter == mark => return Some((inner, &text[at + mark.len_utf8()..])),
            _ => inner.push(letter),
        }
    }
    None
}

fn parse_hexadecimal(text: &str) -> Option<(Piece, &str)> {
    let end = text
        .find(|letter: char| !letter.is_ascii_hexdigit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let digits = match digits.len() % 2 {
        0 => digits.to_string(),
        _ => format!("0{digits}"),
    };
    let bytes: Option<Vec<u8>> = (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok())
        .collect();
    Some((Piece::Bytes(bytes.filter(|bytes| !bytes.is_empty())?), rest))
}

/// The bytes of a number, the lowest first, without zeros at the end.
fn parse_decimal(text: &str) -> Option<(Piece, &str)> {
    let sign = usize::from(text.starts_with('-'));
    let digits = text[sign..]
        .find(|letter: char| !letter.is_ascii_digit())
        .map_or(text.len(), |end| end + sign);
    // The 0 of a following 0x is not a digit of this number: -120xdeadface is -12 and 0xdeadface.
    let hexadecimal_follows = text[..digits].ends_with('0') && text[digits..].starts_with(['x', 'X']);
    let end = digits - usize::from(hexadecimal_follows);
    let value: i64 = text[..end].parse().ok()?;
    let mut bytes = match value {
        0.. => value.to_le_bytes().to_vec(),
        _ => i32::try_from(value).ok()?.to_le_bytes().to_vec(),
    };
    while bytes.len() > 1 && bytes.last() == Some(&0) {
        bytes.pop();
    }
    Some((Piece::Bytes(bytes), &text[end..]))
}

/// Turns off latencies, bandwidth samples and percentiles, to read the clock less often.
pub(super) fn reduce_clock_calls(job: &mut JobOptions) {
    let report = &mut job.report;
    if report.gtod_reduce {
        report.disable_lat = true;
        report.disable_clat = true;
        report.disable_slat = true;
        report.disable_bw_measurement = true;
        report.clat_percentiles = false;
        report.lat_percentiles = false;
        report.slat_percentiles = false;
    }
}
