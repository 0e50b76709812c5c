//! Wall-clock times as C's `ctime` writes them.

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use model::results::Results;

use super::settings::Settings;

/// The end of a run.
pub(super) struct End {
    pub unix_ms: u64,
    /// `Sat Nov 21 19:36:05 2026`.
    pub text: String,
    /// Whole seconds since the beginning, rounded up.
    pub elapsed_s: u64,
}

impl End {
    pub(super) fn from_results(results: &Results, settings: &Settings) -> End {
        let ended = results.hosts.iter().map(|host| host.ended_unix_ns).max().unwrap_or(0);
        let started = results
            .hosts
            .iter()
            .map(|host| host.started_unix_ns)
            .min()
            .unwrap_or(ended);
        End {
            unix_ms: ended / 1_000_000,
            text: format_time(ended, settings.utc_offset_s),
            elapsed_s: ended.saturating_sub(started).div_ceil(1_000_000_000),
        }
    }
}

fn format_time(unix_ns: u64, offset_s: i32) -> String {
    let instant = Timestamp::from_second((unix_ns / 1_000_000_000) as i64).unwrap_or(Timestamp::UNIX_EPOCH);
    let offset = Offset::from_seconds(offset_s).unwrap_or(Offset::UTC);
    let zoned = instant.to_zoned(TimeZone::fixed(offset));
    zoned.strftime("%a %b %e %H:%M:%S %Y").to_string()
}
