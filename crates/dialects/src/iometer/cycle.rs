//! Test types: which workers and targets each step has, and at which queue depth.

use super::config::{Steps, TestSetup, TestType};

/// The targets that a worker has, by manager, then worker.
pub(super) type Counts = Vec<Vec<usize>>;

/// Maximum number of tests in a file.
pub(super) const MAX_RUNS: usize = 4096;

/// One test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    /// How many of its targets each worker uses, from the first on; 0: it is idle.
    pub(super) targets: Counts,
    /// The queue depth, which replaces the workers' depth.
    pub(super) depth: Option<u32>,
}

/// The tests of a specification index, in order. `all` has the targets of the participating
/// workers.
pub(super) fn expand_runs(setup: &TestSetup, all: &Counts) -> Vec<Run> {
    let per_worker = |runs: &Counts| runs.iter().flatten().copied().max().unwrap_or_default();
    let depths = cycle_depths(setup.depth);
    let run_with = |targets: Counts, depth| Run { targets, depth };
    let cycled = |base: &Counts| -> Vec<Counts> {
        let counts = cycle_counts(setup.targets, per_worker(base));
        counts.into_iter().map(|count| limit_each(base, count)).collect()
    };
    let with_workers = |count: usize| -> Counts {
        let first = |workers: &Vec<usize>| {
            workers
                .iter()
                .enumerate()
                .map(|(n, t)| if n < count { *t } else { 0 })
                .collect()
        };
        all.iter().map(first).collect()
    };
    let most_workers = all.iter().map(Vec::len).max().unwrap_or_default();
    let per_manager = || all.iter().map(|workers| workers.iter().sum()).max().unwrap_or_default();
    let runs: Vec<Run> = match setup.test_type {
        TestType::Normal => vec![run_with(all.clone(), None)],
        TestType::CycleTargets => cycled(all).into_iter().map(|targets| run_with(targets, None)).collect(),
        TestType::CycleWorkers => {
            let counts = cycle_counts(setup.workers, most_workers);
            counts
                .into_iter()
                .map(|count| run_with(with_workers(count), None))
                .collect()
        }
        TestType::IncrementTargetsParallel => {
            let counts = cycle_counts(setup.targets, per_manager());
            let parallel = |count| all.iter().map(|workers| take(workers, &mut { count })).collect();
            counts
                .into_iter()
                .map(|count| run_with(parallel(count), None))
                .collect()
        }
        TestType::IncrementTargetsSerial => {
            let counts = cycle_counts(setup.targets, all.iter().flatten().sum());
            let serial = |mut count| all.iter().map(|workers| take(workers, &mut count)).collect();
            counts.into_iter().map(|count| run_with(serial(count), None)).collect()
        }
        TestType::CycleWorkersAndTargets => {
            let counts = cycle_counts(setup.workers, most_workers);
            let variants = counts.into_iter().flat_map(|count| cycled(&with_workers(count)));
            variants
                .take(MAX_RUNS + 1)
                .map(|targets| run_with(targets, None))
                .collect()
        }
        TestType::CycleOutstandingIos => depths.iter().map(|depth| run_with(all.clone(), Some(*depth))).collect(),
        TestType::CycleOutstandingIosAndTargets => {
            let runs_at_all_depths =
                |targets: Counts| depths.iter().map(move |depth| run_with(targets.clone(), Some(*depth)));
            cycled(all)
                .into_iter()
                .flat_map(runs_at_all_depths)
                .take(MAX_RUNS + 1)
                .collect()
        }
    };
    let has_work = |run: &Run| run.targets.iter().flatten().any(|count| *count > 0);
    runs.into_iter().filter(has_work).collect()
}

fn limit_each(targets: &Counts, count: usize) -> Counts {
    let limit = |workers: &Vec<usize>| workers.iter().map(|targets| (*targets).min(count)).collect();
    targets.iter().map(limit).collect()
}

/// Assigns the first `left` targets, in the order of workers.
fn take(workers: &[usize], left: &mut usize) -> Vec<usize> {
    let take_targets = |targets: &usize| {
        let taken = (*targets).min(*left);
        *left -= taken;
        taken
    };
    workers.iter().map(take_targets).collect()
}

/// The series up to the first number that reaches `max`, which is then `max` itself.
fn cycle_counts(steps: Steps, max: usize) -> Vec<usize> {
    let mut counts = Vec::new();
    for count in step_values(steps).take(MAX_RUNS + 1) {
        counts.push((count as usize).min(max));
        if count as usize >= max {
            break;
        }
    }
    counts
}

/// Queue depths: one beyond the end is not used.
pub(crate) fn cycle_depths(steps: Steps) -> Vec<u32> {
    let depths = step_values(steps)
        .take_while(|depth| *depth <= steps.end.into())
        .take(MAX_RUNS + 1);
    depths.map(|depth| depth as u32).collect()
}

/// Start, then further by the step; a step that does not increase ends the series.
fn step_values(steps: Steps) -> impl Iterator<Item = u64> {
    let (start, step) = (u64::from(steps.start.max(1)), u64::from(steps.step));
    // A factor of 1 counts as linear.
    let grows_by_factor = steps.exponential && step != 1;
    std::iter::successors(Some(start), move |last| {
        let next = match grows_by_factor {
            true => last.checked_mul(step)?,
            false => last.checked_add(step)?,
        };
        (next > *last).then_some(next)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(start: u32, step: u32, exponential: bool) -> Steps {
        Steps {
            start,
            end: 32,
            step,
            exponential,
        }
    }

    #[test]
    fn numbers_grow_until_all_are_in_use() {
        let check = |(start, step, exponential), max, expected: &[usize]| {
            assert_eq!(cycle_counts(steps(start, step, exponential), max), expected);
        };
        check((1, 2, false), 3, &[1, 3]);
        check((1, 2, false), 4, &[1, 3, 4]);
        check((1, 2, true), 5, &[1, 2, 4, 5]);
        check((1, 1, true), 3, &[1, 2, 3]);
        check((1, 0, false), 3, &[1]);
        check((7, 1, false), 3, &[3]);
        assert_eq!(cycle_depths(steps(1, 2, true)), [1, 2, 4, 8, 16, 32]);
        assert_eq!(cycle_depths(steps(1, 10, false)), [1, 11, 21, 31]);
    }

    #[test]
    fn each_test_type_has_its_own_order() {
        let all: Counts = vec![vec![2, 1], vec![2]];
        let check = |test_type, expected: &[&str]| {
            let setup = TestSetup {
                test_type,
                depth: Steps {
                    end: 2,
                    ..Steps::default()
                },
                ..TestSetup::default()
            };
            let runs = expand_runs(&setup, &all);
            let shown: Vec<String> = runs
                .iter()
                .map(|run| format!("{:?} {:?}", run.targets, run.depth.unwrap_or(0)))
                .collect();
            assert_eq!(shown, expected, "{test_type:?}");
        };
        check(TestType::Normal, &["[[2, 1], [2]] 0"]);
        check(TestType::CycleTargets, &["[[1, 1], [1]] 0", "[[2, 1], [2]] 0"]);
        check(TestType::CycleWorkers, &["[[2, 0], [2]] 0", "[[2, 1], [2]] 0"]);
        check(
            TestType::IncrementTargetsParallel,
            &["[[1, 0], [1]] 0", "[[2, 0], [2]] 0", "[[2, 1], [2]] 0"],
        );
        check(
            TestType::IncrementTargetsSerial,
            &[
                "[[1, 0], [0]] 0", "[[2, 0], [0]] 0", "[[2, 1], [0]] 0", "[[2, 1], [1]] 0", "[[2, 1], [2]] 0",
            ],
        );
        check(
            TestType::CycleWorkersAndTargets,
            &[
                "[[1, 0], [1]] 0", "[[2, 0], [2]] 0", "[[1, 1], [1]] 0", "[[2, 1], [2]] 0",
            ],
        );
        check(TestType::CycleOutstandingIos, &["[[2, 1], [2]] 1", "[[2, 1], [2]] 2"]);
        check(
            TestType::CycleOutstandingIosAndTargets,
            &[
                "[[1, 1], [1]] 1", "[[1, 1], [1]] 2", "[[2, 1], [2]] 1", "[[2, 1], [2]] 2",
            ],
        );
    }
}
