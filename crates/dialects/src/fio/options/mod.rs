//! The table of fio's job options. A row is all that an option needs here: parser, `--cmdhelp` and the page of documentation
//! follow from it, and the defaults of [`JobOptions`] are those of the rows.

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

mod order;
mod row;
mod special;
mod tier;

pub use row::{At, Kind, Row, Status, Word};

use std::sync::LazyLock;

use super::apply::Reader;
pub(super) use order::in_order;
use row::{
    amount, boolean, flag, ignored, int, optional_int, optional_size, per_direction, real, reals, refused, removed,
    size, special, text, time, word, words,
};

/// Every option of a job, typed, each with its default until it is given.
#[derive(Clone, Debug, PartialEq)]
pub struct JobOptions {
    /// Name, duration, dependencies.
    pub job: job::Job,
    /// Files and devices.
    pub files: files::Files,
    /// Direction, order, sizes.
    pub pattern: pattern::Pattern,
    /// Engine, depth, how the system is asked.
    pub queue: queue::Queue,
    /// Rates, pauses, limits of latency.
    pub pace: pace::Pace,
    /// What is written.
    pub data: data::Data,
    /// Verification.
    pub verify: verify::Verify,
    /// Statistics.
    pub report: report::Report,
    /// Logs.
    pub logs: logs::Logs,
    /// Processors, priorities, limits.
    pub system: system::System,
    /// Traces.
    pub replay: replay::Replay,
    /// Zones.
    pub zones: zones::Zones,
    /// What only some engines have.
    pub engine: engine::Engine,
}

/// Groups of options: the heading of each and its rows.
pub const GROUPS: &[(&str, &[Row])] = &[
    ("The job", job::ROWS),
    ("Files", files::ROWS),
    ("What is read and written", pattern::ROWS),
    ("How the system is asked", queue::ROWS),
    ("How fast", pace::ROWS),
    ("Data", data::ROWS),
    ("Verification", verify::ROWS),
    ("Statistics", report::ROWS),
    ("Logs", logs::ROWS),
    ("Processors, priorities, limits", system::ROWS),
    ("Traces", replay::ROWS),
    ("Zones and placement", zones::ROWS),
    ("Options of engines", engine::ROWS),
];

/// All rows, by group.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    GROUPS.iter().flat_map(|(_, rows)| rows.iter())
}

/// The row of an option that every job has, by its name or an alias.
pub fn find(name: &str) -> Option<&'static Row> {
    rows().find(|row| row.engines.is_empty() && row.is_called(name))
}

/// The row of an option that an engine has.
pub fn find_of_engine(engine: &str, name: &str) -> Option<&'static Row> {
    engine::ROWS
        .iter()
        .find(|row| row.engines.contains(&engine) && row.is_called(name))
}

impl JobOptions {
    /// The value of every option that is not given.
    pub fn new() -> JobOptions {
        // Reading some 200 defaults takes longer than a job file does.
        static BUILT_IN: LazyLock<JobOptions> = LazyLock::new(JobOptions::from_rows);
        BUILT_IN.clone()
    }

    fn from_rows() -> JobOptions {
        let mut options = JobOptions {
            job: job::Job::default(),
            files: files::Files::default(),
            pattern: pattern::Pattern::default(),
            queue: queue::Queue::default(),
            pace: pace::Pace::default(),
            data: data::Data::default(),
            verify: verify::Verify::default(),
            report: report::Report::default(),
            logs: logs::Logs::default(),
            system: system::System::default(),
            replay: replay::Replay::default(),
            zones: zones::Zones::default(),
            engine: engine::Engine::default(),
        };
        let mut told = Vec::new();
        let mut reader = Reader {
            job: &mut options,
            around: None,
            told: &mut told,
            readonly: false,
        };
        for row in rows().filter(|row| !row.default.is_empty()) {
            let taken = reader.value(row, row.default);
            debug_assert!(taken.is_ok(), "the default of {} is no value of it", row.name);
        }
        // The default of the seed holds only where randrepeat does not say otherwise.
        options.pattern.randseed = None;
        if cfg!(windows) {
            options.queue.ioengine = "windowsaio".into();
        }
        options
    }

    /// What `k` is in sizes.
    pub fn kb_base(&self) -> u64 {
        match self.report.kb_base {
            report::KbBase::Binary => 1024,
            report::KbBase::Decimal => 1000,
        }
    }

    /// Takes back what was said to the engine, since there is another now.
    pub(super) fn forget_engine_options(&mut self) {
        self.engine = JobOptions::new().engine;
    }
}

impl Default for JobOptions {
    fn default() -> Self {
        JobOptions::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_row_is_whole() {
        let mut names = HashSet::new();
        for row in rows() {
            assert!(!row.help.is_empty(), "{}", row.name);
            for name in row.names() {
                assert!(names.insert(name), "{name} stands twice");
            }
            let bare = matches!(row.kind, Kind::Flag(_));
            assert!(bare || !row.example.is_empty(), "{} has no example", row.name);
        }
    }

    #[test]
    fn every_option_has_a_place_in_the_order() {
        let listed: Vec<&str> = in_order().map(|row| row.name).collect();
        let common: HashSet<&str> = rows()
            .filter(|row| row.engines.is_empty())
            .map(|row| row.name)
            .collect();
        assert_eq!(listed.len(), common.len(), "{:?}", {
            let mut missing: Vec<_> = common.iter().filter(|name| !listed.contains(name)).collect();
            missing.sort();
            missing
        });
    }

    #[test]
    fn defaults_are_those_of_the_rows() {
        let options = JobOptions::new();
        assert_eq!((options.pattern.bs.read, options.pattern.bs.trim), (4096, 4096));
        assert_eq!(options.queue.iodepth, 1);
        assert!(options.report.clat_percentiles && !options.queue.direct && options.queue.buffered);
        assert_eq!(options.report.percentile_list.len(), 17);
    }
}
