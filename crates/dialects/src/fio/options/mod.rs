//! The typed value of every job option. The option table has their syntax.

#![allow(
    missing_docs,
    reason = "fields are named like options, which the rows of the table describe"
)]

/// Defines the types of options whose values are words, with the help of each word. A variant's doc
/// is its first word. Words that fio lists elsewhere follow `+`.
macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident at $group:ident.$field:ident {
        $($(#[$attribute:meta])* $variant:ident: $word:literal $help:literal $(, $alias:literal $alias_help:literal)*;)*
        $(+ $($other:literal $other_help:literal => $of:ident;)*)?
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name {
            $(#[doc = concat!("`", $word, "`: ", $help, ".")] $(#[$attribute])* $variant,)*
        }

        impl $name {
            pub(in crate::fio) const WORDS: &[$crate::fio::options::Word] = &[
                $($crate::fio::options::Word::new($word, $help, |job| job.$group.$field = $name::$variant),
                $($crate::fio::options::Word::new($alias, $alias_help, |job| job.$group.$field = $name::$variant),)*)*
                $($($crate::fio::options::Word::new($other, $other_help, |job| job.$group.$field = $name::$of),)*)?
            ];
        }
    )*};
}

pub mod data;
pub mod engine;
pub mod files;
pub mod job;
pub mod logs;
pub mod pace;
pub mod pattern;
pub mod queue;
pub mod replay;
pub mod report;
pub mod system;
pub mod typed;
pub mod verify;
pub mod zones;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A valid word of an option.
#[derive(Clone, Copy)]
pub struct Word {
    /// The word itself, as the user writes it.
    pub text: &'static str,
    /// Meaning of the word, for help texts.
    pub help: &'static str,
    pub(super) set: fn(&mut JobOptions),
}

impl Word {
    pub(super) const fn new(text: &'static str, help: &'static str, set: fn(&mut JobOptions)) -> Word {
        Word { text, help, set }
    }
}

/// A group of options that jobs share until one changes it (copy on write). Jobs differ in few
/// options, even if there are a hundred thousand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shared<T>(Arc<T>);

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

/// Every option of a job, typed, with its default.
#[derive(Clone, Debug, PartialEq)]
pub struct JobOptions {
    /// Name, duration, dependencies.
    pub job: Shared<job::Job>,
    /// Files and devices.
    pub files: Shared<files::Files>,
    /// Direction, order, sizes.
    pub pattern: Shared<pattern::Pattern>,
    /// Engine, depth, batches, flushes.
    pub queue: Shared<queue::Queue>,
    /// Rates, pauses, latency limits.
    pub pace: Shared<pace::Pace>,
    /// Contents of writes.
    pub data: Shared<data::Data>,
    /// Verification.
    pub verify: Shared<verify::Verify>,
    /// Statistics.
    pub report: Shared<report::Report>,
    /// Logs.
    pub logs: Shared<logs::Logs>,
    /// Processors, priorities, limits.
    pub system: Shared<system::System>,
    /// Traces.
    pub replay: Shared<replay::Replay>,
    /// Zones.
    pub zones: Shared<zones::Zones>,
    /// Options of single engines.
    pub engine: Shared<engine::Engine>,
}

impl JobOptions {
    /// Empty values; the rows have the defaults.
    pub(super) fn empty() -> JobOptions {
        JobOptions {
            job: Shared::default(),
            files: Shared::default(),
            pattern: Shared::default(),
            queue: Shared::default(),
            pace: Shared::default(),
            data: Shared::default(),
            verify: Shared::default(),
            report: Shared::default(),
            logs: Shared::default(),
            system: Shared::default(),
            replay: Shared::default(),
            zones: Shared::default(),
            engine: Shared::default(),
        }
    }

    /// Sets defaults that a row cannot express: the seed depends on randrepeat, the engine on the
    /// system.
    pub(super) fn adjust_defaults(&mut self) {
        self.pattern.randseed = None;
        if cfg!(windows) {
            self.queue.ioengine = "windowsaio".into();
        }
    }

    /// The factor of `k` in sizes.
    pub fn kb_base(&self) -> u64 {
        match self.report.kb_base {
            report::KbBase::Binary => 1024,
            report::KbBase::Decimal => 1000,
        }
    }
}
