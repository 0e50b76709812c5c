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

mod reader;
mod row;
mod special;

use std::sync::LazyLock;

pub(super) use reader::{Reader, Taken, Wrong, spread};
pub use reader::{Surroundings, Told};
pub use row::{At, Kind, Rank, Row, Status, Word};

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

/// The rows that every job has, in the order in which fio lists its options: in `--cmdhelp=all`, among the candidates of an
/// abbreviation, and for which of two names that are equally near to a mistyped one is suggested.
pub(super) fn in_order() -> impl Iterator<Item = &'static Row> {
    static IN_ORDER: LazyLock<Vec<&Row>> = LazyLock::new(|| {
        let mut common: Vec<&Row> = rows().filter(|row| row.engines.is_empty()).collect();
        common.sort_by_key(|row| row.rank.order);
        common
    });
    IN_ORDER.iter().copied()
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
    /// Nothing at all; the rows have the defaults.
    pub(super) fn empty() -> JobOptions {
        JobOptions {
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
        }
    }

    /// Defaults that no row can say: the seed holds only where randrepeat does not say otherwise, and Windows has another
    /// engine.
    pub(super) fn adjust_defaults(&mut self) {
        self.pattern.randseed = None;
        if cfg!(windows) {
            self.queue.ioengine = "windowsaio".into();
        }
    }

    /// What `k` is in sizes.
    pub fn kb_base(&self) -> u64 {
        match self.report.kb_base {
            report::KbBase::Binary => 1024,
            report::KbBase::Decimal => 1000,
        }
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
    fn every_option_has_a_rank_of_its_own() {
        let mut places = HashSet::new();
        for row in rows() {
            let own = row.engines.is_empty();
            assert!(own == (row.rank.order > 0), "{}", row.name);
            assert!(
                !own || places.insert(row.rank.order),
                "{} shares its place in the order",
                row.name
            );
            assert!(row.status != Status::Refused || row.rank.tier == 3, "{}", row.name);
        }
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
