//! What is known of a command line while it is read, and how a switch says that it is wrong.

use super::newer::Version;
use super::numbers;
use super::profile::{Etw, Profile, ResultFormat, Target, TimeSpan};
use super::validate::Processors;

/// What reading a command line may ask of its environment.
pub trait ParseEnv {
    /// The processors, for the check of an affinity list. Asked only if there is to be a run.
    fn processors(&self) -> Processors;

    /// Milliseconds since the machine was started, for a bare `-z`.
    fn milliseconds_since_start(&self) -> u64;

    /// The text of a profile (`-X`).
    ///
    /// # Errors
    /// The reason, for people.
    fn read_profile(&mut self, path: &str) -> Result<String, String>;

    /// Opens a named event, or makes it if there is none (`-ys -yf -yr -yp`).
    ///
    /// # Errors
    /// The reason, for people.
    fn open_event(&mut self, role: EventRole, name: &str) -> Result<(), String>;

    /// Sets an event that exists (`-ye`).
    ///
    /// # Errors
    /// The reason, for people; empty if there is no such event.
    fn signal_event(&mut self, name: &str) -> Result<(), String>;

    /// The DiskSpd whose switches are accepted.
    fn version(&self) -> Version {
        Version::V2_2
    }

    /// `/` introduces switches too, as on Windows. Elsewhere it begins a path.
    fn slash_is_a_switch(&self) -> bool {
        cfg!(windows)
    }
}

/// What a named event is for.
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

/// The names of the events that a command line speaks of.
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
        let place = match role {
            EventRole::Start => &mut self.start,
            EventRole::Finish => &mut self.finish,
            EventRole::Wait => &mut self.wait,
            EventRole::Stop => &mut self.stop,
        };
        *place = Some(name.to_string());
    }
}

/// Why reading ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EarlyEnd {
    /// The switch is wrong. What is to be said about it has been said, but for the line that all of
    /// them share.
    Wrong,
    /// Help was asked for.
    Help,
    /// What is known of the machine was asked for.
    System,
    /// The process ends with this code.
    Exit(u8),
}

/// What a switch answers.
pub(super) type ParseResult = Result<(), EarlyEnd>;

/// What is known so far.
pub(super) struct Line<'a> {
    pub(super) env: &'a mut dyn ParseEnv,
    pub(super) composed: Composed,
    pub(super) progress: u32,
    pub(super) etw: Option<Etw>,
    pub(super) span: TimeSpan,
    /// All targets of a command line are alike but for their paths.
    pub(super) target: Target,
    /// Without a target, switches that contradict each other go unnoticed: the missing target is
    /// the error.
    pub(super) has_targets: bool,
    pub(super) given: Given,
    pub(super) events: Events,
    /// An event was set, so there is nothing left to do when the line is read.
    pub(super) only_signal: bool,
    /// Lines for stdout.
    pub(super) messages: Vec<String>,
    /// Lines for stderr.
    pub(super) said: Vec<String>,
    /// Why something of the environment refused.
    pub(super) hints: Vec<String>,
}

/// Values that go with a profile of `-X` too, and replace what it says.
#[derive(Default)]
pub(super) struct Composed {
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

/// What may be said only once.
#[derive(Default)]
pub(super) struct Given {
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
            composed: Composed::default(),
            progress: 0,
            etw: None,
            span: TimeSpan::default(),
            target: Target::default(),
            has_targets,
            given: Given::default(),
            events: Events::default(),
            only_signal: false,
            messages: Vec::new(),
            said: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Says what is wrong.
    pub(super) fn refuse(&mut self, text: impl Into<String>) -> EarlyEnd {
        self.said.push(text.into());
        EarlyEnd::Wrong
    }

    /// Says what is wrong, in several lines.
    pub(super) fn refuse_all(&mut self, lines: Vec<String>) -> EarlyEnd {
        self.said.extend(lines);
        EarlyEnd::Wrong
    }

    /// The switches of DiskSpd 2.3 are accepted.
    pub(super) fn is_newer(&self) -> bool {
        self.env.version() >= Version::V2_3
    }

    /// A size in bytes, or in blocks of the size that is known so far.
    pub(super) fn size(&mut self, text: &str) -> Result<u64, EarlyEnd> {
        numbers::size(text, self.target.block).map_err(|why| self.refuse(why))
    }

    /// The profile of one time span with these targets.
    pub(super) fn profile(&self, paths: &[&str]) -> Profile {
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

impl Composed {
    /// Puts these values over those of a profile, in all of its time spans.
    pub(super) fn apply(&self, profile: &mut Profile) {
        let put = |place: &mut u32, value: Option<u32>| *place = value.unwrap_or(*place);
        put(&mut profile.experiment_flags, self.experiment_flags);
        profile.result_format = self.format.unwrap_or(profile.result_format);
        profile.verbose |= self.verbose;
        profile.verbose_stats |= self.verbose_stats;
        for span in &mut profile.time_spans {
            put(&mut span.duration, self.duration);
            put(&mut span.warm_up, self.warm_up);
            put(&mut span.cool_down, self.cool_down);
            put(&mut span.seed, self.seed);
        }
    }
}
