//! `fathom ab`.

use ::run::targets::SharedFiles;
use ::run::targets::guard::Permissions;
use analysis::compare::{Change, MARGIN};
use archive::history::EntryKind;
use clap::{ValueHint, value_parser};
use dialects::native::{self, Document};
use model::plan::Plan;
use model::study::{SkippedPoint, StudyRun};
use report::numbers::duration;
use report::words;
use study::ab::{self, PairedRun, Report, Side};

use super::compare;
use super::results;
use super::run;
use super::study_outputs::{self, Contents, StudyArgs, StudyOutputs, csv_number, csv_table};
use super::sweep;
use crate::command_line;
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::fleet::{self, Fleet};
use crate::options::TestArgs;
use crate::pages;
use crate::permissions::{self, SafetyArgs};
use crate::screen::{self, Screen, wrap_paragraph};
use crate::session::Session;

/// Compare two loads or two targets in alternating runs
#[derive(clap::Args)]
#[command(
    long_about = "Compares two loads or targets by alternating runs, A B, B A, A B, …, so that drift affects both \
        equally. Reports whether B is better than A, the same or worse, by how much, and the smallest difference \
        that the test can detect.\n\nA and B are each a target (tested as the flags say), a job file of one job \
        (FILE.toml), or flags of `fathom run` in quotes. Other flags apply to both. With --on, one load alternates \
        between two hosts. Each run warms up for 2 s and measures for 10 s; change that with --warm-up and --time.",
    after_help = "Examples:\n  fathom ab /dev/nvme1n1 /dev/nvme2n1 --depth 32\n  fathom ab '--engine libaio' \
        '--engine io_uring' --target /data --size 4g --depth 32\n  fathom ab before.toml after.toml --pairs 10 \
        --save ab.fathom\n  fathom ab --on owner,other /csv/volume1/test.dat --depth 32"
)]
pub struct Args {
    /// Side A: a target, FILE.toml, or flags in quotes
    #[arg(value_name = "A", value_hint = ValueHint::AnyPath, allow_hyphen_values = true)]
    #[arg(required_unless_present_any = ["from", "on"])]
    a: Option<String>,
    /// Side B, in the same forms
    #[arg(value_name = "B", value_hint = ValueHint::AnyPath, allow_hyphen_values = true)]
    #[arg(required_unless_present_any = ["from", "on"])]
    b: Option<String>,
    /// Pairs of runs, at least 6: fewer cannot be significant at 5 % [default: 6]
    #[arg(long, value_name = "N", help_heading = HEADING)]
    #[arg(value_parser = value_parser!(u32).range(i64::from(ab::MIN_PAIRS)..=1000))]
    pairs: Option<u32>,
    #[command(flatten)]
    margin: MarginArgs,
    /// Compare two hosts, not two loads: alternate load A between them
    #[arg(
        long,
        value_name = "HOST,HOST",
        help_heading = HEADING,
        conflicts_with_all = ["b", "hosts", "from", "dry_run"],
        long_help = "Compare two hosts, not two loads: alternate load A (or the load of the flags) between them. \
            Name the hosts as for --hosts (docs/fleet.md). Between the owner of a cluster volume and another node, \
            the difference is the cost of the network path.",
    )]
    on: Option<String>,
    /// Compare the difference with that expected of a three-way mirror
    #[arg(
        long,
        help_heading = HEADING,
        long_help = "Check whether the difference matches a three-way mirror over three nodes, with A on the owner \
            of the volume and B on another node. Reads from the other node cross the network; writes cross it from either node.",
    )]
    mirror: bool,
    /// Measure nothing: report a saved comparison again
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = HEADING, conflicts_with_all = ["a", "b"])]
    from: Option<String>,
    #[command(flatten)]
    test: TestArgs,
    #[command(flatten)]
    study: StudyArgs,
    #[command(flatten)]
    safety: SafetyArgs,
}

/// Help heading of comparison options.
pub(super) const HEADING: &str = "Comparison";

/// The `--margin` option.
#[derive(clap::Args)]
pub struct MarginArgs {
    /// Ignore differences up to this [default: 2]
    #[arg(long, value_name = "PERCENT", help_heading = HEADING)]
    margin: Option<f64>,
}

impl MarginArgs {
    pub fn is_some(&self) -> bool {
        self.margin.is_some()
    }
}

/// Converts the margin from percent to a fraction.
pub(super) fn parse_margin(args: &MarginArgs) -> Result<f64, Faults> {
    let share = args.margin.map_or(MARGIN, |percent| percent / 100.0);
    match (0.0..1.0).contains(&share) {
        true => Ok(share),
        false => Err(Faults::usage(
            Fault::new("a margin must be between 0 and 100 percent").at("--margin"),
        )),
    }
}

/// Runs A and B alternately and compares them.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    let outputs = args.study.outputs(study_outputs::STUDY_FORMS)?;
    let margin = parse_margin(&args.margin)?;
    if let Some(file) = &args.from {
        show(file, &results::load_study(file)?, margin, args.mirror, &outputs)?;
        return Ok(Exit::Done);
    }
    let on = args.on.as_deref().map(parse_two_hosts).transpose()?;
    // With --on there is one load, and flags alone may describe it.
    let a = args.a.clone().unwrap_or_default();
    let b = match &on {
        Some(_) => a.clone(),
        None => args.b.clone().unwrap_or_default(),
    };
    let documents = [load_side(session, args, &a)?, load_side(session, args, &b)?];
    let (a, b) = on.clone().unwrap_or((a, b));
    let turns = ab::run_order(args.pairs.unwrap_or(ab::MIN_PAIRS));
    let permissions = permissions::from_args(&args.safety);
    let bases = [native::lower(&documents[0])?, native::lower(&documents[1])?];
    if args.test.dry.dry_run {
        return dry_run(session.ranks(), &bases, turns.len(), &permissions);
    }
    let targets: Vec<_> = bases.iter().flat_map(|plan| plan.targets.clone()).collect();
    outputs.check_files(&targets)?;
    let screen = Screen::from_args(session, &args.study.measure.progress, false)?;
    let mut hosts = match &on {
        Some(_) if session.has_fleet() => {
            let fault = Fault::new("--on alternates between hosts, but this test runs on all of them at the same time");
            return Err(fault.into_usage("run it without FATHOM_HOSTS and without an MPI launcher"));
        }
        Some((a, b)) => [
            Some(fleet::connect_host_list(&session.process, a)?),
            Some(fleet::connect_host_list(&session.process, b)?),
        ],
        None => [None, None],
    };
    let (runs, skipped) = run_alternately(session, &documents, &turns, &permissions, &mut hosts, screen)?;
    let failed = !skipped.is_empty();
    let study = ab::study((&a, &b), runs, skipped, session.process.is_interrupted())
        .ok_or_else(|| Faults::one(Fault::new("nothing was measured"), Exit::Failed))?;
    let mut report = Report::from_study(&study, margin).expect("a study ran here");
    if args.mirror {
        report = report.with_mirror_expectation(&study);
    }
    if let Some(why) = report.describe_failure(&study) {
        screen::note(&format!("error: {why}"));
    }
    let written = write_reports(&outputs, &report, &study);
    args.study.record(EntryKind::Ab, &study);
    written?;
    Ok(sweep::exit_code(&study.runs, failed, session))
}

pub(super) fn show(
    file: &str,
    study: &model::study::Study,
    margin: f64,
    mirror: bool,
    outputs: &StudyOutputs,
) -> Result<(), Faults> {
    let mut report = Report::from_study(study, margin).ok_or_else(|| {
        let fault = Fault::new(format!(
            "{file} holds another kind of study, not a comparison of A and B"
        ));
        fault.into_usage("`fathom sweep --from` shows sweeps")
    })?;
    outputs.check_files(&[])?;
    if mirror {
        report = report.with_mirror_expectation(study);
    }
    write_reports(outputs, &report, study)
}

type RunsAndSkipped = (Vec<StudyRun>, Vec<SkippedPoint>);

fn parse_two_hosts(list: &str) -> Result<(String, String), Faults> {
    let names = list.split_once(',').map(|(a, b)| (a.trim(), b.trim()));
    let is_one = |name: &str| !name.is_empty() && !name.contains(',');
    match names {
        Some((a, b)) if is_one(a) && is_one(b) => Ok((a.to_owned(), b.to_owned())),
        _ => {
            let fault = Fault::new("--on needs two hosts").at(format!("--on {list}"));
            Err(fault.into_usage("for example --on owner,other"))
        }
    }
}

/// Runs A and B alternately, each on its own host if it has one. Targets are prepared once. A
/// failure of the first run is returned; later ones are listed as left out.
fn run_alternately(
    session: &Session,
    documents: &[Document; 2],
    turns: &[PairedRun],
    permissions: &Permissions,
    hosts: &mut [Option<Fleet>; 2],
    mut screen: Screen,
) -> Result<RunsAndSkipped, Faults> {
    let (mut shared_files, mut runs, mut skipped): (SharedFiles, Vec<StudyRun>, Vec<SkippedPoint>) = Default::default();
    let on_hosts = hosts.iter().all(Option::is_some);
    for (number, turn) in turns.iter().enumerate() {
        let side = match turn.side {
            Side::A => 0,
            Side::B => 1,
        };
        // Both runs of a pair have the same seed, and so the same random positions.
        let mut document = documents[side].clone();
        document.seed = Some(document.seed.unwrap_or(1).wrapping_add(u64::from(turn.pair - 1)));
        let mut plan = native::lower(&document)?;
        let before = on_hosts.then(|| session.replace_fleet(hosts[side].take()));
        session.prepare_shared_files(&mut shared_files, &mut plan)?;
        let (letter, turn_count) = (turn.side.letter(), turns.len());
        let load = words::describe_operations(&plan.steps[0].jobs[0]);
        screen.print(&format!("[{}/{turn_count}] {letter}: {load}", number + 1));
        let label = format!("run {} of {turn_count}, {letter}", number + 1);
        let executed = screen.execute(session, plan, permissions, &mut shared_files, label);
        let outcome = executed.map_err(Faults::from);
        if let Some(before) = before {
            hosts[side] = session.replace_fleet(before);
        }
        match outcome {
            Ok(results) => runs.push(ab::study_run(*turn, results)),
            Err(faults) if runs.is_empty() => return Err(faults),
            Err(_) if session.process.is_interrupted() => break,
            Err(faults) => skipped.push(SkippedPoint {
                settings: ab::settings(*turn),
                why: faults.first(),
            }),
        }
        if session.process.is_interrupted() {
            break;
        }
    }
    Ok((runs, skipped))
}

fn write_reports(outputs: &StudyOutputs, report: &Report, study: &model::study::Study) -> Result<(), Faults> {
    outputs.finish(&Contents {
        text: format_text(report, study),
        json: report,
        other_forms: &[(study_outputs::Form::Csv, &|| format_csv(report))],
        page: Some(&|| pages::ab(report, study)),
        study: Some(study),
    })
}

/// Formats one CSV line per figure; none with fewer than two complete pairs.
fn format_csv(report: &Report) -> String {
    let rows = report.found.iter().flat_map(|comparison| {
        comparison.changes.iter().map(|change| {
            let in_column = |value: f64| change.figure.in_column(value).to_string();
            vec![
                change.figure.column(),
                in_column(change.from),
                in_column(change.to),
                change.ratio.to_string(),
                csv_number(change.low),
                csv_number(change.high),
                change.word.word().to_owned(),
                comparison.pairs.to_string(),
            ]
        })
    });
    csv_table("figure,a,b,ratio,ratio_low,ratio_high,word,pairs", rows)
}

/// Loads the document of A or B, with the flags that apply to both.
fn load_side(session: &Session, args: &Args, side: &str) -> Result<Document, Faults> {
    let mut document = match side {
        file if file.ends_with(".toml") && !file.starts_with('-') => run::load_document(Some(&file.to_owned()))?,
        flags if flags.starts_with('-') => {
            let fault = |why: &str| Faults::usage(Fault::new(why).at(flags));
            let words = split_words(flags).ok_or_else(|| fault("a quote is not closed"))?;
            let own =
                run::parse(&words).map_err(|error| Faults::usage(command_line::fault_from_clap(&error).at(flags)))?;
            // The common flags come first, so that the flags of one side override them.
            let mut document = run::load_document(own.file.as_ref())?;
            args.test.apply(&mut document, args.study.measure.seed)?;
            own.test.apply(&mut document, own.output.measure.seed)?;
            return complete_document(session, document);
        }
        "" => run::load_document(None)?,
        target => {
            let mut document = run::load_document(None)?;
            document.jobs[0].targets = vec![target.to_owned()];
            document
        }
    };
    let targets = document.jobs.iter().map(|job| job.targets.clone()).collect::<Vec<_>>();
    args.test.apply(&mut document, args.study.measure.seed)?;
    if document
        .jobs
        .iter()
        .zip(&targets)
        .any(|(job, before)| !before.is_empty() && job.targets != *before)
    {
        let fault = Fault::new(format!("`{side}` has a target, and --target sets another for both"));
        return Err(fault.into_usage("specify the target in only one place"));
    }
    complete_document(session, document)
}

fn complete_document(session: &Session, mut document: Document) -> Result<Document, Faults> {
    document.arguments.clone_from(&session.process.arguments);
    sweep::require_repeatable_job(&document, "a comparison of A and B runs")?;
    let job = &mut document.jobs[0];
    if job.operations.is_none() && job.bytes.is_none() && job.passes.is_none() {
        job.time = Some(job.time.unwrap_or(ab::RUN_TIME));
        job.warm_up = Some(job.warm_up.unwrap_or(ab::WARM_UP));
    }
    Ok(document)
}

/// Splits a line into words as a shell does. Quotes and backslashes work; variables do not. `None`
/// if a quote is not closed.
fn split_words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut begun) = (Vec::new(), String::new(), false);
    let mut quote: Option<char> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some('\''), letter) => word.push(letter),
            (_, '\\') => word.push(characters.next()?),
            (Some(_), letter) => word.push(letter),
            (None, open @ ('\'' | '"')) => (quote, begun) = (Some(open), true),
            (None, space) if space.is_whitespace() => {
                if begun || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (None, letter) => word.push(letter),
        }
    }
    if begun || !word.is_empty() {
        words.push(word);
    }
    quote.is_none().then_some(words)
}

fn dry_run(hosts: Option<u32>, bases: &[Plan; 2], runs: usize, permissions: &Permissions) -> Result<Exit, Faults> {
    let mut text = String::new();
    let mut refused = false;
    for (plan, letter) in bases.iter().zip(["A", "B"]) {
        let (described, exit) = run::dry_run_in_study(hosts, [plan, plan], permissions)?;
        refused |= exit == Exit::Refused;
        text += &format!("{letter}, {} alternating runs:\n{described}\n", runs / 2);
    }
    screen::put(&text)?;
    Ok(if refused { Exit::Refused } else { Exit::Done })
}

fn format_text(report: &Report, study: &model::study::Study) -> String {
    let mut text = format!("A: {}\nB: {}\n", report.a, report.b);
    let length = study
        .runs
        .first()
        .and_then(|run| run.results.steps.first()?.jobs.first().map(|job| job.measured()));
    if let Some(length) = length {
        text += &format!("{} alternating runs of {}\n", study.runs.len(), duration(length));
    }
    if let Some(comparison) = &report.found {
        text += &format_changes(&comparison.changes);
    }
    text += "\nWhat this means\n";
    for sentence in &report.sentences {
        text += &wrap_paragraph(&sentence.text);
    }
    for left in &study.skipped {
        text += &wrap_paragraph(&format!(
            "{}: {}.",
            study::sweep::format_settings(&left.settings),
            left.why
        ));
    }
    text += &compare::format_warnings(&pages::ab_warnings(report));
    if report.interrupted {
        text += "\nInterrupted: the figures cover the time until then.\n";
    }
    text
}

pub(super) fn format_changes(changes: &[Change]) -> String {
    let mut text = format!(
        "\n  {:<14}{:>12}{:>12}   {:<34}{}\n",
        "", "A", "B", "B against A (95 %)", "B is"
    );
    for change in changes {
        text += &format!(
            "  {:<14}{:>12}{:>12}   {:<34}{}\n",
            change.figure.name(),
            change.figure.format_value(change.from),
            change.figure.format_value(change.to),
            change.describe(),
            change.describe_judgement()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_as_a_shell_splits_them() {
        let check = |line: &str, expected: &[&str]| assert_eq!(split_words(line).unwrap(), expected, "{line}");
        check("--depth 4  --target '/a b'", &["--depth", "4", "--target", "/a b"]);
        check(r#"a\ b "c'd" e"f"g '' "#, &["a b", "c'd", "efg", ""]);
        check(r#""a\"b" 'a\b'"#, &["a\"b", "a\\b"]);
        assert_eq!(split_words("'open"), None);
        assert_eq!(split_words("end\\"), None);
    }
}
