//! The record of a comparison: a page, and the same as JSON.

use std::fmt::Write;

use serde::Serialize;

use super::BenchError;
use super::contest::Bench;
use super::figure::{Figure, amount};
use super::machine::Machine;
use crate::command::root;

#[derive(Serialize)]
struct Record<'a> {
    date: String,
    machine: &'a Machine,
    pairs: usize,
    seconds: f64,
    figures: &'a [Figure],
    commands: Vec<String>,
}

/// Writes `bench/runs/<date>-<kind of machine>.md` and `.json`; for a smoke run below `target/`,
/// outside version control.
pub(crate) fn write(bench: &Bench, figures: &[Figure]) -> Result<(), BenchError> {
    // Removes the path of the checkout: the command lines work in any.
    let here = format!("{}/", root().display());
    let commands = bench.lines().into_iter().map(|line| line.replace(&here, ""));
    let record = Record {
        date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        machine: &bench.machine,
        pairs: bench.options.pairs,
        seconds: bench.options.seconds,
        figures,
        commands: commands.collect(),
    };
    let is_whole = bench.options.only.is_empty() && !bench.options.smoke;
    let folder = root().join(if is_whole { "bench/runs" } else { "target/bench" });
    std::fs::create_dir_all(&folder)?;
    let name = format!("{}-{}", record.date, bench.machine.kind());
    let page = folder.join(format!("{name}.md"));
    std::fs::write(&page, record.page())?;
    std::fs::write(
        folder.join(format!("{name}.json")),
        serde_json::to_string_pretty(&record)? + "\n",
    )?;
    eprintln!("written: {}", page.display());
    Ok(())
}

impl Record<'_> {
    fn page(&self) -> String {
        let Machine {
            cpu,
            cores,
            memory_gib,
            is_virtual,
            kernel,
            fio,
            valgrind,
            commit,
            load,
        } = self.machine;
        let (pairs, seconds) = (self.pairs, self.seconds);
        let kind = if *is_virtual { "a virtual machine" } else { "a machine" };
        let fio = fio.as_deref().unwrap_or("no fio");
        let valgrind = valgrind.as_deref().unwrap_or("no valgrind");
        let mut out = String::new();
        let _ = writeln!(
            out,
            "# fathom compared with fio, {}\n\n\
             On {kind} with {cores} × {cpu}, {memory_gib} GiB, Linux {kernel}; {fio}; {valgrind}; fathom at {commit}. \
             Load before the start: {load}.\n\n\
             {pairs} interleaved rounds of {seconds} s each. Ratios are medians of the ratios of rounds. Statistics are \
             complete on our side. CPU time is that of the whole process less that of a run of one operation. \
             Beside each ratio: fathom : fio.\n",
            self.date
        );
        out += &table(self.figures);
        out += "\n## Command lines\n\n```\n";
        for line in &self.commands {
            out += line;
            out.push('\n');
        }
        out += "```\n";
        out
    }
}

fn table(figures: &[Figure]) -> String {
    let mut out =
        "| row | measurement | goal | measured | | fathom : fio |\n| --- | --- | --- | --- | --- | --- |\n".to_owned();
    for figure in figures {
        let Figure {
            row,
            what,
            unit,
            detail,
            ..
        } = figure;
        let found = figure.found.map_or("–".to_owned(), |found| amount(found, unit));
        let (goal, verdict) = (figure.goal.describe(unit), figure.verdict());
        let detail = detail.replace('|', "/").replace('\n', " ");
        let _ = writeln!(out, "| {row} | {what} | {goal} | {found} | {verdict} | {detail} |");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::figure::Goal;
    use super::*;

    #[test]
    fn a_table_has_a_line_for_each_figure() {
        let figures = [
            Figure::new("null", "IOPS, depth 1", Goal::AtLeast(7.0), Some(8.5))
                .unit("×")
                .with_detail("45 M/s : 5 M/s"),
            Figure::absent("zram", "no zram | here"),
        ];
        let expected = "\
| row | measurement | goal | measured | | fathom : fio |
| --- | --- | --- | --- | --- | --- |
| null | IOPS, depth 1 | ≥ 7× | 8.5× | met | 45 M/s : 5 M/s |
| zram | not measured | – | – | not measured | no zram / here |
";
        assert_eq!(table(&figures), expected);
    }
}
