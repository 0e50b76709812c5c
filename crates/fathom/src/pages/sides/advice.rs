//! Warnings and next steps of a comparison of saved results.

use std::collections::BTreeSet;

use model::finding::{Finding, OTHER_PROGRAMS};
use model::shell_word;
use report::html::page::Lead;
use report::html::run::{Head, names_output, repeat_command};

use super::Sides;
use crate::pages::{format_other_programs, merge_warnings};

/// Flags of `fathom run` that only silence its reports.
const REPORT_FLAGS: [&str; 2] = ["-q", "--quiet"];

/// Merges the warnings of all results: each rule once, with the results that have it.
pub fn warnings(files: &[String], heads: &[Head]) -> Vec<Finding> {
    let results = files.iter().zip(heads);
    merge_warnings(results.map(|(file, head)| (file.as_str(), head.warnings.as_slice())))
}

/// Advises what to do after a comparison.
pub fn next(files: &[String], heads: &[Head], jobs: &[Sides<'_>]) -> Lead {
    let heads = &lengthen_short_runs(heads)[..];
    let stop = match describe_disturbed(heads) {
        Some(_) => format!("Stop {}, which disturbed the results. ", name_others(heads)),
        None => String::new(),
    };
    let alternate = ab_command(heads, jobs);
    let purpose = match &alternate {
        Some((Variants::Two, _)) => {
            "Alternate the two loads: that also shows the variation from run to run, which the intervals do not include."
        }
        Some((Variants::One, _)) => "Then see how much the figures vary from run to run, and measure again.",
        None => "Repeat the test: the intervals do not include the variation from run to run.",
    };
    let purpose = match stop.is_empty() {
        true => purpose.replacen("Then see", "See", 1),
        false => purpose.to_owned(),
    };
    let repeated = match alternate {
        Some((Variants::Two, _)) => Vec::new(),
        _ => list_repetitions(files, heads),
    };
    let advice = alternate.map(|(variants, command)| match variants {
        Variants::One => format!("to see the variation: `{command}`"),
        Variants::Two => format!("`{command}`"),
    });
    Lead {
        topic: "What next".into(),
        sentence: format!("{}. {stop}{purpose}", describe_cause(heads, jobs)),
        advice: advice.into_iter().chain(repeated).collect(),
    }
}

/// The length of a repetition of results that were too short.
const LONGER_TIME: &str = "60s";

/// Replaces the length of results that were too short, in the commands that repeat them.
fn lengthen_short_runs(heads: &[Head]) -> Vec<Head> {
    let is_short = heads.iter().any(has_short_run);
    let lengthen = |head: &Head| Head {
        arguments: match is_short && head.arguments.get(1).is_some_and(|word| word == "run") {
            true => with_time(&head.arguments, LONGER_TIME),
            false => head.arguments.clone(),
        },
        ..head.clone()
    };
    heads.iter().map(lengthen).collect()
}

/// True if the checks found a result too short.
pub(super) fn has_short_run(head: &Head) -> bool {
    head.warnings.iter().any(|warning| warning.rule == "SHORT-RUN")
}

/// Replaces the value of `--time`, or adds the option.
pub(super) fn with_time(arguments: &[String], time: &str) -> Vec<String> {
    let mut words = arguments.to_vec();
    let place = words
        .iter()
        .position(|word| word == "--time" || word.starts_with("--time="));
    match place {
        Some(at) if words[at] == "--time" && at + 1 < words.len() => words[at + 1] = time.to_owned(),
        Some(at) => words[at] = format!("--time={time}"),
        None => words.extend(["--time".to_owned(), time.to_owned()]),
    }
    words
}

/// Names the other programs that disturbed the results.
fn name_others(heads: &[Head]) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in heads.iter().flat_map(|head| &head.other_programs) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    format_other_programs(&names)
}

/// Describes what differs between the results apart from their figures.
fn describe_cause(heads: &[Head], jobs: &[Sides<'_>]) -> String {
    let differing: BTreeSet<&str> = jobs
        .iter()
        .flat_map(|job| job.differences)
        .map(|difference| match &*difference.name {
            "measured" => "length",
            name => name,
        })
        .collect();
    let is_simulated = heads.iter().any(|head| head.simulation.is_some());
    match differing.is_empty() {
        // The settings of a simulated device are not among the compared facts.
        true if is_simulated => "Same machine and load".to_owned(),
        true => "Same machine and settings".to_owned(),
        false => format!("The results differ in: {}", Vec::from_iter(differing).join(", ")),
    }
}

/// How many results other programs disturbed: `2 of 3 runs`; `None` without any.
pub(super) fn describe_disturbed(heads: &[Head]) -> Option<String> {
    let is_disturbed = |head: &&Head| {
        let mut rules = head.warnings.iter().map(|warning| &*warning.rule);
        head.simulation.is_none() && rules.any(|rule| OTHER_PROGRAMS.contains(&rule))
    };
    Some(match (heads.iter().filter(is_disturbed).count(), heads.len()) {
        (0, _) => return None,
        (2, 2) => "both runs".to_owned(),
        (count, all) if count == all => format!("all {all} runs"),
        (count, all) => format!("{count} of {all} runs"),
    })
}

/// What `fathom ab` alternates.
#[derive(Clone, Copy, Debug)]
enum Variants {
    /// A test with itself.
    One,
    /// Two tests.
    Two,
}

/// Builds the command that alternates the two best results, or their only test with itself; `None`
/// if it cannot.
fn ab_command(heads: &[Head], jobs: &[Sides<'_>]) -> Option<(Variants, String)> {
    let [job] = jobs else { return None };
    let (first, second) = match job.ranking {
        [best, next, _, ..] => (best.index, next.index),
        _ => (0, 1),
    };
    let side = |index: usize| ab_side(&heads.get(index)?.arguments);
    let (a, b) = (side(first)?, side(second)?);
    let variants = if a == b { Variants::One } else { Variants::Two };
    let program = shell_word(heads.get(first)?.arguments.first()?);
    Some((
        variants,
        format!(
            "{program} ab {} {} --save ab.fathom --report ab.html",
            shell_word(&a),
            shell_word(&b)
        ),
    ))
}

/// Converts a `fathom run` command to a side of `fathom ab`: a job file, or flags with the file
/// last.
fn ab_side(arguments: &[String]) -> Option<String> {
    if arguments.get(1).is_none_or(|word| word != "run") {
        return None;
    }
    let (mut flags, mut file) = (Vec::new(), None);
    let mut words = arguments[2..].iter();
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or_default();
        // Tests that differ only in the seed are the same load.
        if names_output(name) || name == "--seed" {
            if !word.contains('=') {
                words.next();
            }
        } else if word.ends_with(".toml") && !word.starts_with('-') {
            file = Some(shell_word(word));
        } else if !REPORT_FLAGS.contains(&name) {
            flags.push(shell_word(word));
        }
    }
    let words: Vec<_> = flags.into_iter().chain(file).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Lists the commands that repeat the first results under neutral names, and compare them.
fn list_repetitions(files: &[String], heads: &[Head]) -> Vec<String> {
    let mut compared: Vec<String> = files.to_vec();
    let mut advice: Vec<String> = Vec::new();
    let mut advised: Vec<Option<String>> = Vec::new();
    for head in heads.iter().take(3).filter(|head| !head.arguments.is_empty()) {
        let side = ab_side(&head.arguments);
        // The same test needs one repetition only.
        if side.is_some() && advised.contains(&side) {
            continue;
        }
        advised.push(side);
        let mut options = Vec::new();
        if let Some("run" | "quick" | "verify") = head.arguments.get(1).map(String::as_str) {
            let file = format!("repeat-{}.fathom", advised.len());
            options.push(("--save".to_owned(), file.clone()));
            compared.push(file);
            if head.arguments.iter().any(|word| word == "--report") {
                options.push(("--report".to_owned(), format!("repeat-{}.html", advised.len())));
            }
        }
        advice.push(format!(
            "to measure again: `{}`",
            repeat_command(&head.arguments, &options)
        ));
    }
    if compared.len() > files.len() {
        let words: Vec<_> = compared.iter().map(|file| shell_word(file)).collect();
        let called = heads.iter().filter_map(|head| head.arguments.first());
        let program = called.into_iter().find(|word| word.ends_with("fathom"));
        let program = program.map_or("fathom".into(), |word| shell_word(word));
        advice.push(format!(
            "to compare: `{program} compare {} --report compare-again.html`",
            words.join(" ")
        ));
    }
    advice
}

#[cfg(test)]
mod tests {
    use super::super::judge_jobs;
    use super::*;
    use analysis::compare::{Change, Figure, Judgement, RankedFigure, RankedResult};
    use model::finding::Severity;
    use report::html::page::Tone;

    fn head(command: &str) -> Head {
        Head {
            arguments: command.split(' ').map(str::to_owned).collect(),
            ..Head::default()
        }
    }

    fn sides<'a>(names: &'a [String]) -> [Sides<'a>; 1] {
        [Sides {
            job: "job",
            facts: &[],
            differences: &[],
            changes: Vec::new(),
            ranking: &[],
            from_best: &[],
            sentences: names,
        }]
    }

    fn change(figure: Figure, word: Judgement) -> Change {
        Change {
            figure,
            from: 1.0,
            to: 1.0,
            ratio: 1.0,
            low: None,
            high: None,
            p: None,
            word,
        }
    }

    /// The verdict once counted only the rate, and blamed the storage for what other programs did.
    #[test]
    fn a_verdict_counts_latencies_and_disturbed_runs() {
        let ranked = |index: usize| RankedResult {
            index,
            figures: vec![RankedFigure {
                figure: Figure::Iops,
                value: 1.0,
                interval: None,
            }],
            to_best: (index > 0).then(|| change(Figure::Iops, Judgement::Undecided)),
        };
        let files = ["a", "b", "c"].map(str::to_owned);
        let ranking = [ranked(0), ranked(1), ranked(2)];
        let judged = |p99: Judgement, warnings: &[Finding]| {
            let from_best = [p99, Judgement::Undecided].map(|word| vec![change(Figure::Quantile(0.99), word)]);
            let [job] = sides(&[]);
            let job = Sides {
                ranking: &ranking,
                from_best: &from_best,
                ..job
            };
            let heads = [Head {
                warnings: warnings.to_vec(),
                ..Head::default()
            }];
            let found = judge_jobs(&files, &[job], &heads);
            (found.word, found.tone, found.sentence)
        };
        let (word, _, sentence) = judged(Judgement::Better, &[]);
        assert_eq!(word, "NO SINGLE BEST");
        assert!(
            sentence.contains("b is better in p99 (1 ns against 1 ns); c may differ by chance only."),
            "{sentence}"
        );
        assert!(
            sentence.ends_with("The differences in IOPS may be chance."),
            "{sentence}"
        );
        assert_eq!(judged(Judgement::Worse, &[]).0, "b WORSE (ONE RUN EACH)");
        assert_eq!(judged(Judgement::Undecided, &[]).0, "NO DIFFERENCE PROVEN");
        let disturbed = [Finding::new("D-CPU", Severity::Warning, "1.9 of 2 processors")];
        let (word, tone, _) = judged(Judgement::Worse, &disturbed);
        assert_eq!((&*word, tone), ("CANNOT TELL", Tone::Unsure));
        // A difference that is not proven needs no other cause.
        assert_eq!(judged(Judgement::Undecided, &disturbed).0, "NO DIFFERENCE PROVEN");
    }

    /// A comparison of several jobs had no verdict.
    #[test]
    fn each_of_several_jobs_has_its_verdict() {
        let files = ["a", "b"].map(str::to_owned);
        let judged = |words: [Judgement; 2]| {
            let changes = words.map(|word| [change(Figure::Iops, word)]);
            let jobs = [("one", &changes[0]), ("other", &changes[1])].map(|(name, changes)| {
                let [job] = sides(&[]);
                Sides {
                    job: name,
                    changes: vec![&changes[..]],
                    ..job
                }
            });
            let verdict = judge_jobs(&files, &jobs, &[]);
            let clauses = verdict.clauses.into_iter();
            let clauses = clauses.map(|clause| format!("{} {}", clause.promised, clause.word));
            (verdict.word, clauses.collect::<Vec<_>>())
        };
        let (word, clauses) = judged([Judgement::Worse, Judgement::Same]);
        assert_eq!(word, "MIXED");
        assert_eq!(clauses, ["one WORSE (ONE RUN EACH)", "other SAME"]);
        assert_eq!(judged([Judgement::Same, Judgement::Same]).0, "SAME");
    }

    /// The repetition has another name than a result: "monday" must not be recorded today.
    #[test]
    fn the_same_test_is_repeated_once_under_a_neutral_name() {
        let files = ["monday.fathom".to_owned(), "tuesday.fathom".to_owned()];
        let heads = files
            .clone()
            .map(|file| head(&format!("fathom run a.toml -q --save {file}")));
        assert_eq!(
            next(&files, &heads, &sides(&[])).advice,
            [
                "to see the variation: `fathom ab a.toml a.toml --save ab.fathom --report ab.html`",
                "to measure again: `fathom run a.toml -q --save repeat-1.fathom`",
                "to compare: `fathom compare monday.fathom tuesday.fathom repeat-1.fathom --report \
                 compare-again.html`",
            ]
        );
    }

    #[test]
    fn tests_that_differ_only_in_the_seed_are_one_load() {
        let files = ["a.fathom".to_owned(), "b.fathom".to_owned()];
        let heads = ["--seed 7", "--seed=8"].map(|seed| head(&format!("fathom run {seed} a.toml")));
        assert_eq!(
            next(&files, &heads, &sides(&[])).advice[0],
            "to see the variation: `fathom ab a.toml a.toml --save ab.fathom --report ab.html`"
        );
    }

    #[test]
    fn two_tests_are_alternated() {
        let files = ["a.fathom".to_owned(), "b.fathom".to_owned()];
        let heads = [
            head("fathom run a.toml --save a.fathom -q --time 30s"),
            head("fathom run --target /d/f --block 8k --report=b.html"),
        ];
        assert_eq!(
            next(&files, &heads, &sides(&[])).advice,
            ["`fathom ab '--time 30s a.toml' '--target /d/f --block 8k' --save ab.fathom --report ab.html`"]
        );
    }

    #[test]
    fn a_comparison_lists_the_warnings_of_its_results() {
        let head = |rules: &[&str]| Head {
            warnings: rules
                .iter()
                .map(|rule| Finding::new(rule, Severity::Warning, "the reason"))
                .collect(),
            ..Head::default()
        };
        let files = ["a".to_owned(), "b".to_owned()];
        assert_eq!(warnings(&files, &[head(&[]), head(&[])]), []);
        let heads = [head(&["OTHER-LOAD"]), head(&["OTHER-LOAD", "D-CPU"])];
        let found = warnings(&files, &heads);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].what, "the reason (a; also in b)");
        assert_eq!(found[1].at.as_deref(), Some("b"));
        let advised = next(&files, &heads, &sides(&[])).sentence;
        assert!(
            advised
                .contains("Stop the other programs that use the disk or the processors, which disturbed the results."),
            "{advised}"
        );
    }

    #[test]
    fn short_runs_are_repeated_for_longer() {
        let file = ["a.fathom", "b.fathom"].map(str::to_owned);
        let head = |time: &str| Head {
            warnings: vec![Finding::new(
                "SHORT-RUN",
                Severity::Warning,
                "the plan measures only 10 s",
            )],
            other_programs: vec!["tar".to_owned()],
            ..head(&format!("fathom run a.toml{time}"))
        };
        let advised = next(&file, &[head(" --time=10s"), head("")], &sides(&[]));
        assert_eq!(
            advised.advice,
            ["`fathom ab '--time=60s a.toml' '--time 60s a.toml' --save ab.fathom --report ab.html`"]
        );
    }
}
