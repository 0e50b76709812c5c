//! The time stamp counter and the monotonic clock.

use model::Nanos;

/// Name of the processor's counter.
#[cfg(target_arch = "x86_64")]
pub const COUNTER_NAME: &str = "tsc";
/// Name of the processor's counter.
#[cfg(target_arch = "aarch64")]
pub const COUNTER_NAME: &str = "cntvct";
/// Name of the processor's counter.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub const COUNTER_NAME: &str = "none";

/// Name of the system's clock.
pub const SYSTEM_NAME: &str = "clock_gettime";

/// The processor's counter.
#[inline(always)]
pub fn counter() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has this instruction; it only reads a register. The kernel
        // forbids it only at a process's own request (prctl PR_SET_TSC), which this program never
        // makes.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: Linux lets programs read this register; reading it has no effect.
        unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
        ticks
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        0
    }
}

/// Prevents the processor from reading its counter before earlier instructions have completed.
#[inline]
pub fn wait_for_earlier_instructions() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction, which only waits.
    unsafe {
        std::arch::x86_64::_mm_lfence();
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the instruction only waits.
    unsafe {
        std::arch::asm!("isb", options(nostack, preserves_flags));
    }
}

/// Why the counter cannot be used, if so.
pub fn counter_refusal() -> Option<&'static str> {
    #[cfg(target_arch = "x86_64")]
    let (names, refusal) = (
        ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page"],
        "the kernel does not use the TSC as its clock source",
    );
    // Every ARM64 processor counts at a constant rate; for processors with known errata the kernel
    // replaces the counter.
    #[cfg(target_arch = "aarch64")]
    let (names, refusal) = (
        ["arch_sys_counter"],
        "the kernel does not use the architected counter as its clock source",
    );
    #[cfg(target_arch = "x86_64")]
    {
        let max_extended_leaf = std::arch::x86_64::__cpuid(0x8000_0000).eax;
        let invariant = max_extended_leaf >= 0x8000_0007 && std::arch::x86_64::__cpuid(0x8000_0007).edx & (1 << 8) != 0;
        if !invariant {
            return Some("the processor's TSC is not invariant");
        }
    }
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        // The kernel monitors the counter from boot on and abandons it if it is unstable.
        let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        match std::fs::read_to_string(path) {
            Ok(name) if names.contains(&name.trim()) => None,
            Ok(_) => Some(refusal),
            Err(_) => None,
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        Some("this processor has no supported counter")
    }
}

/// The system's monotonic clock.
#[inline]
pub fn monotonic() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // Use the C library: rustix's access to the kernel's clock page fails under valgrind. SAFETY:
    // the call writes one live structure; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Nanoseconds by which a system clock is ahead of Unix time. `number` is the kernel's clock id: 0
/// is Unix time itself, 1 the monotonic clock, 7 the time since boot. CPU-time clocks are refused,
/// because they stop while nothing runs.
///
/// # Errors
/// `EINVAL` for unknown clocks and CPU-time clocks.
pub fn ahead_of_wall_clock(number: i64) -> std::io::Result<i64> {
    let no_clock = || std::io::Error::from_raw_os_error(libc::EINVAL);
    let id = libc::clockid_t::try_from(number).map_err(|_| no_clock())?;
    if id < 0 || id == libc::CLOCK_PROCESS_CPUTIME_ID || id == libc::CLOCK_THREAD_CPUTIME_ID {
        return Err(no_clock());
    }
    let read = |id: libc::clockid_t| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the structure is live and of the type the call fills.
        match unsafe { libc::clock_gettime(id, &mut time) } {
            0 => Ok(time.tv_sec * 1_000_000_000 + time.tv_nsec),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    Ok(read(id)? - read(libc::CLOCK_REALTIME)?)
}

#[cfg(all(test, target_arch = "aarch64"))]
mod tests {
    use super::*;

    #[test]
    fn the_counter_has_the_rate_that_the_processor_reports() {
        let frequency: u64;
        // SAFETY: Linux lets programs read this register; reading it has no effect.
        unsafe { std::arch::asm!("mrs {}, cntfrq_el0", out(reg) frequency, options(nomem, nostack, preserves_flags)) };
        assert!((1_000_000..=10_000_000_000).contains(&frequency), "{frequency} Hz");
        let (ticks, time) = (counter(), monotonic());
        std::thread::sleep(std::time::Duration::from_millis(100));
        let (ticks, time) = (counter() - ticks, monotonic().since(time).0 as f64 / 1e9);
        let seconds = ticks as f64 / frequency as f64;
        // A tolerance of 5 %, because a busy machine may pause the thread between the two readings.
        assert!(
            (seconds / time - 1.0).abs() < 0.05,
            "{seconds} s by the counter, {time} s"
        );
    }
}
