//! Reads the tables of DiskSpd's text report by column title: the columns depend on the version and
//! on `-L`, `-D`.

use crate::import::numbers::{self, parse_decimal, parse_decimal_comma, parse_integer};

/// The figures of a row of an operations table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RowFigures {
    pub bytes: Option<u64>,
    pub operations: Option<u64>,
    pub mib_per_sec: Option<f64>,
    pub iops: Option<f64>,
    pub latency_ms: Option<f64>,
    pub iops_deviation: Option<f64>,
    pub latency_deviation_ms: Option<f64>,
}

/// The row of a thread.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub thread: u64,
    /// Path, without the size after it.
    pub file: String,
    /// Bytes of the target.
    pub size: Option<u64>,
    pub cells: RowFigures,
}

/// `Total IO`, `Read IO` or `Write IO`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
    pub total: Option<RowFigures>,
}

/// A cell or row that could not be read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unreadable {
    pub found: String,
    pub expected: &'static str,
}

/// Splits a row at its bars.
pub(super) fn split_cells(line: &str) -> Vec<&str> {
    line.split('|').map(str::trim).collect()
}

/// Splits a title line into columns.
pub(super) fn split_titles(line: &str) -> Vec<String> {
    split_cells(line).into_iter().map(str::to_owned).collect()
}

/// Parses a figure with a fixed number of decimals. Sets `commas` if it has a decimal comma.
pub(super) fn parse_figure(text: &str, decimals: usize, commas: &mut bool) -> Option<f64> {
    parse_decimal(text).or_else(|| {
        let number = parse_decimal_comma(text, decimals);
        *commas |= number.is_some();
        number
    })
}

impl Table {
    /// Adds a row. `Ok(false)`: the line is not a row.
    pub(super) fn read_row(&mut self, line: &str, commas: &mut bool) -> Result<bool, Unreadable> {
        if !line.contains('|') {
            return Ok(false);
        }
        let cells = split_cells(line);
        if let Some(first) = cells[0].strip_prefix("total:") {
            let row: Vec<&str> = std::iter::once(first.trim())
                .chain(cells[1..].iter().copied())
                .collect();
            let inner = self.columns.len().saturating_sub(2);
            if row.len() != inner {
                return Err(unreadable(line, "a cell for each figure of the title"));
            }
            self.total = Some(self.figures(&row, commas)?);
            return Ok(true);
        }
        let Some(thread) = parse_integer(cells[0]) else {
            return Ok(false);
        };
        if cells.len() < self.columns.len() {
            return Err(unreadable(line, "a cell for each column of the title"));
        }
        // The path may contain bars.
        let file = line.splitn(self.columns.len(), '|').last().unwrap_or_default();
        let (file, size) = split_size(file.trim());
        self.rows.push(Row {
            thread,
            size,
            file,
            cells: self.figures(&cells[1..self.columns.len() - 1], commas)?,
        });
        Ok(true)
    }

    /// The figures of a row, without thread and file.
    fn figures(&self, row: &[&str], commas: &mut bool) -> Result<RowFigures, Unreadable> {
        let mut cells = RowFigures::default();
        for (title, text) in self.columns[1..].iter().zip(row) {
            // No operation, so no mean.
            if *text == "N/A" {
                continue;
            }
            let integer = || parse_integer(text).ok_or_else(|| unreadable(text, "a whole number without separators"));
            let mut number = |decimals| {
                let read = parse_figure(text, decimals, commas);
                read.map(Some)
                    .ok_or_else(|| unreadable(text, "a number with a decimal point"))
            };
            match title.as_str() {
                "bytes" => cells.bytes = Some(integer()?),
                "I/Os" => cells.operations = Some(integer()?),
                // Up to 2.0.17 the title was wrong: the figures have always been in MiB.
                "MiB/s" | "MB/s" => cells.mib_per_sec = number(2)?,
                "I/O per s" => cells.iops = number(2)?,
                "AvgLat" => cells.latency_ms = number(3)?,
                "IopsStdDev" => cells.iops_deviation = number(2)?,
                "LatStdDev" => cells.latency_deviation_ms = number(3)?,
                _ => {}
            }
        }
        Ok(cells)
    }
}

fn unreadable(found: &str, expected: &'static str) -> Unreadable {
    Unreadable {
        found: found.to_owned(),
        expected,
    }
}

/// `test.dat (2048MiB)`.
fn split_size(text: &str) -> (String, Option<u64>) {
    let split = || {
        let (path, size) = text.strip_suffix(')')?.rsplit_once(" (")?;
        Some((path.to_owned(), super::settings::parse_size(size)?))
    };
    match split() {
        Some((path, size)) => (path, Some(size)),
        None => (text.to_owned(), None),
    }
}

/// One chart of percentiles.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Chart {
    /// It covers all targets.
    pub total: bool,
    /// The share of values below, and the milliseconds of reads, writes and all. Share 0 is the
    /// minimum, 1 the maximum.
    pub rows: Vec<(f64, [Option<f64>; 3])>,
}

impl Chart {
    /// Adds a row. `Ok(false)`: the line is not a row.
    pub(super) fn read_row(&mut self, line: &str, commas: &mut bool) -> Result<bool, Unreadable> {
        let cells = split_cells(line);
        let Some(share) = parse_percentile_label(cells[0]).filter(|_| cells.len() > 1) else {
            return Ok(false);
        };
        if cells.len() != 4 {
            return Err(unreadable(line, "percentile | Read | Write | Total"));
        }
        let mut values = [None; 3];
        for (value, text) in values.iter_mut().zip(&cells[1..]) {
            if *text != "N/A" {
                let read = parse_figure(text, 3, commas);
                *value = Some(read.ok_or_else(|| unreadable(text, "milliseconds with a decimal point"))?);
            }
        }
        self.rows.push((share, values));
        Ok(true)
    }
}

/// Parses the label of a percentile row.
fn parse_percentile_label(label: &str) -> Option<f64> {
    if let Some(nines) = label.strip_suffix("-nines").and_then(parse_integer) {
        return (1..=9)
            .contains(&nines)
            .then(|| 1.0 - 10f64.powi(-(nines as i32)))
            .map(|share| numbers::percent_to_share(share * 100.0));
    }
    match label {
        "min" => Some(0.0),
        "max" => Some(1.0),
        _ => {
            let percent = label.strip_suffix("th").and_then(parse_integer)?;
            (percent < 100).then_some(percent as f64 / 100.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_their_titles() {
        let title = "thread |       bytes     |     I/Os     |    MB/s    |  I/O per s |  AvgLat  | IopsStdDev | LatStdDev |  file";
        let mut table = Table {
            columns: split_titles(title),
            ..Table::default()
        };
        let mut commas = false;
        let row = "     0 |            4096 |            1 |       0,01 |       1.00 |    0.148 |     436.02 |       N/A | a | b (16MiB)";
        assert_eq!(table.read_row(row, &mut commas), Ok(true));
        assert!(commas);
        let row = &table.rows[0];
        assert_eq!((row.file.as_str(), row.size), ("a | b", Some(16 << 20)));
        assert_eq!(row.cells.mib_per_sec, Some(0.01));
        assert_eq!(row.cells.latency_deviation_ms, None);
        assert_eq!(table.read_row("Następna część", &mut commas), Ok(false));
        assert!(table.read_row("total: 4096 | 1 | 0.01", &mut commas).is_err());
        let thousands = " 1 | 4,096 | 1 | 0.01 | 1.00 | 0.148 | 436.02 | 1.000 | a (1MiB)";
        assert_eq!(
            table.read_row(thousands, &mut commas).map_err(|error| error.expected),
            Err("a whole number without separators")
        );
    }

    #[test]
    fn nines_are_shares() {
        assert_eq!(parse_percentile_label("3-nines"), Some(0.999));
        assert_eq!(parse_percentile_label("25th"), Some(0.25));
        assert_eq!(parse_percentile_label("max"), Some(1.0));
        for label in ["0-nines", "10-nines", "100th", "%-ile", ""] {
            assert_eq!(parse_percentile_label(label), None, "{label}");
        }
    }
}
