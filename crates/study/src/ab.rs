//! Compares two loads or hosts by alternating runs: A B, B A, A B, …, so that drift affects both
//! equally.

use analysis::compare::{self, InterleavedComparison, Judgement};
use analysis::verdict::list_doubts;
use model::Nanos;
use model::finding::{Finding, Severity};
use model::observation::Observation;
use model::results::{FORMAT_VERSION, Results};
use model::study::{DocumentKind, Question, RunRole, Setting, SkippedPoint, Study, StudyRun};
use serde::Serialize;

/// Default and minimum number of pairs; with fewer, p = 0.05 is unreachable.
pub const MIN_PAIRS: u32 = 6;
/// Default length of the measured window of each run.
pub const RUN_TIME: Nanos = Nanos::secs(10);
/// Warm-up before it.
pub const WARM_UP: Nanos = Nanos::secs(2);

/// One of the two compared sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Side {
    /// Side A, with which B is compared.
    A,
    /// Side B.
    B,
}

impl Side {
    /// `A` or `B`.
    pub fn letter(self) -> &'static str {
        match self {
            Side::A => "A",
            Side::B => "B",
        }
    }
}

/// One run of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairedRun {
    /// The side that runs.
    pub side: Side,
    /// Number of the pair, from 1.
    pub pair: u32,
}

/// The order of the runs: A B, B A, A B, …
pub fn run_order(pairs: u32) -> Vec<PairedRun> {
    let pair_turns = |pair: u32| {
        let sides = if pair % 2 == 1 {
            [Side::A, Side::B]
        } else {
            [Side::B, Side::A]
        };
        sides.map(|side| PairedRun { side, pair })
    };
    (1..=pairs).flat_map(pair_turns).collect()
}

/// The settings that identify a run in the study.
pub fn settings(run: PairedRun) -> Vec<Setting> {
    let side = Setting {
        name: "side".into(),
        value: run.side.letter().into(),
        number: None,
    };
    let pair = Setting {
        name: "pair".into(),
        value: run.pair.to_string(),
        number: Some(f64::from(run.pair)),
    };
    vec![side, pair]
}

/// A run of the study from its results.
pub fn study_run(run: PairedRun, results: Results) -> StudyRun {
    let is_complete = !results.interrupted
        && crate::sweep::is_complete(&results)
        && Observation::from_results(&results, 0, 0).is_some();
    StudyRun {
        settings: settings(run),
        role: if is_complete {
            RunRole::Measured
        } else {
            RunRole::CutShort
        },
        results,
    }
}

/// The study of `a` against `b`; `None` if nothing was measured.
pub fn study(
    (a, b): (&str, &str),
    runs: Vec<StudyRun>,
    skipped: Vec<SkippedPoint>,
    interrupted: bool,
) -> Option<Study> {
    Some(Study {
        format_version: FORMAT_VERSION,
        kind: DocumentKind::Study,
        tool: runs.first()?.results.tool.clone(),
        name: "ab".into(),
        question: Question::Ab {
            a: a.into(),
            b: b.into(),
        },
        runs,
        skipped,
        interrupted,
    })
}

/// The report of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Description of A.
    pub a: String,
    /// Description of B.
    pub b: String,
    /// The comparison; absent with fewer than two complete pairs.
    pub found: Option<InterleavedComparison>,
    /// Relative differences up to this are ignored.
    pub margin: f64,
    /// Conclusions in sentences.
    pub sentences: Vec<Sentence>,
    /// Warnings and errors of the runs, each rule once for each side, which is its place.
    pub warnings: Vec<Finding>,
    /// The comparison was cut short.
    pub interrupted: bool,
}

/// A sentence of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Sentence {
    /// The sentence itself.
    pub text: String,
    /// What the sentence is about; pages use it to choose sentences.
    #[serde(skip)]
    pub topic: Topic,
}

/// The topic of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// The meaning of the comparison.
    Meaning,
    /// Figures whose changes contradict the verdict.
    Contrary,
    /// The statistical tests.
    Tests,
}

impl Sentence {
    fn new(topic: Topic, text: impl Into<String>) -> Sentence {
        Sentence {
            text: text.into(),
            topic,
        }
    }
}

impl Report {
    /// Describes the first failure of a study without a comparison; `None` if no run failed.
    pub fn describe_failure(&self, study: &Study) -> Option<String> {
        let errors = self
            .warnings
            .iter()
            .filter(|finding| finding.severity == Severity::Error);
        let mut of_runs = errors.map(|finding| finding.what.clone());
        let skipped = study.skipped.first().map(|skipped| skipped.why.clone());
        let why = of_runs.next().or(skipped).filter(|_| self.found.is_none())?;
        Some(format!("no two pairs of runs are complete: {why}"))
    }

    /// Adds a comparison with the expectation for a three-way mirror ([`explain_for_mirror`]).
    #[must_use]
    pub fn with_mirror_expectation(mut self, study: &Study) -> Report {
        let (mut operations, mut writes) = (0, 0);
        for job in study.runs.iter().flat_map(|run| run.results.jobs()) {
            operations += job.total().operations;
            writes += job.directions().write.map_or(0, |writes| writes.operations);
        }
        if let Some(comparison) = self.found.as_ref().filter(|_| operations > 0) {
            let sentence = explain_for_mirror(comparison.word, writes as f64 / operations as f64);
            let sentence = Sentence::new(Topic::Meaning, sentence);
            self.sentences.insert(self.sentences.len().min(1), sentence);
        }
        self
    }

    /// Interprets a study; `None` for a study of another kind.
    pub fn from_study(study: &Study, margin: f64) -> Option<Report> {
        let Question::Ab { a, b } = &study.question else {
            return None;
        };
        let observation = |side: Side, pair: u32| {
            let wanted = settings(PairedRun { side, pair });
            let run = study
                .runs
                .iter()
                .find(|run| run.role == RunRole::Measured && run.settings == wanted)?;
            Observation::from_results(&run.results, 0, 0)
        };
        let max_pair = study.runs.len() as u32;
        let pairs: Vec<(Observation, Observation)> = (1..=max_pair)
            .filter_map(|pair| Some((observation(Side::A, pair)?, observation(Side::B, pair)?)))
            .collect();
        let references: Vec<(&Observation, &Observation)> = pairs.iter().map(|(a, b)| (a, b)).collect();
        let mut comparison = compare::compare_interleaved(&references, margin);
        let warnings = list_warnings(study);
        if let Some(comparison) = comparison.as_mut().filter(|_| !list_doubts(&warnings).is_empty()) {
            let words = comparison.changes.iter_mut().map(|change| &mut change.word);
            words
                .chain([&mut comparison.word])
                .for_each(|word| *word = Judgement::Doubtful);
        }
        Some(Report {
            a: a.clone(),
            b: b.clone(),
            sentences: describe_result(comparison.as_ref(), pairs.len(), margin),
            found: comparison,
            margin,
            warnings,
            interrupted: study.interrupted,
        })
    }
}

fn list_warnings(study: &Study) -> Vec<Finding> {
    let mut warnings: Vec<Finding> = Vec::new();
    for run in &study.runs {
        let side = run.settings.first().map(|setting| setting.value.clone());
        let findings = run.results.findings.iter();
        for finding in findings.filter(|finding| finding.severity >= Severity::Warning) {
            if !warnings
                .iter()
                .any(|warning| warning.rule == finding.rule && warning.at == side)
            {
                warnings.push(Finding {
                    at: side.clone(),
                    ..finding.clone()
                });
            }
        }
    }
    warnings
}

/// Compares the result with the expectation for a three-way mirror over three nodes. A is the owner
/// of the volume and B another node. Each node has a copy, so the owner can read locally, while the
/// other node may read over the network. Writes go over the network from both. `writes` is the
/// share of writes, 0 to 1.
pub fn explain_for_mirror(word: Judgement, writes: f64) -> &'static str {
    let (all_reads, all_writes) = (writes < 0.01, writes > 0.99);
    match word {
        _ if !all_reads && !all_writes => {
            "On a three-way mirror, reads may differ between the owner and another node; writes should not, because \
             they use the network from both. Compare reads and writes separately."
        }
        Judgement::Worse if all_reads => {
            "Expected of a three-way mirror: a node that does not own the volume reads over the network."
        }
        Judgement::Worse => {
            "Unexpected: on a three-way mirror, writes cross the network from either node. Check the network of B \
             and the resiliency type of the volume."
        }
        Judgement::Better => {
            "Unexpected: the owner should not be slower. Check that A is the owner; `fathom run` shows the \
             owner on Windows."
        }
        Judgement::Same if all_writes => "Expected of a three-way mirror: writes use the network from both nodes.",
        Judgement::Same => {
            "Reads from a node that does not own the volume should be slower: a cache may have served them, or the \
             network is not the limit."
        }
        Judgement::Undecided | Judgement::DifferentLoad | Judgement::Doubtful => {
            "The result does not show whether the volume behaves like a three-way mirror."
        }
    }
}

fn describe_result(comparison: Option<&InterleavedComparison>, pairs: usize, margin: f64) -> Vec<Sentence> {
    let Some(comparison) = comparison else {
        let measured = match pairs {
            1 => "1 complete pair was".to_owned(),
            pairs => format!("{pairs} complete pairs were"),
        };
        let text = format!(
            "No comparison: {measured} measured, but two are needed, and {MIN_PAIRS} for a \
             judgement."
        );
        return vec![Sentence::new(Topic::Meaning, text)];
    };
    let decisive = comparison
        .changes
        .iter()
        .find(|change| change.figure == comparison.primary);
    let mut sentences: Vec<Sentence> = decisive
        .map(|change| Sentence::new(Topic::Meaning, compare::describe_change(change, "B", "A", margin)))
        .into_iter()
        .collect();
    let contrary = compare::describe_contrary(comparison.word, &comparison.changes);
    let contrary = contrary.map(|figures| format!("Other figures differ: B is {figures}."));
    sentences.extend(contrary.map(|text| Sentence::new(Topic::Contrary, text)));
    let ranks_text = comparison.p_of_ranks.map_or(String::new(), |p| {
        format!(" and Wilcoxon's signed ranks (p {})", format_p(p))
    });
    let pairs_text = decisive.and_then(|change| change.p).map_or(String::new(), format_p);
    let detectable = match comparison.detectable {
        Some(share) => format!(
            "Four of five such tests of {} pairs would find a change of {} or more in {}.",
            comparison.pairs,
            format_percent(share),
            comparison.primary.name()
        ),
        None => {
            format!(
                "With fewer than {MIN_PAIRS} pairs, the rank test cannot become significant at 5 %, regardless of the \
                 figures."
            )
        }
    };
    sentences.push(Sentence::new(Topic::Meaning, detectable));
    let tests = format!(
        "Tests of {} alternating pairs: Student's paired test on the logarithms of the ratios (p {pairs_text}, raised for {} \
         figures){ranks_text}.",
        comparison.pairs,
        comparison.changes.len(),
    );
    sentences.push(Sentence::new(Topic::Tests, tests));
    sentences
}

fn format_p(p: f64) -> String {
    match p {
        p if p < 0.0001 => "< 0.0001".into(),
        p if p < 0.01 => format!("= {p:.4}"),
        p => format!("= {p:.3}"),
    }
}

fn format_percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p < 0.01 => "0.01 %".into(),
        p if p < 1.0 => format!("{p:.2} %"),
        p if p < 10.0 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_alternate_within_and_between_pairs() {
        let order: String = run_order(4).iter().map(|run| run.side.letter()).collect();
        assert_eq!(order, "ABBAABBA");
        assert_eq!(run_order(6).len(), 12);
        assert_eq!(run_order(2)[3], PairedRun { side: Side::A, pair: 2 });
    }

    #[test]
    fn only_reads_are_expected_to_differ_on_a_mirror() {
        let explain = |word, writes| explain_for_mirror(word, writes);
        assert!(explain(Judgement::Worse, 0.0).starts_with("Expected"));
        assert!(explain(Judgement::Same, 1.0).starts_with("Expected"));
        assert!(explain(Judgement::Worse, 1.0).starts_with("Unexpected"));
        assert!(explain(Judgement::Same, 0.0).contains("should be slower"));
        for writes in [0.0, 1.0] {
            assert!(explain(Judgement::Better, writes).starts_with("Unexpected"));
            assert!(explain(Judgement::Undecided, writes).contains("does not show whether"));
        }
        assert!(explain(Judgement::Worse, 0.3).contains("reads and writes separately"));
    }

    #[test]
    fn figures_of_the_tests_are_short() {
        assert_eq!(format_p(0.00001), "< 0.0001");
        assert_eq!(format_p(0.03125), "= 0.031");
        assert_eq!(format_percent(0.0), "0.01 %");
        assert_eq!(format_percent(0.0123), "1.2 %");
    }
}
