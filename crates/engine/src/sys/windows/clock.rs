//! The performance counter.

use std::sync::OnceLock;

use model::Nanos;
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};

/// Name of the processor's counter, which is not read directly on Windows.
pub const COUNTER_NAME: &str = "none";
/// Name of the system's clock.
pub const SYSTEM_NAME: &str = "performance_counter";

/// The processor's counter; never called, since [`counter_refusal`] refuses it.
#[inline(always)]
pub fn counter() -> u64 {
    0
}

/// Does nothing: the processor does not reorder the call that reads the clock.
pub fn wait_for_earlier_instructions() {}

/// Why the counter cannot be used.
pub fn counter_refusal() -> Option<&'static str> {
    Some("fathom reads Windows' performance counter instead")
}

/// The system's monotonic clock, which starts at boot.
#[inline]
pub fn monotonic() -> Nanos {
    let mut ticks = 0i64;
    // SAFETY: the call writes one live number; it cannot fail since Windows XP.
    unsafe { QueryPerformanceCounter(&mut ticks) };
    Nanos(ticks_to_nanos(ticks as u64, frequency()))
}

/// Ticks per second, fixed at boot.
#[inline]
fn frequency() -> u64 {
    static FREQUENCY: OnceLock<u64> = OnceLock::new();
    *FREQUENCY.get_or_init(|| {
        let mut frequency = 0i64;
        // SAFETY: the call writes one live number; it cannot fail since Windows XP.
        unsafe { QueryPerformanceFrequency(&mut frequency) };
        (frequency as u64).max(1)
    })
}

/// Converts whole seconds and the rest separately, to avoid overflow and rounding.
#[inline]
fn ticks_to_nanos(ticks: u64, frequency: u64) -> u64 {
    const SECOND: u64 = 1_000_000_000;
    if frequency == 10_000_000 {
        // The frequency of nearly every machine; a multiplication is cheaper than two divisions.
        return ticks * 100;
    }
    ticks / frequency * SECOND + ticks % frequency * SECOND / frequency
}

/// Nanoseconds by which a clock is ahead of Unix time: only Unix time itself, number 0, is
/// supported.
///
/// # Errors
/// `Unsupported` for every other number.
pub fn ahead_of_wall_clock(number: i64) -> std::io::Result<i64> {
    match number {
        0 => Ok(0),
        _ => Err(std::io::ErrorKind::Unsupported.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds() {
        for (ticks, frequency, nanos) in [
            (0, 10_000_000, 0),
            (12_345, 10_000_000, 1_234_500),
            (3_579_545, 3_579_545, 1_000_000_000),
            (1, 3_579_545, 279),
            (3_579_545 * 86_400 * 3650, 3_579_545, 86_400 * 3650 * 1_000_000_000),
            (5, 1_000_000_000, 5),
        ] {
            assert_eq!(ticks_to_nanos(ticks, frequency), nanos, "{ticks} at {frequency}");
        }
    }
}
