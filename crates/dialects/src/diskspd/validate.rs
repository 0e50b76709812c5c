//! DiskSpd's validation of profiles, in its order and with its messages. It collects all errors and
//! warnings. Like DiskSpd, it does not check sector alignment and zero durations.

use super::profile::{Cache, Distribution, Processor, Profile, Target, TimeSpan};

/// The processors of the machine, to check affinity. Group g has the numbers 64·g to 64·g + 63.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processors {
    /// The numbers of online processors.
    pub online: Vec<u32>,
    /// The number of possible processors.
    pub possible: u32,
}

/// The result of validation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validation {
    /// Lines for stderr.
    pub lines: Vec<String>,
    /// At least one line is an error.
    pub refused: bool,
}

impl Validation {
    fn error(&mut self, text: impl Into<String>) {
        self.lines.push(format!("ERROR: {}", text.into()));
        self.refused = true;
    }

    fn warning(&mut self, text: &str) {
        self.lines.push(format!("WARNING: {text}"));
    }

    fn error_if(&mut self, condition: bool, text: &str) {
        if condition {
            self.error(text);
        }
    }
}

/// Checks a profile. `machine` is present for a run, which needs more checks than printing.
///
/// The targets of a command line differ only in their paths, so only the first is checked.
pub fn validate(profile: &Profile, of_command_line: bool, machine: Option<&Processors>) -> Validation {
    let mut validation = Validation::default();
    validation.error_if(profile.time_spans.is_empty(), "no timespans specified");
    for span in &profile.time_spans {
        if let Some(machine) = machine {
            check_affinity(&mut validation, span, machine);
        }
        validation.error_if(
            span.no_affinity && !span.affinity.is_empty(),
            "-n and -a parameters cannot be used together",
        );
        let checked_targets = if of_command_line { 1 } else { span.targets.len() };
        for target in span.targets.iter().take(checked_targets) {
            check_threads(&mut validation, span, target);
            check_pattern(&mut validation, span, target);
            if let Some(distribution) = &target.distribution {
                check_distribution(&mut validation, distribution, target.block);
            }
            check_buffers_and_bounds(&mut validation, span, target, machine.is_some());
        }
    }
    validation
}

fn check_affinity(validation: &mut Validation, span: &TimeSpan, machine: &Processors) {
    let groups = machine.possible.div_ceil(64);
    for Processor { group, number } in &span.affinity {
        let first = u32::from(*group) * 64;
        if u32::from(*group) >= groups {
            validation.error(format!(
                "affinity assignment to group {group}; system only has {groups} groups"
            ));
            continue;
        }
        let size = (machine.possible - first).min(64);
        let mask = machine
            .online
            .iter()
            .filter_map(|cpu| cpu.checked_sub(first).filter(|bit| *bit < 64))
            .fold(0u64, |mask, bit| mask | 1 << bit);
        if u32::from(*number) >= size {
            validation.error(format!(
                "affinity assignment to group {group} cpu {number} not possible; group has a max of {size} cpus"
            ));
        } else if mask & (1 << number) == 0 {
            // DiskSpd prints the mask the way its C library prints a pointer: 16 digits, capitals.
            validation.error(format!(
                "affinity assignment to group {group} cpu {number} not possible; cpu is not active (current mask \
                 0x{mask:016X})"
            ));
        }
    }
}

/// Checks combinations of threads, requests and pacing.
fn check_threads(validation: &mut Validation, span: &TimeSpan, target: &Target) {
    let think = target.think_ms.unwrap_or(0) > 0;
    let burst = target.burst.unwrap_or(0) > 0;
    let throttled = target.bytes_per_ms() > 0;
    let common_requests = span.threads > 0 && span.requests > 0;
    let listed = &target.thread_targets;
    for (condition, text) in [
        (
            span.threads > 0 && target.threads > 1,
            "-F and -t parameters cannot be used together",
        ),
        (
            throttled && span.completion_routines,
            "-g throughput control cannot be used with -x completion routines",
        ),
        (burst != think, "need to specify -j<think time> with -i<burst size>"),
        (
            common_requests && throttled,
            "-g throughput control cannot be used with -O outstanding requests per thread",
        ),
        (
            common_requests && think,
            "-j think time cannot be used with -O outstanding requests per thread",
        ),
        (
            common_requests && target.parallel,
            "-p parallel IO cannot be used with -O outstanding requests per thread",
        ),
        (
            common_requests && target.weight == 0,
            "a non-zero target Weight must be specified",
        ),
        (
            common_requests && listed.iter().any(|listed| listed.thread >= span.threads),
            "illegal thread specified for ThreadTarget",
        ),
        (
            !common_requests && !listed.is_empty(),
            "ThreadTargets can only be specified when the timespan ThreadCount and RequestCount are specified",
        ),
    ] {
        validation.error_if(condition, text);
    }
}

/// Checks switches that need random or sequential operations.
fn check_pattern(validation: &mut Validation, span: &TimeSpan, target: &Target) {
    let strided = target.thread_stride > 0;
    if target.random_percent > 0 {
        validation.error_if(strided, "-T conflicts with -r");
        validation.error_if(target.interlocked, "-si conflicts with -r");
        validation.error_if(target.parallel, "-p conflicts with -r");
        return;
    }
    validation.error_if(
        target.distribution.is_some(),
        "random distribution ranges (-rd) do not apply to sequential-only IO patterns",
    );
    if target.parallel && target.requests == 1 {
        validation.warning("-p does not have effect unless outstanding I/O count (-o) is > 1");
    }
    let several_threads = span.threads > 1 || target.threads > 1;
    if target.interlocked {
        validation.error_if(strided, "-si conflicts with -T");
        validation.error_if(target.parallel, "-si conflicts with -p");
        if !several_threads {
            validation.warning("single-threaded test, -si ignored");
        }
    } else if several_threads && !strided {
        validation.warning("target access pattern will not be sequential, consider -si");
    } else if !several_threads {
        validation.error_if(strided, "-T has no effect unless multiple threads per target are used");
    }
}

/// Checks that shares do not exceed 100 percent, that percentages of the target sum to 100, and
/// that no range is shorter than a block.
fn check_distribution(validation: &mut Validation, distribution: &Distribution, block: u32) {
    let Sums { target, open_end } = sum_ranges(validation, distribution, block);
    if !distribution.absolute && target != 100 {
        validation.error(format!(
            "invalid random distribution span: Target% ({target}%) must total 100%"
        ));
    }
    if open_end.is_some_and(|index| index + 1 != distribution.ranges.len()) {
        validation.error(format!(
            "invalid zero target range in random distribution - must be a minimum of the specified block size ({block} \
             bytes)"
        ));
    }
}

/// The sums over the ranges.
#[derive(Default)]
struct Sums {
    target: u64,
    /// Index of the first range of no bytes.
    open_end: Option<usize>,
}

/// Adds up the ranges until the first error.
fn sum_ranges(validation: &mut Validation, distribution: &Distribution, block: u32) -> Sums {
    let mut sums = Sums::default();
    let mut io = 0;
    for (index, range) in distribution.ranges.iter().enumerate() {
        if distribution.absolute && range.length == 0 && sums.open_end.is_none() {
            sums.open_end = Some(index);
        } else if distribution.absolute && range.length < u64::from(block) {
            validation.error(format!(
                "invalid random distribution target range {} - must be a minimum of the specified block size ({block} \
                 bytes)",
                range.length
            ));
            return sums;
        }
        if range.io_percent > 100 - io {
            validation.error(format!(
                "invalid random distribution IO% {}: can be at most {} - total must be <= 100%",
                range.io_percent,
                100 - io
            ));
            return sums;
        }
        io += range.io_percent;
        if distribution.absolute {
            continue;
        }
        if range.length > 100 - sums.target {
            validation.error(format!(
                "invalid random distribution Target% {}: can be at most {} - total must be <= 100%",
                range.length,
                100 - sums.target
            ));
            return sums;
        }
        // DiskSpd omits the range that covers the target from the sum, and reports the sum too.
        if sums.target + range.length == 100 && io < 100 {
            validation.error(format!(
                "invalid random distribution: the target is covered with {}% IO left to distribute",
                100 - io
            ));
            return sums;
        }
        sums.target += range.length;
    }
    sums
}

fn check_buffers_and_bounds(validation: &mut Validation, span: &TimeSpan, target: &Target, will_run: bool) {
    if let Some(source) = &target.source
        && source.size < u64::from(target.block)
    {
        validation.error(format!(
            "custom write buffer (-Z) is smaller than the block size. Write buffer size: {} block size: {}",
            source.size, target.block
        ));
    }
    let mapped = target.memory_mapped;
    for (condition, text) in [
        (
            mapped && span.completion_routines,
            "completion routines (-x) can't be used with memory mapped IO (-Sm)",
        ),
        (
            mapped && target.cache == Cache::Unbuffered,
            "unbuffered IO (-Su or -Sh) can't be used with memory mapped IO (-Sm)",
        ),
        (
            !mapped && target.flush.is_some(),
            "memory mapped flush mode (-N) can only be specified with memory mapped IO (-Sm)",
        ),
    ] {
        validation.error_if(condition, text);
    }
    if will_run && target.path.starts_with('*') {
        validation.error(format!(
            "template target '{}' was not substituted - all template targets must be substituted to run a profile",
            target.path
        ));
    }
    validation.error_if(
        target.end != 0 && target.end <= target.base,
        "maximum (-f) target offset must be greater than base (-B)",
    );
}
