//! The performance counter.

use std::sync::OnceLock;

use model::Nanos;
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};

/// Name of the processor's counter, which is not used by itself here.
pub const COUNTER_NAME: &str = "none";
/// Name of the system's clock.
pub const SYSTEM_NAME: &str = "performance_counter";

/// The processor's counter; never asked for, since [`counter_refusal`] refuses it.
#[inline(always)]
pub fn counter() -> u64 {
    0
}

/// The call that reads the clock is never begun ahead of time.
pub fn wait_for_earlier_instructions() {}

/// Why the counter must not be used.
pub fn counter_refusal() -> Option<&'static str> {
    Some("the performance counter of Windows is read instead")
}

/// The system's monotonic clock, which begins when the system does.
#[inline]
pub fn monotonic() -> Nanos {
    let mut ticks = 0i64;
    // SAFETY: the call writes one live number; it cannot fail since Windows XP.
    unsafe { QueryPerformanceCounter(&mut ticks) };
    Nanos(nanos_of(ticks as u64, frequency()))
}

/// Ticks in a second, which is fixed when the system starts.
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

/// Whole seconds apart, so that nothing overflows and nothing is rounded that need not be.
#[inline]
fn nanos_of(ticks: u64, frequency: u64) -> u64 {
    const SECOND: u64 = 1_000_000_000;
    if frequency == 10_000_000 {
        // That of nearly every machine; a multiplication is cheaper than two divisions.
        return ticks * 100;
    }
    ticks / frequency * SECOND + ticks % frequency * SECOND / frequency
}

/// Nanoseconds that a clock is ahead of the time since 1970: only that time itself, number 0, is
/// known here.
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
            assert_eq!(nanos_of(ticks, frequency), nanos, "{ticks} at {frequency}");
        }
    }
}
