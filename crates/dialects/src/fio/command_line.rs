//! fio's command line: flags, job options and job files in any order. Options apply in order; files
//! are read after all of them.

use super::flags::{self, FLAGS, Flag, Parameter};
use super::jobs::{ExitOutput, Job, ParseOutcome};
use super::profiles::{self, ChosenProfile, ProfileOption};
use super::session::{ExitCode, Session};
use super::table::{self, Kind, OptionError, ParseEnv, ParseResult, Row};
use super::unsupported_engines::{self, UnsupportedEngineOption, ValueKind};
use super::{help, job_file, similar};
use crate::Location;

/// Reads a command line. `program` is how the program was called, for messages.
pub fn read(program: &str, arguments: &[String], env: &mut dyn ParseEnv) -> ParseOutcome {
    let mut line = CommandLine {
        program,
        session: Session::new(env),
        section: Section::Defaults,
        job: None,
        files: Vec::new(),
        profile: None,
    };
    let outcome = line.read_arguments(arguments);
    let (read, action) = (line.session.read, line.session.action);
    match outcome {
        Ok(()) => ParseOutcome::Run(read),
        Err(ExitCode(code)) => ParseOutcome::End(ExitOutput { code, read, action }),
    }
}

/// The section that options apply to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// The defaults of later jobs.
    Defaults,
    /// A job.
    Job,
    /// No job: `--section` excludes this section.
    Skipped,
}

struct CommandLine<'a, 'p> {
    program: &'p str,
    session: Session<'a>,
    section: Section,
    /// The job of [`Section::Job`].
    job: Option<Job>,
    files: Vec<String>,
    profile: Option<ChosenProfile>,
}

/// An argument that begins with dashes, resolved.
#[derive(Clone, Copy)]
enum ResolvedArgument {
    Flag(&'static Flag),
    Option(&'static Row),
    /// An option of the chosen profile.
    Profile(ProfileOption),
    /// An option of an engine that fathom lacks.
    Unsupported(UnsupportedEngineOption),
}

/// An argument that begins with a dash.
struct DashedArg<'t> {
    /// The whole argument.
    text: &'t str,
    /// One dash or two.
    dashes: &'t str,
    name: &'t str,
    value: Option<&'t str>,
}

impl CommandLine<'_, '_> {
    fn read_arguments(&mut self, arguments: &[String]) -> Result<(), ExitCode> {
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match DashedArg::parse(argument) {
                Some(arg) => self.apply_argument(&arg, &mut rest)?,
                None if argument == "--" => self.files.extend(rest.by_ref().cloned()),
                None => self.files.push(argument.clone()),
            }
        }
        self.end_job()?;
        for (index, file) in std::mem::take(&mut self.files).iter().enumerate() {
            job_file::read(&mut self.session, file, index == 0)?;
        }
        if let Some(chosen) = self.profile.take() {
            self.session.defaults = Job::global();
            chosen.add_jobs(&mut self.session)?;
        }
        self.finish()
    }

    /// Reads the job files and completes the last job.
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
            self.print_usage();
            self.session.push_stderr("No job(s) defined");
            return Err(self.session.halt(""));
        }
        Ok(())
    }

    fn print_usage(&mut self) {
        self.session.push_stdout(help::VERSION);
        for line in help::usage(self.program) {
            self.session.push_stdout(line);
        }
    }

    /// Applies a flag or an option. Without `=`, its value is the next argument.
    fn apply_argument(&mut self, arg: &DashedArg<'_>, rest: &mut std::slice::Iter<'_, String>) -> Result<(), ExitCode> {
        let (row, name) = self.resolve(arg)?;
        let parameter = match row {
            ResolvedArgument::Flag(flag) => flag.parameter,
            ResolvedArgument::Option(row) if row.may_be_bare(false) => Parameter::Optional,
            ResolvedArgument::Unsupported(option) if option.kind == ValueKind::Switch => Parameter::Optional,
            ResolvedArgument::Option(_) | ResolvedArgument::Unsupported(_) | ResolvedArgument::Profile(_) => {
                Parameter::Required
            }
        };
        let (program, dashes) = (self.program, arg.dashes);
        let value = match (parameter, arg.value) {
            (Parameter::None, Some(_)) => {
                let line = format!("{program}: option '{dashes}{name}' doesn't allow an argument");
                return Err(self.report_unrecognised(arg, line));
            }
            (Parameter::Required, None) => {
                let Some(next) = rest.next() else {
                    let line = format!("{program}: option '{dashes}{name}' requires an argument");
                    return Err(self.report_unrecognised(arg, line));
                };
                Some(next.as_str())
            }
            (_, value) => value,
        };
        match row {
            ResolvedArgument::Flag(flag) => self.apply_flag(flag, value),
            ResolvedArgument::Option(row) if row.name == "profile" => self.choose_profile(value.unwrap_or_default()),
            ResolvedArgument::Option(row) => self.apply_option(row, value),
            ResolvedArgument::Profile(option) => self.apply_profile_option(option, value.unwrap_or_default()),
            ResolvedArgument::Unsupported(option) => self.apply_unsupported_option(option, value),
        }
    }

    /// Finds the flag or option of a name, which may be abbreviated.
    fn resolve(&mut self, arg: &DashedArg<'_>) -> Result<(ResolvedArgument, &'static str), ExitCode> {
        let short = match arg.text {
            "-h" => "help",
            "-v" => "version",
            _ => arg.name,
        };
        let of_profile = self.profile.iter().flat_map(ChosenProfile::options);
        if let Some(option) = of_profile.into_iter().find(|option| option.name == short) {
            return Ok((ResolvedArgument::Profile(*option), option.name));
        }
        let names = self.visible_names();
        let begins: Vec<_> = names.iter().filter(|(_, name)| name.starts_with(short)).collect();
        if let Some(exact) = begins.iter().find(|(_, name)| *name == short) {
            return Ok(**exact);
        }
        let (program, text, dashes) = (self.program, arg.text, arg.dashes);
        match begins.as_slice() {
            [only] if !short.is_empty() => Ok(**only),
            [] | [_] => {
                let line = format!("{program}: unrecognized option '{text}'");
                Err(self.report_unrecognised(arg, line))
            }
            several => {
                let candidates: Vec<_> = several.iter().map(|(_, name)| format!("'{dashes}{name}'")).collect();
                let candidates = candidates.join(" ");
                let line = format!("{program}: option '{text}' is ambiguous; possibilities: {candidates}");
                Err(self.report_unrecognised(arg, line))
            }
        }
    }

    /// The known flags and options. Engine options are known only after the job's `ioengine`.
    fn visible_names(&self) -> Vec<(ResolvedArgument, &'static str)> {
        let flags = FLAGS.iter().map(|flag| (ResolvedArgument::Flag(flag), flag.name));
        let all_names = |row: &'static Row| row.names().map(move |name| (ResolvedArgument::Option(row), name));
        let engine = self.current_section().options.queue.ioengine.as_str();
        let of_engine = table::engine_rows().filter(|row| row.engines.contains(&engine));
        flags
            .chain(table::common_rows().flat_map(all_names))
            .chain(of_engine.flat_map(all_names))
            .chain(
                unsupported_engines::engine_options(engine)
                    .map(|option| (ResolvedArgument::Unsupported(option), option.name)),
            )
            .collect()
    }

    fn current_section(&self) -> &Job {
        self.job.as_ref().unwrap_or(&self.session.defaults)
    }

    fn report_unrecognised(&mut self, arg: &DashedArg<'_>, line: String) -> ExitCode {
        self.session.push_stderr(line);
        let (program, text) = (self.program, arg.text);
        self.session
            .push_stderr(format!("{program}: unrecognized option '{text}'"));
        let name = text.trim_start_matches('-');
        if let Some(suggestion) = similar::similar_argument(name) {
            self.session.push_stderr(format!("Did you mean {suggestion}?"));
        }
        ExitCode(1)
    }

    fn apply_flag(&mut self, flag: &Flag, value: Option<&str>) -> Result<(), ExitCode> {
        let action = (flag.apply)(&mut self.session.read.flags, value.unwrap_or_default());
        match action {
            flags::Action::Continue => Ok(()),
            flags::Action::Warn(lines) => {
                lines.into_iter().for_each(|line| self.session.push_stderr(line));
                Ok(())
            }
            flags::Action::Refuse(lines) => {
                lines.into_iter().for_each(|line| self.session.push_stderr(line));
                Err(ExitCode(1))
            }
            flags::Action::Unsupported => {
                let line = format!("fio: option {} is not supported by this program", flag.name);
                Err(self.session.halt(line))
            }
            flags::Action::Output(path) => match self.session.env.open_output(&path) {
                Ok(()) => {
                    self.session.read.flags.output = Some(path);
                    Ok(())
                }
                Err(why) => Err(self.session.halt(format!("fio: output file open error: {why}"))),
            },
            flags::Action::Print(line) => {
                self.session.push_stdout(line);
                Err(ExitCode(0))
            }
            flags::Action::Help => {
                self.print_usage();
                Err(ExitCode(0))
            }
            flags::Action::OptionHelp(name) => {
                let answer = match &self.profile {
                    Some(chosen) => chosen.help(&name),
                    None => help::option_help(&name),
                };
                Err(self.print_answer(answer))
            }
            flags::Action::StandaloneAction(action) => {
                self.session.action = Some(action);
                Err(ExitCode(0))
            }
            flags::Action::EngineHelp(name) => Err(self.print_answer(help::engine_help(&name))),
        }
    }

    fn print_answer(&mut self, answer: help::HelpOutput) -> ExitCode {
        let (stdout, stderr) = (answer.stdout.into_iter(), answer.stderr.into_iter());
        stdout.for_each(|line| self.session.push_stdout(line));
        stderr.for_each(|line| self.session.push_stderr(line));
        ExitCode(answer.exit_code)
    }

    fn choose_profile(&mut self, name: &str) -> Result<(), ExitCode> {
        self.profile = ChosenProfile::from_name(name);
        match self.profile {
            Some(_) => Ok(()),
            None => Err(self.session.halt(profiles::unknown_profile_line(name))),
        }
    }

    fn apply_profile_option(&mut self, option: ProfileOption, value: &str) -> Result<(), ExitCode> {
        if self.profile.as_mut().is_some_and(|chosen| chosen.set(option, value)) {
            return Ok(());
        }
        let line = format!("fio: failed parsing {}={value}", option.name);
        Err(self.session.halt(line))
    }

    fn apply_option(&mut self, row: &'static Row, value: Option<&str>) -> Result<(), ExitCode> {
        if row.name == "name" {
            self.begin_section(value.unwrap_or_default())?;
        }
        if self.section == Section::Skipped {
            return Ok(());
        }
        // A missing value is reported before an invalid one.
        if value == Some("") && !matches!(row.kind, Kind::Flag(_) | Kind::Ignored | Kind::Removed) {
            let line = format!("fio: option {} requires an argument", row.name);
            return Err(self.session.halt(line));
        }
        let mut section = self.take_section();
        let result = self.session.apply_option(&mut section, row, value, false);
        let engine = section.options.queue.ioengine.clone();
        self.restore_section(section, result, row.name, value)?;
        match row.name {
            "ioengine" => self.session.load_engine(&engine),
            _ => Ok(()),
        }
    }

    fn apply_unsupported_option(
        &mut self,
        option: UnsupportedEngineOption,
        value: Option<&str>,
    ) -> Result<(), ExitCode> {
        if self.section == Section::Skipped {
            return Ok(());
        }
        let mut section = self.take_section();
        let result = section.apply_unsupported_option(option, value);
        self.restore_section(section, result, option.name, value)
    }

    /// Takes the section that the next option applies to.
    fn take_section(&mut self) -> Job {
        let job = self.job.take().filter(|_| self.section == Section::Job);
        job.unwrap_or_else(|| self.session.defaults.clone())
    }

    /// Puts the section back after a valid option, and reports an invalid one.
    fn restore_section(
        &mut self,
        section: Job,
        result: ParseResult,
        name: &str,
        value: Option<&str>,
    ) -> Result<(), ExitCode> {
        match result {
            Ok(()) => {}
            Err(OptionError::Reported) => return Err(ExitCode(1)),
            Err(OptionError::Failed | OptionError::ReadOnly) => {
                let equals = value.map(|value| format!("={value}")).unwrap_or_default();
                return Err(self.session.halt(format!("fio: failed parsing {name}{equals}")));
            }
        }
        if self.section == Section::Job {
            self.job = Some(section);
        } else {
            self.session.read.globals.extend(section.given.last().cloned());
            self.session.defaults = section;
        }
        Ok(())
    }

    /// `--name` ends the previous job and begins a job, or a section of defaults.
    fn begin_section(&mut self, name: &str) -> Result<(), ExitCode> {
        self.end_job()?;
        if self.session.skips(name) {
            self.section = Section::Skipped;
        } else if name.starts_with("global") {
            self.section = Section::Defaults;
        } else {
            self.section = Section::Job;
            let location = Location::on_command_line(format!("--name={name}"));
            self.job = Some(Job::new(name, location, self.session.defaults.options.clone()));
        }
        Ok(())
    }

    fn end_job(&mut self) -> Result<(), ExitCode> {
        match self.job.take() {
            Some(job) => self.session.add(job),
            None => Ok(()),
        }
    }
}

impl<'t> DashedArg<'t> {
    /// `None` for a job file, including a lone dash (standard input) and `--`.
    fn parse(text: &'t str) -> Option<DashedArg<'t>> {
        let dashes = match text {
            "-" | "--" => return None,
            _ if text.starts_with("--") => "--",
            _ if text.starts_with('-') => "-",
            _ => return None,
        };
        let body = &text[dashes.len()..];
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (body, None),
        };
        Some(DashedArg {
            text,
            dashes,
            name,
            value,
        })
    }
}
