//! Tests of the data of the live view.

use model::event::{Counts, EndReason};
use model::plan::{Dependency, Job, Phases, Step, Stop};
use testbed::With;

use super::*;

fn job(warm_up: u64, measured: Option<u64>) -> Job {
    Job {
        phases: Phases::default().with(|phases| phases.warm_up_ns = Nanos::secs(warm_up)),
        stop: Stop::default().with(|stop| stop.after_ns = measured.map(Nanos::secs)),
        ..Job::default()
    }
}

fn state_with_steps(steps: Vec<Vec<Job>>) -> State {
    let steps = steps.into_iter().map(|jobs| Step {
        jobs,
        ..Step::default()
    });
    let plan = Plan::default().with(|plan| plan.steps = steps.collect());
    let mut state = State::default();
    state.begin(&plan, None);
    state
}

/// Reads of 4 KiB that took 1 ms each.
fn reads(job: u32, phase: Phase, start: Nanos, length: Nanos, operations: u64) -> Interval {
    let mut latency = Histogram::new();
    latency.record_times(1_000_000, operations);
    let read = Counts {
        operations,
        bytes: Bytes(operations * 4096),
    };
    Interval {
        step: 0,
        job,
        name: format!("job{job}"),
        phase,
        epoch: 0,
        start_ns: start,
        length_ns: length,
        counts: PerDirection::default().with(|per_direction| per_direction.read = read),
        latency: PerDirection::default().with(|per_direction| per_direction.read = Some(latency)),
        in_flight_ns: Nanos(operations * 1_000_000),
        depth: 8,
        targets: Vec::new(),
        file_operations: Vec::new(),
        left_ns: None,
    }
}

fn second(number: u64, operations: u64) -> Interval {
    reads(0, Phase::Measured, Nanos::secs(number), Nanos::secs(1), operations)
}

fn apply(state: &mut State, interval: Interval) {
    state.apply(&Event::Interval(Box::new(interval)));
}

fn ready(step: u32) -> Event {
    Event::Ready {
        step,
        devices: Vec::new(),
    }
}

#[test]
fn concurrent_jobs_add_up() {
    let mut state = state_with_steps(vec![vec![job(0, Some(10)), job(0, Some(10))]]);
    apply(&mut state, second(0, 1_000));
    apply(
        &mut state,
        reads(1, Phase::Measured, Nanos(0), Nanos::millis(500), 1_000),
    );
    assert_eq!(state.current_rates().read.iops, 3_000.0);
    assert_eq!(state.current_rates().read.bytes_per_sec, 3_000.0 * 4096.0);
    let in_flight = state.in_flight().expect("two jobs have something in flight");
    assert_eq!((in_flight.average, in_flight.depth), (3.0, 16));
    assert_eq!(state.jobs().len(), 2);
    // Ended jobs no longer count.
    let (step, job, reason) = (0, 1, EndReason::Time);
    state.apply(&Event::JobEnded { step, job, reason });
    assert_eq!(state.current_rates().read.iops, 1_000.0);
    assert_eq!(state.jobs(), []);
}

#[test]
fn progress_counts_steps_and_phases() {
    let mut state = state_with_steps(vec![vec![job(5, Some(10))], vec![job(0, Some(45))]]);
    let done = |state: &State| state.progress().map(|progress| (progress.done, progress.total));
    assert_eq!(done(&state), Some((Nanos(0), Nanos::secs(60))));
    apply(&mut state, reads(0, Phase::WarmUp, Nanos::secs(2), Nanos::secs(1), 1));
    assert_eq!(done(&state), Some((Nanos::secs(3), Nanos::secs(60))));
    apply(&mut state, second(3, 1));
    assert_eq!(done(&state), Some((Nanos::secs(9), Nanos::secs(60))));
    state.apply(&ready(1));
    assert_eq!(done(&state), Some((Nanos::secs(15), Nanos::secs(60))));
}

#[test]
fn progress_includes_waiting_jobs_and_needs_planned_ends() {
    let second = job(0, Some(20)).with(|job| job.after = vec![Dependency(0)]);
    let state = state_with_steps(vec![vec![job(0, Some(10)), second]]);
    assert_eq!(state.progress().map(|progress| progress.total), Some(Nanos::secs(30)));
    assert_eq!(state_with_steps(vec![vec![job(0, None)]]).progress(), None);
}

#[test]
fn measured_figures_start_at_the_last_reset() {
    let mut state = state_with_steps(vec![vec![job(5, Some(10))]]);
    let n = |state: &State| state.measured_latency(Direction::Read).map_or(0, |latency| latency.n());
    apply(&mut state, reads(0, Phase::WarmUp, Nanos(0), Nanos::secs(1), 100));
    assert_eq!((n(&state), state.measured_rates()), (0, None));
    apply(&mut state, second(0, 100));
    apply(&mut state, second(1, 200));
    assert_eq!(n(&state), 300);
    assert_eq!(state.measured_rates().map(|rates| rates.read.iops), Some(150.0));
    let after_reset = second(2, 50).with(|interval| interval.epoch = 1);
    apply(&mut state, after_reset);
    assert_eq!(n(&state), 50);
    assert_eq!(state.measured_rates().map(|rates| rates.read.iops), Some(50.0));
}

#[test]
fn short_remainder_of_a_phase_is_not_a_rate() {
    let mut state = state_with_steps(vec![vec![job(0, Some(10))]]);
    apply(&mut state, second(0, 1_000));
    apply(
        &mut state,
        reads(0, Phase::Measured, Nanos::secs(1), Nanos::millis(3), 30),
    );
    assert_eq!(state.current_rates().read.iops, 1_000.0);
    assert_eq!(state.history().len(), 1);
    assert_eq!(
        state.measured_latency(Direction::Read).map(|latency| latency.n()),
        Some(1_030)
    );
}

#[test]
fn a_device_is_compared_only_with_io_that_certainly_reached_it() {
    let mut state = state_with_steps(vec![vec![job(0, Some(10))]]);
    let device = |name: &str, targets: &[u32]| DeviceUnder {
        name: name.into(),
        targets: targets.to_vec(),
    };
    let devices = vec![device("sda", &[0, 1]), device("sdb", &[2]), device("sdc", &[3])];
    state.apply(&Event::Ready { step: 0, devices });
    let part = |targets: &[u32], operations: u64| model::event::TargetInterval {
        targets: targets.to_vec(),
        counts: PerDirection {
            read: Counts {
                operations,
                bytes: Bytes(operations * 4096),
            },
            ..PerDirection::default()
        },
        latency_ns: Nanos(0),
    };
    let mut interval = second(0, 600);
    interval.targets = vec![part(&[0], 100), part(&[1], 200), part(&[2, 3], 300)];
    apply(&mut state, interval);
    let used = |name: &str| DeviceUse {
        name: name.into(),
        operations: [310, 0, 0],
        busy_ns: Nanos::millis(250),
        ..DeviceUse::default()
    };
    state.set_machine(Machine {
        length: Nanos::millis(500),
        cores: Vec::new(),
        devices: vec![used("sda"), used("sdb")],
    });
    let rows = state.device_rows();
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].kernel.iops, rows[0].busy_percent), (620.0, 50.0));
    assert_eq!(rows[0].test_rates.map(|rates| rates.iops), Some(300.0));
    assert_eq!(rows[1].test_rates, None, "files of one stream are on two devices");
    // The next step starts without data of the previous one.
    assert!(state.take_step_begun() && !state.take_step_begun());
    let devices = vec![device("sda", &[0, 1])];
    state.apply(&Event::Ready { step: 1, devices });
    assert!(state.take_step_begun() && state.device_rows().is_empty());
    state.set_machine(Machine {
        length: Nanos::millis(500),
        cores: Vec::new(),
        devices: vec![used("sda")],
    });
    assert_eq!(state.device_rows()[0].test_rates, None, "no interval has come yet");
}
