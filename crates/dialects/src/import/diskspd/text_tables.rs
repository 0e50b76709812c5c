//! The tables of DiskSpd's text report, by the titles of their columns: which there are depends on
//! the version and on `-L`, `-D`.

use crate::import::numbers::{self, decimal, whole, with_comma};

/// One row of a table of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cells {
    pub bytes: Option<u64>,
    pub operations: Option<u64>,
    pub mib_per_sec: Option<f64>,
    pub iops: Option<f64>,
    pub latency_ms: Option<f64>,
    pub iops_deviation: Option<f64>,
    pub latency_deviation_ms: Option<f64>,
}

/// A row of a thread.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub thread: u64,
    /// Path, without the size behind it.
    pub file: String,
    /// Bytes of the target.
    pub size: Option<u64>,
    pub cells: Cells,
}

/// `Total IO`, `Read IO` or `Write IO`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
    pub total: Option<Cells>,
}

/// A row that could not be read: what stands there and what was expected.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unreadable {
    pub found: String,
    pub expected: &'static str,
}

/// Cells of a row between its bars.
pub(super) fn cells(line: &str) -> Vec<&str> {
    line.split('|').map(str::trim).collect()
}

/// Columns of a title line.
pub(super) fn titles(line: &str) -> Vec<String> {
    cells(line).into_iter().map(str::to_owned).collect()
}

/// A figure with a fixed number of decimals. `commas` notes that one was written with a comma.
pub(super) fn figure(text: &str, decimals: usize, commas: &mut bool) -> Option<f64> {
    decimal(text).or_else(|| {
        let number = with_comma(text, decimals);
        *commas |= number.is_some();
        number
    })
}

impl Table {
    /// Takes a row. `Ok(false)`: the line is no row.
    pub(super) fn take(&mut self, line: &str, commas: &mut bool) -> Result<bool, Unreadable> {
        if !line.contains('|') {
            return Ok(false);
        }
        let cells = cells(line);
        if let Some(first) = cells[0].strip_prefix("total:") {
            let row: Vec<&str> = std::iter::once(first.trim())
                .chain(cells[1..].iter().copied())
                .collect();
            let inner = self.columns.len().saturating_sub(2);
            if row.len() != inner {
                return Err(unreadable(line, "as many cells as the title has figures"));
            }
            self.total = Some(self.figures(&row, commas)?);
            return Ok(true);
        }
        let Some(thread) = whole(cells[0]) else {
            return Ok(false);
        };
        if cells.len() < self.columns.len() {
            return Err(unreadable(line, "as many cells as the title"));
        }
        // A path may have bars in it.
        let file = line.splitn(self.columns.len(), '|').last().unwrap_or_default();
        let (file, size) = with_size(file.trim());
        self.rows.push(Row {
            thread,
            size,
            file,
            cells: self.figures(&cells[1..self.columns.len() - 1], commas)?,
        });
        Ok(true)
    }

    /// Figures of a row, without those of thread and file.
    fn figures(&self, row: &[&str], commas: &mut bool) -> Result<Cells, Unreadable> {
        let mut cells = Cells::default();
        for (title, text) in self.columns[1..].iter().zip(row) {
            // There was no operation to take a mean of.
            if *text == "N/A" {
                continue;
            }
            let integer = || whole(text).ok_or_else(|| unreadable(text, "a whole number without separators"));
            let mut number = |decimals| {
                let read = figure(text, decimals, commas);
                read.map(Some)
                    .ok_or_else(|| unreadable(text, "a number with a decimal point"))
            };
            match title.as_str() {
                "bytes" => cells.bytes = Some(integer()?),
                "I/Os" => cells.operations = Some(integer()?),
                // Up to 2.0.17 the title was wrong; the figures have always been powers of 1024.
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
fn with_size(text: &str) -> (String, Option<u64>) {
    let split = || {
        let (path, size) = text.strip_suffix(')')?.rsplit_once(" (")?;
        Some((path.to_owned(), super::settings::size(size)?))
    };
    match split() {
        Some((path, size)) => (path, Some(size)),
        None => (text.to_owned(), None),
    }
}

/// One chart of percentiles.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Chart {
    /// It is that of all targets.
    pub total: bool,
    /// Share of the values below, and milliseconds of reads, writes and all; 0 is the smallest, 1
    /// the largest.
    pub rows: Vec<(f64, [Option<f64>; 3])>,
}

impl Chart {
    /// Takes a row. `Ok(false)`: the line is no row.
    pub(super) fn take(&mut self, line: &str, commas: &mut bool) -> Result<bool, Unreadable> {
        let cells = cells(line);
        let Some(share) = share(cells[0]).filter(|_| cells.len() > 1) else {
            return Ok(false);
        };
        if cells.len() != 4 {
            return Err(unreadable(line, "percentile | Read | Write | Total"));
        }
        let mut values = [None; 3];
        for (value, text) in values.iter_mut().zip(&cells[1..]) {
            if *text != "N/A" {
                let read = figure(text, 3, commas);
                *value = Some(read.ok_or_else(|| unreadable(text, "milliseconds with a decimal point"))?);
            }
        }
        self.rows.push((share, values));
        Ok(true)
    }
}

/// The label of a row of percentiles.
fn share(label: &str) -> Option<f64> {
    if let Some(nines) = label.strip_suffix("-nines").and_then(whole) {
        return (1..=9)
            .contains(&nines)
            .then(|| 1.0 - 10f64.powi(-(nines as i32)))
            .map(|share| numbers::share(share * 100.0));
    }
    match label {
        "min" => Some(0.0),
        "max" => Some(1.0),
        _ => {
            let percent = label.strip_suffix("th").and_then(whole)?;
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
            columns: titles(title),
            ..Table::default()
        };
        let mut commas = false;
        let row = "     0 |            4096 |            1 |       0,01 |       1.00 |    0.148 |     436.02 |       N/A | a | b (16MiB)";
        assert_eq!(table.take(row, &mut commas), Ok(true));
        assert!(commas);
        let row = &table.rows[0];
        assert_eq!((row.file.as_str(), row.size), ("a | b", Some(16 << 20)));
        assert_eq!(row.cells.mib_per_sec, Some(0.01));
        assert_eq!(row.cells.latency_deviation_ms, None);
        assert_eq!(table.take("Następna część", &mut commas), Ok(false));
        assert!(table.take("total: 4096 | 1 | 0.01", &mut commas).is_err());
        let thousands = " 1 | 4,096 | 1 | 0.01 | 1.00 | 0.148 | 436.02 | 1.000 | a (1MiB)";
        assert_eq!(
            table.take(thousands, &mut commas).map_err(|error| error.expected),
            Err("a whole number without separators")
        );
    }

    #[test]
    fn nines_are_shares() {
        assert_eq!(share("3-nines"), Some(0.999));
        assert_eq!(share("25th"), Some(0.25));
        assert_eq!(share("max"), Some(1.0));
        for label in ["0-nines", "10-nines", "100th", "%-ile", ""] {
            assert_eq!(share(label), None, "{label}");
        }
    }
}
