//! Reads Vdbench's `summary.html` of 5.03 to 5.04.07, as page or as text. Column names take two
//! lines, with one word above the other.

use super::columns::{Figures, SUMMARY_COLUMNS, missing_columns, strip_tags};
use super::{Row, RowKind, Run, apply_parameter, apply_rate, parse_time_of_day};
use crate::Diagnostic;
use crate::import::{Form, Imported, build_location, problem_at};

const HEAD: &str = "Starting RD=";

/// True if the text contains a Vdbench summary.
pub(in crate::import) fn is_report(text: &str) -> bool {
    let lines: Vec<String> = text.lines().map(strip_tags).collect();
    let head =
        |line: &String| line.contains(HEAD) && line.split_whitespace().next().and_then(parse_time_of_day).is_some();
    lines.iter().any(head) || (0..lines.len()).any(|index| parse_header(&lines, index).is_some())
}

/// The date and the column names, if the line begins a header.
fn parse_header(lines: &[String], index: usize) -> Option<(String, Vec<String>)> {
    let words: Vec<String> = lines[index].split_whitespace().map(str::to_ascii_lowercase).collect();
    let place = words.iter().position(|word| word == "interval")?;
    let above = &words[place + 1..];
    let below: Vec<String> = lines
        .get(index + 1)
        .map(|line| line.split_whitespace().map(str::to_ascii_lowercase).collect())
        .unwrap_or_default();
    let names = match above.len() == below.len() {
        true => above.iter().zip(&below).map(|(a, b)| format!("{a} {b}")).collect(),
        false => names_from_one_line(above),
    };
    // Requires two known names, since a sentence may contain `interval` too.
    let is_known_column = |name: &&String| {
        SUMMARY_COLUMNS
            .iter()
            .any(|(is_known_column, _)| is_known_column == name)
    };
    let date = lines[index]
        .split_whitespace()
        .take(place)
        .collect::<Vec<_>>()
        .join(" ");
    (names.iter().filter(is_known_column).count() > 1).then_some((date, names))
}

/// The column names if both lines were joined, so that the two words of a name are adjacent.
fn names_from_one_line(words: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = words;
    while let [first, remaining @ ..] = rest {
        let pair = remaining.first().map(|second| format!("{first} {second}"));
        match pair.filter(|_| first != "stddev") {
            Some(pair) => {
                names.push(pair);
                rest = &remaining[1..];
            }
            None => {
                names.push(format!("resp {first}"));
                rest = remaining;
            }
        }
    }
    names
}

#[derive(Default)]
struct Reader {
    version: Option<String>,
    date: Option<String>,
    started: Option<String>,
    names: Option<Vec<String>>,
    /// The SD, workload or host whose page this is.
    part: Option<String>,
    runs: Vec<Run>,
    unread: Vec<Diagnostic>,
    /// Reasons to refuse the file.
    refused: Vec<Diagnostic>,
}

/// Reads every run.
///
/// # Errors
/// There is no header, or it lacks a required column.
pub(in crate::import) fn read(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    if let Some(page) = find_page_without_rows(text) {
        let message = format!("cannot read {file}: Vdbench's {page} has no rates and response times of runs");
        return Err(vec![
            Diagnostic::new(message).help("pass flatfile.html or summary.html of the same output"),
        ]);
    }
    let lines: Vec<String> = text.lines().map(strip_tags).collect();
    let mut reader = Reader::default();
    for index in 0..lines.len() {
        reader.read_line(file, &lines, index);
    }
    if !reader.refused.is_empty() {
        return Err(reader.refused);
    }
    let mut imported = Imported::new(Form::VdbenchSummary);
    imported.started = reader.date.filter(|date| !date.is_empty()).or(reader.started);
    imported.unread = reader.unread;
    if let Some(part) = &reader.part {
        for run in &mut reader.runs {
            run.name += &format!(" of {part}");
            // The rate covers the whole run.
            run.load.rate_iops = None;
        }
    }
    super::add_runs(&mut imported, &reader.runs, reader.version.as_deref());
    Ok(imported)
}

/// The page of a text whose title is that of a page without intervals and averages.
fn find_page_without_rows(text: &str) -> Option<&'static str> {
    let title = { text.lines() }.find_map(|line| line.trim().strip_prefix("<title>"))?;
    let pages = ["skew.html", "histogram.html", "anchors.html"];
    pages.into_iter().find(|page| title.contains(page))
}

impl Reader {
    fn read_line(&mut self, file: &str, lines: &[String], index: usize) {
        let line = lines[index].trim();
        if let Some(rest) = line.strip_prefix("Vdbench distribution:") {
            let word = rest.split_whitespace().next().unwrap_or_default();
            self.version = Some(word.trim_start_matches("vdbench").to_owned()).filter(|word| !word.is_empty());
        } else if let Some((_, rest)) = line.split_once(HEAD) {
            let time = line
                .split_whitespace()
                .next()
                .filter(|word| parse_time_of_day(word).is_some());
            self.started = self.started.take().or(time.map(str::to_owned));
            self.runs.push(parse_run(rest));
        } else if let Some(part) = parse_part(line) {
            self.part = Some(part.to_owned());
        } else if line.contains("ReqstdOps") && !self.refused.is_empty() {
            // Each run repeats this header.
        } else if line.contains("ReqstdOps") || line.starts_with(".Interval.") {
            let message = "this is a file system workload (fwd=), whose columns fathom does not read";
            let help = "pass flatfile.html of the same output; it has reads and writes";
            self.refused.push(problem_at(file, index + 1, line, message).help(help));
        } else if let Some((date, names)) = parse_header(lines, index) {
            let lacking = missing_columns(&names, SUMMARY_COLUMNS, &build_location(file, index + 1, line));
            self.refused.extend(lacking);
            self.date = self.date.take().or(Some(date));
            self.names = Some(names);
        } else {
            self.read_row(file, line, index + 1);
        }
    }

    fn read_row(&mut self, file: &str, line: &str, number: usize) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [time, kind, cells @ ..] = &*words else { return };
        let (Some(time), Some(kind)) = (parse_time_of_day(time), RowKind::parse(kind)) else {
            return;
        };
        let Some(names) = &self.names else {
            if cells
                .iter()
                .all(|cell| crate::import::numbers::parse_decimal(cell).is_some())
                && self.refused.is_empty()
            {
                let message = "figures come before any header, and the columns depend on the version";
                let help = "include the two header lines, with `interval`, `i/o rate` and the other names";
                self.refused.push(problem_at(file, number, line, message).help(help));
            }
            return;
        };
        let figures = match Figures::parse(cells, names, SUMMARY_COLUMNS) {
            Ok(figures) => figures,
            // Rows of deviations and maximums may have gaps.
            Err(_) if matches!(kind, RowKind::Deviation | RowKind::Max) => return,
            Err(what) => return self.unread.push(problem_at(file, number, line, what)),
        };
        if self.runs.last().is_none_or(|run| run.is_ended_by(kind)) {
            self.runs.push(Run {
                name: format!("run {}", self.runs.len() + 1),
                ..Run::default()
            });
        }
        if let Some(run) = self.runs.last_mut() {
            run.rows.push(Row { time, kind, figures });
        }
    }
}

/// The SD, workload or host of a page that does not cover the whole run: `SD report for sd=sd1`,
/// `Workload Report for wd=wd1`, `Slave summary report for slave=localhost-0`.
fn parse_part(line: &str) -> Option<&str> {
    let (before, name) = line.split_once('=')?;
    let (title, kind) = before.rsplit_once(" for ")?;
    let is_report = title.to_ascii_lowercase().contains("report");
    (is_report && ["sd", "wd", "host", "slave"].contains(&kind)).then_some(name.trim())
}

/// `rd1; I/O rate: 5000; elapsed=60; For loops: xfersize=4k threads=8`.
fn parse_run(head: &str) -> Run {
    let mut parts = head.split(';').map(str::trim);
    let mut run = Run {
        name: parts.next().unwrap_or_default().to_owned(),
        ..Run::default()
    };
    for part in parts {
        if let Some(rate) = part.strip_prefix("I/O rate:") {
            apply_rate(&mut run.load, rate.trim());
        } else if let Some(loops) = part.strip_prefix("For loops:").map(str::trim)
            && loops != "None"
            && !loops.is_empty()
        {
            run.name += &format!(" ({loops})");
            for (name, value) in loops.split_whitespace().filter_map(|word| word.split_once('=')) {
                apply_parameter(&mut run.load, name, value);
            }
        }
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Option<Vec<String>> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        parse_header(&lines, 0).map(|(_, names)| names)
    }

    #[test]
    fn words_of_two_lines_form_a_name() {
        let old = "Jan 25, 2016  interval        i/o   MB/sec   bytes   read     resp     resp     resp    cpu%  cpu%\n\
                   \x20                            rate  1024**2     i/o    pct     time      max   stddev sys+usr   sys\n";
        let expected = [
            "i/o rate", "mb/sec 1024**2", "bytes i/o", "read pct", "resp time", "resp max", "resp stddev",
            "cpu% sys+usr", "cpu% sys",
        ];
        assert_eq!(names(old).expect("a header"), expected);
        let joined = "interval i/o rate MB/sec 1024**2 resp time resp max stddev queue depth";
        let expected = [
            "i/o rate", "mb/sec 1024**2", "resp time", "resp max", "resp stddev", "queue depth",
        ];
        assert_eq!(names(joined).expect("a header"), expected);
        assert_eq!(names("the interval of a reporting line\nis a second or so"), None);
    }

    #[test]
    fn a_heading_has_run_rate_and_loops() {
        let found = parse_run("rd1; I/O rate: 5000; elapsed=60 warmup=10; For loops: xfersize=8k threads=4");
        assert_eq!(found.name, "rd1 (xfersize=8k threads=4)");
        assert_eq!(found.load.rate_iops, Some(5000.0));
        assert_eq!(
            parse_run("rd2; I/O rate: Uncontrolled MAX; elapsed=60; For loops: None").name,
            "rd2"
        );
    }
}
