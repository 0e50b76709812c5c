//! Refuses time spans that DiskSpd would fail or hang with, and those beyond the bounds of threads,
//! operations in flight and memory.

use super::lower::LowerEnv;
use super::profile::TimeSpan;
use crate::{Diagnostic, bounds};

/// Rejects values that DiskSpd accepts, but then fails or hangs with.
pub(super) fn reject_impossible_values(span: &TimeSpan, windows: bool) -> Vec<Diagnostic> {
    let has_idle_target = span.threads == 0 && span.targets.iter().any(|target| target.threads == 0);
    let problems = [
        (
            span.newer.bypass.is_some() && !windows,
            "BypassIO (-Sy, -SY) exists only on Windows",
            "bypass the cache with -Su or -Sh",
        ),
        (
            span.newer.ring.is_some_and(|ring| ring.trailing_p),
            "the meaning of p after the number of -u is not published",
            "omit the p: -u<batch>",
        ),
        (
            span.duration == 0,
            "a measured duration of 0 seconds (-d0) measures nothing",
            "set a duration, for example -d10",
        ),
        (
            has_idle_target,
            "a target without threads (ThreadsPerFile 0) transfers nothing",
            "set ThreadsPerFile of the target, or ThreadCount of the time span, to at least 1",
        ),
        (
            span.targets.iter().any(|target| target.block == 0),
            "a block size of 0 bytes (-b0) transfers nothing",
            "set a block size, for example -b4K",
        ),
    ];
    let problems = problems.into_iter().filter(|(is_present, ..)| *is_present);
    problems
        .map(|(_, what, help)| Diagnostic::new(format!("ERROR: {what}")).help(help))
        .collect()
}

/// The first option that exceeds the bounds of threads or streams. Steps run one after another, so
/// each time span counts alone.
pub(super) fn check_bounds(span: &TimeSpan, env: LowerEnv<'_>) -> Option<Diagnostic> {
    let targets = span.targets.len() as u64;
    let check = |option, threads: u32, total| {
        let problem = bounds::WORKERS.check(option, threads, total);
        problem.map(|problem| Diagnostic {
            what: format!("ERROR: {}", problem.what),
            ..problem
        })
    };
    if span.threads > 0 {
        let streams = u64::from(span.threads).saturating_mul(targets);
        return check("ThreadCount (-F)", span.threads, u64::from(span.threads))
            .or_else(|| bounds::STREAMS.check("ThreadCount (-F)", span.threads, streams))
            .or_else(|| check_buffers(span, env));
    }
    let mut total = 0u64;
    let too_many_threads = span.targets.iter().find_map(|target| {
        total = total.saturating_add(u64::from(target.threads));
        check("ThreadsPerFile (-t)", target.threads, total)
    });
    too_many_threads.or_else(|| check_buffers(span, env))
}

/// Rejects more operations in flight than possible, or more buffers than memory. This is computed
/// in advance, and reported like DiskSpd's failed buffer allocation.
fn check_buffers(span: &TimeSpan, env: LowerEnv<'_>) -> Option<Diagnostic> {
    let common = span.threads > 0 && span.requests > 0;
    let (mut operations, mut bytes) = (0u64, 0u64);
    span.targets.iter().find_map(|target| {
        let threads = u64::from(if span.threads > 0 { span.threads } else { target.threads });
        let requests_per_thread = u64::from(if common { span.requests } else { target.requests });
        // In a pool with common requests, a thread has its requests once, not per target.
        let requests_in_total = threads * requests_per_thread;
        operations = if common {
            requests_in_total
        } else {
            operations.saturating_add(requests_in_total)
        };
        let needed = requests_in_total.saturating_mul(u64::from(target.block).next_multiple_of(4096));
        bytes = if common {
            bytes.max(needed)
        } else {
            bytes.saturating_add(needed)
        };
        let memory = env.memory.unwrap_or(u64::MAX);
        let why = match (
            requests_per_thread > bounds::MAX_WORKER_OPERATIONS,
            operations > bounds::MAX_OPERATIONS,
            bytes > memory,
        ) {
            (true, ..) => format!(
                "a thread keeps at most {} operations in flight",
                bounds::MAX_WORKER_OPERATIONS
            ),
            (_, true, _) => format!("a test keeps at most {} operations in flight", bounds::MAX_OPERATIONS),
            (.., true) => format!("the buffers take {bytes} bytes, and {memory} bytes of memory are available"),
            _ => return None,
        };
        let code = if env.windows { 0x8 } else { 0xc };
        Some(
            Diagnostic::new(format!(
                "ERROR: Could not allocate a buffer for target '{}'. Error code: {code:#x}",
                target.path
            ))
            .help(format!("{why}; lower -o, -O, -t, -F or -b")),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diskspd::profile::Target;

    #[test]
    fn a_target_needs_threads() {
        let span = |threads, of_target| TimeSpan {
            duration: 1,
            threads,
            targets: vec![Target {
                threads: of_target,
                ..Target::default()
            }],
            ..TimeSpan::default()
        };
        let refuses = |span: TimeSpan| {
            let problems = reject_impossible_values(&span, false);
            problems.iter().any(|problem| problem.what.contains("without threads"))
        };
        assert!(refuses(span(0, 0)));
        assert!(!refuses(span(0, 1)) && !refuses(span(2, 0)));
    }
}
