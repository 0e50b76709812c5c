//! The state while a command line is read, and the errors of switches.

use super::newer::Version;
use super::numbers;
use super::profile::{Etw, Profile, ResultFormat, Target, TimeSpan};
use super::validate::Processors;

/// Queries to the environment while a command line is read.
pub trait ParseEnv {
    /// The processors, to check an affinity list. Queried only before a run.
    fn processors(&self) -> Processors;

    /// Milliseconds since the machine was started, for a bare `-z`.
    fn milliseconds_since_boot(&self) -> u64;

    /// The text of a profile (`-X`).
    ///
    /// # Errors
    /// The reason, for users.
    fn read_profile(&mut self, path: &str) -> Result<String, String>;

    /// Opens or creates a named event (`-ys -yf -yr -yp`).
    ///
    /// # Errors
    /// The reason, for users.
    fn open_event(&mut self, role: EventRole, name: &str) -> Result<(), String>;

    /// Sets an event that exists (`-ye`).
    ///
    /// # Errors
    /// The reason, for users; empty if the event does not exist.
    fn signal_event(&mut self, name: &str) -> Result<(), String>;

    /// The DiskSpd whose switches are accepted.
    fn version(&self) -> Version {
        Version::V2_2
    }

    /// Whether `/` introduces switches too, as on Windows. Elsewhere it begins a path.
    fn slash_is_a_switch(&self) -> bool {
        cfg!(windows)
    }
}

/// For lines that are only read: it accepts every processor number of Linux, and has no files.
pub(crate) struct OfflineEnv;

impl ParseEnv for OfflineEnv {
    fn processors(&self) -> Processors {
        Processors {
            online: (0..1 << 13).collect(),
            possible: 1 << 13,
        }
    }

    fn milliseconds_since_boot(&self) -> u64 {
        0
    }

    fn read_profile(&mut self, _: &str) -> Result<String, String> {
        Err("the line does not contain the profile".into())
    }

    fn open_event(&mut self, _: EventRole, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn signal_event(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn version(&self) -> Version {
        Version::V2_3
    }
}

/// The role of a named event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventRole {
    /// Set before the measured time (`-ys`).
    Start,
    /// Set after it (`-yf`).
    Finish,
    /// Waited for before the warm-up (`-yr`).
    Wait,
    /// Ends the run when another process sets it (`-yp`).
    Stop,
}

/// The named events of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// `-ys`.
    pub start: Option<String>,
    /// `-yf`.
    pub finish: Option<String>,
    /// `-yr`.
    pub wait: Option<String>,
    /// `-yp`.
    pub stop: Option<String>,
}

impl Events {
    pub(super) fn set(&mut self, role: EventRole, name: &str) {
        let field = match role {
            EventRole::Start => &mut self.start,
            EventRole::Finish => &mut self.finish,
            EventRole::Wait => &mut self.wait,
            EventRole::Stop => &mut self.stop,
        };
        *field = Some(name.to_string());
    }
}

/// Why reading ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EarlyEnd {
    /// The switch is invalid. Its error is already reported; only the line common to all errors is
    /// missing.
    Invalid,
    /// The user requested help.
    Help,
    /// The user requested facts about the machine.
    System,
    /// The process ends with this code.
    Exit(u8),
}

/// The result of a switch.
pub(super) type ParseResult = Result<(), EarlyEnd>;

/// The command line as read so far.
pub(super) struct Line<'a> {
    pub(super) env: &'a mut dyn ParseEnv,
    pub(super) overrides: ProfileOverrides,
    pub(super) progress: u32,
    pub(super) etw: Option<Etw>,
    pub(super) span: TimeSpan,
    /// The common values of all targets, which differ only in their paths.
    pub(super) target: Target,
    /// If false, contradictory switches are not reported: the error is the missing target.
    pub(super) has_targets: bool,
    pub(super) seen: SeenOnce,
    pub(super) events: Events,
    /// An event was set, so nothing runs.
    pub(super) only_signal: bool,
    /// Lines for stdout.
    pub(super) stdout: Vec<String>,
    /// Lines for stderr.
    pub(super) stderr: Vec<String>,
    /// Why the system refused a file or an event.
    pub(super) system_errors: Vec<String>,
}

/// Values that override a profile of `-X`.
#[derive(Default)]
pub(super) struct ProfileOverrides {
    pub(super) duration: Option<u32>,
    pub(super) warm_up: Option<u32>,
    pub(super) cool_down: Option<u32>,
    pub(super) seed: Option<u32>,
    pub(super) experiment_flags: Option<u32>,
    pub(super) format: Option<ResultFormat>,
    pub(super) print_only: bool,
    pub(super) system_only: bool,
    pub(super) verbose: bool,
    pub(super) verbose_stats: bool,
    pub(super) profile_path: Option<String>,
}

/// Switches that may occur only once.
#[derive(Default)]
pub(super) struct SeenOnce {
    pub(super) base: bool,
    pub(super) end: bool,
    pub(super) cache: bool,
    pub(super) write_through: bool,
    pub(super) mapped: bool,
}

impl<'a> Line<'a> {
    pub(super) fn new(env: &'a mut dyn ParseEnv, has_targets: bool) -> Self {
        Line {
            env,
            overrides: ProfileOverrides::default(),
            progress: 0,
            etw: None,
            span: TimeSpan::default(),
            target: Target::default(),
            has_targets,
            seen: SeenOnce::default(),
            events: Events::default(),
            only_signal: false,
            stdout: Vec::new(),
            stderr: Vec::new(),
            system_errors: Vec::new(),
        }
    }

    /// Reports an error.
    pub(super) fn refuse(&mut self, text: impl Into<String>) -> EarlyEnd {
        self.stderr.push(text.into());
        EarlyEnd::Invalid
    }

    /// Reports an error of several lines.
    pub(super) fn refuse_all(&mut self, lines: Vec<String>) -> EarlyEnd {
        self.stderr.extend(lines);
        EarlyEnd::Invalid
    }

    /// Whether the switches of DiskSpd 2.3 are accepted.
    pub(super) fn accepts_v2_3(&self) -> bool {
        self.env.version() >= Version::V2_3
    }

    /// Parses a size in bytes, or in blocks of the current block size.
    pub(super) fn parse_size(&mut self, text: &str) -> Result<u64, EarlyEnd> {
        numbers::parse_size(text, self.target.block).map_err(|why| self.refuse(why))
    }

    /// Builds the profile of one time span with these targets.
    pub(super) fn build_profile(&self, paths: &[&str]) -> Profile {
        let mut span = self.span.clone();
        span.targets = paths
            .iter()
            .map(|path| Target {
                path: (*path).to_string(),
                ..self.target.clone()
            })
            .collect();
        Profile {
            progress: self.progress,
            etw: self.etw,
            time_spans: vec![span],
            ..Profile::default()
        }
    }
}

impl ProfileOverrides {
    /// Overrides the values of a profile, in all of its time spans.
    pub(super) fn apply(&self, profile: &mut Profile) {
        let override_with = |field: &mut u32, value: Option<u32>| *field = value.unwrap_or(*field);
        override_with(&mut profile.experiment_flags, self.experiment_flags);
        profile.result_format = self.format.unwrap_or(profile.result_format);
        profile.verbose |= self.verbose;
        profile.verbose_stats |= self.verbose_stats;
        for span in &mut profile.time_spans {
            override_with(&mut span.duration, self.duration);
            override_with(&mut span.warm_up, self.warm_up);
            override_with(&mut span.cool_down, self.cool_down);
            override_with(&mut span.seed, self.seed);
        }
    }
}
