//! The performance counter, through the standard library.

use std::sync::OnceLock;
use std::time::Instant;

use model::Nanos;

/// Name of the processor's counter, which is not used by itself here.
pub const COUNTER_NAME: &str = "none";
/// Name of the system's clock.
pub const SYSTEM_NAME: &str = "performance_counter";

/// The processor's counter; never asked for, since [`counter_refusal`] refuses it.
#[inline(always)]
pub fn counter() -> u64 {
    0
}

/// Why the counter must not be used.
pub fn counter_refusal() -> Option<&'static str> {
    Some("the performance counter of Windows is read instead")
}

/// The system's monotonic clock.
#[inline]
pub fn monotonic() -> Nanos {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let origin = *ORIGIN.get_or_init(Instant::now);
    // One second is added so that no reading is zero.
    Nanos(1_000_000_000 + origin.elapsed().as_nanos() as u64)
}

/// Nanoseconds that a clock is ahead of the time since 1970: only that time itself, number 0, is known here.
///
/// # Errors
/// `Unsupported` for every other number.
pub fn ahead_of_wall_clock(number: i64) -> std::io::Result<i64> {
    match number {
        0 => Ok(0),
        _ => Err(std::io::ErrorKind::Unsupported.into()),
    }
}
