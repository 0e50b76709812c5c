//! Checks of a whole profile, each rule at its boundary.

use dialects::diskspd::profile::{Distribution, Profile, Range, Target, ThreadTarget, TimeSpan};
use dialects::diskspd::{Processors, validate};
use testbed::With;

use crate::diskspd::support::{check_refused, check_warned, strings};

#[test]
fn threads_and_pools_are_checked() {
    check_warned("-F1 -t1", &[]);
    check_refused("-r -F1 -t2", &["ERROR: -F and -t parameters cannot be used together"]);
    let routines = "ERROR: -g throughput control cannot be used with -x completion routines";
    check_refused("-g5 -x", &[routines]);
    check_refused("-g2i -b512 -x", &[routines]);
    // DiskSpd rounds this limit to 0 bytes per millisecond, so nothing conflicts with it.
    check_warned("-g1i -b512 -x", &[]);
    let burst = "ERROR: need to specify -j<think time> with -i<burst size>";
    check_refused("-i5", &[burst]);
    check_refused("-j5", &[burst]);
    check_warned("-i5 -j5", &[]);
    check_refused(
        "-r -F2 -O2 -g5 -i1 -j1",
        &[
            "ERROR: -g throughput control cannot be used with -O outstanding requests per thread",
            "ERROR: -j think time cannot be used with -O outstanding requests per thread",
        ],
    );
    check_refused(
        "-F1 -O2 -p",
        &["ERROR: -p parallel IO cannot be used with -O outstanding requests per thread"],
    );
    check_warned("-O2 -g5", &[]);
}

#[test]
fn random_patterns_are_checked() {
    check_refused(
        "-rs5 -T4k -p -t2",
        &["ERROR: -T conflicts with -r", "ERROR: -p conflicts with -r"],
    );
    // `-si` sets a stride, which `-r` refuses earlier, unless the stride is 0.
    check_refused("-si0 -r", &["ERROR: -si conflicts with -r"]);
}

#[test]
fn sequential_patterns_are_checked() {
    let not_sequential = "WARNING: target access pattern will not be sequential, consider -si";
    check_refused(
        "-rdpct100/100",
        &["ERROR: random distribution ranges (-rd) do not apply to sequential-only IO patterns"],
    );
    check_warned(
        "-p -o1",
        &["WARNING: -p does not have effect unless outstanding I/O count (-o) is > 1"],
    );
    check_warned("-p -o2", &[]);
    check_refused("-si -t2 -T4k", &["ERROR: -si conflicts with -T"]);
    check_refused("-si -t2 -p", &["ERROR: -si conflicts with -p"]);
    check_warned("-si", &["WARNING: single-threaded test, -si ignored"]);
    check_warned("-si -t2", &[]);
    check_warned("-t2", &[not_sequential]);
    check_warned("-F2", &[not_sequential]);
    check_warned("-w100 -t2", &[not_sequential]);
    check_warned("-t2 -T4k", &[]);
    check_warned("-F1", &[]);
    check_refused(
        "-T4k",
        &["ERROR: -T has no effect unless multiple threads per target are used"],
    );
}

#[test]
fn distributions_are_checked() {
    check_warned("-r -rdpct60/50:40/50", &[]);
    check_warned("-b4k -r -rdabs60/4k", &[]);
    check_refused(
        "-r -rdpct60/50:50/50",
        &[
            "ERROR: invalid random distribution IO% 50: can be at most 40 - total must be <= 100%",
            "ERROR: invalid random distribution span: Target% (50%) must total 100%",
        ],
    );
    check_refused(
        "-r -rdpct50/60:50/50",
        &[
            "ERROR: invalid random distribution Target% 50: can be at most 40 - total must be <= 100%",
            "ERROR: invalid random distribution span: Target% (60%) must total 100%",
        ],
    );
    check_refused(
        "-r -rdpct90/100",
        &[
            "ERROR: invalid random distribution: the target is covered with 10% IO left to distribute",
            "ERROR: invalid random distribution span: Target% (0%) must total 100%",
        ],
    );
    check_refused(
        "-r -rdpct100/10",
        &["ERROR: invalid random distribution span: Target% (10%) must total 100%"],
    );
    check_refused(
        "-b4k -r -rdabs60/4095",
        &[
            "ERROR: invalid random distribution target range 4095 - must be a minimum of the specified block size (4096 \
             bytes)",
        ],
    );
    check_refused(
        "-b4k -r -rdabs60/4k:50/4k",
        &["ERROR: invalid random distribution IO% 50: can be at most 40 - total must be <= 100%"],
    );
}

#[test]
fn buffers_maps_and_bounds_are_checked() {
    let small =
        "ERROR: custom write buffer (-Z) is smaller than the block size. Write buffer size: 4095 block size: 4096";
    check_refused("-b4k -Z4095", &[small]);
    check_warned("-b4k -Z4096", &[]);
    check_refused(
        "-Sm -x",
        &["ERROR: completion routines (-x) can't be used with memory mapped IO (-Sm)"],
    );
    let flush = "ERROR: memory mapped flush mode (-N) can only be specified with memory mapped IO (-Sm)";
    check_refused("-Nv", &[flush]);
    let bounds = "ERROR: maximum (-f) target offset must be greater than base (-B)";
    check_refused("-B1M -f1M", &[bounds]);
    check_warned("-B1M -f1048577", &[]);
}

#[test]
fn several_problems_are_reported_in_order() {
    check_refused(
        "-n -a0 -t2 -F2 -g5 -x -i1 -Nv -B1M -f1K -Z1K",
        &[
            "ERROR: -n and -a parameters cannot be used together",
            "ERROR: -F and -t parameters cannot be used together",
            "ERROR: -g throughput control cannot be used with -x completion routines",
            "ERROR: need to specify -j<think time> with -i<burst size>",
            "WARNING: target access pattern will not be sequential, consider -si",
            "ERROR: custom write buffer (-Z) is smaller than the block size. Write buffer size: 1024 block size: 65536",
            "ERROR: memory mapped flush mode (-N) can only be specified with memory mapped IO (-Sm)",
            "ERROR: maximum (-f) target offset must be greater than base (-B)",
        ],
    );
}

/// Checks the messages about a profile of one time span.
#[track_caller]
fn check_span(span: TimeSpan, expected: &[&str]) {
    let profile = Profile::default().with(|profile| profile.time_spans = vec![span]);
    assert_eq!(validate(&profile, false, None).lines, strings(expected));
}

/// A pool of two threads with common requests.
fn pool(targets: Vec<Target>) -> TimeSpan {
    TimeSpan::default().with(|span| (span.threads, span.requests, span.targets) = (2, 4, targets))
}

fn random() -> Target {
    Target::default().with(|target| target.random_percent = 100)
}

#[test]
fn settings_that_only_xml_has_are_checked() {
    assert_eq!(
        validate(&Profile::default(), false, None).lines,
        ["ERROR: no timespans specified"]
    );
    let weightless = Target { weight: 0, ..random() };
    check_span(
        pool(vec![weightless.clone()]),
        &["ERROR: a non-zero target Weight must be specified"],
    );
    check_span(TimeSpan::default().with(|span| span.targets = vec![weightless]), &[]);
    let thread_target =
        |thread| random().with(|target| target.thread_targets = vec![ThreadTarget { thread, weight: 0 }]);
    check_span(pool(vec![thread_target(1)]), &[]);
    check_span(
        pool(vec![thread_target(2)]),
        &["ERROR: illegal thread specified for ThreadTarget"],
    );
    let both =
        "ERROR: ThreadTargets can only be specified when the timespan ThreadCount and RequestCount are specified";
    let without_requests = pool(vec![thread_target(1)]).with(|span| span.requests = 0);
    check_span(without_requests, &[both]);
}

#[test]
fn a_range_without_bytes_must_be_last() {
    let absolute = |list: &[(u32, u64)]| {
        let ranges = list
            .iter()
            .map(|&(io_percent, length)| Range { io_percent, length })
            .collect();
        let target = random().with(|target| target.distribution = Some(Distribution { absolute: true, ranges }));
        TimeSpan::default().with(|span| span.targets = vec![target])
    };
    check_span(absolute(&[(50, 1 << 20), (50, 0)]), &[]);
    let not_last = "ERROR: invalid zero target range in random distribution - must be a minimum of the specified block \
                    size (65536 bytes)";
    check_span(absolute(&[(50, 0), (50, 1 << 20)]), &[not_last]);
    let short = "ERROR: invalid random distribution target range 0 - must be a minimum of the specified block size (65536 \
                 bytes)";
    check_span(absolute(&[(50, 0), (50, 0)]), &[short, not_last]);
}

#[test]
fn all_targets_of_xml_but_only_the_first_of_a_line_are_checked() {
    let bad = || random().with(|target| target.burst = Some(1));
    let profile = Profile {
        time_spans: vec![TimeSpan::default().with(|span| span.targets = vec![bad(), bad()])],
        ..Profile::default()
    };
    assert_eq!(validate(&profile, false, None).lines.len(), 2);
    assert_eq!(validate(&profile, true, None).lines.len(), 1);
}

#[test]
fn template_slots_are_refused_only_for_a_run() {
    let profile = Profile {
        time_spans: vec![TimeSpan {
            targets: vec![random().with(|target| target.path = "*1".into())],
            ..TimeSpan::default()
        }],
        ..Profile::default()
    };
    assert!(!validate(&profile, false, None).refused);
    let verdict = validate(&profile, false, Some(&Processors::default()));
    assert!(verdict.refused);
    let said =
        "ERROR: template target '*1' was not substituted - all template targets must be substituted to run a profile";
    assert_eq!(verdict.lines, [said]);
}
