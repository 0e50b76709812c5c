//! Notes about text and parameters of a file that have no effect.

use super::blocks::Block;
use super::scan::find_blank;
use super::table::{RunKind, Section};
use crate::Diagnostic;

/// Notes about parameters that do not affect the runs of their RD. A parameter of `rd=default` has
/// one note.
pub(super) fn note_unused_parameters(blocks: &[Block]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut noted = Vec::new();
    for rd in { blocks.iter() }.filter(|block| block.section == Section::Rd && block.name != "default") {
        let kind = rd.run_kind();
        for (row, item) in &rd.params {
            let Some(runs) = row.runs.filter(|runs| *runs != kind) else {
                continue;
            };
            if noted.contains(&(row.name, &item.at)) {
                continue;
            }
            noted.push((row.name, &item.at));
            let (rd, name, runs) = (&rd.name, row.name, runs.describe());
            notes.push(format!("rd={rd}: `{name}=` has no effect: it affects only {runs}"));
        }
    }
    notes
}

/// The remark of a line whose last parameter ends in a comma: it looks like a parameter, but a
/// blank ends the line, and the next line continues it.
pub(super) fn find_remark_after_comma(line: &str) -> Option<&str> {
    let at = find_blank(line).0?;
    let (parameters, remark) = (&line[..at], line[at..].trim());
    let is_comment = line.starts_with(['/', '#', '*']) || remark.starts_with(['/', '#', '*']);
    (parameters.ends_with(',') && !remark.is_empty() && !is_comment).then_some(remark)
}

/// Adds to an error that part of its line is a remark.
pub(super) fn explain_remark(error: Diagnostic) -> Diagnostic {
    let remark = { error.at.as_ref() }.and_then(|at| find_remark_after_comma(&at.text));
    let Some(remark) = remark else { return error };
    let why = format!("a blank ends a line, so `{remark}` is a remark: remove the blank before it");
    let help = match &error.help {
        Some(help) => format!("{help}; {why}"),
        None => why,
    };
    error.help(help)
}

impl Block {
    /// The kind of runs of an RD.
    pub(super) fn run_kind(&self) -> RunKind {
        match self.item("fwd") {
            Some(_) => RunKind::Files,
            None => RunKind::Raw,
        }
    }
}
