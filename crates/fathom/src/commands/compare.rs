//! `fathom compare`.

use analysis::compare::{self, Change, Difference, Fact, Judgement, RankedResult};
use archive::Saved;
use clap::ValueHint;
use model::finding::Finding;
use model::observation::Observation;
use model::results::Results;
use model::study::Question;
use report::formats;
use report::html::page::{Page, Table};
use report::html::run::Head;
use report::numbers::local_time;
use serde::Serialize;

use super::study_outputs::{Contents, Form, StudyOutputs, csv_number, csv_table};
use super::{ab, results};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::outputs::OutputSpec;
use crate::pages::{self, Sides};
use crate::screen::wrap_paragraph;
use crate::session::Session;

/// Compare results, and list the conditions that differ
#[derive(clap::Args)]
#[command(
    long_about = "Compares saved results, and reports of other tools as `fathom explain` reads them. First it lists \
        the conditions that differ: host, kernel, device, versions, load. It refuses results of different loads or \
        methods of measuring unless --force is given. Then it shows how each figure changes from the first result to \
        the others, with its 95 % interval, and whether that is better, the same or worse; several results are \
        ranked.\n\nThe intervals cover variation within each run, not between runs: `fathom ab` measures that.",
    after_help = "Examples:\n  fathom compare before.fathom after.fathom\n  fathom compare disk1.fathom disk2.fathom \
        disk3.fathom",
    mut_arg("out", |arg| arg.help("Reports to write, each to stdout or a file: text, json, csv, markdown, html [default: text]"))
)]
pub struct Args {
    /// Two or more saved results, or reports of fio or DiskSpd
    #[arg(value_name = "RESULT", required = true, num_args = 2.., value_hint = ValueHint::FilePath)]
    results: Vec<String>,
    /// Compare although loads or methods of measuring differ
    #[arg(long, help_heading = ab::HEADING)]
    force: bool,
    #[command(flatten)]
    margin: ab::MarginArgs,
    #[command(flatten)]
    output: OutputSpec,
}

/// Formats of the report.
const FORMS: &[Form] = &[Form::Text, Form::Json, Form::Csv, Form::Markdown, Form::Html];

/// A measured load with facts about its machine, device and settings.
struct MeasuredLoad {
    observation: Observation,
    facts: Vec<Fact>,
}

/// The contents of one file.
struct Side {
    name: String,
    head: Head,
    jobs: Vec<MeasuredLoad>,
}

/// One job, compared across all files.
#[derive(Debug, Serialize)]
struct ComparedJob {
    /// Name in the first file.
    job: String,
    /// Facts about the machine, device and settings of each result.
    #[serde(skip)]
    facts: Vec<Vec<Fact>>,
    differences: Vec<Difference>,
    /// Changes from the first result to each other one.
    changes: Vec<ComparedFile>,
    /// From best to worst, as indexes of the files.
    ranking: Vec<RankedResult>,
    /// Changes of all figures from the best result to each other one, in the order of the ranking.
    #[serde(skip)]
    from_best: Vec<Vec<Change>>,
    sentences: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ComparedFile {
    /// The file that is compared with the first.
    file: String,
    changes: Vec<Change>,
}

/// The report for programs.
#[derive(Debug, Serialize)]
struct Comparison {
    files: Vec<String>,
    #[serde(skip)]
    heads: Vec<Head>,
    margin: f64,
    jobs: Vec<ComparedJob>,
}

pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    let outputs = StudyOutputs::new(&args.output, None, FORMS)?;
    outputs.check_files(&[])?;
    let comparison = compare_files(&args.results, ab::parse_margin(&args.margin)?, args.force)?;
    outputs.finish(&Contents {
        text: format_text(&comparison),
        json: &comparison,
        other_forms: &[
            (Form::Csv, &|| format_csv(&comparison)),
            (Form::Markdown, &|| format_markdown(&comparison)),
        ],
        page: Some(&|| build_page(&comparison)),
        study: None,
    })?;
    Ok(Exit::Done)
}

fn compare_files(files: &[String], margin: f64, force: bool) -> Result<Comparison, Faults> {
    let sides: Vec<Side> = files.iter().map(|file| read_side(file)).collect::<Result<_, _>>()?;
    let matched = match_jobs(&sides)?;
    let jobs: Vec<ComparedJob> = matched.iter().map(|job| compare_job(files, job, margin)).collect();
    if !force {
        refuse_different_loads(files, &jobs)?;
    }
    Ok(Comparison {
        files: files.to_vec(),
        heads: sides.iter().map(|side| side.head.clone()).collect(),
        margin,
        jobs,
    })
}

/// Builds the page of several results. `force` permits different loads.
pub fn build_page_of_files(files: &[String], margin: f64, force: bool) -> Result<Page, Faults> {
    Ok(build_page(&compare_files(files, margin, force)?))
}

fn build_sides(comparison: &Comparison) -> Vec<Sides<'_>> {
    let jobs = comparison.jobs.iter();
    jobs.map(|job| Sides {
        job: &job.job,
        facts: &job.facts,
        differences: &job.differences,
        changes: job.changes.iter().map(|to| to.changes.as_slice()).collect(),
        ranking: &job.ranking,
        from_best: &job.from_best,
        sentences: &job.sentences,
    })
    .collect()
}

fn build_page(comparison: &Comparison) -> Page {
    let sides = build_sides(comparison);
    pages::compared(
        &comparison.files, &comparison.heads, &sides, comparison.margin, comparison,
    )
}

/// Reads the measured loads of a file of any tool.
fn read_side(file: &str) -> Result<Side, Faults> {
    if let Some(loaded) = results::read_foreign(file)? {
        let measured = |observation: Observation| MeasuredLoad {
            facts: compare::facts_of_observation(&observation),
            observation,
        };
        let source = loaded.source;
        let head = Head {
            about: std::iter::once(source.form)
                .chain(source.host.map(|host| format!("on {host}")))
                .chain(source.started.as_deref().map(local_time))
                .collect(),
            ..Head::default()
        };
        return build_side(file, head, loaded.loads.into_iter().map(measured).collect());
    }
    let results = match results::load_saved(file)? {
        Saved::Run(results) => *results,
        Saved::Study(study) => {
            let message = format!("{file} holds a study of {} runs, not a single result", study.runs.len());
            let help = match study.question {
                Question::Sweep { .. } => "show it again with `fathom sweep --from`",
                Question::Ab { .. } => "show it again with `fathom ab --from`",
                Question::Suite { .. } => "save each run that you want to compare: `fathom run --save`",
            };
            return Err(Fault::new(message).into_usage(help));
        }
    };
    let places = results
        .steps
        .iter()
        .enumerate()
        .flat_map(|(step, step_results)| (0..step_results.jobs.len()).map(move |job| (step, job)));
    let jobs: Vec<MeasuredLoad> = places
        .filter_map(|(step, job)| read_load(&results, step, job))
        .collect();
    let head = Head {
        other_programs: pages::list_other_programs([&results]),
        ..Head::from_results(&results)
    };
    build_side(file, head, jobs)
}

fn build_side(file: &str, head: Head, jobs: Vec<MeasuredLoad>) -> Result<Side, Faults> {
    if jobs.is_empty() {
        return Err(Faults::usage(Fault::new(format!("{file} has no measured job"))));
    }
    Ok(Side {
        name: file.into(),
        head,
        jobs,
    })
}

fn read_load(results: &Results, step: usize, job: usize) -> Option<MeasuredLoad> {
    let observation = Observation::from_results(results, step, job)?;
    let facts = compare::facts_of_results(results, step, job)?;
    Some(MeasuredLoad { observation, facts })
}

/// Matches jobs by name if all files have the same names; else each file must have only one.
fn match_jobs(sides: &[Side]) -> Result<Vec<Vec<&MeasuredLoad>>, Faults> {
    if sides.iter().all(|side| side.jobs.len() == 1) {
        return Ok(vec![sides.iter().map(|side| &side.jobs[0]).collect()]);
    }
    let matched: Vec<Vec<&MeasuredLoad>> = sides[0]
        .jobs
        .iter()
        .filter_map(|job| {
            let is_same = |other: &&MeasuredLoad| other.observation.name == job.observation.name;
            sides.iter().map(|side| side.jobs.iter().find(is_same)).collect()
        })
        .collect();
    if matched.is_empty() {
        let names = |side: &Side| {
            let names: Vec<&str> = side.jobs.iter().map(|job| &*job.observation.name).collect();
            format!("{}: {}", side.name, names.join(", "))
        };
        return Err(Faults::usage(Fault {
            why: sides.iter().map(names).collect(),
            ..Fault::new("the results have no job name in common")
        }));
    }
    Ok(matched)
}

fn compare_job(files: &[String], job: &[&MeasuredLoad], margin: f64) -> ComparedJob {
    let facts: Vec<Vec<Fact>> = job.iter().map(|side| side.facts.clone()).collect();
    let observations: Vec<&Observation> = job.iter().map(|side| &side.observation).collect();
    let (first, others) = (observations[0], &observations[1..]);
    let changes: Vec<ComparedFile> = others
        .iter()
        .zip(&files[1..])
        .zip(&facts[1..])
        .map(|((other, file), facts_of_side)| {
            let mut changes = compare::changes(first, other, margin);
            let unjudged = find_obstacle(&[facts[0].clone(), facts_of_side.clone()]);
            for change in &mut changes {
                change.word = unjudged.unwrap_or(change.word);
            }
            ComparedFile {
                file: file.clone(),
                changes,
            }
        })
        .collect();
    let mut ranking = compare::rank(&observations, margin);
    let mut from_best = changes_from_best(&observations, &ranking, margin);
    if let Some(word) = find_obstacle(&facts) {
        let to_best = ranking.iter_mut().filter_map(|result| result.to_best.as_mut());
        let all = to_best.chain(from_best.iter_mut().flatten());
        all.for_each(|change| change.word = word);
    }
    let sentences = match &changes[..] {
        [to] => {
            let primary = compare::primary(&observations);
            let decisive = to.changes.iter().find(|change| Some(change.figure) == primary);
            let sentence = decisive.map(|change| describe_change(change, &to.changes, [&to.file, &files[0]], margin));
            sentence.into_iter().collect()
        }
        _ => describe_ranking(files, &ranking, &from_best, margin),
    };
    ComparedJob {
        job: first.name.clone(),
        differences: compare::list_differences(&facts),
        facts,
        sentences,
        changes,
        ranking,
        from_best,
    }
}

/// Why none of these results is better, according to their facts.
fn find_obstacle(facts: &[Vec<Fact>]) -> Option<Judgement> {
    match compare::changes_load(&compare::list_differences(facts)) {
        true => Some(Judgement::DifferentLoad),
        false if facts.iter().any(|side| compare::has_invalidating_findings(side)) => Some(Judgement::Doubtful),
        false => None,
    }
}

fn changes_from_best(observations: &[&Observation], ranking: &[RankedResult], margin: f64) -> Vec<Vec<Change>> {
    let Some((best, others)) = ranking.split_first() else {
        return Vec::new();
    };
    let changes =
        |result: &RankedResult| compare::changes(observations[best.index], observations[result.index], margin);
    others.iter().map(changes).collect()
}

fn describe_ranking(files: &[String], ranking: &[RankedResult], from_best: &[Vec<Change>], margin: f64) -> Vec<String> {
    let Some((best, others)) = ranking.split_first() else {
        return Vec::new();
    };
    let describe_result = |(result, changes): (&RankedResult, &Vec<Change>)| {
        let names = [&*files[result.index], &*files[best.index]];
        Some(describe_change(result.to_best.as_ref()?, changes, names, margin))
    };
    others.iter().zip(from_best).filter_map(describe_result).collect()
}

/// Describes the deciding figure, and figures that disagree with it.
fn describe_change(decisive: &Change, changes: &[Change], [name, base]: [&str; 2], margin: f64) -> String {
    let sentence = compare::describe_change(decisive, name, base, margin);
    match compare::describe_contrary(decisive.word, changes) {
        Some(both) => format!("{sentence} But {name} is {both}."),
        None => sentence,
    }
}

fn refuse_different_loads(files: &[String], jobs: &[ComparedJob]) -> Result<(), Faults> {
    let fault = |job: &ComparedJob| {
        let obstacles = job
            .differences
            .iter()
            .filter(|difference| difference.kind.prevents_comparison());
        let why: Vec<String> = obstacles
            .map(|difference| format!("{}: {}", difference.name, join_values(difference)))
            .collect();
        (!why.is_empty()).then(|| Fault {
            what: format!("the results of `{}` are not comparable", job.job),
            at: Some(files.join(", ")),
            why,
            help: Some("to compare them anyway, add --force".into()),
        })
    };
    let faults: Vec<Fault> = jobs.iter().filter_map(fault).collect();
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Faults::many(faults, Exit::Refused)),
    }
}

fn join_values(difference: &Difference) -> String {
    let described = difference
        .values
        .iter()
        .map(|value| value.as_deref().unwrap_or("not known"));
    described.collect::<Vec<_>>().join(" / ")
}

fn format_text(comparison: &Comparison) -> String {
    let named: Vec<String> = match &comparison.files[..] {
        [a, b] => vec![format!("A: {a}"), format!("B: {b}")],
        many => many.to_vec(),
    };
    let (title, about) = pages::headline(&named, &comparison.heads);
    let mut text = format!("{title}\n");
    about.iter().for_each(|line| text += &wrap_paragraph(line));
    for job in &comparison.jobs {
        if comparison.jobs.len() > 1 {
            text += &format!("\n{}\n", job.job);
        }
        text += "\nDifferences in conditions\n";
        match job.differences.is_empty() {
            true => text += "  none known\n",
            false => job.differences.iter().for_each(|difference| {
                text += &wrap_paragraph(&format!("{}: {}", difference.name, join_values(difference)));
            }),
        }
        text += &match &job.changes[..] {
            [to] => ab::format_changes(&to.changes),
            _ => format_columns(&build_table(comparison, job)),
        };
        text += "\nWhat this means\n";
        job.sentences
            .iter()
            .for_each(|sentence| text += &wrap_paragraph(sentence));
        text += &wrap_paragraph(&pages::caveats(&job.ranking).join(" "));
    }
    text += &format_warnings(&pages::warnings(&comparison.files, &comparison.heads));
    let next = pages::next(&comparison.files, &comparison.heads, &build_sides(comparison));
    text += "\nWhat next\n";
    text += &wrap_paragraph(&next.sentence);
    // A command is not wrapped, so that it can be copied.
    for advice in &next.advice {
        let (purpose, command) = advice.split_once('`').unwrap_or(("", advice));
        if !purpose.is_empty() {
            text += &wrap_paragraph(purpose.trim_end());
        }
        text += &format!("  {}\n", command.trim_end_matches('`'));
    }
    text
}

/// Lists warnings with their rules and advice; empty without any.
pub(super) fn format_warnings(warnings: &[Finding]) -> String {
    let mut text = String::new();
    for (number, warning) in warnings.iter().enumerate() {
        let heading = if number == 0 { "\nWarnings\n" } else { "" };
        let at = warning.at.as_ref().map(|at| format!(" ({at})")).unwrap_or_default();
        let help = warning
            .help
            .as_ref()
            .map(|help| format!(" What to do: {help}."))
            .unwrap_or_default();
        text += heading;
        text += &wrap_paragraph(&format!("{}{at}: {}.{help}", warning.rule, warning.what));
    }
    text
}

/// Tabulates two results figure by figure, and ranks three or more.
fn build_table(comparison: &Comparison, job: &ComparedJob) -> Table {
    match &job.changes[..] {
        [to] => pages::changes_table(&comparison.files[0], &to.file, &to.changes),
        _ => pages::ranking_table(&comparison.files, None, &job.ranking, &job.from_best),
    }
}

/// Formats a table in columns, with numbers aligned right.
fn format_columns(table: &Table) -> String {
    let lines: Vec<&Vec<String>> = std::iter::once(&table.head).chain(&table.rows).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..table.head.len()).map(width).collect();
    let mut text = format!("\n{}\n", table.caption);
    for line in lines {
        let cells = line
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
        text += &format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}

fn format_markdown(comparison: &Comparison) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| formats::markdown_text(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text = String::new();
    for job in &comparison.jobs {
        let table = build_table(comparison, job);
        let caption = formats::markdown_text(&table.caption);
        let (title, about) = pages::headline(&comparison.files, &comparison.heads);
        let head = if comparison.jobs.len() == 1 { &title } else { &job.job };
        text += &format!("### {}\n\n", formats::markdown_text(head));
        about
            .iter()
            .for_each(|line| text += &format!("- {}\n", formats::markdown_text(line)));
        text += &format!("\n{caption}\n\n");
        text += &line(&table.head);
        text += &format!("| --- |{}\n", " ---: |".repeat(table.head.len() - 1));
        table.rows.iter().for_each(|row| text += &line(row));
        for sentence in &job.sentences {
            text += &format!("\n{}\n", formats::markdown_text(sentence));
        }
        text += &format!("\n{}\n\n", pages::caveats(&job.ranking).join(" "));
    }
    text
}

/// Formats one CSV line per figure of each result, from the best to the worst.
fn format_csv(comparison: &Comparison) -> String {
    let mut rows = Vec::new();
    for job in &comparison.jobs {
        for (place, result) in job.ranking.iter().enumerate() {
            for shown in &result.figures {
                let to_best = result.to_best.as_ref().filter(|change| change.figure == shown.figure);
                let in_column = |value: f64| shown.figure.in_column(value);
                rows.push(vec![
                    job.job.clone(),
                    (place + 1).to_string(),
                    comparison.files[result.index].clone(),
                    shown.figure.column(),
                    in_column(shown.value).to_string(),
                    csv_number(shown.interval.map(|interval| in_column(interval.0))),
                    csv_number(shown.interval.map(|interval| in_column(interval.1))),
                    csv_number(to_best.map(|change| change.ratio)),
                    csv_number(to_best.and_then(|change| change.low)),
                    csv_number(to_best.and_then(|change| change.high)),
                    to_best.map_or("", |change| change.word.word()).to_owned(),
                ]);
            }
        }
    }
    csv_table(
        "job,place,result,figure,value,low,high,ratio_to_best,ratio_low,ratio_high,word",
        rows,
    )
}
