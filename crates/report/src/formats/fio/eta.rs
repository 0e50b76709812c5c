//! fio's status line, which is rewritten about once a second. The caller decides when to print it.

use super::numbers::{Style, Unit};

/// The content of the line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    /// Number of running jobs.
    pub running: u32,
    /// Number of open files.
    pub files: u32,
    /// Requested rates.
    pub limits: Option<Limits>,
    /// Absent for the first three seconds: the line then ends after the fields above.
    pub progress: Option<Progress>,
}

/// Minimum and maximum of requested rates; 0 means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limits {
    /// Bytes per second.
    Bandwidth(u64, u64),
    /// Operations per second.
    Iops(u64, u64),
}

/// Progress and speed of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// A character for each job: `P` not started, `C` created, `I` initialised or laying out, `p`
    /// pre-reading, `/` warming up, `R` `W` `M` sequential reads, writes, both, `r` `w` `m` random
    /// ones, `D` `d` trims, `V` verifying, `F` flushing, `f` finishing, `E` exited, `_` reaped, `X`
    /// failed, `K` killed.
    pub states: Vec<char>,
    /// Absent while unknown.
    pub percent: Option<f64>,
    /// KiB per second of reads, writes and trims.
    pub kib_per_second: [u64; 3],
    /// Operations per second.
    pub iops: [u64; 3],
    /// Seconds left; absent while unknown.
    pub left_s: Option<u64>,
}

/// Formats the line, without line ends and control characters.
pub fn format_line(live: &Live) -> String {
    let limits = live.limits.map_or(String::new(), format_limits);
    let head = format!("Jobs: {} (f={}){limits}", live.running, live.files);
    let Some(progress) = &live.progress else { return head };
    let percent = match progress.percent {
        Some(percent) => format!("{percent:3.1}%"),
        None => "-.-%".to_owned(),
    };
    let bandwidth = Style {
        binary: true,
        thousands: true,
        unit: Unit::BytesPerSecond,
        ..Style::plain(4)
    };
    format!(
        "{head}: [{}][{percent}]{}{}[eta {}]",
        format_states(&progress.states),
        format_rates(progress.kib_per_second, bandwidth, ""),
        format_rates(progress.iops, Style::plain(4), " IOPS"),
        format_eta(progress.left_s)
    )
}

fn format_limits(limits: Limits) -> String {
    match limits {
        Limits::Bandwidth(min, max) => {
            let style = Style {
                binary: true,
                unit: Unit::BytesPerSecond,
                ..Style::plain(4)
            };
            format!(", {}-{}", style.write(min), style.write(max))
        }
        Limits::Iops(min, max) => format!(", {min}-{max} IOPS"),
    }
}

/// Run-length encodes the states: `rrrw` becomes `r(3),w(1)`.
fn format_states(states: &[char]) -> String {
    let runs = states.chunk_by(|a, b| a == b);
    let states_with_counts = runs.map(|run| format!("{}({})", run[0], run.len()));
    states_with_counts.collect::<Vec<String>>().join(",")
}

/// Formats the rates of all active directions; empty without I/O.
fn format_rates(values: [u64; 3], style: Style, suffix: &str) -> String {
    let active = ["r", "w", "t"].into_iter().zip(values).filter(|(_, value)| *value > 0);
    let each: Vec<String> = active
        .map(|(name, value)| format!("{name}={}", style.write(value)))
        .collect();
    match each.is_empty() {
        true => String::new(),
        false => format!("[{}{suffix}]", each.join(",")),
    }
}

/// Formats `DDd:HHh:MMm:SSs` without leading zero parts, but always with minutes.
fn format_eta(seconds: Option<u64>) -> String {
    let Some(seconds) = seconds else { return "--".to_owned() };
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let mut text = String::new();
    if days > 0 {
        text += &format!("{days:02}d:");
    }
    if hours > 0 {
        text += &format!("{:02}h:", hours % 24);
    }
    text + &format!("{:02}m:{:02}s", minutes % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use testbed::With;

    use super::*;

    #[test]
    fn line_matches_fio() {
        let mut live = Live::default().with(|live| (live.running, live.files) = (4, 4));
        assert_eq!(format_line(&live), "Jobs: 4 (f=4)");
        live.limits = Some(Limits::Bandwidth(0, 6 << 20));
        assert_eq!(format_line(&live), "Jobs: 4 (f=4), 0B/s-6144KiB/s");
        live.limits = Some(Limits::Iops(0, 100));
        live.progress = Some(Progress::default());
        assert_eq!(format_line(&live), "Jobs: 4 (f=4), 0-100 IOPS: [][-.-%][eta --]");
        live.limits = None;
        live.progress = Some(Progress {
            states: "rrr_".chars().collect(),
            percent: Some(100.0),
            kib_per_second: [159_744, 0, 3],
            iops: [40_000, 12, 0],
            left_s: Some(5),
        });
        assert_eq!(
            format_line(&live),
            "Jobs: 4 (f=4): [r(3),_(1)][100.0%][r=156MiB/s,t=3KiB/s][r=40.0k,w=12 IOPS][eta 00m:05s]"
        );
    }

    #[test]
    fn eta_omits_leading_zero_parts() {
        assert_eq!(format_eta(Some(59)), "00m:59s");
        assert_eq!(format_eta(Some(3_661)), "01h:01m:01s");
        assert_eq!(format_eta(Some(90_061)), "01d:01h:01m:01s");
        assert_eq!(format_eta(Some(172_800)), "02d:00h:00m:00s");
    }
}
