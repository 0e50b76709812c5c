//! Drop-in mode for DiskSpd: runs command lines and profiles, with DiskSpd's reports and exit
//! codes.

mod console;
#[cfg(not(windows))]
mod error_codes;
#[cfg(windows)]
#[path = "error_codes_windows.rs"]
mod error_codes;
pub mod failures;
pub mod local_env;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::run::RunError;
use ::run::targets::TargetError;
use archive::history::EntryKind;
use dialects::diskspd::newer::CoreOrder;
use dialects::diskspd::profile::{Profile, ResultFormat};
use dialects::diskspd::text::{self, TextVersion};
use dialects::diskspd::{self, EventRole, ParseOutcome, Request, xml};
use model::plan::{Dialect, Plan, Step};
use model::results::{Results, StepResults};
use report::formats::diskspd as reports;

use super::{
    can_save_result, check_outputs, lost_host_lines, note, print_findings, print_notes, print_stderr, print_stdout,
    record_results,
};
use crate::permissions;
use crate::process::start_thread;
use crate::screen;
use crate::session::Session;
use console::Console;
use failures::Messages;
use local_env::LocalEnv;

/// Exit code: success.
const DONE: u8 = 0;
/// Exit code: the run failed.
const FAILED: u8 = 1;
/// Exit code: wrong arguments.
const USAGE_ERROR: u8 = 3;

/// Runs a command line of DiskSpd. The first `skip` arguments are the program's name.
pub fn execute(session: &Session, skip: usize) -> ExitCode {
    let (program, arguments) = session
        .process
        .arguments
        .split_at(skip.min(session.process.arguments.len()));
    let mut env = LocalEnv::for_hosts(session.has_fleet());
    ExitCode::from(match diskspd::read(&program.join(" "), arguments, &mut env) {
        ParseOutcome::End(diskspd::ExitOutput {
            system: Some(format), ..
        }) => report_system(session, format),
        ParseOutcome::End(end) => {
            end.notes.iter().for_each(|text| note(text));
            print_stderr(&end.stderr);
            print_notes(&format_hints(&end.hints));
            match print_lines(&end.stdout) {
                true => end.code,
                false => FAILED,
            }
        }
        ParseOutcome::Print(_) | ParseOutcome::Run(_) if check_environment().is_some() => {
            print_stderr(&check_environment().into_iter().collect::<Vec<_>>());
            USAGE_ERROR
        }
        ParseOutcome::Run(_) if !can_save_result() => FAILED,
        ParseOutcome::Print(request) => {
            print_notes_and_warnings(&request);
            match print_lines(&profile_lines(session, &request.profile)) {
                true => DONE,
                false => FAILED,
            }
        }
        ParseOutcome::Run(request) => {
            print_notes_and_warnings(&request);
            run(session, &request.profile, &env)
        }
    })
}

fn print_notes_and_warnings(request: &Request) {
    request.notes.iter().for_each(|text| note(text));
    print_stderr(&request.stderr);
}

fn format_hints(hints: &[String]) -> Vec<String> {
    hints.iter().map(|hint| format!("hint: {hint}")).collect()
}

/// Prints lines. Returns false if stdout fails.
fn print_lines(lines: &[String]) -> bool {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    print(&text)
}

fn print(text: &str) -> bool {
    match print_stdout(text) {
        Ok(()) => true,
        Err(error) => {
            print_stderr(&[format!("ERROR: cannot write to standard output: {error}")]);
            false
        }
    }
}

/// Environment variable that selects an older text format.
const TEXT_FORM_VARIABLE: &str = "FATHOM_DISKSPD_TEXT";

fn text_form() -> TextVersion {
    match std::env::var_os(TEXT_FORM_VARIABLE) {
        Some(form) if form == "2.0" => TextVersion::V2_0,
        _ => TextVersion::V2_2,
    }
}

/// Returns the message about an invalid environment variable, if any.
fn check_environment() -> Option<String> {
    [
        (TEXT_FORM_VARIABLE, &["2.0"][..]),
        (local_env::VERSION, &["2.2", "2.3"]),
    ]
    .into_iter()
    .find_map(|(name, values)| {
        let value = std::env::var_os(name)
            .filter(|value| !value.is_empty() && !values.iter().any(|default_value| value == *default_value))?;
        Some(format!(
            "ERROR: invalid value `{}` of {name}: valid values are {}",
            value.display(),
            values.join(" or ")
        ))
    })
}

fn profile_lines(session: &Session, profile: &Profile) -> Vec<String> {
    match profile.result_format {
        ResultFormat::Xml => xml::lines(profile),
        ResultFormat::Text => {
            let mut lines = vec![
                String::new(),
                format!("Command Line: {}", session.process.arguments.join(" ")),
                String::new(),
            ];
            lines.extend(text::lines(profile, text_form()));
            lines
        }
    }
}

fn run(session: &Session, profile: &Profile, env: &LocalEnv) -> u8 {
    let cpus = engine::sys::thread::usable_cpus();
    // Reading the topology of a large machine takes a while, and it is rarely needed.
    let arranged = profile
        .time_spans
        .iter()
        .any(|span| span.newer.order != CoreOrder::default());
    let topology = match arranged {
        true => engine::probe::cpu(&engine::probe::System::live()).topology,
        false => Vec::new(),
    };
    let lower_env = diskspd::LowerEnv {
        cpus: &cpus,
        arguments: &session.process.arguments,
        form: text_form(),
        windows: cfg!(windows),
        memory: (!session.has_fleet()).then(|| engine::probe::memory_free().bytes.0),
        topology: &topology,
    };
    let lowered = match diskspd::lower(profile, lower_env) {
        Ok(lowered) => lowered,
        Err(problems) => {
            let plan = Plan {
                origin: diskspd::origin(profile, lower_env),
                steps: vec![Step::default(); profile.time_spans.len()],
                ..Plan::default()
            };
            debug_assert_eq!(plan.origin.dialect, Dialect::Diskspd);
            let messages = failures::messages_for_problems(&problems, profile.result_format);
            return report_failure(&session.empty_results(plan), profile, &messages);
        }
    };
    lowered.notes.iter().for_each(|text| note(text));
    if let Some(event) = env.event(EventRole::Stop).cloned() {
        start_stop_watch(event, session.process.interrupt_flag());
    }
    let mut plan = lowered.plan;
    if let Err(what) = check_outputs(&[], &env.inputs, &plan) {
        print_stderr(&[format!("ERROR: {what}")]);
        return FAILED;
    }
    if session.has_fleet() {
        assign_cpus_in_turn(profile, &mut plan);
        if arranged {
            note(
                "-ac, -as, -ap and similar switches have no effect on several hosts: threads use \
                the processors of their host by number",
            );
        }
    }
    let echo = plan.clone();
    let mut console = Console::new(profile, &plan, env, session.process.interrupt_flag());
    console.begin();
    let outcome = session
        .execution(plan, &permissions::from_env())
        .run(&mut |event| console.handle_event(&event));
    console.end(outcome.as_ref().ok());
    match outcome {
        Ok(results) => conclude(results, profile),
        Err(RunError::Interrupted) => {
            let results = session.empty_results(echo);
            let code = report(&results, profile);
            print_notes(&format_hints(&failures::incomplete_file_lines(&results.plan)));
            code
        }
        Err(error) => {
            let mut messages = failures::messages_for_error(&error, &echo, profile).unwrap_or_default();
            // Before preparation, all files are unchanged.
            if matches!(&error, RunError::Targets(errors) if errors.iter().any(|e| matches!(e, TargetError::Fill(_)))) {
                messages.hints.splice(0..0, failures::incomplete_file_lines(&echo));
            }
            report_failure(&session.empty_results(echo), profile, &messages)
        }
    }
}

/// Assigns the processors of each host to its threads in turn.
fn assign_cpus_in_turn(profile: &Profile, plan: &mut Plan) {
    let spans = profile.time_spans.iter().zip(&mut plan.steps);
    for (_, step) in spans.filter(|(span, _)| !span.no_affinity && span.affinity.is_empty()) {
        for (turn, worker) in step.jobs.iter_mut().flat_map(|job| &mut job.workers).enumerate() {
            worker.placement.cpus.clear();
            worker.placement.round_robin_index = Some(turn as u32);
        }
    }
}

/// Starts a thread that ends the run like Ctrl-C when a named event is set.
fn start_stop_watch(event: super::named_events::NamedEvent, interrupt: &'static AtomicBool) {
    const POLL_INTERVAL: Duration = Duration::from_millis(10);
    let waiting = start_thread("stop event", move || {
        while !event.is_set() {
            std::thread::sleep(POLL_INTERVAL);
        }
        interrupt.store(true, Ordering::Relaxed);
    });
    if let Err(error) = waiting {
        print_stderr(&[format!(
            "ERROR: cannot watch the stop event: cannot start a thread: {error}"
        )]);
    }
}

/// Reports a run that was executed completely or in part.
fn conclude(mut results: Results, profile: &Profile) -> u8 {
    print_stderr(&failures::short_target_lines(&results, profile));
    print_stderr(&failures::short_transfer_lines(&results));
    let messages = failures::messages_for_results(&results, profile);
    let lost = lost_host_lines(&results);
    print_stderr(&lost.iter().map(|line| format!("ERROR: {line}")).collect::<Vec<_>>());
    let kept = record_results(&results, EntryKind::Diskspd);
    print_findings(&results);
    // DiskSpd omits time spans with a failed thread, and reports later ones as interrupted. The
    // saved result has all measurements.
    for (plan, step) in results.plan.steps.iter().zip(&mut results.steps) {
        if step
            .jobs
            .iter()
            .flat_map(|job| &job.workers)
            .any(|worker| worker.failure.is_some())
        {
            *step = StepResults::not_started(plan);
        }
    }
    let missing = results.plan.steps.iter().skip(results.steps.len());
    let missing: Vec<StepResults> = missing.map(StepResults::not_started).collect();
    results.steps.extend(missing);
    let code = report(&results, profile);
    match messages {
        Some(messages) => {
            print_stderr(&messages.stderr);
            print_notes(&format_hints(&messages.hints));
            FAILED
        }
        None if !kept || !lost.is_empty() => FAILED,
        None => code,
    }
}

/// Reports a run that did not start: its settings, and the reason.
fn report_failure(results: &Results, profile: &Profile, messages: &Messages) -> u8 {
    print_lines(&messages.stdout);
    report(results, profile);
    print_stderr(&messages.stderr);
    print_notes(&format_hints(&messages.hints));
    FAILED
}

fn report(results: &Results, profile: &Profile) -> u8 {
    print_report(|bytes| match profile.result_format {
        ResultFormat::Text => reports::text(results, bytes),
        ResultFormat::Xml => reports::xml(results, bytes),
    })
}

fn report_system(session: &Session, format: ResultFormat) -> u8 {
    let results = session.empty_results(Plan::default());
    print_report(|bytes| reports::system(&results, format == ResultFormat::Xml, bytes))
}

fn print_report(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> u8 {
    match print(&screen::write_to_string(write)) {
        true => DONE,
        false => FAILED,
    }
}
