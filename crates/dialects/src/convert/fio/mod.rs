//! Converts a plan to an fio job file: a section for each job and stream. Each row of the option
//! table prints its own option. The text is then parsed again to report what differs from the plan.

mod reread;
mod sections;

use std::fmt::Write;

use model::plan::{Dialect, Plan, Target, TargetKind};

use super::{Conversion, Form, Lost, compare, dialect_name};
use crate::fio::print::Section;
use crate::fio::table::{self, Row};
use model::shell_word;

/// The first options of a section, in this order; others follow.
const LEADING_OPTIONS: &str = "stonewall description directory filename file_service_type openfiles size offset \
    offset_increment filesize overwrite ioengine iodepth rw rwmixwrite percentage_random norandommap \
    random_distribution bs bsrange bssplit numjobs runtime time_based number_ios io_size loops startdelay ramp_time \
    direct sync invalidate fadvise_hint zero_buffers refill_buffers buffer_pattern fsync fdatasync rate rate_iops";

/// An option with its value; a flag has none.
type PrintedOption = (&'static Row, Option<String>);

/// A section of a job file.
struct SectionText {
    name: String,
    options: Vec<PrintedOption>,
}

/// Converts a plan to an fio job file.
pub fn to_fio(plan: &Plan) -> Conversion {
    let sections = print_sections(&sections::split_into_sections(plan));
    let mut differences = match reread::lower_arguments(plan, &format_arguments(&sections)) {
        Ok(lowered) => compare::compare(plan, &lowered, Dialect::Fio),
        Err(why) => compare::Differences::whole_test(why),
    };
    differences.lost.extend(unwritable_values(plan, &sections));
    let directories = possible_directories(plan, "write directory= instead of filename=");
    differences.differs.extend(directories);
    Conversion {
        one_line: format_command_line(&sections),
        ..Conversion::new(Dialect::Fio, Form::JobFile, format_job_file(&sections), differences)
    }
}

/// Prints the options of each job.
fn print_sections(plan: &Plan) -> Vec<SectionText> {
    let rows = ordered_rows();
    let steps = plan.steps.iter().enumerate();
    let places = steps.flat_map(|(step, jobs)| (0..jobs.jobs.len()).map(move |index| (step, index)));
    let written = places.map(|place| {
        let mut section = Section::new(plan, place);
        let printed = rows.iter().filter_map(|row| Some((*row, section.print(row)?)));
        let options = printed.map(|(row, value)| (row, Some(value).filter(|value| !value.is_empty())));
        SectionText {
            options: options.collect(),
            name: plan.steps[place.0].jobs[place.1].name.clone(),
        }
    });
    written.collect()
}

/// Returns the rows in the order of the file. The engine precedes the options that only it has.
fn ordered_rows() -> Vec<&'static Row> {
    let names: Vec<&str> = LEADING_OPTIONS.split_ascii_whitespace().collect();
    let leading = names.iter().filter_map(|name| table::find(name));
    leading
        .chain(table::rows().filter(|row| !names.contains(&row.name)))
        .collect()
}

/// Formats the job file. Options that all sections share become global, except those of an engine,
/// which must follow `ioengine`.
fn format_job_file(sections: &[SectionText]) -> String {
    let mut file = String::new();
    let mut put = |heading: &str, options: &[&PrintedOption]| {
        let gap = if file.is_empty() { "" } else { "\n" };
        let _ = writeln!(file, "{gap}[{heading}]");
        for (row, value) in options {
            let _ = match value {
                Some(value) => writeln!(file, "{}={value}", row.name),
                None => writeln!(file, "{}", row.name),
            };
        }
    };
    let is_same_option =
        |(row, value): &PrintedOption, (other, others): &PrintedOption| row.name == other.name && value == others;
    let in_section = |option: &PrintedOption, section: &SectionText| {
        section.options.iter().any(|other| is_same_option(option, other))
    };
    let is_global = |option: &PrintedOption| {
        let is_engine_option = option.0.name == "ioengine" || !option.0.engines.is_empty();
        sections.len() > 1 && !is_engine_option && sections.iter().all(|section| in_section(option, section))
    };
    let first = sections.first().into_iter().flat_map(|section| &section.options);
    let global: Vec<_> = first.filter(|option| is_global(option)).collect();
    if !global.is_empty() {
        put("global", &global);
    }
    for section in sections {
        // Global options are those of all sections, so comparing with each section again would take
        // quadratic time.
        let is_own = |option: &&PrintedOption| !global.iter().any(|global| is_same_option(global, option));
        let own: Vec<_> = section.options.iter().filter(is_own).collect();
        put(&section.name, &own);
    }
    file
}

/// The arguments of a command line.
fn format_arguments(sections: &[SectionText]) -> Vec<String> {
    let words = sections.iter().flat_map(|section| {
        let options = section.options.iter().map(|(row, value)| match value {
            Some(value) => format!("--{}={value}", row.name),
            None => format!("--{}", row.name),
        });
        std::iter::once(format!("--name={}", section.name)).chain(options)
    });
    words.collect()
}

/// Formats a command line, if there is only one section.
fn format_command_line(sections: &[SectionText]) -> Option<String> {
    let quote = |word: String| match word.split_once('=') {
        Some((name, value)) => format!("{name}={}", shell_word(value)),
        None => word,
    };
    let words = format_arguments(sections).into_iter().map(quote).collect::<Vec<_>>();
    (sections.len() == 1).then(|| format!("fio {}", words.join(" ")))
}

/// Reports values that a line of a job file cannot contain.
fn unwritable_values(plan: &Plan, sections: &[SectionText]) -> Vec<Lost> {
    let option_values = |section: &SectionText| {
        let values = section
            .options
            .iter()
            .filter_map(|(row, value)| Some((row.name, value.as_ref()?)));
        let unwritable = values.filter(|(_, value)| value.contains(['#', ';', '$', '\n']));
        let lost = unwritable.map(|(name, value)| Lost {
            job: Some(section.name.clone()),
            what: format!("{}: {name}={value}", dialect_name(plan.origin.dialect)),
            why: "in an fio job file `#` and `;` begin a comment, and `$` a variable".into(),
        });
        lost.chain(file_trims(section)).collect::<Vec<_>>()
    };
    sections.iter().flat_map(option_values).collect()
}

/// Reports trims of a file. fio trims only devices; its `falloc` engine punches holes, but writes
/// no data.
fn file_trims(section: &SectionText) -> Option<Lost> {
    let value = |name: &str| {
        let (_, value) = section.options.iter().find(|(row, _)| row.name == name)?;
        value.as_deref()
    };
    let is_file = value("filename").is_some_and(|path| !compare::is_device(path));
    let trims = value("rw").is_some_and(|rw| rw.contains("trim")) && value("ioengine") != Some("falloc");
    (trims && is_file).then(|| Lost {
        job: Some(section.name.clone()),
        what: "trims of a file".into(),
        why: "fio trims block devices only".into(),
    })
}

/// Reports targets that may be directories, in which fathom would create a file. A conversion opens
/// no target, so this checks only their paths.
pub(super) fn possible_directories(plan: &Plan, instead: &str) -> Vec<Lost> {
    let may_be = |target: &&Target| {
        let name = target.path.rsplit(['/', '\\']).next().unwrap_or_default();
        target.kind == TargetKind::Path && !name.contains('.') && !target.path.starts_with("/dev/")
    };
    let native = plan.origin.dialect == Dialect::Native;
    let targets = plan.targets.iter().filter(|_| native).filter(may_be);
    let lost = |target: &Target| Lost {
        job: None,
        what: format!(
            "native target: {}: if it is a directory, fathom creates a file in it",
            target.path
        ),
        why: instead.to_owned(),
    };
    targets.map(lost).collect()
}
