//! Checks of a whole profile, each rule at its boundary.

use dialects::diskspd::profile::{Distribution, Profile, Range, Target, ThreadTarget, TimeSpan};
use dialects::diskspd::{Processors, validate};
use testbed::With;

use crate::diskspd::support::{AssertMessages, strings};

#[test]
fn threads_and_pools_are_checked() {
    "-F1 -t1".assert_warned(&[]);
    "-r -F1 -t2".assert_refused(&["ERROR: -F and -t parameters cannot be used together"]);
    let routines = "ERROR: -g throughput control cannot be used with -x completion routines";
    "-g5 -x".assert_refused(&[routines]);
    "-g2i -b512 -x".assert_refused(&[routines]);
    // DiskSpd rounds this limit to 0 bytes per millisecond, so nothing conflicts with it.
    "-g1i -b512 -x".assert_warned(&[]);
    let burst = "ERROR: need to specify -j<think time> with -i<burst size>";
    "-i5".assert_refused(&[burst]);
    "-j5".assert_refused(&[burst]);
    "-i5 -j5".assert_warned(&[]);
    "-r -F2 -O2 -g5 -i1 -j1".assert_refused(&[
        "ERROR: -g throughput control cannot be used with -O outstanding requests per thread",
        "ERROR: -j think time cannot be used with -O outstanding requests per thread",
    ]);
    "-F1 -O2 -p".assert_refused(&["ERROR: -p parallel IO cannot be used with -O outstanding requests per thread"]);
    "-O2 -g5".assert_warned(&[]);
}

#[test]
fn random_patterns_are_checked() {
    "-rs5 -T4k -p -t2".assert_refused(&["ERROR: -T conflicts with -r", "ERROR: -p conflicts with -r"]);
    // `-si` sets a stride, which `-r` refuses earlier, unless the stride is 0.
    "-si0 -r".assert_refused(&["ERROR: -si conflicts with -r"]);
}

#[test]
fn sequential_patterns_are_checked() {
    let not_sequential = "WARNING: target access pattern will not be sequential, consider -si";
    "-rdpct100/100"
        .assert_refused(&["ERROR: random distribution ranges (-rd) do not apply to sequential-only IO patterns"]);
    "-p -o1".assert_warned(&["WARNING: -p does not have effect unless outstanding I/O count (-o) is > 1"]);
    "-p -o2".assert_warned(&[]);
    "-si -t2 -T4k".assert_refused(&["ERROR: -si conflicts with -T"]);
    "-si -t2 -p".assert_refused(&["ERROR: -si conflicts with -p"]);
    "-si".assert_warned(&["WARNING: single-threaded test, -si ignored"]);
    "-si -t2".assert_warned(&[]);
    "-t2".assert_warned(&[not_sequential]);
    "-F2".assert_warned(&[not_sequential]);
    "-w100 -t2".assert_warned(&[not_sequential]);
    "-t2 -T4k".assert_warned(&[]);
    "-F1".assert_warned(&[]);
    "-T4k".assert_refused(&["ERROR: -T has no effect unless multiple threads per target are used"]);
}

#[test]
fn distributions_are_checked() {
    "-r -rdpct60/50:40/50".assert_warned(&[]);
    "-b4k -r -rdabs60/4k".assert_warned(&[]);
    "-r -rdpct60/50:50/50".assert_refused(&[
        "ERROR: invalid random distribution IO% 50: can be at most 40 - total must be <= 100%",
        "ERROR: invalid random distribution span: Target% (50%) must total 100%",
    ]);
    "-r -rdpct50/60:50/50".assert_refused(&[
        "ERROR: invalid random distribution Target% 50: can be at most 40 - total must be <= 100%",
        "ERROR: invalid random distribution span: Target% (60%) must total 100%",
    ]);
    "-r -rdpct90/100".assert_refused(&[
        "ERROR: invalid random distribution: the target is covered with 10% IO left to distribute",
        "ERROR: invalid random distribution span: Target% (0%) must total 100%",
    ]);
    "-r -rdpct100/10".assert_refused(&["ERROR: invalid random distribution span: Target% (10%) must total 100%"]);
    "-b4k -r -rdabs60/4095".assert_refused(&[
        "ERROR: invalid random distribution target range 4095 - must be a minimum of the specified block size (4096 \
             bytes)",
    ]);
    "-b4k -r -rdabs60/4k:50/4k"
        .assert_refused(&["ERROR: invalid random distribution IO% 50: can be at most 40 - total must be <= 100%"]);
}

#[test]
fn buffers_maps_and_bounds_are_checked() {
    let small =
        "ERROR: custom write buffer (-Z) is smaller than the block size. Write buffer size: 4095 block size: 4096";
    "-b4k -Z4095".assert_refused(&[small]);
    "-b4k -Z4096".assert_warned(&[]);
    "-Sm -x".assert_refused(&["ERROR: completion routines (-x) can't be used with memory mapped IO (-Sm)"]);
    let flush = "ERROR: memory mapped flush mode (-N) can only be specified with memory mapped IO (-Sm)";
    "-Nv".assert_refused(&[flush]);
    let bounds = "ERROR: maximum (-f) target offset must be greater than base (-B)";
    "-B1M -f1M".assert_refused(&[bounds]);
    "-B1M -f1048577".assert_warned(&[]);
}

#[test]
fn several_problems_are_reported_in_order() {
    "-n -a0 -t2 -F2 -g5 -x -i1 -Nv -B1M -f1K -Z1K".assert_refused(&[
        "ERROR: -n and -a parameters cannot be used together",
        "ERROR: -F and -t parameters cannot be used together",
        "ERROR: -g throughput control cannot be used with -x completion routines",
        "ERROR: need to specify -j<think time> with -i<burst size>",
        "WARNING: target access pattern will not be sequential, consider -si",
        "ERROR: custom write buffer (-Z) is smaller than the block size. Write buffer size: 1024 block size: 65536",
        "ERROR: memory mapped flush mode (-N) can only be specified with memory mapped IO (-Sm)",
        "ERROR: maximum (-f) target offset must be greater than base (-B)",
    ]);
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
    let profile = Profile::default()
        .with(|profile| profile.time_spans = vec![TimeSpan::default().with(|span| span.targets = vec![bad(), bad()])]);
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
    let message =
        "ERROR: template target '*1' was not substituted - all template targets must be substituted to run a profile";
    assert_eq!(verdict.lines, [message]);
}
