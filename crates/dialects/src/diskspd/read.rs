//! A command line, read as DiskSpd does: targets, a first pass over switches that others refer to,
//! a second over the rest, then validation. The order decides which of several mistakes is
//! reported.
//!
//! Nothing is printed here, and files and events are asked for through [`ParseEnv`].

use super::arguments::{self, Argument, TypedSwitch};
use super::line::{EarlyEnd, Events, Line, ParseEnv};
use super::options::{self, Pass, Switch};
use super::profile::{Profile, ResultFormat};
use super::validate::validate;
use super::{help, hints, templates, xml};

/// What a command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// The process ends, and nothing else happens.
    End(End),
    /// The profile is to be printed, in its result format.
    Print(Request),
    /// The profile is to be run.
    Run(Request),
}

/// How the process ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Exit code.
    pub code: u8,
    /// Lines for stdout.
    pub stdout: Vec<String>,
    /// Lines for stderr, as DiskSpd writes them.
    pub stderr: Vec<String>,
    /// Suggestions, for lines `hint: …` after those of stderr.
    pub hints: Vec<String>,
    /// Arguments read differently from how they were typed, such as a typographic dash for `-`.
    pub notes: Vec<String>,
    /// What is known of the machine is to be printed in this form before the process ends.
    pub system: Option<ResultFormat>,
}

/// A profile, and what is to be reported before it is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The profile.
    pub profile: Profile,
    /// Names of the events on the command line. They are open.
    pub events: Events,
    /// Lines for stderr, as DiskSpd writes them: warnings.
    pub stderr: Vec<String>,
    /// What was understood differently from how it was typed, or is probably not what was meant.
    pub notes: Vec<String>,
}

/// Reads a command line. `program` is how the program was called, for the help.
pub fn read(program: &str, arguments: &[String], env: &mut dyn ParseEnv) -> Reading {
    let sorted = arguments::sort(arguments, env.slash_is_a_switch());
    let notes = typographic_dashes(&sorted);
    if arguments.is_empty() {
        return Reading::End(End {
            code: 3,
            stdout: help::lines(program),
            ..End::default()
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
                notes: notes.into_iter().chain(hints::of_a_run(&sorted)).collect(),
            };
            if line.composed.print_only {
                Reading::Print(request)
            } else {
                Reading::Run(request)
            }
        }
        Err(halt) => {
            let mut end = End {
                code: 3,
                stdout: line.messages,
                stderr: line.said,
                notes,
                ..End::default()
            };
            match halt {
                EarlyEnd::Wrong => end.hints = hints::of_a_refusal(&sorted, &end.stderr, line.env.version()),
                EarlyEnd::System => (end.code, end.system) = (0, Some(line.composed.format.unwrap_or_default())),
                EarlyEnd::Exit(code) => (end.code, end.hints) = (code, line.hints),
                EarlyEnd::Help => {
                    end.code = 0;
                    end.stdout.extend(help::lines(program));
                }
            }
            Reading::End(end)
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
        _ => vec![format!("a typographic dash was taken for `-` in {}", list.join(", "))],
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
    if line.composed.system_only {
        return Err(EarlyEnd::System);
    }
    let of_command_line = line.composed.profile_path.is_none();
    let mut profile = match line.composed.profile_path.clone() {
        Some(path) => load(line, &path, paths)?,
        None => {
            second_pass(line, &switches)?;
            if line.only_signal {
                line.messages.push("Now exiting...".into());
                return Err(EarlyEnd::Exit(1));
            }
            if paths.is_empty() {
                return Err(line.refuse("ERROR: need to provide at least one filename"));
            }
            line.profile(paths)
        }
    };
    line.composed.apply(&mut profile);
    if line.is_newer() {
        profile
            .time_spans
            .iter_mut()
            .for_each(|span| span.newer.fill_defaults());
    }
    let machine = (!line.composed.print_only).then(|| line.env.processors());
    let verdict = validate(&profile, of_command_line, machine.as_ref());
    if verdict.refused {
        return Err(line.refuse_all(verdict.lines));
    }
    Ok((profile, verdict.lines))
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

/// Whether the command line uses `-X`, as far as it has been read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Open,
    WithProfile,
    WithoutProfile,
}

/// Switches that may stand beside `-X`, `-X` itself, and the block size. One mistake ends it, with
/// one message.
fn read_composable_switches(line: &mut Line<'_>, switches: &[TypedSwitch<'_>]) -> Result<(), EarlyEnd> {
    let mut kind = Kind::Open;
    for switch in switches {
        let known = find(line, switch);
        match known {
            Some(row) if row.pass == Pass::Composable => (row.read)(line, switch.value)?,
            Some(row) if switch.letter == 'X' => {
                if kind != Kind::Open {
                    // DiskSpd says this of any other switch before `-X` as well.
                    return Err(line.refuse("ERROR: multiple XML profiles specified (-X)"));
                }
                kind = Kind::WithProfile;
                (row.read)(line, switch.value)?;
            }
            Some(_) if kind == Kind::WithProfile && switch.letter == 'b' => {
                return Err(line.refuse("ERROR: -b is not compatible with -X XML profile specification"));
            }
            _ if kind == Kind::WithProfile => {
                return Err(line.refuse(format!(
                    "ERROR: invalid XML profile specification; parameter {} not compatible with -X",
                    switch.typed
                )));
            }
            _ => {
                kind = Kind::WithoutProfile;
                if let Some(row) = known.filter(|row| row.pass == Pass::First) {
                    (row.read)(line, switch.value)?;
                }
            }
        }
    }
    Ok(())
}

/// The row of a switch, if the version that is asked for has it.
fn find(line: &Line<'_>, switch: &TypedSwitch<'_>) -> Option<&'static Switch> {
    options::find(switch.letter).filter(|row| row.is_in(line.env.version()))
}

/// Everything else.
fn second_pass(line: &mut Line<'_>, switches: &[TypedSwitch<'_>]) -> Result<(), EarlyEnd> {
    for switch in switches {
        let Some(row) = find(line, switch) else {
            return Err(line.refuse(format!("ERROR: invalid option: '{}'", switch.typed)));
        };
        if row.pass != Pass::Second {
            continue;
        }
        let taken = (row.read)(line, switch.value);
        if taken == Err(EarlyEnd::Wrong) {
            line.said
                .push(format!("ERROR: incorrectly provided option: '{}'", switch.typed));
        }
        taken?;
    }
    Ok(())
}

/// The profile of `-X`, with the targets of the line in its slots.
fn load(line: &mut Line<'_>, path: &str, paths: &[&str]) -> Result<Profile, EarlyEnd> {
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

/// What Windows' XML parser answers when there is no such file.
const NOT_FOUND: u32 = 0x800c_0006;
