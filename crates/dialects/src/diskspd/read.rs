//! Reads a command line as DiskSpd does: targets, then the switches on which others depend, then
//! the other switches, then validation. The order decides which of several mistakes is reported.
//! Nothing is printed here; [`ParseEnv`] gives access to files and events.

use super::arguments::{self, Argument, TypedSwitch};
use super::line::{EarlyEnd, Events, Line, ParseEnv};
use super::options::{self, Pass, Switch};
use super::profile::{Profile, ResultFormat};
use super::validate::validate;
use super::{help, hints, templates, xml};

/// The result of reading a command line.
#[derive(Clone, Debug, PartialEq)]
pub enum ParseOutcome {
    /// The process ends.
    End(ExitOutput),
    /// Print the profile in its result format.
    Print(Request),
    /// Run the profile.
    Run(Request),
}

/// How the process ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitOutput {
    /// Exit code.
    pub code: u8,
    /// Lines for stdout.
    pub stdout: Vec<String>,
    /// Lines for stderr, as DiskSpd writes them.
    pub stderr: Vec<String>,
    /// Suggestions, for lines `hint: …` after the lines of stderr.
    pub hints: Vec<String>,
    /// Notes on corrected arguments, such as a typographic dash for `-`.
    pub notes: Vec<String>,
    /// Print the facts of the machine in this form before the process ends.
    pub system: Option<ResultFormat>,
}

/// A profile, and messages to print before it is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The parsed profile.
    pub profile: Profile,
    /// Names of the events on the command line. They are open.
    pub events: Events,
    /// Lines for stderr, as DiskSpd writes them: warnings.
    pub stderr: Vec<String>,
    /// Notes on corrected or suspicious arguments.
    pub notes: Vec<String>,
}

/// Reads a command line. `program` is how the program was called, for the help.
pub fn read(program: &str, arguments: &[String], env: &mut dyn ParseEnv) -> ParseOutcome {
    let sorted = arguments::sort(arguments, env.slash_is_a_switch());
    let notes = typographic_dashes(&sorted);
    if arguments.is_empty() {
        return ParseOutcome::End(ExitOutput {
            code: 3,
            stdout: help::lines(program),
            ..ExitOutput::default()
        });
    }
    let paths: Vec<&str> = sorted.iter().filter_map(Argument::path).collect();
    let mut line = Line::new(env, !paths.is_empty());
    match parse_and_validate(&mut line, &sorted, &paths) {
        Ok((profile, stderr)) => {
            let request = Request {
                profile,
                events: line.events,
                stderr,
                notes: notes.into_iter().chain(hints::for_valid_line(&sorted)).collect(),
            };
            match line.overrides.print_only {
                true => ParseOutcome::Print(request),
                false => ParseOutcome::Run(request),
            }
        }
        Err(halt) => {
            let mut end = ExitOutput {
                code: 3,
                stdout: line.stdout,
                stderr: line.stderr,
                notes,
                ..ExitOutput::default()
            };
            match halt {
                EarlyEnd::Invalid => end.hints = hints::for_refused_line(&sorted, &end.stderr, line.env.version()),
                EarlyEnd::System => (end.code, end.system) = (0, Some(line.overrides.format.unwrap_or_default())),
                EarlyEnd::Exit(code) => (end.code, end.hints) = (code, line.system_errors),
                EarlyEnd::Help => {
                    end.code = 0;
                    end.stdout.extend(help::lines(program));
                }
            }
            ParseOutcome::End(end)
        }
    }
}

impl<'a> Argument<'a> {
    fn path(&self) -> Option<&'a str> {
        match self {
            Argument::Target(path) => Some(path),
            Argument::Switch(_) => None,
        }
    }
}

fn typographic_dashes(sorted: &[Argument<'_>]) -> Vec<String> {
    let typed = |argument: &Argument<'_>| match argument {
        Argument::Switch(switch) if switch.typographic => Some(format!("`{}`", switch.typed)),
        _ => None,
    };
    let list: Vec<String> = sorted.iter().filter_map(typed).collect();
    match list.as_slice() {
        [] => Vec::new(),
        _ => vec![format!("read a typographic dash as `-` in {}", list.join(", "))],
    }
}

/// Parses and validates. Returns the profile and its warnings.
fn parse_and_validate(
    line: &mut Line<'_>,
    sorted: &[Argument<'_>],
    paths: &[&str],
) -> Result<(Profile, Vec<String>), EarlyEnd> {
    let switches = require_switches_first(line, sorted)?;
    read_composable_switches(line, &switches)?;
    if line.overrides.system_only {
        return Err(EarlyEnd::System);
    }
    let is_command_line = line.overrides.profile_path.is_none();
    let mut profile = match line.overrides.profile_path.clone() {
        Some(path) => load_profile(line, &path, paths)?,
        None => {
            apply_second_pass(line, &switches)?;
            if line.only_signal {
                line.stdout.push("Now exiting...".into());
                return Err(EarlyEnd::Exit(1));
            }
            if paths.is_empty() {
                return Err(line.refuse("ERROR: need to provide at least one filename"));
            }
            line.build_profile(paths)
        }
    };
    line.overrides.apply(&mut profile);
    if line.accepts_v2_3() {
        profile
            .time_spans
            .iter_mut()
            .for_each(|span| span.newer.fill_defaults());
    }
    let machine = (!line.overrides.print_only).then(|| line.env.processors());
    let validation = validate(&profile, is_command_line, machine.as_ref());
    if validation.refused {
        return Err(line.refuse_all(validation.lines));
    }
    Ok((profile, validation.lines))
}

fn require_switches_first<'a>(line: &mut Line<'_>, sorted: &[Argument<'a>]) -> Result<Vec<TypedSwitch<'a>>, EarlyEnd> {
    let mut switches = Vec::new();
    let mut target_seen = false;
    for argument in sorted {
        match argument {
            Argument::Target(_) => target_seen = true,
            Argument::Switch(switch) if target_seen => {
                return Err(line.refuse(format!(
                    "ERROR: parameters ({}) must come before targets on the command line",
                    switch.typed
                )));
            }
            Argument::Switch(switch) => switches.push(*switch),
        }
    }
    Ok(switches)
}

/// Whether the command line uses `-X`, as read so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProfileUse {
    Unknown,
    WithProfile,
    WithoutProfile,
}

/// Applies `-X`, the switches that are allowed with it, and the block size. Stops at the first
/// error.
fn read_composable_switches(line: &mut Line<'_>, switches: &[TypedSwitch<'_>]) -> Result<(), EarlyEnd> {
    let mut kind = ProfileUse::Unknown;
    for switch in switches {
        let switch_row = find_switch(line, switch);
        match switch_row {
            Some(row) if row.pass == Pass::Composable => (row.apply)(line, switch.value)?,
            Some(row) if switch.letter == 'X' => {
                if kind != ProfileUse::Unknown {
                    // DiskSpd reports this for any other switch before `-X` as well.
                    return Err(line.refuse("ERROR: multiple XML profiles specified (-X)"));
                }
                kind = ProfileUse::WithProfile;
                (row.apply)(line, switch.value)?;
            }
            Some(_) if kind == ProfileUse::WithProfile && switch.letter == 'b' => {
                return Err(line.refuse("ERROR: -b is not compatible with -X XML profile specification"));
            }
            _ if kind == ProfileUse::WithProfile => {
                return Err(line.refuse(format!(
                    "ERROR: invalid XML profile specification; parameter {} not compatible with -X",
                    switch.typed
                )));
            }
            _ => {
                kind = ProfileUse::WithoutProfile;
                if let Some(row) = switch_row.filter(|row| row.pass == Pass::First) {
                    (row.apply)(line, switch.value)?;
                }
            }
        }
    }
    Ok(())
}

/// The row of a switch, if the requested version has it.
fn find_switch(line: &Line<'_>, switch: &TypedSwitch<'_>) -> Option<&'static Switch> {
    options::find_switch(switch.letter).filter(|row| row.is_in(line.env.version()))
}

/// Applies all other switches.
fn apply_second_pass(line: &mut Line<'_>, switches: &[TypedSwitch<'_>]) -> Result<(), EarlyEnd> {
    for switch in switches {
        let Some(row) = find_switch(line, switch) else {
            return Err(line.refuse(format!("ERROR: invalid option: '{}'", switch.typed)));
        };
        if row.pass != Pass::Second {
            continue;
        }
        let result = (row.apply)(line, switch.value);
        if result == Err(EarlyEnd::Invalid) {
            line.stderr
                .push(format!("ERROR: incorrectly provided option: '{}'", switch.typed));
        }
        result?;
    }
    Ok(())
}

/// Loads the profile of `-X`, with the targets of the line in its slots.
fn load_profile(line: &mut Line<'_>, path: &str, paths: &[&str]) -> Result<Profile, EarlyEnd> {
    let mut profile = match line.env.read_profile(path) {
        Ok(text) => xml::read(&text).map_err(|why| line.refuse_all(why.lines()))?,
        Err(reason) => {
            return Err(line.refuse_all(vec![
                format!("ERROR: failed to load profile, line 0, line position 0, errorCode {NOT_FOUND:08x}"),
                format!("ERROR: reason: {reason}"),
            ]));
        }
    };
    templates::substitute(&mut profile, paths).map_err(|why| line.refuse_all(why))?;
    Ok(profile)
}

/// The error of Windows' XML parser for a missing file.
const NOT_FOUND: u32 = 0x800c_0006;
