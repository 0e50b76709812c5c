//! The table of fio's job options. Its rows define the parser, `--cmdhelp`, the documentation page,
//! and the defaults of [`JobOptions`](super::JobOptions).

mod data;
mod engine;
mod files;
mod job;
mod logs;
mod pace;
mod pattern;
mod queue;
mod reader;
mod replay;
mod report;
mod row;
mod special;
mod system;
mod verify;
mod zones;

use std::sync::LazyLock;

pub use reader::{Notice, ParseEnv};
pub(super) use reader::{OptionError, ParseResult, Reader, assign_directions};
pub use row::{FieldAccess, Kind, Rank, Row};

pub use crate::Status;

/// Groups of options: the heading of each and its rows.
pub const GROUPS: &[(&str, &[Row])] = &[
    ("The job", job::ROWS),
    ("Files", files::ROWS),
    ("Direction, order and offsets", pattern::ROWS),
    ("Engine, queue depth, caches and buffers", queue::ROWS),
    ("Rates, pauses and latency limits", pace::ROWS),
    ("Data", data::ROWS),
    ("Verification", verify::ROWS),
    ("Statistics", report::ROWS),
    ("Logs", logs::ROWS),
    ("Processors, priorities, limits", system::ROWS),
    ("Traces", replay::ROWS),
    ("Zones and placement", zones::ROWS),
    ("Engine options", engine::ROWS),
];

/// All rows, by group.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    GROUPS.iter().flat_map(|(_, rows)| rows.iter())
}

/// The rows that every job has, in fio's order. This is the order of `--cmdhelp=all` and of the
/// candidates of an abbreviation. It also decides between two equally similar suggestions.
pub(super) fn common_rows() -> impl Iterator<Item = &'static Row> {
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

/// The rows of options that some engines have.
pub(super) fn engine_rows() -> impl Iterator<Item = &'static Row> {
    engine::ROWS.iter()
}

/// The row of an option that an engine has.
pub fn find_engine_option(engine: &str, name: &str) -> Option<&'static Row> {
    engine_rows().find(|row| row.engines.contains(&engine) && row.is_called(name))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_row_is_complete() {
        let mut names = HashSet::new();
        for row in rows() {
            assert!(!row.help.is_empty(), "{}", row.name);
            for name in row.names() {
                assert!(names.insert(name), "{name} occurs twice");
            }
            let bare = matches!(row.kind, Kind::Flag(_));
            assert!(bare || !row.example.is_empty(), "{} has no example", row.name);
        }
    }

    #[test]
    fn every_option_has_its_own_rank() {
        let mut places = HashSet::new();
        for row in rows() {
            let is_common = row.engines.is_empty();
            assert!(is_common == (row.rank.order > 0), "{}", row.name);
            assert!(
                !is_common || places.insert(row.rank.order),
                "{} has the same rank as another option",
                row.name
            );
            assert!(
                !matches!(row.status, Status::Refused(_)) || row.rank.tier == 3,
                "{}",
                row.name
            );
        }
    }
}
