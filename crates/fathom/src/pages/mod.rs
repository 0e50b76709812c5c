//! HTML reports: pages of results and judgements. The report crate renders pages; this module
//! decides their content, because only this crate knows runs, verdicts, curves and comparisons.

mod explained;
pub mod fio_logs;
mod rounds;
mod sides;
mod suite;
mod sweep;
mod trend;

use analysis::policies::{self, Catalogue, Inputs};
use analysis::requirement::{Clause, Metric};
use analysis::verdict::{self, ClauseVerdict, Outcome, Shortfall, Verdict, name_other_programs};
use model::diagnosis::JobDiagnosis;
use model::finding::{Finding, Severity};
use model::observation::{IoStats, Observation};
use model::results::Results;
use model::study::{Question, Study};
use model::{Bytes, Nanos};
use report::html::page::{self, Download, Line, Page, Tone};
use report::html::run::{self, Change, PageContext};
use report::numbers::{duration_with_unit, format_rough};
use serde::Serialize;
use study::diagnosis::KnownLimits;
use study::verify::{NOT_TESTED, PARTLY_PROVEN, TestLength, count_proven, is_partly_proven, verdict_word};

use crate::judged::JudgedJobs;

pub use explained::{build_page as explained, complete_advice};
pub use rounds::build_page as rounds;
pub use sides::{Sides, ab, ab_warnings, caveats, changes_table, compared, headline, next, ranking_table, warnings};
pub use sweep::{build_page as sweep, csv as sweep_csv};
pub use trend::{Test, build_page as trend, sentences as trend_sentences};

/// The file `<name>.json` with the data of a page.
fn figures_download<T: Serialize>(name: &str, document: &T) -> Download {
    let text = serde_json::to_string_pretty(document).unwrap_or_default();
    Download::json(format!("{name}.json"), "All figures (JSON)", text)
}

/// Builds the page of a run. `verdict` is the default if nothing was promised.
pub fn run(results: &Results, verdict: page::Verdict) -> Page {
    let observation = Observation::from_results(results, 0, 0);
    let calm_iops = observation.as_ref().and_then(rate_outside_stalls);
    let context = PageContext {
        verdict,
        comparison: observation.as_ref().and_then(compare_with_typical).unwrap_or_default(),
        // In several jobs, the first that names programs.
        other_programs: Observation::all(results)
            .iter()
            .find_map(|observation| name_other_programs(observation, &results.findings)),
        diagnoses: diagnoses(results),
        changes: changes(results),
        calm_iops,
    };
    run::create_page(results, &context)
}

/// The rate of the time without stalls; `None` if there are none.
fn rate_outside_stalls(observation: &Observation) -> Option<f64> {
    let stalled: f64 = analysis::find_stalls(observation)
        .iter()
        .map(|(_, length)| length)
        .sum();
    let measured = observation.measured_ns?.as_secs();
    let is_known = stalled > 0.0 && stalled < measured;
    is_known.then_some(observation.total.iops? * measured / (measured - stalled))
}

/// More marked changes of the rate would hide the curve.
const MAX_MARKED_CHANGES: usize = 3;

/// More marked stalls, or more marked dips, would hide the curve.
const MAX_MARKED_INTERRUPTIONS: usize = 5;

/// Maximum number of other programs that advice names.
const MAX_NAMED_PROGRAMS: usize = 5;

/// Lists the other programs that disturbed any of these runs.
pub fn list_other_programs<'a>(runs: impl IntoIterator<Item = &'a Results>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for results in runs {
        let observation = Observation::from_results(results, 0, 0);
        let others = observation.map(|observation| verdict::list_other_programs(&observation, &results.findings));
        for name in others.into_iter().flatten() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Names other programs for advice: `the other programs (tar, dd and others)`.
fn format_other_programs(names: &[String]) -> String {
    match names.len() {
        0 => "the other programs that use the disk or the processors".to_owned(),
        1..=MAX_NAMED_PROGRAMS => format!("the other programs ({})", names.join(", ")),
        _ => format!(
            "the other programs ({} and others)",
            names[..MAX_NAMED_PROGRAMS].join(", ")
        ),
    }
}

/// Largest typical block: longer operations spend more time on the transfer than on waiting.
const MAX_TYPICAL_BLOCK: Bytes = Bytes::kib(64);
/// With more operations in flight, a long latency may be the wait for each other.
const MAX_SLOW_IN_FLIGHT: f64 = 4.0;

/// Compares the typical latency with that of cloud disks (from the catalogue) and of hard disks.
fn compare_with_typical(observation: &Observation) -> Option<String> {
    let load = &observation.load;
    let is_small = load.block.is_some_and(|block| block <= MAX_TYPICAL_BLOCK);
    if load.random != Some(true) || load.direct != Some(true) || !is_small {
        return None;
    }
    let (typical, measured) = describe_typical(observation)?;
    let rotating = Catalogue::built_in()
        .find("generic/hdd")
        .ok()?
        .resolve(&Inputs::new())
        .ok()?;
    let rotating = 1e9 / rotating.clauses.first()?.target;
    let cloud = 1e9 * policies::DEFAULT_LATENCY_SECS;
    let word = match typical {
        typical if typical <= cloud => "fast",
        _ if observation.total.iops? * typical / 1e9 > MAX_SLOW_IN_FLIGHT => return None,
        typical if typical <= rotating => "slow for flash storage",
        _ => "slow",
    };
    Some(format!(
        "{measured}, which is {word}: cloud disks take about {:.0} ms, hard disks about {:.0} ms.",
        cloud / 1e6,
        rotating / 1e6
    ))
}

/// The typical latency in nanoseconds, with a sentence. A few stalls dominate a mean, so without a
/// median of all operations, that of the more frequent direction is used.
fn describe_typical(observation: &Observation) -> Option<(f64, String)> {
    let time = report::numbers::format_time;
    let median = |flow: &IoStats| flow.user_latency()?.quantile(0.5);
    if let Some(median) = median(&observation.total) {
        return Some((median, format!("The typical operation took {} (median)", time(median))));
    }
    let flows = observation.directions.iter();
    let flows = flows.filter_map(|(direction, flow)| Some((direction, flow.as_ref()?)));
    let frequent = flows.max_by_key(|(_, flow)| flow.operations);
    if let Some((direction, median)) = frequent.and_then(|(direction, flow)| Some((direction, median(flow)?))) {
        let sentence = format!("Half of the {}s took at most {}", direction.word(), time(median));
        return Some((median, sentence));
    }
    let mean = observation.total.user_latency()?.mean_ns?;
    Some((mean, format!("The typical operation took {} (mean)", time(mean))))
}

/// Finds the worst verdict of a run, for the first screen of its page.
pub fn worst_verdict(judged: &JudgedJobs, clauses: &[Clause]) -> page::Verdict {
    let worst = judged.outcome();
    let verdicts = judged.verdicts();
    let jobs: Vec<JobVerdict<'_>> = verdicts
        .map(|(name, verdict, length)| (name, verdict, Some(length)))
        .collect();
    verdict_of_jobs(&describe_promise(clauses), &jobs, worst).unwrap_or_else(|| page::Verdict {
        word: worst.word().into(),
        tone: Tone::Unsure,
        sentence: match jobs.is_empty() {
            true => "No operation completed in the measured window, so there is nothing to judge.".into(),
            false => "No operation of one job completed in its measured window, so it cannot be judged.".into(),
        },
        clauses: clauses_of_jobs(&jobs, 0),
        ..page::Verdict::default()
    })
}

/// A job's name, its verdict and the length of its test.
type JobVerdict<'a> = (&'a str, &'a Verdict, Option<TestLength>);

/// Number of jobs whose clauses are listed. The text report has all.
const MAX_JUDGED_JOBS: usize = 8;

/// Describes the worst verdict, and the clauses of every job. `None` if no job has that verdict.
fn verdict_of_jobs(promised: &str, jobs: &[JobVerdict<'_>], worst: Outcome) -> Option<page::Verdict> {
    let numbered = jobs.iter().enumerate();
    let of_worst = numbered.filter(|(_, (_, verdict, _))| verdict.outcome == worst);
    // A PASS that leaves promises open is worse than another.
    let worst_job = of_worst.min_by_key(|(_, (_, verdict, _))| verdict_word(verdict) != PARTLY_PROVEN);
    let (first, &(name, worst_of_job, length)) = worst_job?;
    let mut page = verdict(promised, worst_of_job, length);
    if jobs.len() > 1 {
        if verdict_word(worst_of_job) != Outcome::Pass.word() {
            page.sentence = format!("{} (job “{name}”).", page.sentence.trim_end_matches('.'));
        }
        // An option would set the rate of every job.
        page.options.retain(|(option, _)| option != "--rate");
        for action in &mut page.actions {
            if let Some((_, rate)) = action.split_once("--rate ") {
                *action = format!("set the rate of job “{name}” to {rate}, then repeat");
            }
        }
        page.clauses = clauses_of_jobs(jobs, first);
        let more = jobs.len().saturating_sub(MAX_JUDGED_JOBS);
        page.notes
            .extend((more > 0).then(|| format!("The text report has the verdicts of {more} more jobs.")));
    }
    Some(page)
}

/// Lists the clauses of jobs with their names, those of `first` first. Only these have lines in
/// charts, because the limits are the same.
fn clauses_of_jobs(jobs: &[JobVerdict<'_>], first: usize) -> Vec<page::Clause> {
    let others = (0..jobs.len()).filter(|at| *at != first);
    let order = jobs.get(first).map(|_| first).into_iter().chain(others);
    let clauses = order.take(MAX_JUDGED_JOBS).flat_map(|at| {
        let (name, verdict, _) = jobs[at];
        let clauses = describe_clauses(verdict).into_iter();
        clauses.map(move |clause| page::Clause {
            job: Some(name.to_owned()),
            line: clause.line.filter(|_| at == first),
            ..clause
        })
    });
    clauses.collect()
}

/// Returns the saved diagnosis of each job, or else one from the results alone.
fn diagnoses(results: &Results) -> Vec<JobDiagnosis> {
    match results.diagnoses.is_empty() {
        true => study::diagnosis::diagnoses(results, &KnownLimits::default()),
        false => results.diagnoses.clone(),
    }
}

fn changes(results: &Results) -> Vec<Change> {
    let mut changes = Vec::new();
    for (step, results_of_step) in results.steps.iter().enumerate() {
        for job in 0..results_of_step.jobs.len() {
            let Some(observation) = Observation::from_results(results, step, job) else {
                continue;
            };
            let mut moments = analysis::level_changes(&observation);
            moments.sort_by(|a, b| (b.to - b.from).abs().total_cmp(&(a.to - a.from).abs()));
            moments.truncate(MAX_MARKED_CHANGES);
            changes.extend(moments.into_iter().map(|moment| Change {
                step,
                job,
                at_secs: moment.at_secs,
                words: format!("{} to {} IOPS", format_rough(moment.from), format_rough(moment.to)),
            }));
            changes.extend(interruption_marks(step, job, &observation));
        }
    }
    changes
}

/// Marks the longest stalls and dips of a job.
fn interruption_marks(step: usize, job: usize, observation: &Observation) -> impl Iterator<Item = Change> {
    let longest = |mut interruptions: Vec<(f64, f64)>, name: &'static str| {
        interruptions.sort_by(|a, b| b.1.total_cmp(&a.1));
        let longest = interruptions.into_iter().take(MAX_MARKED_INTERRUPTIONS);
        longest.map(move |(at_secs, length)| Change {
            step,
            job,
            at_secs,
            words: format!("{name} {length:.1} s"),
        })
    };
    longest(analysis::find_stalls(observation), "stall").chain(longest(analysis::find_dips(observation), "dip"))
}

/// Returns the mark of simulated storage if the study ran on it.
fn simulation(study: &Study) -> Option<&'static str> {
    study
        .runs
        .iter()
        .find_map(|run| report::words::describe_simulation(&run.results.plan))
}

/// Groups the warnings of several runs: each rule once, as its first run has it, with its runs.
fn group_warnings<'a, T: Clone>(runs: impl IntoIterator<Item = (T, &'a [Finding])>) -> Vec<(Finding, Vec<T>)> {
    let mut groups: Vec<(Finding, Vec<T>)> = Vec::new();
    for (run, findings) in runs {
        let mut known_here: Vec<&str> = Vec::new();
        for warning in findings.iter().filter(|finding| finding.severity >= Severity::Warning) {
            if known_here.contains(&warning.rule.as_str()) {
                continue;
            }
            known_here.push(&warning.rule);
            match groups.iter_mut().find(|(grouped, _)| grouped.rule == warning.rule) {
                Some((_, others)) => others.push(run.clone()),
                None => groups.push((warning.clone(), vec![run.clone()])),
            }
        }
    }
    groups
}

/// What to do about a tail on a page of several runs, which has no latencies over time.
const TAIL_HELP: &str = "run this load alone with --report, and look for stalls, throttling and bursts under \
    “Latency over time” of its page";

/// Merges the warnings of several named runs: each rule once, with the names.
pub fn merge_warnings<'a>(runs: impl IntoIterator<Item = (&'a str, &'a [Finding])>) -> Vec<Finding> {
    let groups = group_warnings(runs).into_iter();
    groups
        .map(|(mut warning, names)| {
            if warning.rule == "TAIL" {
                warning.help = Some(TAIL_HELP.to_owned());
            }
            page::name_places(warning, &names)
        })
        .collect()
}

pub fn study(study: &Study, margin: f64) -> Option<Page> {
    match &study.question {
        Question::Sweep { .. } => {
            let report = study::sweep::Report::from_study(study, None)?;
            Some(sweep(&report, study))
        }
        Question::Ab { .. } => {
            let report = study::ab::Report::from_study(study, margin)?;
            Some(ab(&report, study))
        }
        Question::Suite { workloads } => Some(suite::build_page(study, workloads)),
    }
}

/// Describes a verdict for the first screen. `promised` describes the promise; `length` is that of
/// the test.
pub fn verdict(promised: &str, verdict: &Verdict, length: Option<TestLength>) -> page::Verdict {
    let reasons = verdict
        .reasons
        .iter()
        .map(|reason| report::diagnosis::format_sentence(&reason.what));
    let untested = verdict.untested.as_ref();
    let notes = verdict
        .notes
        .iter()
        .filter(|note| untested.is_none_or(|untested| untested.describe() != **note));
    let notes = notes.map(|note| report::diagnosis::format_sentence(note));
    let deciding = describe_deciding(verdict);
    let proven = count_proven(&verdict.clauses, untested).filter(|_| verdict.outcome == Outcome::Pass);
    let short = length.filter(|length| length.is_short());
    let is_partly = proven.is_some() && is_partly_proven(&verdict.clauses, untested);
    page::Verdict {
        word: match (verdict.outcome, length, &proven) {
            (Outcome::Pass, _, Some(proven)) if is_partly => {
                format!("{PARTLY_PROVEN}: {}", proven.trim_end_matches(" proven"))
            }
            (Outcome::Pass, _, Some(proven)) => format!("PASS, {proven}"),
            (Outcome::Pass, Some(length), _) if length.is_short() => "PASS, short test".into(),
            (outcome, ..) => outcome.word().into(),
        },
        tone: match is_partly {
            true => Tone::Partly,
            false => tone(verdict.outcome),
        },
        sentence: match verdict.outcome {
            Outcome::Fail if !deciding.is_empty() => format!("The storage {deciding}."),
            Outcome::Pass if proven.is_some() => format!("The storage {deciding}."),
            outcome => match short.filter(|_| outcome == Outcome::Pass) {
                Some(short) => format!(
                    "In {}, the storage met {promised}",
                    duration_with_unit(short.measured_ns)
                ),
                None => format!("{} {promised}", sentence_start(outcome)),
            },
        },
        headline: match proven {
            Some(proven) => format!("{deciding}; {proven}"),
            None => match short.filter(|_| verdict.outcome == Outcome::Pass) {
                Some(short) => format!("{deciding} in {}", duration_with_unit(short.measured_ns)),
                None => deciding,
            },
        },
        actions: verdict
            .describe()
            .clauses
            .into_iter()
            .filter_map(|(_, action)| action)
            .collect(),
        untested: untested.map(|untested| (untested.name.to_owned(), untested.option.clone())),
        alternatives: Vec::new(),
        judged_by: None,
        clauses: describe_clauses(verdict),
        notes: {
            let shared = verdict.describe().shared;
            let shared = shared.iter().map(|shared| report::diagnosis::format_sentence(shared));
            let mut grave: Vec<String> = shared.chain(reasons).collect();
            let notes: Vec<String> = notes.collect();
            let is_length = |note: &String| note.starts_with("Measured for");
            if let Some(short) = short.filter(|_| !grave.iter().chain(&notes).any(is_length)) {
                grave.push(format!(
                    "Measured for {} instead of the {} s that a verdict needs.",
                    duration_with_unit(short.measured_ns),
                    short.full_secs
                ));
            }
            grave.extend(notes);
            grave
        },
        options: {
            let mut options = collect_advised_options(&verdict.clauses);
            if let Some(short) = short.filter(|_| !options.iter().any(|(name, _)| name == "--time")) {
                options.push(("--time".into(), format!("{}s", short.full_secs)));
            }
            options
        },
    }
}

/// Describes the clauses that decide a verdict: the missed ones with their shortfall, the met ones,
/// or the undecided ones. Empty if the test as a whole decides.
fn describe_deciding(verdict: &Verdict) -> String {
    let clauses = verdict
        .clauses
        .iter()
        .filter(|clause| clause.outcome == verdict.outcome);
    let clauses: Vec<&ClauseVerdict> = clauses.collect();
    if let Some(missed) = clauses
        .iter()
        .find(|clause| matches!(clause.shortfall, Shortfall::Sustained(_)))
    {
        return describe_miss(missed);
    }
    let words: Vec<String> = match verdict.outcome {
        Outcome::Fail => clauses.iter().map(|clause| describe_miss(clause)).collect(),
        _ => clauses.iter().map(|clause| clause.clause.to_string()).collect(),
    };
    let verb = match verdict.outcome {
        _ if words.is_empty() => return String::new(),
        Outcome::Fail => "misses",
        Outcome::Pass => "meets",
        Outcome::Inconclusive if words.len() == 1 => return format!("cannot tell whether {} is met", words[0]),
        Outcome::Inconclusive => return format!("cannot tell whether {} are met", words.join(" and ")),
        Outcome::Consistent => return String::new(),
    };
    format!("{verb} {}", words.join(" and "))
}

/// Describes a missed clause with its distance: `iops >= 5000 by 20 %`.
fn describe_miss(verdict: &ClauseVerdict) -> String {
    let clause = &verdict.clause;
    let (value, target) = match verdict.value {
        Some(value) if value > 0.0 && clause.target > 0.0 => (value, clause.target),
        _ => return clause.to_string(),
    };
    let ratio = value.max(target) / value.min(target);
    match (verdict.shortfall, clause.metric) {
        (Shortfall::Sustained(rate), _) => {
            format!("sustains {} of {} IOPS", format_rough(rate), Metric::Iops.show(target))
        }
        (Shortfall::Queued | Shortfall::Disturbed, _) => clause.to_string(),
        (_, Metric::Availability) => format!("{clause} (met {} of the time)", Metric::Availability.show(value)),
        _ if ratio >= 2.0 => format!(
            "{clause} by a factor of {}",
            format_rough(ratio).trim_end_matches(".00")
        ),
        _ => {
            let percent = 100.0 * (value / target - 1.0).abs();
            format!("{clause} by {percent:.*} %", usize::from(percent < 10.0))
        }
    }
}

/// Shortest advised repetition: a shorter one might decide a clause, but the checks would warn of
/// it.
const MIN_REPEATED_SECS: f64 = 60.0;
const MIN_REPEATED_TIME: &str = "60s";

/// The warm-up of a repetition that measures for [`MIN_REPEATED_TIME`].
const MIN_REPEATED_WARM_UP: &str = "5s";

/// The option that lengthens a warm-up on the command line that is too short for a longer test.
fn lengthen_warm_up(arguments: &[String]) -> Option<(String, String)> {
    let value = arguments
        .iter()
        .enumerate()
        .find_map(|(at, word)| match word.as_str() {
            "--warm-up" => arguments.get(at + 1).map(String::as_str),
            word => word.strip_prefix("--warm-up="),
        })?;
    let is_short = value.parse::<Nanos>().ok()? < MIN_REPEATED_WARM_UP.parse::<Nanos>().ok()?;
    is_short.then(|| ("--warm-up".to_owned(), MIN_REPEATED_WARM_UP.to_owned()))
}

/// Collects the options that the clauses advise, with their values; of several times the longest.
fn collect_advised_options(clauses: &[ClauseVerdict]) -> Vec<(String, String)> {
    let number = |value: &str| {
        value
            .trim_end_matches(char::is_alphabetic)
            .parse::<f64>()
            .unwrap_or(0.0)
    };
    let mut options: Vec<(String, String)> = Vec::new();
    for action in clauses.iter().filter_map(|clause| clause.action.as_deref()) {
        let words: Vec<&str> = action.split_whitespace().collect();
        for pair in words.windows(2) {
            let (name, mut value) = (pair[0], pair[1].trim_end_matches([',', '.']));
            if !name.starts_with("--") || !value.starts_with(|letter: char| letter.is_ascii_digit()) {
                continue;
            }
            if name == "--time" && value.ends_with('s') && number(value) < MIN_REPEATED_SECS {
                value = MIN_REPEATED_TIME;
            }
            match options.iter_mut().find(|(listed_name, _)| listed_name == name) {
                Some((_, listed_value)) if number(listed_value) < number(value) => *listed_value = value.to_owned(),
                Some(_) => {}
                None => options.push((name.to_owned(), value.to_owned())),
            }
        }
    }
    options
}

/// Returns the start of the sentence about a verdict.
fn sentence_start(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "The storage meets",
        Outcome::Fail => "The storage does not meet",
        Outcome::Inconclusive => "This test cannot tell whether the storage meets",
        Outcome::Consistent => "The figures do not contradict",
    }
}

fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Pass => Tone::Good,
        Outcome::Fail => Tone::Bad,
        Outcome::Inconclusive => Tone::Unsure,
        Outcome::Consistent => Tone::Plain,
    }
}

/// Describes the clauses of a verdict, each with figures and reason.
fn describe_clauses(verdict: &Verdict) -> Vec<page::Clause> {
    let words = verdict.describe().clauses;
    let clauses_with_words = verdict.clauses.iter().zip(words);
    // The next step contains the advice.
    let judged = clauses_with_words.map(|(judged_clause, (reason, _))| page::Clause {
        promised: judged_clause.clause.to_string(),
        word: judged_clause.outcome.word().into(),
        tone: tone(judged_clause.outcome),
        sentence: report::diagnosis::format_sentence(&without_rule_names(&reason)),
        line: match judged_clause.clause.metric {
            Metric::Iops => Some(Line::Iops(judged_clause.clause.target)),
            Metric::Throughput => Some(Line::Throughput(judged_clause.clause.target)),
            Metric::Mean => Some(Line::Latency(judged_clause.clause.target)),
            Metric::Quantile { share } => Some(Line::Percentile(share, judged_clause.clause.target)),
            Metric::Availability => None,
        },
        job: None,
    });
    let untested = verdict.untested.iter().map(|untested| page::Clause {
        promised: untested.promised.clone(),
        word: NOT_TESTED.into(),
        tone: Tone::Unsure,
        sentence: report::diagnosis::format_sentence(&untested.why),
        ..page::Clause::default()
    });
    judged.chain(untested).collect()
}

/// Removes the names of rules in front of what they found: the findings of the page have them.
fn without_rule_names(reason: &str) -> String {
    let is_name = |word: &&str| {
        let name = word.strip_suffix(':').unwrap_or_default();
        name.len() > 3 && name != "IOPS" && name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '-')
    };
    let words: Vec<&str> = reason.split(' ').filter(|word| !is_name(word)).collect();
    words.join(" ")
}

/// Formats a reason as a sentence, with advice.
fn format_reason(reason: &str, action: Option<&str>) -> String {
    let action = action.map(|action| format!(" What to do: {action}."));
    report::diagnosis::format_sentence(reason) + &action.unwrap_or_default()
}

/// Describes the clauses of a promise in one line.
pub fn describe_promise(clauses: &[Clause]) -> String {
    let words: Vec<String> = clauses.iter().map(ToString::to_string).collect();
    format!("the requirement: {}.", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::requirement::parse;

    #[test]
    fn the_clauses_of_every_job_have_its_name() {
        let clauses = parse("iops>=1000").unwrap();
        let judge = |iops: f64| {
            let mut observation = Observation::default();
            (observation.load.depth, observation.total.iops) = (Some(64), Some(iops));
            verdict::judge(&clauses, &observation, &verdict::Context::default())
        };
        let (met, missed) = (judge(2000.0), judge(500.0));
        let jobs = [("read", &met, None), ("write", &missed, None)];
        let page = verdict_of_jobs("the requirement.", &jobs, Outcome::Fail).unwrap();
        let rows: Vec<(Option<&str>, &str, bool)> = page
            .clauses
            .iter()
            .map(|clause| (clause.job.as_deref(), &*clause.word, clause.line.is_some()))
            .collect();
        assert_eq!(rows, [(Some("write"), "FAIL", true), (Some("read"), "PASS", false)]);
        assert_eq!(
            page.sentence,
            "The storage misses iops >= 1000 by a factor of 2 (job “write”)."
        );
        let mut partly = met.clone();
        partly.clauses.push(ClauseVerdict {
            outcome: Outcome::Inconclusive,
            ..met.clauses[0].clone()
        });
        let jobs = [("read", &met, None), ("write", &partly, None)];
        let page = verdict_of_jobs("the requirement.", &jobs, Outcome::Pass).unwrap();
        assert_eq!(page.word, "PARTLY PROVEN: 1 of 2 promises");
        assert_eq!(page.clauses[0].job.as_deref(), Some("write"));
        let jobs = [("read", &missed, None), ("write", &partly, None)];
        let page = verdict_of_jobs("the requirement.", &jobs, Outcome::Fail).unwrap();
        assert_eq!(page.word, "FAIL");
    }

    #[test]
    fn a_reason_has_no_names_of_rules() {
        assert_eq!(
            without_rule_names("27.3 times the required rate; BUFFERED: the operating system's cache was in use"),
            "27.3 times the required rate; the operating system's cache was in use"
        );
        for figures in ["IO: 3 of 4 p99: 2 ms", "2000 IOPS: at the required rate"] {
            assert_eq!(without_rule_names(figures), figures);
        }
    }

    #[test]
    fn a_warm_up_grows_with_the_test() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let longer = Some(("--warm-up".to_owned(), "5s".to_owned()));
        assert_eq!(lengthen_warm_up(&words("fathom ab a b --warm-up 1s")), longer);
        assert_eq!(lengthen_warm_up(&words("fathom ab a b --warm-up=10s")), None);
        assert_eq!(lengthen_warm_up(&words("fathom ab a b")), None);
    }
}
