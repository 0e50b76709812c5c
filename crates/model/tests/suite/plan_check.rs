//! Plans with one mistake each, and the error that each must cause.

use model::plan::{
    Control, Dependency, FileService, LatencyTarget, Precision, SimulatedDevice, SimulatedService, SteadyState,
    TargetKind, TrackedMetric, Workload,
};

use crate::prelude::*;

/// One job with one worker on one file, and no mistakes.
fn sound() -> Plan {
    let workload = Workload::new("first", vec![TargetId(0)], Stop::after(Nanos::secs(1)));
    let steps = vec![testing::step(vec![workload.build_job(0)])];
    testing::plan("test", vec![testing::file("/mnt/a")], steps)
}

/// The error of a sound plan after a change; empty if there is none.
fn find_problem(change: impl FnOnce(&mut Plan)) -> String {
    let mut plan = sound();
    change(&mut plan);
    plan.check().err().map(|error| error.to_string()).unwrap_or_default()
}

#[track_caller]
fn check(change: impl FnOnce(&mut Plan), expected: &str) {
    assert_eq!(find_problem(change), expected);
}

#[track_caller]
fn check_job(change: impl FnOnce(&mut Job), expected: &str) {
    check(|plan| change(&mut plan.steps[0].jobs[0]), expected);
}

#[track_caller]
fn check_stream(change: impl FnOnce(&mut Stream), expected: &str) {
    check_job(|job| change(&mut job.workers[0].streams[0]), expected);
}

#[test]
fn a_sound_plan_causes_no_error() {
    check(|_| {}, "");
}

#[test]
fn a_plan_needs_work() {
    check(|plan| plan.steps.clear(), "the plan: there is no job");
    check(|plan| plan.steps[0].jobs.clear(), "the plan: there is no job");
    check_job(|job| job.workers.clear(), "job `first`: the job has no worker");
    check_job(
        |job| job.workers[0].streams.clear(),
        "job `first`, worker 0: the worker has no stream",
    );
}

#[test]
fn targets_must_exist() {
    check(|plan| plan.targets[0].path.clear(), "target 0: the path is empty");
    check(
        |plan| plan.targets[0].kind = TargetKind::Template { number: 1 },
        "target 0 (/mnt/a): target *1 of the profile has no path; set one",
    );
    check(
        |plan| {
            let device = SimulatedDevice::default();
            plan.targets[0].kind = TargetKind::Simulated { device };
        },
        "target 0 (/mnt/a): a simulated device needs at least one server",
    );
    check(
        |plan| {
            let device = SimulatedDevice::default().with(|device| {
                (device.servers, device.service) = (1, SimulatedService::Exponential { mean_ns: Nanos(0) })
            });
            plan.targets[0].kind = TargetKind::Simulated { device };
        },
        "target 0 (/mnt/a): a simulated device needs a service time above 0: its clock stops without one",
    );
    check_stream(
        |stream| stream.target = StreamTarget::One { target: TargetId(1) },
        "job `first`, worker 0: there is no target 1",
    );
    let files = |targets, open_at_once| StreamTarget::files(targets, open_at_once, FileService::RoundRobin, 1);
    check_stream(
        |stream| stream.target = files(Vec::new(), 1),
        "job `first`, worker 0: a stream has no target",
    );
    check_stream(
        |stream| stream.target = files(vec![TargetId(0)], 0),
        "job `first`, worker 0: a file set needs at least one open file and one operation per file",
    );
}

#[test]
fn a_name_fits_into_a_report() {
    check_job(|job| job.name = "n".repeat(1000), "");
    check_job(
        |job| job.name = "n".repeat(70_000),
        &format!(
            "job `{}…`: its name has 70000 characters; use at most 1000",
            "n".repeat(60)
        ),
    );
}

#[test]
fn a_job_needs_a_stop_condition() {
    check_job(
        |job| job.stop = Stop::default(),
        "job `first`: nothing ends it: set a time, bytes, operations or passes",
    );
    let at_once = "job `first`: the job would end immediately: times, bytes, operations and passes must be above 0";
    check_job(|job| job.stop = Stop::after(Nanos(0)), at_once);
    check_job(|job| job.stop.bytes = Some(Bytes(0)), at_once);
    check_job(|job| job.stop.operations = Some(0), at_once);
    check_job(|job| job.stop.passes = Some(0), at_once);
    check_job(|job| job.stop.region_percent = Some(0), at_once);
    check_job(
        |job| job.stop = Stop::default().with(|stop| (stop.operations, stop.repeat_until_time) = (Some(1), true)),
        "job `first`: the job repeats until its time is over, but has no time",
    );
}

#[test]
fn passes_must_end() {
    let passes = |access: Access| {
        move |job: &mut Job| {
            job.stop = Stop::after_passes(2);
            job.workers[0].streams[0].pattern.access = vec![access];
        }
    };
    let walk = |at_end| Access::Sequential(Sequential::default().with(|sequential| sequential.at_end = at_end));
    let endless = "job `first`: the job ends after a number of passes, but a pass of its access \
                   pattern never ends: set a time as well";
    check_job(passes(walk(AtEnd::Finish)), "");
    check_job(passes(walk(AtEnd::Wrap)), endless);
    let once = Placement::Once(Once::default());
    check_job(passes(Access::Random { placement: once }), "");
    let placement = Placement::Uniform(Uniform::default());
    check_job(passes(Access::Random { placement }), endless);
    check_job(
        |job| {
            passes(walk(AtEnd::Wrap))(job);
            job.stop.after_ns = Some(Nanos::secs(1));
        },
        "",
    );
}

#[test]
fn jobs_wait_only_for_earlier_ones() {
    let after = |plan: &mut Plan, after: [&[u32]; 2]| {
        plan.steps[0].jobs.push(sound().steps[0].jobs[0].clone());
        for (job, others) in plan.steps[0].jobs.iter_mut().zip(after) {
            job.after = others.iter().map(|other| Dependency(*other)).collect();
        }
    };
    check(|plan| after(plan, [&[], &[0]]), "");
    check(
        |plan| after(plan, [&[0], &[]]),
        "job `first`: the job waits for job 0, which is not an earlier one",
    );
    // Each waits for the other: the first of them is reported.
    check(
        |plan| after(plan, [&[1], &[0]]),
        "job `first`: the job waits for job 1, which is not an earlier one",
    );
    let missing = "job `first`: the job refers to job 7 of its step, which has 1";
    check_job(|job| job.ends_with.jobs = vec![7], missing);
    check_job(|job| job.ends_with.on_failure = vec![7], missing);
    check_job(
        |job| job.after = vec![Dependency(7)],
        &format!("{missing}\njob `first`: the job waits for job 7, which is not an earlier one"),
    );
}

#[test]
fn a_worker_needs_a_possible_depth() {
    check_stream(
        |stream| stream.depth = 0,
        "job `first`, worker 0: its queue depth is 0; it must be at least 1",
    );
    check_job(
        |job| job.workers[0].depth = DepthScope::Shared { operations: 0 },
        "job `first`, worker 0: its queue depth is 0; it must be at least 1",
    );
    check_stream(
        |stream| stream.depth = u32::MAX,
        "job `first`, worker 0: a queue depth of 4294967295 is too large; the maximum per worker is 1048576",
    );
    check_job(
        |job| {
            job.workers[0].depth = DepthScope::Shared { operations: 4 };
            job.workers[0].streams[0].weight = 0;
        },
        "job `first`, worker 0: none of its streams has a weight above 0",
    );
    check_job(
        |job| job.workers[0].batching.submit = Some(0),
        "job `first`, worker 0: the worker must submit at least 1 operation at a time",
    );
}

#[test]
fn lengths_must_be_possible() {
    let sizes = |sizes: BlockSizes| move |stream: &mut Stream| stream.pattern.sizes = PerDirection::all(sizes);
    check_stream(
        sizes(BlockSizes::Fixed { size: Bytes(0) }),
        "job `first`, worker 0: the block size must be above 0",
    );
    check_stream(
        sizes(BlockSizes::Fixed { size: Bytes::gib(4) }),
        "job `first`, worker 0: a block size of 4 GiB is too large; it must be below 4 GiB",
    );
    check_stream(
        sizes(BlockSizes::range(Bytes::kib(8), Bytes::kib(4))),
        "job `first`, worker 0: the block size range 8 KiB to 4 KiB must start with the smaller size",
    );
    let entry = |percent| SizeShare::new(Bytes::kib(4), percent);
    let shares = "job `first`, worker 0: the shares of a block size split must add up to more than 0 percent";
    let negative = vec![entry(50.0), entry(-10.0)];
    check_stream(sizes(BlockSizes::Split { entries: negative }), shares);
    // A direction that never occurs is not checked.
    check_stream(
        |stream| stream.pattern.sizes.write = BlockSizes::Fixed { size: Bytes(0) },
        "",
    );
}

#[test]
fn mixes_patterns_and_contents_must_fit_together() {
    let drawn = |write_percent| Mix::drawn(write_percent, MixRule::Independent);
    check_stream(
        |stream| stream.mix = drawn(101.0),
        "job `first`, worker 0: the share of writes must be 0 to 100 percent, not 101",
    );
    check_stream(
        |stream| stream.mix = drawn(f64::NAN),
        "job `first`, worker 0: the share of writes must be 0 to 100 percent, not NaN",
    );
    check_stream(
        |stream| stream.pattern.access.clear(),
        "job `first`, worker 0: reads have no access pattern",
    );
    check_stream(
        |stream| stream.pattern.access_index.read = 1,
        "job `first`, worker 0: reads have no access pattern",
    );
    check_stream(
        |stream| {
            stream.mix = drawn(50.0);
            let placement = Placement::Uniform(Uniform::default());
            stream.pattern.access.push(Access::Random { placement });
            stream.pattern.access_index = PerDirection::new(1, 2, 9);
        },
        "job `first`, worker 0: writes have no access pattern",
    );
    check_stream(
        |stream| stream.content = Content::Pattern { bytes: Vec::new() },
        "job `first`, worker 0: the pattern to write is empty",
    );
}

#[test]
fn schedules_and_pauses_must_be_possible() {
    let zero = Rate::iops(0);
    check_stream(
        |stream| stream.pacing = Pacing::Together { rate: zero },
        "job `first`, worker 0: a rate must be above 0",
    );
    check_stream(
        |stream| {
            let rates = PerDirection::new(Some(Rate::iops(1)), Some(Rate::iops(1)), None);
            stream.pacing = Pacing::PerDirection { rates };
        },
        "job `first`, worker 0: a rate for writes that never occur",
    );
    check_stream(
        |stream| {
            stream.think = Some(Think::new(Nanos(1), 0, ThinkCount::Issued));
        },
        "job `first`, worker 0: a pause needs at least one operation, or a time, before it",
    );
    check(
        |plan| plan.grids.push(Grid::new(Nanos::micros(999), GridScope::Job)),
        "interval series: an interval of 999 us is too short; the shortest is 1 ms",
    );
}

#[test]
fn rules_need_limits_that_can_be_met() {
    let control = |control: Control| move |job: &mut Job| job.control.push(control);
    for percent in [0.0, 100.0, -1.0, f64::NAN] {
        check_job(
            control(Control::Precision(Precision {
                metric: TrackedMetric::Iops,
                percent,
                at_least_ns: Nanos(0),
            })),
            &format!("job `first`: a precision must be above 0 and below 100 percent, not {percent}"),
        );
    }
    let steady = |window: u64, limit| {
        Control::SteadyState(SteadyState {
            metric: TrackedMetric::Iops,
            slope: true,
            limit,
            percent: true,
            window_ns: Nanos::secs(window),
            interval_ns: Nanos::secs(1),
            ramp_ns: Nanos(0),
        })
    };
    check_job(
        control(steady(1, 1.0)),
        "job `first`: the steady-state window must be longer than its interval, and both above 0",
    );
    for limit in [-1.0, f64::NAN] {
        check_job(
            control(steady(5, limit)),
            "job `first`: the steady-state limit must not be negative",
        );
    }
    let target = |window: u64, percentile| {
        Control::LatencyTarget(LatencyTarget {
            target_ns: Nanos::millis(1),
            window_ns: Nanos::secs(window),
            percentile,
            keep_running: false,
        })
    };
    check_job(
        control(target(0, 99.0)),
        "job `first`: a latency target needs a latency and a window above 0",
    );
    for percentile in [0.0, 100.5, f64::NAN] {
        check_job(
            control(target(1, percentile)),
            "job `first`: the percentile of a latency target must be above 0 and at most 100",
        );
    }
}

#[test]
fn all_mistakes_are_reported_together_and_only_once() {
    check(
        |plan| {
            let worker = plan.steps[0].jobs[0].workers[0].clone();
            plan.steps[0].jobs[0].workers = vec![worker; 100];
            for worker in &mut plan.steps[0].jobs[0].workers {
                worker.streams[0].depth = 0;
                worker.streams[0].mix = Mix::Exact { write_percent: -1.0 };
            }
            plan.steps[0].jobs[0].stop = Stop::default();
        },
        "job `first`: nothing ends it: set a time, bytes, operations or passes\n\
         job `first`, worker 0: its queue depth is 0; it must be at least 1\n\
         job `first`, worker 0: the share of writes must be 0 to 100 percent, not -1",
    );
}
