//! Two things in turns: A B, B A, A B, …, so that whatever drifts meanwhile meets both alike.

use analysis::compare::{self, Interleaved, Judgement};
use model::Nanos;
use model::observation::Observation;
use model::results::{FORMAT_VERSION, Results};
use model::study::{LeftOut, Question, Role, Setting, Study, StudyKind, StudyRun};
use serde::Serialize;

/// Pairs, unless more are asked for: the fewest with which five per cent can be reached at all.
pub const MIN_PAIRS: u32 = 6;
/// Length of the measured window of each run, unless it is given.
pub const TIME: Nanos = Nanos::secs(10);
/// I/O before it.
pub const WARM_UP: Nanos = Nanos::secs(2);

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

impl Side {
    /// Its letter.
    pub fn letter(self) -> &'static str {
        match self {
            Side::A => "A",
            Side::B => "B",
        }
    }
}

/// One run of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Whose.
    pub side: Side,
    /// Of which pair, from 1.
    pub pair: u32,
}

/// The order of that many pairs: A B, B A, A B, …
pub fn turns(pairs: u32) -> Vec<Turn> {
    let of = |pair: u32| {
        let sides = if pair % 2 == 1 {
            [Side::A, Side::B]
        } else {
            [Side::B, Side::A]
        };
        sides.map(|side| Turn { side, pair })
    };
    (1..=pairs).flat_map(of).collect()
}

/// The settings that tell the runs of a comparison apart.
pub fn settings(turn: Turn) -> Vec<Setting> {
    let side = Setting {
        name: "side".into(),
        value: turn.side.letter().into(),
        number: None,
    };
    let pair = Setting {
        name: "pair".into(),
        value: turn.pair.to_string(),
        number: Some(f64::from(turn.pair)),
    };
    vec![side, pair]
}

/// A run with its results, as part of a study.
pub fn run_of(turn: Turn, results: Results) -> StudyRun {
    let whole =
        !results.interrupted && crate::sweep::is_whole(&results) && Observation::from_results(&results, 0, 0).is_some();
    StudyRun {
        settings: settings(turn),
        role: if whole { Role::Point } else { Role::CutShort },
        results,
    }
}

/// Everything that was measured of `a` against `b`. `None` if nothing was.
pub fn study((a, b): (&str, &str), runs: Vec<StudyRun>, left_out: Vec<LeftOut>, interrupted: bool) -> Option<Study> {
    Some(Study {
        format_version: FORMAT_VERSION,
        kind: StudyKind::Study,
        tool: runs.first()?.results.tool.clone(),
        name: "ab".into(),
        question: Question::Ab {
            a: a.into(),
            b: b.into(),
        },
        runs,
        left_out,
        interrupted,
    })
}

/// What a comparison in turns says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// What A is.
    pub a: String,
    /// What B is.
    pub b: String,
    /// The comparison; absent where there are fewer than two whole pairs.
    pub found: Option<Interleaved>,
    /// Differences up to this share count as none.
    pub margin: f64,
    /// In words.
    pub sentences: Vec<String>,
    /// It was cut short.
    pub interrupted: bool,
}

impl Report {
    /// Says as well whether this is what a three-way mirror leads one to expect
    /// ([`expected_of_mirror`]).
    #[must_use]
    pub fn on_a_mirror(mut self, study: &Study) -> Report {
        let (mut all, mut writes) = (0, 0);
        for job in study
            .runs
            .iter()
            .flat_map(|run| &run.results.steps)
            .flat_map(|step| &step.jobs)
        {
            all += job.total().operations;
            writes += job.directions().write.map_or(0, |writes| writes.operations);
        }
        if let Some(found) = self.found.as_ref().filter(|_| all > 0) {
            let said = expected_of_mirror(found.word, writes as f64 / all as f64);
            self.sentences.insert(self.sentences.len().min(1), said.to_owned());
        }
        self
    }

    /// Works out what a study says. `None` for a study of another kind.
    pub fn from_study(study: &Study, margin: f64) -> Option<Report> {
        let Question::Ab { a, b } = &study.question else {
            return None;
        };
        let of = |side: Side, pair: u32| {
            let wanted = settings(Turn { side, pair });
            let run = study
                .runs
                .iter()
                .find(|run| run.role == Role::Point && run.settings == wanted)?;
            Observation::from_results(&run.results, 0, 0)
        };
        let most = study.runs.len() as u32;
        let pairs: Vec<(Observation, Observation)> = (1..=most)
            .filter_map(|pair| Some((of(Side::A, pair)?, of(Side::B, pair)?)))
            .collect();
        let lent: Vec<(&Observation, &Observation)> = pairs.iter().map(|(a, b)| (a, b)).collect();
        let found = compare::interleaved(&lent, margin);
        Some(Report {
            a: a.clone(),
            b: b.clone(),
            sentences: sentences(found.as_ref(), pairs.len(), margin),
            found,
            margin,
            interrupted: study.interrupted,
        })
    }
}

/// What a three-way mirror over three nodes leads one to expect between the owner of a volume (A)
/// and another node (B), and whether that is what was found. Each node has a copy, so a read by the
/// owner need not leave it, and the other node reads through the owner or past it; a write goes
/// over the network from either. `writes` is the share of writes, 0 to 1.
pub fn expected_of_mirror(word: Judgement, writes: f64) -> &'static str {
    let (all_reads, all_writes) = (writes < 0.01, writes > 0.99);
    match word {
        _ if !all_reads && !all_writes => {
            "On a three-way mirror reads may differ between the owner and another node, and writes should not, as each goes over \
             the network from either: compare reads and writes apart to tell which it is."
        }
        Judgement::Worse if all_reads => {
            "That is as expected of a three-way mirror: reads of a node that does not own the volume take a way over the network."
        }
        Judgement::Worse => {
            "That is not as expected: on a three-way mirror writes go over the network from either node. Look at the network of B, or \
             whether the volume has another resiliency."
        }
        Judgement::Better => {
            "That is not as expected: the owner should be no slower. Is A the owner? `fathom run` names it on Windows."
        }
        Judgement::Same if all_writes => {
            "That is as expected of a three-way mirror: writes go over the network from either node."
        }
        Judgement::Same => {
            "Reads of a node that does not own the volume were expected to be slower: a cache may have answered, or the network is no \
             part of what limits."
        }
        Judgement::Undecided | Judgement::DifferentLoad => {
            "So it cannot be said whether this is as a three-way mirror leads one to expect."
        }
    }
}

fn sentences(found: Option<&Interleaved>, pairs: usize, margin: f64) -> Vec<String> {
    let Some(found) = found else {
        return vec![format!(
            "Nothing can be said: {pairs} whole pairs were measured, and two are needed; {MIN_PAIRS} for a judgement."
        )];
    };
    let decisive = found.changes.iter().find(|change| change.figure == found.primary);
    let mut said: Vec<String> = decisive
        .map(|change| compare::sentence(change, "B", "A", margin))
        .into_iter()
        .collect();
    let contrary = compare::contrary(found.word, &found.changes);
    said.extend(contrary.map(|both| format!("Not in everything: B is {both}.")));
    let of_ranks = found.p_of_ranks.map_or(String::new(), |p| {
        format!(" and Wilcoxon's signed ranks (p {})", probability(p))
    });
    let of_pairs = decisive.and_then(|change| change.p).map_or(String::new(), probability);
    let detectable = match found.detectable {
        Some(share) => format!(
            "This number of pairs finds a change of {} or more in four of five attempts.",
            percent(share)
        ),
        None => format!(
            "Fewer than {MIN_PAIRS} pairs cannot reach five per cent by their signed ranks, whatever they show."
        ),
    };
    said.push(format!(
        "This is by {} pairs in turns, Student's paired test on the logarithms of the ratios (p {of_pairs}, raised for \
         {} figures){of_ranks}. {detectable}",
        found.pairs,
        found.changes.len(),
    ));
    said
}

fn probability(p: f64) -> String {
    match p {
        p if p < 0.0001 => "< 0.0001".into(),
        p if p < 0.01 => format!("= {p:.4}"),
        p => format!("= {p:.3}"),
    }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p < 0.01 => "0.01 %".into(),
        p if p < 1.0 => format!("{p:.2} %"),
        p => format!("{p:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_alternate_within_and_between_pairs() {
        let order: String = turns(4).iter().map(|turn| turn.side.letter()).collect();
        assert_eq!(order, "ABBAABBA");
        assert_eq!(turns(6).len(), 12);
        assert_eq!(turns(2)[3], Turn { side: Side::A, pair: 2 });
    }

    #[test]
    fn a_mirror_lets_only_reads_differ() {
        let says = |word, writes| expected_of_mirror(word, writes);
        assert!(says(Judgement::Worse, 0.0).starts_with("That is as expected"));
        assert!(says(Judgement::Same, 1.0).starts_with("That is as expected"));
        assert!(says(Judgement::Worse, 1.0).starts_with("That is not as expected"));
        assert!(says(Judgement::Same, 0.0).contains("expected to be slower"));
        for writes in [0.0, 1.0] {
            assert!(says(Judgement::Better, writes).starts_with("That is not as expected"));
            assert!(says(Judgement::Undecided, writes).contains("cannot be said"));
        }
        assert!(says(Judgement::Worse, 0.3).contains("reads and writes apart"));
    }

    #[test]
    fn figures_of_the_tests_are_short() {
        assert_eq!(probability(0.00001), "< 0.0001");
        assert_eq!(probability(0.03125), "= 0.031");
        assert_eq!(percent(0.0), "0.01 %");
        assert_eq!(percent(0.0123), "1.2 %");
    }
}
