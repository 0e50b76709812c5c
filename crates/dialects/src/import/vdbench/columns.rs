//! The columns of Vdbench's files by name, and the figures of a row.

use crate::import::numbers::parse_decimal;
use crate::{Diagnostic, Location};

/// A figure of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Rate,
    /// 2²⁰ bytes per second.
    Mib,
    /// 10⁶ bytes per second.
    Mb,
    Size,
    ReadPercent,
    Mean,
    ReadMean,
    WriteMean,
    Max,
    ReadMax,
    WriteMax,
    Deviation,
    QueueDepth,
    Busy,
    /// Reads per second of a file system workload, whose `rate` counts all requested operations.
    ReadRate,
    /// Writes per second of a file system workload.
    WriteRate,
    /// A column that is not read.
    Other,
}

/// Names in `summary.html`: the word of the first line and the word below it. 5.03 has one maximum,
/// later versions one per direction.
pub(super) const SUMMARY_COLUMNS: &[(&str, Column)] = &[
    ("i/o rate", Column::Rate),
    ("mb/sec 1024**2", Column::Mib),
    ("mb/sec 1000**2", Column::Mb),
    ("bytes i/o", Column::Size),
    ("read pct", Column::ReadPercent),
    ("resp time", Column::Mean),
    ("read resp", Column::ReadMean),
    ("write resp", Column::WriteMean),
    ("resp max", Column::Max),
    ("read max", Column::ReadMax),
    ("write max", Column::WriteMax),
    ("resp stddev", Column::Deviation),
    ("queue depth", Column::QueueDepth),
    ("cpu% sys+u", Column::Busy),
    ("cpu% sys+usr", Column::Busy),
    ("cpu% sys", Column::Other),
];

/// Names in `flatfile.html`, whose megabytes are 2²⁰ bytes.
pub(super) const FLAT_COLUMNS: &[(&str, Column)] = &[
    ("rate", Column::Rate),
    ("mb/sec", Column::Mib),
    ("bytes/io", Column::Size),
    ("read%", Column::ReadPercent),
    ("resp", Column::Mean),
    ("read_resp", Column::ReadMean),
    ("write_resp", Column::WriteMean),
    ("resp_max", Column::Max),
    ("read_max", Column::ReadMax),
    ("write_max", Column::WriteMax),
    ("resp_std", Column::Deviation),
    ("queue_depth", Column::QueueDepth),
    ("cpu_used", Column::Busy),
    ("read_rate", Column::ReadRate),
    ("write_rate", Column::WriteRate),
];

/// The figures of a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures(Vec<(Column, f64)>);

impl Figures {
    /// The figure of a column.
    pub(super) fn get(&self, wanted: Column) -> Option<f64> {
        self.0
            .iter()
            .find(|(column, _)| *column == wanted)
            .map(|(_, value)| *value)
    }

    fn set(&mut self, wanted: Column, value: Option<f64>) {
        self.0.retain(|(column, _)| *column != wanted);
        self.0.extend(value.map(|value| (wanted, value)));
    }

    /// Replaces the rate, mean and mix of a file system workload by its transfers' values. A
    /// workload without transfers, such as `getattr`, keeps its own.
    fn keep_transfers(&mut self) {
        let (Some(reads), Some(writes)) = (self.get(Column::ReadRate), self.get(Column::WriteRate)) else {
            return;
        };
        let rate = reads + writes;
        if rate == 0.0 {
            return;
        }
        let time = |rate: f64, column| self.get(column).filter(|_| rate > 0.0).map_or(0.0, |mean| rate * mean);
        let times = time(reads, Column::ReadMean) + time(writes, Column::WriteMean);
        for (column, value) in [
            (Column::Mean, times / rate),
            (Column::ReadPercent, 100.0 * reads / rate),
            (Column::Rate, rate),
        ] {
            self.set(column, Some(value));
        }
    }

    /// Detects megabytes of 10⁶ bytes from the rate and the mean size. With `-mb` a flat file has
    /// them under the same name.
    fn find_unit(&mut self) {
        const MB: f64 = 1e6;
        let (Some(megabytes), Some(rate), Some(size)) =
            (self.get(Column::Mib), self.get(Column::Rate), self.get(Column::Size))
        else {
            return;
        };
        let off = |unit: f64| (megabytes * unit - rate * size).abs();
        // Closer to it than halfway to 2²⁰.
        if off(MB) < off(super::MIB) && off(MB) < 0.02 * rate * size {
            self.set(Column::Mib, None);
            self.set(Column::Mb, Some(megabytes));
        }
    }

    /// Reads the cells under columns with these names.
    ///
    /// # Errors
    /// A sentence about the unreadable cell.
    pub(super) fn parse(cells: &[&str], names: &[String], known_columns: &[(&str, Column)]) -> Result<Figures, String> {
        if cells.len() != names.len() {
            return Err(format!(
                "the row has {} cells, but there are {} columns",
                cells.len(),
                names.len()
            ));
        }
        let mut figures = Vec::new();
        for (name, cell) in names.iter().zip(cells) {
            let column = column(name, known_columns);
            if column == Column::Other || matches!(*cell, "n/a" | "-" | "NaN") {
                continue;
            }
            let expected = || format!("cannot read `{cell}` under `{name}`: expected digits with a decimal point");
            figures.push((column, parse_decimal(cell).ok_or_else(expected)?));
        }
        let mut figures = Figures(figures);
        figures.keep_transfers();
        figures.find_unit();
        Ok(figures)
    }
}

/// The column of a name.
fn column(name: &str, known_columns: &[(&str, Column)]) -> Column {
    let entry = known_columns.iter().find(|(word, _)| word.eq_ignore_ascii_case(name));
    entry.map_or(Column::Other, |(_, column)| *column)
}

/// Reports required columns that are missing from the header.
pub(super) fn missing_columns(names: &[String], known_columns: &[(&str, Column)], at: &Location) -> Vec<Diagnostic> {
    let has = |wanted: &[Column]| names.iter().any(|name| wanted.contains(&column(name, known_columns)));
    let wanted: [(&[Column], &str); 3] = [
        (&[Column::Rate], "the operations per second are unknown"),
        (
            &[Column::Mib, Column::Mb],
            "the throughput and the block sizes are unknown",
        ),
        (&[Column::Mean], "the latency and the operations in flight are unknown"),
    ];
    let lacking = wanted.into_iter().filter(|(columns, _)| !has(columns));
    let problem = |(columns, why): (&[Column], &str)| {
        let names: Vec<String> = known_columns
            .iter()
            .filter(|(_, column)| columns.contains(column))
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        let message = format!("no column is named {}: without it {why}", names.join(" or "));
        Diagnostic::new(message)
            .at(at.clone())
            .help("pass summary.html or flatfile.html as Vdbench wrote it, with the complete header")
    };
    lacking.map(problem).collect()
}

/// Removes tags from a line. A `<` without a later `>` is text.
pub(super) fn strip_tags(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('<') {
        text += before;
        match after.split_once('>') {
            Some((_, after)) => rest = after,
            None => {
                text.push('<');
                rest = after;
            }
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_name_in_any_order() {
        let names = ["resp", "rate", "xfersize"].map(str::to_owned);
        let figures = Figures::parse(&["0.5", "100", "4k"], &names, FLAT_COLUMNS).expect("sound");
        assert_eq!(
            (figures.get(Column::Mean), figures.get(Column::Rate)),
            (Some(0.5), Some(100.0))
        );
        assert_eq!(figures.get(Column::Busy), None);
        let refused = Figures::parse(&["0,5", "100", "4k"], &names, FLAT_COLUMNS).expect_err("a comma");
        assert_eq!(
            refused,
            "cannot read `0,5` under `resp`: expected digits with a decimal point"
        );
        assert!(Figures::parse(&["0.5"], &names, FLAT_COLUMNS).is_err());
    }

    #[test]
    fn tags_are_not_text() {
        assert_eq!(
            strip_tags("<A NAME=\"_1\"></A><i><b>12:00:00.001 x</b></i>"),
            "12:00:00.001 x"
        );
        assert_eq!(strip_tags("a < b"), "a < b");
    }
}
