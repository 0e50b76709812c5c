//! Job files: lines, sections, included files, and the order in which the options of a section
//! apply.

use super::jobs::Job;
use super::session::{ExitCode, Session};
use super::table::{self, Notice, OptionError, ParseResult, Row};
use super::{engines, help, similar, substitute, unsupported_engines};
use crate::Location;
use crate::nearest::nearest;

/// The maximum depth of nested include files.
const MAX_INCLUDE_DEPTH: usize = 32;
/// The longest name of a section, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// A non-empty line, trimmed and without its comment.
struct Line<'t> {
    number: usize,
    text: &'t str,
}

/// An option as written in the file, and its location.
struct OptionText {
    text: String,
    location: Location,
}

/// The head of a section.
pub(super) struct Section<'t> {
    name: &'t str,
    location: Location,
    /// The first job of the second or a later file.
    begins_file: bool,
    /// It includes a missing file.
    include_missing: bool,
}

impl<'t> Section<'t> {
    pub(super) fn new(name: &'t str, location: Location) -> Section<'t> {
        Section {
            name,
            location,
            begins_file: false,
            include_missing: false,
        }
    }
}

/// Why an included file cannot be used; the error is reported already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotIncluded {
    /// It is missing.
    Missing,
    /// It contains a section or an invalid line.
    Unfit,
}

/// Reads a job file into the session. `first`: the first file on the command line.
pub(super) fn read(session: &mut Session<'_>, path: &str, first: bool) -> Result<(), ExitCode> {
    if !first {
        session.defaults = Job::global();
    }
    let text = match session.env.read_job_file(path) {
        Ok(text) => text,
        Err(why) => {
            let halt = session.halt(format!("fio: unable to open '{path}' job file"));
            session.read.notices.push(Notice::Hint(format!("{path}: {why}")));
            return Err(halt);
        }
    };
    let mut command = String::new();
    let outcome = read_sections(session, path, &text, first, &mut command);
    if session.read.flags.show_command && !command.is_empty() {
        session.push_stdout(format!("fio {command}"));
    }
    outcome
}

fn read_sections(
    session: &mut Session<'_>,
    path: &str,
    text: &str,
    first: bool,
    command: &mut String,
) -> Result<(), ExitCode> {
    let mut lines = lines(text).into_iter().peekable();
    let mut begins_file = !first;
    while let Some(head) = lines.next() {
        let Some(name) = section_name(head.text) else {
            let text = head.text;
            return Err(session.halt(format!("fio: option <{text}> outside of [] job section")));
        };
        let location = location(path, &head);
        let (mut written, mut unusable) = (Vec::new(), None);
        while let Some(line) = lines.next_if(|line| !line.text.starts_with('[')) {
            unusable = unusable.or(add_line(session, path, &line, &mut written).err());
        }
        if session.skips(name) {
            continue;
        }
        let section = Section {
            begins_file: !name.starts_with("global") && std::mem::take(&mut begins_file),
            include_missing: unusable == Some(NotIncluded::Missing),
            ..Section::new(name, location)
        };
        add(session, section, written, command)?;
        if unusable.is_some() {
            // An unusable include file ends the section and the job file.
            break;
        }
    }
    Ok(())
}

/// Adds a section that is not in a file.
pub(super) fn add_section(
    session: &mut Session<'_>,
    section: Section<'_>,
    options: Vec<String>,
) -> Result<(), ExitCode> {
    let location = section.location.clone();
    let written = options.into_iter().map(|text| OptionText {
        text,
        location: location.clone(),
    });
    add(session, section, written.collect(), &mut String::new())
}

/// Turns a section into defaults or a job.
fn add(
    session: &mut Session<'_>,
    section: Section<'_>,
    written: Vec<OptionText>,
    command: &mut String,
) -> Result<(), ExitCode> {
    let name = section.name;
    let is_global = name.starts_with("global");
    let mut job = match is_global {
        true => session.defaults.clone(),
        false => Job {
            begins_file: section.begins_file,
            include_missing: section.include_missing,
            ..Job::new(name, section.location, session.defaults.options.clone())
        },
    };
    if !is_global {
        command.push_str(&format!("--name={name} "));
    }
    let before = job.given.len();
    if apply(session, &mut job, written).is_err() {
        return Err(session.halt(format!("fio: job {name} dropped")));
    }
    help::push_options(command, &job.given);
    if !is_global {
        return session.add(job);
    }
    let new = job.given.get(before..).unwrap_or_default();
    session.read.globals.extend_from_slice(new);
    session.defaults = job;
    Ok(())
}

/// Adds the option of a line, or the options of an included file.
fn add_line(
    session: &mut Session<'_>,
    path: &str,
    line: &Line<'_>,
    written: &mut Vec<OptionText>,
) -> Result<(), NotIncluded> {
    let Some(included) = include_name(line.text) else {
        written.push(OptionText {
            text: line.text.to_string(),
            location: location(path, line),
        });
        return Ok(());
    };
    let mut options = Vec::new();
    include(session, path, included, &mut options, 0)
        .inspect_err(|_| session.push_stderr(format!("Error 1 while parsing include file {included}")))?;
    written.append(&mut options);
    Ok(())
}

/// Adds the options of an included file. Its name is tried as written and then relative to the
/// including file.
fn include(
    session: &mut Session<'_>,
    from: &str,
    name: &str,
    written: &mut Vec<OptionText>,
    depth: usize,
) -> Result<(), NotIncluded> {
    let sibling = from.rsplit_once('/').map(|(folder, _)| format!("{folder}/{name}"));
    let candidates = [Some(name.to_string()), sibling.filter(|_| !name.starts_with('/'))];
    let read = candidates.into_iter().flatten().find_map(|path| {
        let text = session.env.read_job_file(&path).ok()?;
        Some((path, text))
    });
    let Some((path, text)) = read.filter(|_| depth < MAX_INCLUDE_DEPTH) else {
        session.push_stderr(format!("fio: unable to open '{name}' job file"));
        return Err(NotIncluded::Missing);
    };
    for line in lines(&text) {
        if line.text.starts_with('[') {
            session.push_stderr("No new sections in included files");
            return Err(NotIncluded::Unfit);
        }
        match include_name(line.text) {
            Some(inner) => include(session, &path, inner, written, depth + 1)?,
            None => written.push(OptionText {
                text: line.text.to_string(),
                location: location(&path, &line),
            }),
        }
    }
    Ok(())
}

fn include_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("include")?;
    rest.starts_with([' ', '\t']).then(|| rest.trim())
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let numbered = text.lines().enumerate();
    let stripped = numbered.map(|(index, line)| {
        // A comment may begin anywhere, even within a value.
        let end = line.find([';', '#']).unwrap_or(line.len());
        Line {
            number: index + 1,
            text: line[..end].trim(),
        }
    });
    stripped.filter(|line| !line.text.is_empty()).collect()
}

/// The text between the first and the last character. Like fio, it does not check that the last one
/// is a bracket.
fn section_name(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('[')?;
    let mut end = inner
        .char_indices()
        .next_back()
        .map_or(0, |(at, _)| at)
        .min(MAX_NAME_BYTES);
    while !inner.is_char_boundary(end) {
        end -= 1;
    }
    Some(&inner[..end])
}

fn location(path: &str, line: &Line<'_>) -> Location {
    Location {
        file: path.to_string(),
        line: line.number,
        text: line.text.to_string(),
    }
}

/// Splits an option into its name and its value.
fn split_option(option: &str) -> (&str, Option<&str>) {
    match option.split_once('=') {
        Some((name, value)) => (name.trim_end(), Some(value)),
        None => (option.trim_end(), None),
    }
}

/// The order of application: an option comes before the options that depend on it.
fn priority(option: &str) -> u8 {
    let row = table::find(split_option(option).0);
    match row.map(|row| row.name) {
        Some("kb_base" | "unit_base" | "lockfile" | "cpus_allowed_policy") => 0,
        Some("filename" | "filename_format") => 2,
        _ => 1,
    }
}

/// Applies all options of a section, even after a mistake, to report every mistake. Engine options
/// come last, when the engine is known.
fn apply(session: &mut Session<'_>, job: &mut Job, mut written: Vec<OptionText>) -> ParseResult {
    written.sort_by_key(|option| priority(&option.text));
    let (mut outcome, mut unknown) = (Ok(()), Vec::new());
    for option in written {
        match table::find(split_option(&option.text).0) {
            Some(row) => outcome = outcome.and(apply_row(session, job, row, &option)),
            None => unknown.push(option),
        }
    }
    let engine = job.options.queue.ioengine.clone();
    if !unknown.is_empty() && engines::find(&engine).is_none() && session.load_engine(&engine).is_err() {
        return Err(OptionError::Reported);
    }
    for option in unknown {
        let (name, _) = split_option(&option.text);
        match table::find_engine_option(&engine, name) {
            Some(row) => outcome = outcome.and(apply_row(session, job, row, &option)),
            None => match unsupported_engines::find(&engine, name) {
                Some(unsupported) => {
                    let result = apply_with(session, &option, |_, value| {
                        job.apply_unsupported_option(unsupported, value)
                    });
                    outcome = outcome.and(result);
                }
                None => outcome = Err(report_unknown(session, &option, &engine)),
            },
        }
    }
    outcome
}

fn apply_row(session: &mut Session<'_>, job: &mut Job, row: &'static Row, option: &OptionText) -> ParseResult {
    apply_with(session, option, |session, value| {
        session.apply_option(job, row, value, true)
    })
}

/// Applies the value of an option, with its variables replaced, and reports a wrong one.
fn apply_with<'a>(
    session: &mut Session<'a>,
    option: &OptionText,
    apply: impl FnOnce(&mut Session<'a>, Option<&str>) -> ParseResult,
) -> ParseResult {
    let text = substitute::substitute_option(&option.text, session.env);
    let result = apply(session, split_option(&text).1);
    if result == Err(OptionError::Failed) {
        // The text of the file, before substitution.
        session.push_stderr(format!("fio: failed parsing {}", option.text));
    }
    result
}

fn report_unknown(session: &mut Session<'_>, option: &OptionText, engine: &str) -> OptionError {
    let (name, _) = split_option(&option.text);
    session.push_stderr(format!("Bad option <{}>", option.text));
    if let Some(suggestion) = similar::similar_option(name) {
        session.push_stderr(format!("Did you mean {suggestion}?"));
    }
    let Location { file, line, .. } = &option.location;
    let common = table::rows().filter(|row| row.engines.is_empty() || row.engines.contains(&engine));
    if let Some(of_other) = table::engine_rows().find(|row| row.is_called(name)) {
        let engines = of_other.engines.join(", ");
        session.read.hints.push(format!(
            "{file}:{line}: `{name}` is an option of {engines}, but the engine is {engine}"
        ));
    } else if let Some(meant) = nearest(name, common.flat_map(Row::names)) {
        session
            .read
            .hints
            .push(format!("{file}:{line}: `{name}`: did you mean `{meant}`?"));
    }
    OptionError::Reported
}
