//! The titles and rows of Iometer's results.

use model::finding::{Finding, Severity};
use model::observation::{CoreShare, IoStats, Latency};
use model::{Bytes, Direction};

use super::percent;
use crate::import::numbers::{parse_decimal, parse_integer};
use crate::{Diagnostic, Location};

/// The kinds of rows that are read.
const ROW_KINDS: [&str; 5] = ["ALL", "MANAGER", "PROCESSOR", "WORKER", "DISK"];
/// A percentile needs at least this many operations above it.
const MIN_OPERATIONS_ABOVE: f64 = 10.0;

/// Splits a line into cells. A spreadsheet may have quoted some.
pub(super) fn split_cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for letter in line.trim_end().chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            letter => cells.last_mut().expect("there is always one").push(letter),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// A title: `Average Response Time (ms)` is `average response time` in `ms`.
#[derive(Clone, Debug, PartialEq)]
struct Title {
    words: String,
    unit: Option<String>,
}

impl Title {
    fn parse(cell: &str) -> Title {
        let text = cell.trim_start_matches('\'').trim().to_ascii_lowercase();
        match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            Some((words, unit)) => Title {
                words: words.trim().to_owned(),
                unit: Some(unit.trim().to_owned()),
            },
            None => Title {
                words: text,
                unit: None,
            },
        }
    }

    /// Nanoseconds per unit; the default unit is milliseconds.
    fn nanos(&self) -> Option<f64> {
        match self.unit.as_deref() {
            None | Some("ms") => Some(1e6),
            Some("us" | "µs") => Some(1e3),
            Some("s") => Some(1e9),
            Some(_) => None,
        }
    }
}

/// The titles of the columns.
#[derive(Clone, Debug)]
pub(super) struct Table {
    titles: Vec<Title>,
    /// Columns of the latency histogram, with their titles: `0 to 50 uS`.
    ranges: Vec<(usize, String)>,
}

/// A row.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) kind: &'static str,
    pub(super) name: String,
    /// Name of its access specification.
    pub(super) access: String,
    pub(super) workers: Option<u32>,
    pub(super) disks: Option<u32>,
    pub(super) depth: Option<u64>,
    pub(super) total: IoStats,
    read: IoStats,
    write: IoStats,
    pub(super) errors: Option<u64>,
    /// Percentage of processor time.
    pub(super) busy: Option<f64>,
    user: Option<f64>,
    kernel: Option<f64>,
    /// Operations by latency, ascending.
    ranges: Vec<(String, u64)>,
}

impl Table {
    /// Reads the titles.
    ///
    /// # Errors
    /// Missing titles, and titles with an unknown unit.
    pub(super) fn from_header(cells: &[String], at: &Location) -> Result<Table, Vec<Diagnostic>> {
        let titles: Vec<Title> = cells.iter().map(|cell| Title::parse(cell)).collect();
        let ranges = cells.iter().enumerate().filter(|(_, cell)| is_range(cell));
        let table = Table {
            ranges: ranges.map(|(index, cell)| (index, cell.clone())).collect(),
            titles,
        };
        let needed: [(&[&str], &str); 4] = [
            (&["target name"], "the owner of a row is unknown"),
            (&["iops"], "the operations per second are unknown"),
            (&["mibps", "mbps"], "the throughput is unknown"),
            (
                &["average response time"],
                "the latency and the operations in flight are unknown",
            ),
        ];
        let mut problems = Vec::new();
        for (names, why) in needed {
            if names.iter().all(|name| table.place(name).is_none()) {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                let message = format!("no column is titled {}: without it {why}", names.join(" or "));
                let help = "pass results.csv as Iometer wrote it, with all titles";
                problems.push(Diagnostic::new(message).at(at.clone()).help(help));
            }
        }
        for title in table
            .titles
            .iter()
            .filter(|title| title.words.ends_with("response time"))
        {
            if title.nanos().is_none() && !title.words.contains("raw") {
                let message = format!(
                    "unknown unit `{}` of `{}`",
                    title.unit.as_deref().unwrap_or_default(),
                    title.words
                );
                problems.push(
                    Diagnostic::new(message)
                        .at(at.clone())
                        .help("known units are ms, us and s"),
                );
            }
        }
        if problems.is_empty() { Ok(table) } else { Err(problems) }
    }

    fn place(&self, words: &str) -> Option<usize> {
        self.titles.iter().position(|title| title.words == words)
    }

    /// Reads a row; `None` for other kinds of rows.
    ///
    /// # Errors
    /// A sentence about the unreadable cell.
    pub(super) fn row(&self, cells: &[String], is_last: bool) -> Result<Option<Row>, String> {
        let Some(kind) = ROW_KINDS.into_iter().find(|kind| kind.eq_ignore_ascii_case(&cells[0])) else {
            return Ok(None);
        };
        let (found, wanted) = (cells.len(), self.titles.len());
        // The file ends with a time stamp, so a short last row is truncated. Spreadsheets add empty
        // cells.
        if is_last && found < wanted || cells.iter().skip(wanted).any(|cell| !cell.is_empty()) {
            let message = format!("the row has {found} cells, but there are {wanted} titles");
            return Err(if found < wanted {
                message + ": the row is truncated"
            } else {
                message
            });
        }
        let cells = Cells { table: self, cells };
        let (read, write) = (cells.flow("read ", "read")?, cells.flow("write ", "written")?);
        let mut total = cells.flow("", "")?;
        let sum = |a: Option<u64>, b: Option<u64>| a?.checked_add(b?);
        total.operations = sum(read.operations, write.operations);
        total.bytes = sum(read.bytes.map(|bytes| bytes.0), write.bytes.map(|bytes| bytes.0)).map(Bytes);
        if let Some(latency) = &mut total.latency {
            latency.samples = total.operations;
        }
        if kind == "ALL" {
            for name in ["iops", "average response time"] {
                if cells.text(name).is_none() {
                    return Err(format!("no value under `{name}`"));
                }
            }
        }
        let small = |number: u64| u32::try_from(number).ok();
        let mut ranges = Vec::new();
        for (place, words) in &self.ranges {
            if let Some(count) = cells.at(*place) {
                let expected = || format!("cannot read `{count}` under `{words}`: expected digits");
                ranges.push((words.clone(), parse_integer(count).ok_or_else(expected)?));
            }
        }
        Ok(Some(Row {
            kind,
            name: cells.text("target name").unwrap_or_default().to_owned(),
            access: cells.text("access specification name").unwrap_or_default().to_owned(),
            workers: cells.read("# workers", parse_integer)?.and_then(small),
            disks: cells.read("# disks", parse_integer)?.and_then(small),
            depth: match cells.read("queue depth", parse_integer)? {
                Some(depth) => Some(depth),
                None => cells.read("# of outstanding ios", parse_integer)?,
            },
            total,
            read,
            write,
            errors: cells.read("errors", parse_integer)?,
            busy: cells.read("% cpu utilization", percent)?,
            user: cells.read("% user time", percent)?,
            kernel: cells.read("% privileged time", percent)?,
            ranges,
        }))
    }
}

/// The cells of a row under their titles.
struct Cells<'a> {
    table: &'a Table,
    cells: &'a [String],
}

impl Cells<'_> {
    fn at(&self, place: usize) -> Option<&str> {
        self.cells
            .get(place)
            .map(String::as_str)
            .filter(|cell| !cell.is_empty())
    }

    fn text(&self, words: &str) -> Option<&str> {
        self.at(self.table.place(words)?)
    }

    /// Reads an optional figure.
    fn read<T>(&self, words: &str, read: fn(&str) -> Option<T>) -> Result<Option<T>, String> {
        let Some(text) = self.text(words) else { return Ok(None) };
        let expected =
            || format!("cannot read `{text}` under `{words}`: expected digits, optionally with a decimal point");
        read(text).map(Some).ok_or_else(expected)
    }

    fn time(&self, words: &str) -> Result<Option<f64>, String> {
        let factor = self
            .table
            .place(words)
            .and_then(|place| self.table.titles[place].nanos());
        Ok(self
            .read(words, parse_decimal)?
            .zip(factor)
            .map(|(time, factor)| time * factor))
    }

    /// The flow of a direction (`read `), or of all (empty); `done` is the word in the title of its
    /// bytes.
    fn flow(&self, direction: &str, done: &str) -> Result<IoStats, String> {
        let operations = match done {
            "" => None,
            _ => self.read(&format!("{direction}i/os"), parse_integer)?,
        };
        let bytes = match done {
            "" => None,
            _ => self.read(&format!("bytes {done}"), parse_integer)?,
        };
        let iops = self.read(&format!("{direction}iops"), parse_decimal)?;
        let mean = self.time(&format!("average {direction}response time"))?;
        let max = self.time(&format!("maximum {direction}response time"))?;
        let latency = mean.or(max).filter(|_| iops != Some(0.0)).map(|_| Latency {
            samples: operations,
            mean_ns: mean,
            max_ns: max,
            ..Latency::default()
        });
        Ok(IoStats {
            operations,
            bytes: bytes.map(Bytes),
            iops,
            bytes_per_sec: self.throughput(direction)?,
            latency,
            ..IoStats::default()
        })
    }

    /// Iometer 1.1 has `MiBps (Binary)` and `MBps (Decimal)`; in earlier versions `MBps` means 2²⁰
    /// bytes.
    fn throughput(&self, direction: &str) -> Result<Option<f64>, String> {
        const MIB: f64 = 1_048_576.0;
        if let Some(rate) = self.read(&format!("{direction}mibps"), parse_decimal)? {
            return Ok(Some(rate * MIB));
        }
        let words = format!("{direction}mbps");
        let unit = self
            .table
            .place(&words)
            .map(|place| self.table.titles[place].unit.as_deref());
        let factor = if unit == Some(Some("decimal")) { 1e6 } else { MIB };
        Ok(self.read(&words, parse_decimal)?.map(|rate| rate * factor))
    }
}

impl Row {
    /// The flow of a direction, if it had any operations.
    pub(super) fn direction_flow(&self, direction: Direction) -> Option<IoStats> {
        let flow = match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => return None,
        };
        let some = flow.iops.map_or(flow.operations > Some(0), |iops| iops > 0.0);
        some.then(|| flow.clone())
    }

    /// The utilisation of a processor, such as `CPU 0`.
    pub(super) fn core(&self) -> Option<CoreShare> {
        Some(CoreShare {
            cpu: self
                .name
                .strip_prefix("CPU ")
                .and_then(parse_integer)?
                .try_into()
                .ok()?,
            user: self.user? / 100.0,
            kernel: self.kernel? / 100.0,
            stolen: None,
        })
    }

    /// Reports the histogram bucket of each percentile. The buckets are too wide for a value.
    pub(super) fn ranges(&self, name: &str) -> Option<Finding> {
        let count = |range: &(String, u64)| range.1 as f64;
        let all: f64 = self.ranges.iter().map(count).sum();
        let place = |share: f64| {
            let mut sum = 0.0;
            let matching_range = self.ranges.iter().find(|range| {
                sum += count(range);
                sum >= share * all
            })?;
            (all * (1.0 - share) >= MIN_OPERATIONS_ABOVE).then_some(&matching_range.0)
        };
        let ranges: Vec<String> = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)]
            .into_iter()
            .filter_map(|(words, share)| Some(format!("{words} is in {}", place(share)?)))
            .collect();
        if ranges.is_empty() {
            return None;
        }
        let message = format!("by its latency histogram, {}", ranges.join(", "));
        let finding = Finding::new("PCT-RANGES", Severity::Note, message).at(name);
        Some(finding.why("the report contains no percentiles, and its buckets are too wide to compute them"))
    }
}

/// `0 to 50 uS`, `0.5 to 1 mS`, `>= 10 S`.
fn is_range(title: &str) -> bool {
    let words: Vec<&str> = title.split_whitespace().collect();
    let unit = |word: &str| matches!(word.to_ascii_lowercase().as_str(), "us" | "ms" | "s");
    match &*words {
        [from, "to", to, last] => parse_decimal(from).is_some() && parse_decimal(to).is_some() && unit(last),
        [">=" | ">", from, last] => parse_decimal(from).is_some() && unit(last),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_have_words_and_units() {
        let title = |cell: &str| {
            let title = Title::parse(cell);
            (title.nanos(), title.words)
        };
        assert_eq!(
            title("Average Response Time"),
            (Some(1e6), "average response time".into())
        );
        assert_eq!(
            title("Average Response Time (us)"),
            (Some(1e3), "average response time".into())
        );
        assert_eq!(title("'Target Type").1, "target type");
        assert_eq!(title("MBps (Decimal)").1, "mbps");
        for range in ["0 to 50 uS", "0.5 to 1 mS", ">= 10 S"] {
            assert!(is_range(range), "{range}");
        }
        assert!(!is_range("Bytes Read"));
        assert_eq!(split_cells("ALL,\"a, b\", c ,"), ["ALL", "a, b", "c", ""]);
    }

    #[test]
    fn percentiles_are_located_but_not_reported() {
        let range = |words: &str, count: u64| (words.to_owned(), count);
        let row = Row {
            ranges: vec![
                range("0 to 50 uS", 600),
                range("50 to 100 uS", 390),
                range("0.5 to 1 mS", 10),
            ],
            ..Row::default()
        };
        let ranges = row.ranges("x").expect("a thousand operations").what;
        assert_eq!(
            ranges,
            "by its latency histogram, p50 is in 0 to 50 uS, p99 is in 50 to 100 uS"
        );
        assert_eq!(Row::default().ranges("x"), None);
    }
}
