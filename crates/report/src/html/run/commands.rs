//! Commands in advice, completed with the target and the load of a test.

use model::observation::Observation;
use model::plan::lasting_path;
use model::results::Results;
use model::{Bytes, shell_word};

use super::repetition::repeat_command;
use crate::summary::{JobSummary, Summary};

/// Completes the commands in advice with the target and load of the results, ready to paste.
pub fn complete_advice(advice: &str, results: &Results) -> String {
    complete_commands(advice, results, &Summary::from_results(results))
}

/// Completes the commands in advice with target and load, ready to paste.
pub(super) fn complete_commands(advice: &str, results: &Results, summary: &Summary) -> String {
    let advice = vary_rate_of_file(advice, results);
    // A sweep refuses a file of several jobs.
    let load = describe_load(results, summary).filter(|_| summary.jobs.len() <= 1);
    let advice = complete_sweep(&advice, load.as_deref());
    // The repetition does not overwrite the files of the test.
    let arguments = &results.plan.origin.arguments;
    let is_run = arguments.get(1).is_some_and(|word| word == "run");
    let original_command = is_run.then(|| repeat_command(arguments, &[]));
    match original_command.or_else(|| run_command(results, summary)) {
        Some(run) => advice.replace("`fathom run --confirm`", &format!("`{run} --confirm`")),
        None => advice,
    }
}

/// Varies the rate instead of the depth if a sweep takes its load from a paced job file. The sweep
/// keeps the rate of the file, so every depth would reach the same rate.
fn vary_rate_of_file(advice: &str, results: &Results) -> String {
    let observation = job_file(results).and_then(|_| Observation::from_results(results, 0, 0));
    let Some(rate) = observation.and_then(|observation| observation.load.rate_iops) else {
        return advice.to_owned();
    };
    let range = format!("--over rate={:.0}..{:.0}", (rate / 4.0).max(1.0), 16.0 * rate);
    advice
        .replace("remove the target rate", "raise the rate")
        .replace("--over depth=1..64", &range)
}

/// A `fathom run` command for the target and the load of a result.
pub fn run_command(results: &Results, summary: &Summary) -> Option<String> {
    let load = describe_load(results, summary)?;
    let target = load.split(" --").next().unwrap_or(&load);
    Some(match target.trim_end_matches('\'').ends_with(".toml") {
        true => format!("fathom run {load}"),
        false => format!("fathom run --target {load}"),
    })
}

/// Adds the load to a `fathom sweep` command in advice, or removes the command without a load.
pub fn complete_sweep(advice: &str, load: Option<&str>) -> String {
    const SWEEP: &str = "`fathom sweep TARGET --over";
    match load {
        Some(load) => advice.replace(SWEEP, &format!("`fathom sweep {load} --report sweep.html --over")),
        None => advice.split(&format!(": {SWEEP}")).next().unwrap_or(advice).to_owned(),
    }
}

/// The target and the load of a test as arguments of `fathom sweep` and `fathom run`.
fn describe_load(results: &Results, summary: &Summary) -> Option<String> {
    // `verify` has another name for the order.
    Some(target_and_load(results, summary)?.replace(" --sequential", " --access sequential"))
}

fn target_and_load(results: &Results, summary: &Summary) -> Option<String> {
    let arguments = &results.plan.origin.arguments;
    if let Some(file) = job_file(results) {
        // `verify` takes only the device from a job file, and the load from its options.
        let is_verify = arguments.get(1).is_some_and(|word| word == "verify");
        return match (is_verify, &summary.jobs[..]) {
            (true, [job]) => Some(format!("{file}{}", load_options(results, job)?)),
            _ => Some(file),
        };
    }
    load(results, summary)
}

/// The job file of a command line, quoted for a shell.
pub(super) fn job_file(results: &Results) -> Option<String> {
    let arguments = &results.plan.origin.arguments;
    let is_suite = arguments.get(1).is_some_and(|word| word == "suite");
    let mut files = arguments.iter().filter(|word| word.ends_with(".toml") && !is_suite);
    Some(shell_word(files.next()?).into_owned())
}

/// Target, block size and mix as command-line arguments, for a test of one job and one target.
pub(super) fn load(results: &Results, summary: &Summary) -> Option<String> {
    let ([target], [job]) = (&summary.targets[..], &summary.jobs[..]) else {
        return None;
    };
    // A simulated device exists only in a job file.
    if target.kind == "simulated" {
        return None;
    }
    let location = lasting_path(&target.path);
    let size = match location == target.path {
        true => String::new(),
        false => format!(" --size {}", size_word(target.size)),
    };
    let location = shell_word(location);
    Some(format!("{location}{size}{}", load_options(results, job)?))
}

/// Block size and mix as command-line options.
pub(super) fn load_options(results: &Results, job: &JobSummary) -> Option<String> {
    let total = &job.total;
    let block = Bytes(total.bytes.checked_div(total.operations)?);
    let reads = job.read.as_ref().map_or(0, |reads| reads.operations);
    let measured_read = 100.0 * reads as f64 / total.operations as f64;
    let planned = Observation::from_results(results, 0, 0).map(|observation| observation.load);
    let planned_read = planned.as_ref().and_then(|load| load.read_percent);
    let read = planned_read.unwrap_or(measured_read).round();
    let random = planned.and_then(|load| load.random);
    let order = if random == Some(false) { " --sequential" } else { "" };
    Some(format!(" --block {} --read {read}{order}", size_word(block)))
}

fn size_word(size: Bytes) -> String {
    size.to_string().replace(' ', "")
}

/// Permits the command at the end of advice to write to a target that exists, and states what is
/// lost.
pub fn permit_overwrite(advice: &str, target: &str) -> String {
    let parts: Vec<&str> = advice.split('`').collect();
    let [before, command, ""] = parts[..] else {
        return advice.to_owned();
    };
    let target = shell_word(target);
    let before = match before.trim_end_matches(": ") {
        "" => String::new(),
        before => format!("{before}; "),
    };
    format!("{before}this overwrites {target}, whose data are lost: `{command} --allow-overwrite {target}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repetition_at_twice_the_depth_keeps_the_files_of_the_test() {
        let mut results =
            model::testing::results(model::testing::plan("", Vec::new(), Vec::new()), Vec::new(), Vec::new());
        let line = "fathom run a.toml --save a.fathom --report a.html";
        results.plan.origin.arguments = line.split(' ').map(str::to_owned).collect();
        assert_eq!(
            complete_advice("the load is at a limit: `fathom run --confirm`", &results),
            "the load is at a limit: `fathom run a.toml --save a-again.fathom --report a-again.html --confirm`"
        );
    }

    #[test]
    fn a_command_that_overwrites_data_is_marked() {
        assert_eq!(
            permit_overwrite("the load is at a limit: `fathom run --confirm`", "a b.dat"),
            "the load is at a limit; this overwrites 'a b.dat', whose data are lost: \
             `fathom run --confirm --allow-overwrite 'a b.dat'`"
        );
        assert_eq!(
            permit_overwrite("`fathom verify f`", "f"),
            "this overwrites f, whose data are lost: `fathom verify f --allow-overwrite f`"
        );
        assert_eq!(permit_overwrite("use a faster disk", "f"), "use a faster disk");
    }
}
