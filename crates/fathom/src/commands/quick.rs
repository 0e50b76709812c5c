//! `fathom quick`.

use std::path::Path;

use ::run::targets::guard::{Permissions, Refusal};
use archive::history::EntryKind;
use clap::ValueHint;
use dialects::native::{self, JobSpec};
use model::Nanos;
use model::finding::{Finding, OTHER_PROGRAMS};
use model::plan::Plan;
use model::results::Results;
use report::numbers::pluralize;
use report::{Summary, cells, formats};
use study::crystal;
use study::quick::{self, Profile, Screening};

use crate::exit::Exit;
use crate::fault::Faults;
use crate::outputs::{OutputArgs, Outputs};
use crate::permissions::{self, SafetyArgs};
use crate::screen::{self, Screen};
use crate::session::Session;
use crate::silenced;

/// Screen a disk in under a minute
#[derive(clap::Args)]
#[command(
    long_about = "Screens a disk in less than a minute: 4 KiB random reads and writes at depth 1 and at depth 32 \
        with up to 8 workers, 1 MiB sequential reads and writes, 8 KiB random 70/30; 1 s of warm-up and 4 s \
        each.\n\nIn a directory it creates a file, fills it with random data and removes it at the end. It only \
        reads a device, or a file that fathom did not create, unless you permit writing with --allow-destroy or \
        --allow-overwrite.",
    // `fathom quick` refuses hosts, with a suggestion.
    mut_arg("hosts", |arg| arg.hide(true)),
)]
pub struct Args {
    /// Directory, file or block device
    #[arg(value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    path: String,
    /// Size of the created file [default: 1 GiB, or 5 % of the free space if that is less]
    #[arg(long, value_name = "SIZE")]
    size: Option<String>,
    /// Print CrystalDiskMark's eight rows: best of five, 200 s
    #[arg(long)]
    cdm: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    safety: SafetyArgs,
}

/// Screens a disk.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    let permissions = permissions::from_args(&args.safety);
    let silenced = silenced::from_args(&args.output.silence)?;
    let mut job = JobSpec::default();
    if let Some(text) = &args.size {
        let location = || dialects::Location::on_command_line(format!("--size {text}"));
        native::apply(&mut job, "size", text, location)?;
    }
    let size = job.size;
    if size.is_some_and(|size| size < quick::SEQUENTIAL_BLOCK) {
        let message = format!(
            "--size must be at least {}, the largest block that quick uses",
            quick::SEQUENTIAL_BLOCK
        );
        return Err(dialects::Diagnostic::new(message).into());
    }
    let path = args.path.clone();
    let (profile, measured) = match args.cdm {
        true => (Profile::Crystal, crystal::ROUND_TIME),
        false => (Profile::Screening, quick::MEASURED_TIME),
    };
    let creates_file = profile == Profile::Crystal && Path::new(&path).is_dir();
    let full_screening = Screening {
        size: size.or(creates_file.then_some(crystal::FILE_SIZE)),
        path,
        profile,
        writes: true,
        cpus: engine::sys::thread::usable_cpus().len() as u32,
        measured,
        seed: args.output.measure.seed.unwrap_or(1),
        arguments: session.process.arguments.clone(),
    };
    let (plan, refusals) = select_permitted(full_screening, &permissions)?;
    let mut outputs = Outputs::from_args(&args.output, &plan)?;
    session.set_translates(outputs.has_whole_result(&args.output.measure));
    let mut screen = Screen::from_args(session, &args.output.measure.progress, outputs.streams_to_stdout())?;
    print_introduction(&mut screen, &plan, &refusals);
    screen.begin(&plan, None);
    let results = session.execution(plan, &permissions).run(&mut |event| {
        screen.handle_event(&event);
        outputs
            .handle_event(&event)
            .iter()
            .for_each(|message| screen.print(message));
    });
    drop(screen);
    let mut results = results?;
    results.findings = analysis::lint::filter_silenced(results.findings, &silenced);
    merge_short_runs(&mut results.findings, measured);
    let text = match profile {
        Profile::Crystal => format_crystal(&results, &refusals),
        Profile::Screening => format_text(&results, &refusals, &session.process.program()),
    };
    let output_result = outputs.finish(&results, &[("text", &text)]);
    args.output.record(EntryKind::Quick, &results, None);
    output_result?;
    Ok(Exit::from_results(&results, args.output.strict))
}

/// Merges SHORT-RUN findings into one, because all rows are short by design.
fn merge_short_runs(findings: &mut Vec<Finding>, measured: Nanos) {
    let mut is_first = true;
    findings.retain_mut(|finding| {
        if finding.rule != "SHORT-RUN" {
            return true;
        }
        finding.at = None;
        finding.what = format!("each row measures only {measured}");
        std::mem::take(&mut is_first)
    });
}

/// Merges the findings of each rule about other programs into one: most rows repeat the sentence.
fn merge_disturbances(findings: &[Finding]) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::new();
    for finding in findings {
        let is_disturbance = OTHER_PROGRAMS.contains(&&*finding.rule);
        if !is_disturbance || merged.iter().all(|first| first.rule != finding.rule) {
            merged.push(finding.clone());
        }
    }
    for first in &mut merged {
        let same_rule_count = findings.iter().filter(|finding| finding.rule == first.rule).count() - 1;
        if same_rule_count > 0 && OTHER_PROGRAMS.contains(&&*first.rule) {
            let rows = pluralize(same_rule_count as u64, "other row");
            first.what += &format!("; also in {rows}");
        }
    }
    merged
}

/// Selects the whole screening if the target may be written to, otherwise only the reads.
fn select_permitted(whole: Screening, permissions: &Permissions) -> Result<(Plan, Vec<Refusal>), Faults> {
    let plan = whole.plan();
    let judged = ::run::targets::judge(&plan, permissions)?;
    let refusals: Vec<Refusal> = judged
        .iter()
        .filter_map(|target| target.decision.refusal().cloned())
        .collect();
    if refusals.is_empty() {
        return Ok((plan, refusals));
    }
    let reading = Screening { writes: false, ..whole };
    Ok((reading.plan(), refusals))
}

fn print_introduction(screen: &mut Screen, plan: &Plan, refusals: &[Refusal]) {
    if !refusals.is_empty() {
        screen.print("writes not permitted: testing reads only; see the end of the report");
    }
    screen.print(&format!(
        "screening {} in {} steps of 5 s",
        plan.targets[0].path,
        plan.steps.len()
    ));
}

/// Formats CrystalDiskMark's rows, and reasons for missing ones.
fn format_crystal(results: &Results, refusals: &[Refusal]) -> String {
    let facts = results.hosts.first().and_then(|host| host.environment.targets.first());
    let size = facts.map_or(crystal::FILE_SIZE, |facts| facts.size.min(crystal::FILE_SIZE));
    let mut text = super::quick_cdm::format_text(results, &size.to_string());
    for refusal in refusals {
        text += "\n";
        text += &screen::wrap_paragraph(&format!("Writes were not tested. To test writes: {}.", refusal.help));
    }
    text
}

/// Formats the report for people.
fn format_text(results: &Results, refusals: &[Refusal], program: &str) -> String {
    let summary = Summary::from_results(results);
    let mut text = screen::write_to_string(|out| cells::write(&summary, out));
    text += "What this means\n";
    for sentence in quick::explain_figures(results) {
        text += &screen::wrap_paragraph(&sentence);
    }
    text += &screen::wrap_paragraph(
        "This is a screening: four seconds per row show the order of magnitude, not the sustained rate.",
    );
    for refusal in refusals {
        text += "\nWrites were not tested\n";
        for reason in &refusal.reasons {
            text += &screen::wrap_paragraph(&format!("{reason}."));
        }
        text += &screen::wrap_paragraph(&format!("To test writes: {}.", refusal.help));
    }
    let caveats = screen::write_to_string(|out| formats::write_findings(&merge_disturbances(&summary.findings), out));
    if !caveats.is_empty() {
        text += &format!("\nCaveats\n{caveats}");
    }
    text += "\nWhat to run next\n";
    for (command, reason) in quick::suggest_commands(results, program) {
        text += &format!("  {command}\n      {reason}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use model::finding::Severity;

    use super::*;

    #[test]
    fn a_disturbance_of_several_rows_is_reported_once() {
        let finding = |rule, row: &str| Finding::new(rule, Severity::Warning, format!("seen in {row}")).at(row);
        let rows = ["random read", "random write", "sequential read"];
        let mut findings: Vec<Finding> = rows.iter().map(|row| finding("D-CPU", row)).collect();
        findings.extend([
            finding("TAIL", rows[0]),
            finding("TAIL", rows[1]),
            finding("OTHER-LOAD", rows[2]),
        ]);
        let merged = merge_disturbances(&findings);
        let texts: Vec<&str> = merged.iter().map(|finding| &*finding.what).collect();
        let first = "seen in random read; also in 2 other rows";
        let others = ["seen in random read", "seen in random write", "seen in sequential read"];
        assert_eq!(texts, [&[first], &others[..]].concat());
    }
}
