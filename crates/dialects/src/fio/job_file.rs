//! Job files: lines, sections, included files, and the order in which the options of a section
//! count.

use super::session::{Draft, ExitCode, Session};
use super::table::{self, Notice, OptionError, Row};
use super::unbuilt::{self, UnbuiltOption};
use super::{engines, show, similar, substitute};
use crate::Place;
use crate::nearest::nearest;

/// Files that include files that include files; more than this is refused rather than followed.
const INCLUDES: usize = 32;
/// The longest name of a section, in bytes.
const NAME: usize = 255;

/// A line that counts: without blanks around it, and without comment.
struct Line<'t> {
    number: usize,
    text: &'t str,
}

/// An option of a section as it was written, and where.
struct Written {
    text: String,
    place: Place,
}

/// The head of a section.
pub(super) struct Section<'t> {
    name: &'t str,
    place: Place,
    /// It has the first job of a file that is not the first.
    begins_file: bool,
    /// It names an included file that is not there.
    include_missing: bool,
}

impl<'t> Section<'t> {
    pub(super) fn new(name: &'t str, place: Place) -> Section<'t> {
        Section {
            name,
            place,
            begins_file: false,
            include_missing: false,
        }
    }
}

/// An included file cannot be used; why has been said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotIncluded {
    /// It is not there.
    Missing,
    /// It holds what it must not.
    Unfit,
}

/// Reads a job file into the session. `first` is said of the first one on a command line.
pub(super) fn read(session: &mut Session<'_>, path: &str, first: bool) -> Result<(), ExitCode> {
    if !first {
        session.defaults = Draft::built_in();
    }
    let text = match session.env.read_job_file(path) {
        Ok(text) => text,
        Err(why) => {
            let halt = session.halt(format!("fio: unable to open '{path}' job file"));
            session.read.notices.push(Notice::Hint(format!("{path}: {why}")));
            return Err(halt);
        }
    };
    let mut command = show::CommandLine::default();
    let outcome = sections(session, path, &text, first, &mut command);
    if session.read.flags.show_command && !command.is_empty() {
        session.tell(command.line());
    }
    outcome
}

fn sections(
    session: &mut Session<'_>,
    path: &str,
    text: &str,
    first: bool,
    command: &mut show::CommandLine,
) -> Result<(), ExitCode> {
    let mut lines = lines(text).into_iter().peekable();
    let mut begins_file = !first;
    while let Some(head) = lines.next() {
        let Some(name) = section_name(head.text) else {
            let text = head.text;
            return Err(session.halt(format!("fio: option <{text}> outside of [] job section")));
        };
        let place = place(path, &head);
        let (mut written, mut unusable) = (Vec::new(), None);
        while let Some(line) = lines.next_if(|line| !line.text.starts_with('[')) {
            unusable = unusable.or(take_line(session, path, &line, &mut written).err());
        }
        if session.skips(name) {
            continue;
        }
        let section = Section {
            begins_file: !name.starts_with("global") && std::mem::take(&mut begins_file),
            include_missing: unusable == Some(NotIncluded::Missing),
            ..Section::new(name, place)
        };
        add(session, section, written, command)?;
        if unusable.is_some() {
            // What was included cannot be used: the section ends there, and so does the file.
            break;
        }
    }
    Ok(())
}

/// Adds a section that stands in no file.
pub(super) fn add_section(
    session: &mut Session<'_>,
    section: Section<'_>,
    options: Vec<String>,
) -> Result<(), ExitCode> {
    let place = section.place.clone();
    let written = options.into_iter().map(|text| Written {
        text,
        place: place.clone(),
    });
    add(session, section, written.collect(), &mut show::CommandLine::default())
}

/// Makes defaults or a job of a section.
fn add(
    session: &mut Session<'_>,
    section: Section<'_>,
    written: Vec<Written>,
    command: &mut show::CommandLine,
) -> Result<(), ExitCode> {
    let name = section.name;
    let is_global = name.starts_with("global");
    let mut draft = match is_global {
        true => session.defaults.clone(),
        false => Draft::from(&session.defaults, name, section.place),
    };
    if !is_global {
        draft.begins_file = section.begins_file;
        draft.include_missing = section.include_missing;
        command.begin_job(name);
    }
    let before = if is_global { draft.given.len() } else { 0 };
    if apply(session, &mut draft, written).is_err() {
        return Err(session.halt(format!("fio: job {name} dropped")));
    }
    command.options(&draft.given);
    if !is_global {
        return session.add(draft);
    }
    let new = draft.given.get(before..).unwrap_or_default();
    session.read.globals.extend_from_slice(new);
    session.defaults = draft;
    Ok(())
}

/// Notes an option, or those of an included file.
fn take_line(
    session: &mut Session<'_>,
    path: &str,
    line: &Line<'_>,
    written: &mut Vec<Written>,
) -> Result<(), NotIncluded> {
    let Some(included) = included(line.text) else {
        written.push(Written {
            text: line.text.to_string(),
            place: place(path, line),
        });
        return Ok(());
    };
    let mut options = Vec::new();
    include(session, path, included, &mut options, 0)
        .inspect_err(|_| session.say(format!("Error 1 while parsing include file {included}")))?;
    written.append(&mut options);
    Ok(())
}

/// The options of an included file, which is looked for as named and then beside the file that
/// names it.
fn include(
    session: &mut Session<'_>,
    from: &str,
    name: &str,
    written: &mut Vec<Written>,
    depth: usize,
) -> Result<(), NotIncluded> {
    let beside = from.rsplit_once('/').map(|(folder, _)| format!("{folder}/{name}"));
    let found = [Some(name.to_string()), beside.filter(|_| !name.starts_with('/'))];
    let read = found.into_iter().flatten().find_map(|path| {
        let text = session.env.read_job_file(&path).ok()?;
        Some((path, text))
    });
    let Some((path, text)) = read.filter(|_| depth < INCLUDES) else {
        session.say(format!("fio: unable to open '{name}' job file"));
        return Err(NotIncluded::Missing);
    };
    for line in lines(&text) {
        if line.text.starts_with('[') {
            session.say("No new sections in included files");
            return Err(NotIncluded::Unfit);
        }
        match included(line.text) {
            Some(inner) => include(session, &path, inner, written, depth + 1)?,
            None => written.push(Written {
                text: line.text.to_string(),
                place: place(&path, &line),
            }),
        }
    }
    Ok(())
}

fn included(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("include")?;
    rest.starts_with([' ', '\t']).then(|| rest.trim())
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let numbered = text.lines().enumerate();
    let stripped = numbered.map(|(index, line)| {
        // A mark of a comment counts wherever it stands, in a value too.
        let end = line.find([';', '#']).unwrap_or(line.len());
        Line {
            number: index + 1,
            text: line[..end].trim(),
        }
    });
    stripped.filter(|line| !line.text.is_empty()).collect()
}

/// Everything between the first character and the last, which counts as the closing bracket
/// whatever it is.
fn section_name(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('[')?;
    let mut end = inner.char_indices().next_back().map_or(0, |(at, _)| at).min(NAME);
    while !inner.is_char_boundary(end) {
        end -= 1;
    }
    Some(&inner[..end])
}

fn place(path: &str, line: &Line<'_>) -> Place {
    Place {
        file: path.to_string(),
        line: line.number,
        text: line.text.to_string(),
    }
}

/// The name of an option as it was written, and its value.
fn parts(option: &str) -> (&str, Option<&str>) {
    match option.split_once('=') {
        Some((name, value)) => (name.trim_end(), Some(value)),
        None => (option.trim_end(), None),
    }
}

/// What others depend on comes first, and what depends on others last.
fn priority(option: &str) -> u8 {
    let row = table::find(parts(option).0);
    match row.map(|row| row.name) {
        Some("kb_base" | "unit_base" | "lockfile" | "cpus_allowed_policy") => 0,
        Some("filename" | "filename_format") => 2,
        _ => 1,
    }
}

/// Applies the options of a section, all of them, so that every mistake is reported. Those of the
/// engine come when it is known.
fn apply(session: &mut Session<'_>, draft: &mut Draft, mut written: Vec<Written>) -> Result<(), OptionError> {
    written.sort_by_key(|option| priority(&option.text));
    let (mut outcome, mut unknown) = (Ok(()), Vec::new());
    for option in written {
        match table::find(parts(&option.text).0) {
            Some(row) => outcome = outcome.and(take(session, draft, row, &option)),
            None => unknown.push(option),
        }
    }
    let engine = draft.options.queue.ioengine.clone();
    if !unknown.is_empty() && engines::find(&engine).is_none() && session.load_engine(&engine).is_err() {
        return Err(OptionError::Said);
    }
    for option in unknown {
        let (name, _) = parts(&option.text);
        match table::find_of_engine(&engine, name) {
            Some(row) => outcome = outcome.and(take(session, draft, row, &option)),
            None => match unbuilt::find(&engine, name) {
                Some(unbuilt) => outcome = outcome.and(take_unbuilt(session, draft, unbuilt, &option)),
                None => outcome = Err(not_known(session, &option, &engine)),
            },
        }
    }
    outcome
}

fn take(session: &mut Session<'_>, draft: &mut Draft, row: &'static Row, option: &Written) -> Result<(), OptionError> {
    let text = substitute::option(&option.text, session.env);
    let taken = draft.option(&mut session.env(), row, parts(&text).1, true);
    note_failure(session, option, taken)
}

fn take_unbuilt(
    session: &mut Session<'_>,
    draft: &mut Draft,
    unbuilt: UnbuiltOption,
    option: &Written,
) -> Result<(), OptionError> {
    let text = substitute::option(&option.text, session.env);
    let taken = draft.unbuilt_option(unbuilt, parts(&text).1);
    note_failure(session, option, taken)
}

fn note_failure(
    session: &mut Session<'_>,
    option: &Written,
    taken: Result<(), OptionError>,
) -> Result<(), OptionError> {
    if taken == Err(OptionError::Failed) {
        // As it stands in the file, with its variables.
        session.say(format!("fio: failed parsing {}", option.text));
    }
    taken
}

fn not_known(session: &mut Session<'_>, option: &Written, engine: &str) -> OptionError {
    let (name, _) = parts(&option.text);
    session.say(format!("Bad option <{}>", option.text));
    if let Some(suggestion) = similar::option(name) {
        session.say(format!("Did you mean {suggestion}?"));
    }
    let Place { file, line, .. } = &option.place;
    let common = table::rows().filter(|row| row.engines.is_empty() || row.engines.contains(&engine));
    if let Some(of_other) = table::of_engines().find(|row| row.is_called(name)) {
        let engines = of_other.engines.join(", ");
        session.read.hints.push(format!(
            "{file}:{line}: `{name}` belongs to {engines}; the engine here is {engine}"
        ));
    } else if let Some(meant) = nearest(name, common.flat_map(Row::names)) {
        session
            .read
            .hints
            .push(format!("{file}:{line}: `{name}`: was `{meant}` meant?"));
    }
    OptionError::Said
}
