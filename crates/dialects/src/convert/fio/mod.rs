//! Plan to fio's text: a section for each job and stream, and in it what the rows of fio's table
//! print. Then the text is read again, and what differs is lost.

mod reread;
mod sections;

use std::fmt::Write;

use model::plan::{Dialect, Plan, Target, TargetKind};

use super::{Conversion, Form, Lost, compare, dialect_name};
use crate::fio::print::Section;
use crate::fio::table::{self, Row};
use model::shell_word;

/// The options that a reader looks for, in the order in which they are written. Others follow.
const LEADING: &str = "stonewall description directory filename file_service_type openfiles size offset \
    offset_increment filesize overwrite ioengine iodepth rw rwmixwrite percentage_random norandommap \
    random_distribution bs bsrange bssplit numjobs runtime time_based number_ios io_size loops startdelay ramp_time \
    direct sync invalidate fadvise_hint zero_buffers refill_buffers buffer_pattern fsync fdatasync rate rate_iops";

/// An option as it is written; a flag has no value.
type Printed = (&'static Row, Option<String>);

/// A section of a job file.
struct Written {
    name: String,
    options: Vec<Printed>,
}

/// Converts a plan to an fio job file.
pub fn to_fio(plan: &Plan) -> Conversion {
    let sections = write(&sections::sections(plan));
    let (mut lost, mut differs) = match reread::lowered(plan, &arguments(&sections)) {
        Ok(lowered) => {
            let found = compare::compare(plan, &lowered, Dialect::Fio);
            (found.lost, found.differs)
        }
        Err(why) => (vec![refused(why)], Vec::new()),
    };
    lost.extend(unsaid(plan, &sections));
    differs.extend(directories(plan, "directory= takes the place of filename="));
    Conversion {
        dialect: Dialect::Fio,
        text: file(&sections),
        form: Form::JobFile,
        one_line: command(&sections),
        lost,
        differs,
    }
}

/// A text that is refused when it is read.
fn refused(why: String) -> Lost {
    Lost {
        job: None,
        what: "the whole test".into(),
        why,
    }
}

fn write(plan: &Plan) -> Vec<Written> {
    let rows = in_order();
    let steps = plan.steps.iter().enumerate();
    let places = steps.flat_map(|(step, jobs)| (0..jobs.jobs.len()).map(move |index| (step, index)));
    let written = places.map(|place| {
        let mut section = Section::new(plan, place);
        let printed = rows.iter().filter_map(|row| Some((*row, section.print(row)?)));
        let options = printed.map(|(row, value)| (row, Some(value).filter(|value| !value.is_empty())));
        Written {
            options: options.collect(),
            name: plan.steps[place.0].jobs[place.1].name.clone(),
        }
    });
    written.collect()
}

/// Rows in the order in which they are written. Options of engines come behind the engine, which
/// leads.
fn in_order() -> Vec<&'static Row> {
    let names: Vec<&str> = LEADING.split_ascii_whitespace().collect();
    let leading = names.iter().filter_map(|name| table::find(name));
    leading
        .chain(table::rows().filter(|row| !names.contains(&row.name)))
        .collect()
}

/// The job file. What all sections have is global, but for what is understood only behind its
/// engine.
fn file(sections: &[Written]) -> String {
    let mut file = String::new();
    let mut put = |heading: &str, options: &[&Printed]| {
        let gap = if file.is_empty() { "" } else { "\n" };
        let _ = writeln!(file, "{gap}[{heading}]");
        for (row, value) in options {
            let _ = match value {
                Some(value) => writeln!(file, "{}={value}", row.name),
                None => writeln!(file, "{}", row.name),
            };
        }
    };
    let same = |(row, value): &Printed, (other, others): &Printed| row.name == other.name && value == others;
    let in_section = |option: &Printed, section: &Written| section.options.iter().any(|other| same(option, other));
    let is_global = |option: &Printed| {
        let of_engine = option.0.name == "ioengine" || !option.0.engines.is_empty();
        sections.len() > 1 && !of_engine && sections.iter().all(|section| in_section(option, section))
    };
    let first = sections.first().into_iter().flat_map(|section| &section.options);
    let global: Vec<_> = first.filter(|option| is_global(option)).collect();
    if !global.is_empty() {
        put("global", &global);
    }
    for section in sections {
        let own: Vec<_> = section.options.iter().filter(|option| !is_global(option)).collect();
        put(&section.name, &own);
    }
    file
}

/// The words of a command line.
fn arguments(sections: &[Written]) -> Vec<String> {
    let words = sections.iter().flat_map(|section| {
        let options = section.options.iter().map(|(row, value)| match value {
            Some(value) => format!("--{}={value}", row.name),
            None => format!("--{}", row.name),
        });
        std::iter::once(format!("--name={}", section.name)).chain(options)
    });
    words.collect()
}

/// The command line of a single section.
fn command(sections: &[Written]) -> Option<String> {
    let quote = |word: String| match word.split_once('=') {
        Some((name, value)) => format!("{name}={}", shell_word(value)),
        None => word,
    };
    let words = arguments(sections).into_iter().map(quote).collect::<Vec<_>>();
    (sections.len() == 1).then(|| format!("fio {}", words.join(" ")))
}

/// What no line of a job file can hold.
fn unsaid(plan: &Plan, sections: &[Written]) -> Vec<Lost> {
    let of_section = |section: &Written| {
        let values = section
            .options
            .iter()
            .filter_map(|(row, value)| Some((row.name, value.as_ref()?)));
        let held = values.filter(|(_, value)| value.contains(['#', ';', '$', '\n']));
        let lost = held.map(|(name, value)| Lost {
            job: Some(section.name.clone()),
            what: format!("{}: {name}={value}", dialect_name(plan.origin.dialect)),
            why: "a line of a fio job file ends at `#` and `;`, and `$` begins a variable".into(),
        });
        lost.chain(trims_of_file(section)).collect::<Vec<_>>()
    };
    sections.iter().flat_map(of_section).collect()
}

/// fio trims devices only, and its engine that punches holes in files writes nothing.
fn trims_of_file(section: &Written) -> Option<Lost> {
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

/// Targets that may be directories, in which ours makes a file. Only who looks at them knows.
pub(super) fn directories(plan: &Plan, instead: &str) -> Vec<Lost> {
    let may_be = |target: &&Target| {
        let name = target.path.rsplit(['/', '\\']).next().unwrap_or_default();
        target.kind == TargetKind::Path && !name.contains('.') && !target.path.starts_with("/dev/")
    };
    let native = plan.origin.dialect == Dialect::Native;
    let targets = plan.targets.iter().filter(|_| native).filter(may_be);
    let lost = |target: &Target| Lost {
        job: None,
        what: format!(
            "native target: {}, if it is a directory: a file of our own in it",
            target.path
        ),
        why: format!("there {instead}"),
    };
    targets.map(lost).collect()
}
