//! fio's command line: flags, job options and job files in any order. Options act in the order in
//! which they stand; files are read after all of them.

use super::flags::{self, FLAGS, Flag, Parameter};
use super::jobs::{End, Reading};
use super::profiles::{self, Chosen, ProfileOption};
use super::session::{Draft, ExitCode, Session, command_line};
use super::table::{self, Kind, OptionError, ParseEnv, ParseResult, Row};
use super::unbuilt::{self, UnbuiltOption, ValueKind};
use super::{job_file, show, similar};

/// Reads a command line. `program` is how the program was called, for messages.
pub fn read(program: &str, arguments: &[String], env: &mut dyn ParseEnv) -> Reading {
    let mut line = CommandLine {
        program,
        session: Session::new(env),
        section: Section::Defaults,
        job: None,
        files: Vec::new(),
        profile: None,
    };
    let outcome = line.all(arguments);
    let (read, action) = (line.session.read, line.session.action);
    match outcome {
        Ok(()) => Reading::Run(read),
        Err(ExitCode(code)) => Reading::End(End { code, read, action }),
    }
}

/// Where an option goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// To the defaults of what follows.
    Defaults,
    /// To a job.
    Job,
    /// Nowhere: `--section` leaves this one out.
    Skipped,
}

struct CommandLine<'a, 'p> {
    program: &'p str,
    session: Session<'a>,
    section: Section,
    /// The job of [`Section::Job`].
    job: Option<Draft>,
    files: Vec<String>,
    profile: Option<Chosen>,
}

/// What may stand behind dashes.
#[derive(Clone, Copy)]
enum Known {
    Flag(&'static Flag),
    Option(&'static Row),
    /// Of the profile that was chosen.
    Profile(ProfileOption),
    /// Of an engine that is not here.
    Unbuilt(UnbuiltOption),
}

/// An argument that begins with a dash.
struct Typed<'t> {
    /// All of it.
    whole: &'t str,
    /// One dash or two.
    dashes: &'t str,
    name: &'t str,
    value: Option<&'t str>,
}

impl CommandLine<'_, '_> {
    fn all(&mut self, arguments: &[String]) -> Result<(), ExitCode> {
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match Typed::parse(argument) {
                Some(typed) => self.dashed(&typed, &mut rest)?,
                None if argument == "--" => self.files.extend(rest.by_ref().cloned()),
                None => self.files.push(argument.clone()),
            }
        }
        self.end_job()?;
        for (index, file) in std::mem::take(&mut self.files).iter().enumerate() {
            job_file::read(&mut self.session, file, index == 0)?;
        }
        if let Some(chosen) = self.profile.take() {
            self.session.defaults = Draft::built_in();
            chosen.add_jobs(&mut self.session)?;
        }
        self.finish()
    }

    /// What is left when everything is read.
    fn finish(&mut self) -> Result<(), ExitCode> {
        let flags = &self.session.read.flags;
        if flags.parse_only || flags.show_command {
            return Err(ExitCode(0));
        }
        if flags.server.is_some() {
            self.session.action = Some(flags::StandaloneAction::Serve);
            return Err(ExitCode(0));
        }
        if self.session.read.jobs.is_empty() {
            self.usage();
            self.session.say("No job(s) defined");
            return Err(self.session.halt(""));
        }
        Ok(())
    }

    fn usage(&mut self) {
        self.session.tell(show::VERSION);
        for line in show::usage(self.program) {
            self.session.tell(line);
        }
    }

    /// Takes a flag or an option, and its value from the next argument if it has none of its own.
    fn dashed(&mut self, typed: &Typed<'_>, rest: &mut std::slice::Iter<'_, String>) -> Result<(), ExitCode> {
        let (known, name) = self.resolve(typed)?;
        let parameter = match known {
            Known::Flag(flag) => flag.parameter,
            Known::Option(row) if row.may_be_bare(false) => Parameter::Optional,
            Known::Unbuilt(option) if option.kind == ValueKind::Switch => Parameter::Optional,
            Known::Option(_) | Known::Unbuilt(_) | Known::Profile(_) => Parameter::Required,
        };
        let (program, dashes) = (self.program, typed.dashes);
        let value = match (parameter, typed.value) {
            (Parameter::None, Some(_)) => {
                let line = format!("{program}: option '{dashes}{name}' doesn't allow an argument");
                return Err(self.not_recognised(typed, line));
            }
            (Parameter::Required, None) => {
                let Some(next) = rest.next() else {
                    let line = format!("{program}: option '{dashes}{name}' requires an argument");
                    return Err(self.not_recognised(typed, line));
                };
                Some(next.as_str())
            }
            (_, value) => value,
        };
        match known {
            Known::Flag(flag) => self.flag(flag, value),
            Known::Option(row) if row.name == "profile" => self.choose(value.unwrap_or_default()),
            Known::Option(row) => self.option(row, value),
            Known::Profile(option) => self.profile_option(option, value.unwrap_or_default()),
            Known::Unbuilt(option) => self.unbuilt_option(option, value),
        }
    }

    /// Which flag or option a name stands for, abbreviated or not.
    fn resolve(&mut self, typed: &Typed<'_>) -> Result<(Known, &'static str), ExitCode> {
        let short = match typed.whole {
            "-h" => "help",
            "-v" => "version",
            _ => typed.name,
        };
        let of_profile = self.profile.iter().flat_map(Chosen::options);
        if let Some(option) = of_profile.into_iter().find(|option| option.name == short) {
            return Ok((Known::Profile(*option), option.name));
        }
        let all = self.known();
        let begins: Vec<_> = all.iter().filter(|(_, name)| name.starts_with(short)).collect();
        if let Some(exact) = begins.iter().find(|(_, name)| *name == short) {
            return Ok(**exact);
        }
        let (program, whole, dashes) = (self.program, typed.whole, typed.dashes);
        match begins.as_slice() {
            [only] if !short.is_empty() => Ok(**only),
            [] | [_] => {
                let line = format!("{program}: unrecognized option '{whole}'");
                Err(self.not_recognised(typed, line))
            }
            several => {
                let candidates: Vec<_> = several.iter().map(|(_, name)| format!("'{dashes}{name}'")).collect();
                let candidates = candidates.join(" ");
                let line = format!("{program}: option '{whole}' is ambiguous; possibilities: {candidates}");
                Err(self.not_recognised(typed, line))
            }
        }
    }

    /// Everything that has a name now: the options of an engine are there once a job has that
    /// engine.
    fn known(&self) -> Vec<(Known, &'static str)> {
        let flags = FLAGS.iter().map(|flag| (Known::Flag(flag), flag.name));
        let all_names = |row: &'static Row| row.names().map(move |name| (Known::Option(row), name));
        let engine = self.draft().options.queue.ioengine.as_str();
        let of_engine = table::of_engines().filter(|row| row.engines.contains(&engine));
        flags
            .chain(table::in_order().flat_map(all_names))
            .chain(of_engine.flat_map(all_names))
            .chain(unbuilt::options_of(engine).map(|option| (Known::Unbuilt(option), option.name)))
            .collect()
    }

    fn draft(&self) -> &Draft {
        self.job.as_ref().unwrap_or(&self.session.defaults)
    }

    fn not_recognised(&mut self, typed: &Typed<'_>, line: String) -> ExitCode {
        self.session.say(line);
        let (program, whole) = (self.program, typed.whole);
        self.session.say(format!("{program}: unrecognized option '{whole}'"));
        let name = whole.trim_start_matches('-');
        if let Some(suggestion) = similar::argument(name) {
            self.session.say(format!("Did you mean {suggestion}?"));
        }
        ExitCode(1)
    }

    fn flag(&mut self, flag: &Flag, value: Option<&str>) -> Result<(), ExitCode> {
        let action = (flag.take)(&mut self.session.read.flags, value.unwrap_or_default());
        match action {
            flags::Action::Go => Ok(()),
            flags::Action::Warn(lines) => {
                lines.into_iter().for_each(|line| self.session.say(line));
                Ok(())
            }
            flags::Action::Refuse(lines) => {
                lines.into_iter().for_each(|line| self.session.say(line));
                Err(ExitCode(1))
            }
            flags::Action::Unsupported => {
                let name = flag.name;
                Err(self
                    .session
                    .halt(format!("fio: option {name} is not supported by this program")))
            }
            flags::Action::Output(path) => match self.session.env.open_output(&path) {
                Ok(()) => {
                    self.session.read.flags.output = Some(path);
                    Ok(())
                }
                Err(why) => Err(self.session.halt(format!("fio: output file open error: {why}"))),
            },
            flags::Action::Print(line) => {
                self.session.tell(line);
                Err(ExitCode(0))
            }
            flags::Action::Help => {
                self.usage();
                Err(ExitCode(0))
            }
            flags::Action::OptionHelp(name) => {
                let answer = match &self.profile {
                    Some(chosen) => chosen.help(&name),
                    None => show::option_help(&name),
                };
                Err(self.answer(answer))
            }
            flags::Action::StandaloneAction(action) => {
                self.session.action = Some(action);
                Err(ExitCode(0))
            }
            flags::Action::EngineHelp(name) => Err(self.answer(show::engine_help(&name))),
        }
    }

    fn answer(&mut self, answer: show::Answer) -> ExitCode {
        answer.stdout.into_iter().for_each(|line| self.session.tell(line));
        answer.stderr.into_iter().for_each(|line| self.session.say(line));
        ExitCode(answer.code)
    }

    fn choose(&mut self, name: &str) -> Result<(), ExitCode> {
        self.profile = Chosen::named(name);
        match self.profile {
            Some(_) => Ok(()),
            None => Err(self.session.halt(profiles::refusal(name))),
        }
    }

    fn profile_option(&mut self, option: ProfileOption, value: &str) -> Result<(), ExitCode> {
        let taken = self.profile.as_mut().is_some_and(|chosen| chosen.set(option, value));
        match taken {
            true => Ok(()),
            false => Err(self
                .session
                .halt(format!("fio: failed parsing {}={value}", option.name))),
        }
    }

    fn option(&mut self, row: &'static Row, value: Option<&str>) -> Result<(), ExitCode> {
        if row.name == "name" {
            self.begin_section(value.unwrap_or_default())?;
        }
        if self.section == Section::Skipped {
            return Ok(());
        }
        // A value that is not there is found earlier than one that is wrong.
        if value == Some("") && !matches!(row.kind, Kind::Flag(_) | Kind::Ignored | Kind::Removed) {
            return Err(self
                .session
                .halt(format!("fio: option {} requires an argument", row.name)));
        }
        let mut draft = self.take_draft();
        let taken = draft.option(&mut self.session.env(), row, value, false);
        let engine = draft.options.queue.ioengine.clone();
        self.keep(draft, taken, row.name, value)?;
        match row.name {
            "ioengine" => self.session.load_engine(&engine),
            _ => Ok(()),
        }
    }

    fn unbuilt_option(&mut self, option: UnbuiltOption, value: Option<&str>) -> Result<(), ExitCode> {
        if self.section == Section::Skipped {
            return Ok(());
        }
        let mut draft = self.take_draft();
        let taken = draft.unbuilt_option(option, value);
        self.keep(draft, taken, option.name, value)
    }

    /// The section that the next option goes to.
    fn take_draft(&mut self) -> Draft {
        let job = self.job.take().filter(|_| self.section == Section::Job);
        job.unwrap_or_else(|| self.session.defaults.clone())
    }

    /// Puts the section back if the option was taken, and says why it was not.
    fn keep(&mut self, draft: Draft, taken: ParseResult, name: &str, value: Option<&str>) -> Result<(), ExitCode> {
        match taken {
            Ok(()) => {}
            Err(OptionError::Said) => return Err(ExitCode(1)),
            Err(OptionError::Failed | OptionError::ReadOnly) => {
                let equals = value.map(|value| format!("={value}")).unwrap_or_default();
                return Err(self.session.halt(format!("fio: failed parsing {name}{equals}")));
            }
        }
        if self.section == Section::Job {
            self.job = Some(draft);
        } else {
            self.session.read.globals.extend(draft.given.last().cloned());
            self.session.defaults = draft;
        }
        Ok(())
    }

    /// `--name` ends a job and begins another, or a section of defaults.
    fn begin_section(&mut self, name: &str) -> Result<(), ExitCode> {
        self.end_job()?;
        if self.session.skips(name) {
            self.section = Section::Skipped;
        } else if name.starts_with("global") {
            self.section = Section::Defaults;
        } else {
            self.section = Section::Job;
            self.job = Some(Draft::from(
                &self.session.defaults,
                name,
                command_line(&format!("--name={name}")),
            ));
        }
        Ok(())
    }

    fn end_job(&mut self) -> Result<(), ExitCode> {
        match self.job.take() {
            Some(draft) => self.session.add(draft),
            None => Ok(()),
        }
    }
}

impl<'t> Typed<'t> {
    /// Nothing for a file. A lone dash is standard input, and two alone end the options.
    fn parse(whole: &'t str) -> Option<Typed<'t>> {
        let dashes = match whole {
            "-" | "--" => return None,
            _ if whole.starts_with("--") => "--",
            _ if whole.starts_with('-') => "-",
            _ => return None,
        };
        let body = &whole[dashes.len()..];
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (body, None),
        };
        Some(Typed {
            whole,
            dashes,
            name,
            value,
        })
    }
}
