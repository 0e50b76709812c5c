//! `fathom compare`.

use analysis::compare::{self, Change, Difference, Fact, Ranked, Word};
use archive::Saved;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use model::observation::Observation;
use model::results::Results;
use model::study::Question;
use report::html::page::Page;
use serde::Serialize;

use super::study_outputs::{Contents, NO_TABLE, StudyOutputs};
use super::{ab, results};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::options::{options, typed};
use crate::outputs::OutputSpec;
use crate::pages::{self, Sides};
use crate::screen::wrapped;

/// The words of the command line.
pub fn command() -> Command {
    Command::new("compare")
        .about("Compare results, and what differed around them")
        .long_about(
            "Compares saved results, and reports of other tools as `fathom explain` reads them. What differs around them comes first: host, kernel, device, versions, the load itself. \
             Results of different loads, or of different ways of measuring, are refused unless --force says that this is \
             meant. Then how each figure changes from the first to the others, with its 95 % interval, and whether that is \
             better, the same or worse; several results are ranked.\n\n\
             The intervals hold what varied within each run. What varies from run to run is not in them: `fathom ab` \
             measures that.",
        )
        .after_help(
            "Examples:\n  fathom compare before.fathom after.fathom\n  \
             fathom compare disk1.fathom disk2.fathom disk3.fathom",
        )
        .arg(
            Arg::new("results")
                .value_name("RESULT")
                .required(true)
                .num_args(2..)
                .value_hint(ValueHint::FilePath)
                .help("Results, at least two: saved ones (`fathom run --save FILE`), reports of fio or DiskSpd"),
        )
        .arg(
            Arg::new("force")
                .long("force")
                .action(ArgAction::SetTrue)
                .help("Compare although the loads, or the ways of measuring, differ")
                .help_heading("Comparison"),
        )
        .args(options::<ab::MarginArgs>())
        .args(options::<OutputSpec>())
}

/// A measured load with what is known around it.
struct Measured {
    observation: Observation,
    facts: Vec<Fact>,
}

/// Everything that one file holds.
struct Side {
    name: String,
    jobs: Vec<Measured>,
}

/// One job of all files.
#[derive(Debug, Serialize)]
struct Compared {
    /// Its name in the first file.
    job: String,
    differences: Vec<Difference>,
    /// From the first result to each of the others.
    changes: Vec<To>,
    /// From the best to the worst; the indexes are those of the files.
    ranking: Vec<Ranked>,
    sentences: Vec<String>,
}

#[derive(Debug, Serialize)]
struct To {
    /// The file that is compared with the first.
    file: String,
    changes: Vec<Change>,
}

/// The report for programs.
#[derive(Debug, Serialize)]
struct Comparison {
    files: Vec<String>,
    margin: f64,
    jobs: Vec<Compared>,
}

/// Compares saved results.
pub fn execute(args: &ArgMatches) -> Result<Exit, Faults> {
    let outputs = StudyOutputs::new(&typed(args), None, NO_TABLE)?;
    outputs.prove(&[])?;
    let files: Vec<String> = args
        .get_many::<String>("results")
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    let comparison = comparison(&files, ab::margin(&typed(args))?, args.get_flag("force"))?;
    outputs.finish(&Contents {
        text: text(&comparison),
        json: &comparison,
        csv: None,
        page: Some(&|| page(&comparison)),
        study: None,
    })?;
    Ok(Exit::Done)
}

/// Holds the results of files against each other.
fn comparison(files: &[String], margin: f64, force: bool) -> Result<Comparison, Faults> {
    let sides: Vec<Side> = files.iter().map(|file| read(file)).collect::<Result<_, _>>()?;
    let matched = matched(&sides)?;
    let jobs: Vec<Compared> = matched.iter().map(|job| compared(files, job, margin)).collect();
    if !force {
        refuse(files, &jobs)?;
    }
    Ok(Comparison {
        files: files.to_vec(),
        margin,
        jobs,
    })
}

/// The page of several results. `force` lets results of different loads through.
pub fn page_with(files: &[String], margin: f64, force: bool) -> Result<Page, Faults> {
    Ok(page(&comparison(files, margin, force)?))
}

fn page(comparison: &Comparison) -> Page {
    let sides: Vec<Sides<'_>> = comparison
        .jobs
        .iter()
        .map(|job| Sides {
            job: &job.job,
            differences: &job.differences,
            changes: job.changes.iter().map(|to| to.changes.as_slice()).collect(),
            sentences: &job.sentences,
        })
        .collect();
    pages::compared(&comparison.files, &sides, comparison.margin, comparison)
}

/// Where measured loads come in, whichever tool measured them.
fn read(file: &str) -> Result<Side, Faults> {
    if let Some(found) = results::of_another_tool(file)? {
        let measured = |observation: Observation| Measured {
            facts: compare::facts_of_observation(&observation),
            observation,
        };
        return side(file, found.loads.into_iter().map(measured).collect());
    }
    let results = match results::any(file)? {
        Saved::Run(results) => *results,
        Saved::Study(study) => {
            let what = format!("{file} holds a study of {} runs, and not one result", study.runs.len());
            let help = match study.question {
                Question::Sweep { .. } => "show it again with `fathom sweep --from`",
                Question::Ab { .. } => "show it again with `fathom ab --from`",
                Question::Suite { .. } => "keep the runs that you compare one by one: `fathom run --save`",
            };
            return Err(Faults::usage(Fault::new(what).help(help)));
        }
    };
    let places = results
        .steps
        .iter()
        .enumerate()
        .flat_map(|(step, found)| (0..found.jobs.len()).map(move |job| (step, job)));
    let jobs: Vec<Measured> = places.filter_map(|(step, job)| measured(&results, step, job)).collect();
    side(file, jobs)
}

fn side(file: &str, jobs: Vec<Measured>) -> Result<Side, Faults> {
    if jobs.is_empty() {
        return Err(Faults::usage(Fault::new(format!("nothing was measured in {file}"))));
    }
    Ok(Side {
        name: file.into(),
        jobs,
    })
}

fn measured(results: &Results, step: usize, job: usize) -> Option<Measured> {
    let observation = Observation::from_results(results, step, job)?;
    let facts = compare::facts_of_results(results, step, job)?;
    Some(Measured { observation, facts })
}

/// The jobs that belong together: by name where all have the same names, else the only one of each.
fn matched(sides: &[Side]) -> Result<Vec<Vec<&Measured>>, Faults> {
    if sides.iter().all(|side| side.jobs.len() == 1) {
        return Ok(vec![sides.iter().map(|side| &side.jobs[0]).collect()]);
    }
    let named = |side: &Side, name: &str| side.jobs.iter().position(|job| job.observation.name == name);
    let mut matched = Vec::new();
    for job in &sides[0].jobs {
        let places: Option<Vec<usize>> = sides.iter().map(|side| named(side, &job.observation.name)).collect();
        if let Some(places) = places {
            matched.push(
                sides
                    .iter()
                    .zip(places)
                    .map(|(side, place)| &side.jobs[place])
                    .collect(),
            );
        }
    }
    if matched.is_empty() {
        let names = |side: &Side| {
            let names: Vec<&str> = side.jobs.iter().map(|job| &*job.observation.name).collect();
            format!("{}: {}", side.name, names.join(", "))
        };
        return Err(Faults::usage(Fault {
            why: sides.iter().map(names).collect(),
            ..Fault::new("no job of the first result has a namesake in all others")
        }));
    }
    Ok(matched)
}

fn compared(files: &[String], job: &[&Measured], margin: f64) -> Compared {
    let facts: Vec<Vec<Fact>> = job.iter().map(|one| one.facts.clone()).collect();
    let observations: Vec<&Observation> = job.iter().map(|one| &one.observation).collect();
    let (first, others) = (observations[0], &observations[1..]);
    let changes: Vec<To> = others
        .iter()
        .zip(&files[1..])
        .zip(&facts[1..])
        .map(|((other, file), around)| {
            let mut changes = compare::changes(first, other, margin);
            if compare::forces_figures(&compare::differences(&[facts[0].clone(), around.clone()])) {
                changes.iter_mut().for_each(|change| change.word = Word::DifferentLoad);
            }
            To {
                file: file.clone(),
                changes,
            }
        })
        .collect();
    let primary = compare::primary(&observations);
    let decisive = |to: &To| {
        let change = to.changes.iter().find(|change| Some(change.figure) == primary)?;
        let sentence = compare::sentence(change, &to.file, &files[0], margin);
        let contrary = compare::contrary(change.word, &to.changes);
        Some(
            sentence
                + &contrary.map_or(String::new(), |both| {
                    format!(" Not in everything: {} is {both}.", to.file)
                }),
        )
    };
    Compared {
        job: first.name.clone(),
        differences: compare::differences(&facts),
        sentences: changes.iter().filter_map(decisive).collect(),
        changes,
        ranking: compare::rank(&observations, margin),
    }
}

/// Results of different loads look alike and are not.
fn refuse(files: &[String], jobs: &[Compared]) -> Result<(), Faults> {
    let grave = |job: &&Compared| job.differences.iter().any(|difference| difference.kind.forbids());
    let faults: Vec<Fault> = jobs
        .iter()
        .filter(grave)
        .map(|job| Fault {
            what: format!("the results of `{}` do not answer the same question", job.job),
            at: Some(files.join(", ")),
            why: job
                .differences
                .iter()
                .filter(|difference| difference.kind.forbids())
                .map(|difference| format!("{}: {}", difference.name, values(difference)))
                .collect(),
            help: Some("if that is what you want to compare: --force".into()),
        })
        .collect();
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Faults::many(faults, Exit::Refused)),
    }
}

fn values(difference: &Difference) -> String {
    let each = difference
        .values
        .iter()
        .map(|value| value.as_deref().unwrap_or("not known"));
    each.collect::<Vec<_>>().join(" / ")
}

fn text(comparison: &Comparison) -> String {
    let letter = |index: usize| char::from_u32('A' as u32 + index as u32).unwrap_or('?');
    let mut text = String::new();
    for (index, file) in comparison.files.iter().enumerate() {
        text += &format!("{}: {file}\n", letter(index));
    }
    for job in &comparison.jobs {
        if comparison.jobs.len() > 1 {
            text += &format!("\n{}\n", job.job);
        }
        text += "\nWhat differs around them\n";
        match job.differences.is_empty() {
            true => text += "  nothing that is known\n",
            false => job.differences.iter().for_each(|difference| {
                text += &wrapped(&format!("{}: {}", difference.name, values(difference)));
            }),
        }
        for to in &job.changes {
            if job.changes.len() > 1 {
                text += &format!("\n{} (A) and {} (B)\n", comparison.files[0], to.file);
            }
            text += &ab::changes(&to.changes);
        }
        if comparison.files.len() > 2 {
            let mut changes = job.changes.iter().flat_map(|to| &to.changes);
            let heading = match changes.any(|change| change.word == Word::DifferentLoad) {
                true => "In the order of their figures, although the loads differ",
                false => "From the best to the worst",
            };
            text += &ranking(heading, &comparison.files, &job.ranking);
        }
        text += "\nWhat this means\n";
        job.sentences.iter().for_each(|sentence| text += &wrapped(sentence));
        text += &wrapped(
            "The intervals hold what varied within each run; what varies from run to run is not in them. `fathom ab` \
             measures that.",
        );
    }
    text
}

fn ranking(heading: &str, files: &[String], ranking: &[Ranked]) -> String {
    let mut text = format!("\n{heading}\n");
    for (place, one) in ranking.iter().enumerate() {
        let against = match &one.to_best {
            None => "the best".to_owned(),
            Some(change) => match change.word {
                Word::Same => format!("the same as the best: {}", change.words()),
                Word::Undecided => format!("not distinguished from the best: {}", change.words()),
                Word::Better | Word::Worse | Word::DifferentLoad => change.words(),
            },
        };
        text += &format!("  {}. {}: {against}\n", place + 1, files[one.index]);
    }
    text
}
