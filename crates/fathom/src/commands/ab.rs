//! `fathom ab`.

use std::path::Path;

use ::run::targets::guard::Permissions;
use analysis::compare::{Change, MARGIN};
use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};
use dialects::native::{self, Document};
use model::plan::Plan;
use model::study::{LeftOut, StudyRun};
use report::numbers::duration;
use report::words;
use study::ab::{self, Report, Side, Turn};
use study::ground::Ground;

use super::run;
use super::study_outputs::{Contents, StudyOutputs};
use super::sweep;
use crate::command_line;
use crate::exit::{EXPLAINED, Exit};
use crate::fault::{Fault, Faults};
use crate::screen::{self, Screen, wrapped};
use crate::session::{self, Session};

/// The words of the command line.
pub fn command() -> Command {
    let side = |name: &'static str, what: &'static str| {
        Arg::new(name)
            .value_name(what)
            .value_hint(ValueHint::AnyPath)
            .allow_hyphen_values(true)
            .required_unless_present("from")
    };
    Command::new("ab")
        .about("Compares two loads or two targets in turns: better, same or worse, with confidence")
        .long_about(
            "Measures two things in turns, A B, B A, A B, …, so that whatever drifts meanwhile meets both alike, and says \
             whether B is better than A, the same, or worse, by how much, and how small a difference it would have found.\n\n\
             Each of the two is a target (tested as the flags say), a job file of one job (FILE.toml), or flags of `fathom \
             run` in quotes. Flags beside them hold for both. Each run has 2 s of warm-up and 10 s of measuring; --time and \
             --warm-up give other lengths.",
        )
        .after_help(format!(
            "Examples:\n  fathom ab /dev/nvme1n1 /dev/nvme2n1 --depth 32\n  \
             fathom ab '--engine libaio' '--engine io_uring' --target /data --size 4g --depth 32\n  \
             fathom ab before.toml after.toml --pairs 10 --save ab.fathom\n\n{EXPLAINED}"
        ))
        .arg(side("a", "A").help("The first: target, FILE.toml, or flags in quotes"))
        .arg(side("b", "B").help("The second"))
        .arg(
            Arg::new("pairs")
                .long("pairs")
                .value_name("N")
                .value_parser(value_parser!(u32).range(i64::from(ab::LEAST_PAIRS)..=1000))
                .help("Pairs of runs, at least 6: fewer cannot reach five per cent [default: 6]")
                .help_heading("Comparison"),
        )
        .arg(margin_option())
        .arg(
            Arg::new("from")
                .long("from")
                .value_name("FILE")
                .value_hint(ValueHint::FilePath)
                .conflicts_with_all(["a", "b"])
                .help("Measure nothing: report a saved comparison again")
                .help_heading("Comparison"),
        )
        .args(command_line::load_options())
        .arg(command_line::name_option())
        .arg(command_line::dry_run_option())
        .args(command_line::study_output_options().into_iter().map(without_csv))
        .args(command_line::safety_options())
}

/// Comparisons have no table of points.
fn without_csv(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "out" => arg.help("Reports to write, each to stdout or a file: text, json [default: text]"),
        _ => arg,
    }
}

/// `--margin`.
pub(super) fn margin_option() -> Arg {
    Arg::new("margin")
        .long("margin")
        .value_name("PERCENT")
        .value_parser(value_parser!(f64))
        .help("Differences up to this count as none [default: 2]")
        .help_heading("Comparison")
}

/// The share that `--margin` gives.
pub(super) fn margin(given: &ArgMatches) -> Result<f64, Faults> {
    let share = given.get_one::<f64>("margin").map_or(MARGIN, |percent| percent / 100.0);
    match (0.0..1.0).contains(&share) {
        true => Ok(share),
        false => Err(Faults::usage(Fault::new("a margin is 0 to 100 percent").at("--margin"))),
    }
}

/// Compares in turns.
pub fn carry_out(session: &Session, given: &ArgMatches) -> Result<Exit, Faults> {
    let outputs = StudyOutputs::of(given, false)?;
    let margin = margin(given)?;
    if let Some(file) = given.get_one::<String>("from") {
        let study = archive::load_study(Path::new(file)).map_err(Faults::from)?;
        let report = Report::of(&study, margin).ok_or_else(|| {
            let fault = Fault::new(format!(
                "{file} holds a study of another kind: it is no comparison in turns"
            ));
            Faults::usage(fault.help("`fathom sweep --from` shows sweeps"))
        })?;
        outputs.prove(&[])?;
        outputs.finish(&contents(&report, &study))?;
        return Ok(Exit::Done);
    }
    let named = |name: &str| given.get_one::<String>(name).cloned().unwrap_or_default();
    let (a, b) = (named("a"), named("b"));
    let documents = [document(session, given, &a)?, document(session, given, &b)?];
    let turns = ab::turns(given.get_one::<u32>("pairs").copied().unwrap_or(ab::LEAST_PAIRS));
    let permissions = session::permissions(given);
    let bases = [native::lower(&documents[0])?, native::lower(&documents[1])?];
    if given.get_flag("dry-run") {
        return dry_run(&bases, turns.len(), &permissions);
    }
    let targets: Vec<_> = bases.iter().flat_map(|plan| plan.targets.clone()).collect();
    outputs.prove(&targets)?;
    let (runs, left_out) = take_turns(session, &documents, &turns, &permissions, given.get_flag("quiet"))?;
    let failed = !left_out.is_empty();
    let study = ab::study((&a, &b), runs, left_out, session.is_interrupted())
        .ok_or_else(|| Faults::one(Fault::new("nothing was measured"), Exit::Failed))?;
    let report = Report::of(&study, margin).expect("a comparison was made here");
    outputs.finish(&contents(&report, &study))?;
    Ok(sweep::exit(&study.runs, failed, session))
}

type Taken = (Vec<StudyRun>, Vec<LeftOut>);

/// Runs both in turns, on targets that are prepared once. What cannot be done at all is told by the first run.
fn take_turns(
    session: &Session,
    documents: &[Document; 2],
    turns: &[Turn],
    permissions: &Permissions,
    quiet: bool,
) -> Result<Taken, Faults> {
    let (mut ground, mut runs, mut left_out): (Ground, Vec<StudyRun>, Vec<LeftOut>) = Default::default();
    for (number, turn) in turns.iter().enumerate() {
        let side = match turn.side {
            Side::A => 0,
            Side::B => 1,
        };
        // Both of a pair have the same seed, so that chance does not choose other positions for one of them.
        let mut document = documents[side].clone();
        document.seed = Some(document.seed.unwrap_or(1).wrapping_add(u64::from(turn.pair - 1)));
        let mut plan = native::lower(&document)?;
        ground.settle(&mut plan)?;
        if !quiet {
            let what = words::operations(&plan.steps[0].jobs[0]);
            eprintln!("[{}/{}] {}: {what}", number + 1, turns.len(), turn.side.letter());
        }
        let allowed = ground.permissions(permissions);
        let mut screen = Screen::new(1, quiet);
        let outcome = session.carry_out(plan, &allowed, &mut |event| {
            ground.take(&event);
            screen.take(&event);
        });
        drop(screen);
        match outcome {
            Ok(results) => runs.push(ab::run_of(*turn, results)),
            Err(faults) if runs.is_empty() => return Err(faults),
            Err(_) if session.is_interrupted() => break,
            Err(faults) => left_out.push(LeftOut {
                settings: ab::settings(*turn),
                why: faults.first(),
            }),
        }
        if session.is_interrupted() {
            break;
        }
    }
    Ok((runs, left_out))
}

fn contents<'a>(report: &'a Report, study: &'a model::study::Study) -> Contents<'a, Report> {
    Contents {
        text: text(report, study),
        json: report,
        csv: None,
        study: Some(study),
    }
}

/// What one of the two words means, with the flags beside them.
fn document(session: &Session, given: &ArgMatches, side: &str) -> Result<Document, Faults> {
    let mut document = match side {
        file if file.ends_with(".toml") => run::document_of(Some(&file.to_owned()))?,
        flags if flags.starts_with('-') => {
            let fault = |why: &str| Faults::usage(Fault::new(why).at(flags));
            let words = words_of(flags).ok_or_else(|| fault("a quote is not closed"))?;
            let own = command_line::flags_of_run().try_get_matches_from(words);
            let own = own.map_err(|error| {
                fault(
                    error
                        .to_string()
                        .lines()
                        .next()
                        .unwrap_or("flags of `fathom run` are wrong"),
                )
            })?;
            // What is beside both comes first, so that each of the two can say otherwise.
            let mut document = run::document_of(own.get_one::<String>("file"))?;
            run::apply_flags(&mut document, given)?;
            run::apply_flags(&mut document, &own)?;
            return finished(session, document);
        }
        target => {
            let mut document = run::document_of(None)?;
            document.jobs[0].targets = vec![target.to_owned()];
            document
        }
    };
    let targets = document.jobs.iter().map(|job| job.targets.clone()).collect::<Vec<_>>();
    run::apply_flags(&mut document, given)?;
    if document
        .jobs
        .iter()
        .zip(&targets)
        .any(|(job, before)| !before.is_empty() && job.targets != *before)
    {
        let fault = Fault::new(format!("`{side}` has a target, and --target gives another to both"));
        return Err(Faults::usage(fault.help("name a target in one of the two ways")));
    }
    finished(session, document)
}

fn finished(session: &Session, mut document: Document) -> Result<Document, Faults> {
    document.arguments.clone_from(&session.arguments);
    sweep::one_job(&document, "a comparison in turns runs")?;
    let job = &mut document.jobs[0];
    if job.operations.is_none() && job.bytes.is_none() && job.passes.is_none() {
        job.time = Some(job.time.unwrap_or(ab::TIME));
        job.warm_up = Some(job.warm_up.unwrap_or(ab::WARM_UP));
    }
    Ok(document)
}

/// Splits a line as a shell does, without its variables: quotes hold words together, a backslash takes the next character
/// as it is. `None` where a quote is not closed.
fn words_of(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut begun) = (Vec::new(), String::new(), false);
    let mut quote: Option<char> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some('\''), other) => word.push(other),
            (_, '\\') => word.push(characters.next()?),
            (Some(_), other) => word.push(other),
            (None, open @ ('\'' | '"')) => (quote, begun) = (Some(open), true),
            (None, space) if space.is_whitespace() => {
                if begun || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (None, other) => word.push(other),
        }
    }
    if begun || !word.is_empty() {
        words.push(word);
    }
    quote.is_none().then_some(words)
}

fn dry_run(bases: &[Plan; 2], runs: usize, permissions: &Permissions) -> Result<Exit, Faults> {
    let mut text = String::new();
    let mut refused = false;
    for (plan, letter) in bases.iter().zip(["A", "B"]) {
        ::run::check(plan).map_err(|error| Faults::from(::run::RunError::Plan(error)))?;
        let judged = ::run::targets::judge(plan, permissions)?;
        refused |= judged.iter().any(|one| one.decision.refusal().is_some());
        text += &format!(
            "{letter}, {} times in turns:\n{}\n",
            runs / 2,
            run::describe(plan, &judged)
        );
    }
    screen::put(&text)?;
    Ok(if refused { Exit::Refused } else { Exit::Done })
}

fn text(report: &Report, study: &model::study::Study) -> String {
    let mut text = format!("A: {}\nB: {}\n", report.a, report.b);
    let length = study
        .runs
        .first()
        .and_then(|run| run.results.steps.first()?.jobs.first().map(|job| job.measured()));
    if let Some(length) = length {
        text += &format!("{} runs of {} in turns\n", study.runs.len(), duration(length));
    }
    if let Some(found) = &report.found {
        text += &changes(&found.changes);
    }
    text += "\nWhat this means\n";
    for sentence in &report.sentences {
        text += &wrapped(sentence);
    }
    for left in &study.left_out {
        text += &wrapped(&format!("{}: {}.", study::sweep::words_of(&left.settings), left.why));
    }
    if report.interrupted {
        text += "\nInterrupted: this is what was measured until then.\n";
    }
    text
}

/// A table of changes from A to B.
pub(super) fn changes(changes: &[Change]) -> String {
    let mut text = format!(
        "\n  {:<14}{:>12}{:>12}   {:<34}{}\n",
        "", "A", "B", "B against A (95 %)", "B is"
    );
    for change in changes {
        text += &format!(
            "  {:<14}{:>12}{:>12}   {:<34}{}\n",
            change.figure.name(),
            change.figure.words(change.from),
            change.figure.words(change.to),
            change.words(),
            change.word.word()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_as_shells_do() {
        let check = |line: &str, expected: &[&str]| assert_eq!(words_of(line).unwrap(), expected, "{line}");
        check("--depth 4  --target '/a b'", &["--depth", "4", "--target", "/a b"]);
        check(r#"a\ b "c'd" e"f"g '' "#, &["a b", "c'd", "efg", ""]);
        check(r#""a\"b" 'a\b'"#, &["a\"b", "a\\b"]);
        assert_eq!(words_of("'open"), None);
        assert_eq!(words_of("end\\"), None);
    }
}
