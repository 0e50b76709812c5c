//! The verdict on a comparison: which result is better, in which figures.

use analysis::compare::{Change, Figure, Judgement, RankedResult};
use report::html::page::{Block, Page, Tone, Verdict};
use report::html::run::Head;

use super::advice::describe_disturbed;
use super::{JUDGEMENT_TITLE, Sides, short_name};

/// The variation that the intervals of single runs include.
const WITHIN_RUNS: &str = "the variation within each run";

const SAME: &str = "SAME";
const UNPROVEN: &str = "NO DIFFERENCE PROVEN";
const DOUBTFUL: &str = "DOUBTFUL";
const CANNOT_TELL: &str = "CANNOT TELL";

/// A change of each figure, and which of them decides.
#[derive(Clone, Copy)]
pub(super) struct Changes<'a> {
    /// The change of the deciding figure.
    pub(super) decisive: Option<&'a Change>,
    pub(super) all: &'a [Change],
}

impl<'a> Changes<'a> {
    pub(super) fn new(primary: Figure, all: &'a [Change]) -> Changes<'a> {
        let decisive = all.iter().find(|change| change.figure == primary);
        Changes { decisive, all }
    }

    pub(super) fn from_ranked(result: &'a RankedResult, all: &'a [Change]) -> Changes<'a> {
        let decisive = result.to_best.as_ref();
        Changes { decisive, all }
    }

    /// The changes that a verdict counts: the deciding figure and the percentiles. The mean follows
    /// from the rate of a closed loop.
    fn counted(self) -> impl Iterator<Item = &'a Change> {
        let is_counted = move |change: &&Change| {
            matches!(change.figure, Figure::Quantile(_))
                && self.decisive.is_none_or(|decisive| decisive.figure != change.figure)
        };
        self.decisive.into_iter().chain(self.all.iter().filter(is_counted))
    }

    /// Judges by the counted changes; `None` if some are better and some worse.
    pub(super) fn judge(self) -> Option<Judgement> {
        let has = |wanted: Judgement| self.counted().any(|change| change.word == wanted);
        match (has(Judgement::Better), has(Judgement::Worse)) {
            _ if has(Judgement::DifferentLoad) => Some(Judgement::DifferentLoad),
            _ if has(Judgement::Doubtful) => Some(Judgement::Doubtful),
            (true, true) => None,
            (true, false) => Some(Judgement::Better),
            (false, true) => Some(Judgement::Worse),
            (false, false) if has(Judgement::Undecided) => Some(Judgement::Undecided),
            (false, false) => Some(Judgement::Same),
        }
    }

    /// Describes the figures that differ: `worse in IOPS and p99`, or with their sizes, `worse in
    /// IOPS (-20 %) and p99 (+12 %)`.
    pub(super) fn describe(self, with_sizes: bool) -> String {
        let in_figures = |wanted: Judgement| {
            let changed = self.counted().filter(|change| change.word == wanted);
            let names: Vec<String> = changed
                .map(|change| match with_sizes {
                    true => format!("{} ({})", change.figure.name(), change.format_ratio()),
                    false => change.figure.name(),
                })
                .collect();
            let (last, others) = names.split_last()?;
            Some(match others {
                [] => format!("{} in {last}", wanted.word()),
                others => format!("{} in {} and {last}", wanted.word(), others.join(", ")),
            })
        };
        let parts = [Judgement::Better, Judgement::Worse].map(in_figures);
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        match parts.is_empty() {
            true => self.judge().map_or("", Judgement::word).to_owned(),
            false => parts.join(", "),
        }
    }

    /// Describes the deciding figure, and of the others the one that changed most: `worse in IOPS
    /// (-20 %) and p99 (137 us against 70.4 us)`. The table has the rest.
    fn describe_main(self) -> String {
        let is_clear = |change: &&Change| matches!(change.word, Judgement::Better | Judgement::Worse);
        let is_other = |change: &&Change| self.decisive.is_none_or(|decisive| decisive.figure != change.figure);
        let distance = |change: &&Change| change.ratio.max(f64::MIN_POSITIVE).ln().abs();
        let others = self.counted().filter(is_clear).filter(is_other);
        let largest = others.max_by(|a, b| distance(a).total_cmp(&distance(b)));
        let decisive = self.decisive.filter(is_clear);
        let main: Vec<&Change> = decisive.into_iter().chain(largest).collect();
        let size = |change: &Change| match change.figure {
            Figure::Iops => format!("IOPS ({})", change.format_ratio()),
            figure => {
                let [to, from] = [change.to, change.from].map(|value| figure.format_value(value));
                format!("{} ({to} against {from})", figure.name())
            }
        };
        match main[..] {
            [] => self.describe(false),
            [one] => format!("{} in {}", one.word.word(), size(one)),
            [one, other, ..] if one.word == other.word => {
                format!("{} in {} and {}", one.word.word(), size(one), size(other))
            }
            [one, other, ..] => {
                let [one, other] = [one, other].map(|change| format!("{} in {}", change.word.word(), size(change)));
                format!("{one}, {other}")
            }
        }
    }

    /// Describes a deciding figure that may have changed by chance only, next to others that
    /// differ.
    fn describe_undecided(self) -> String {
        match self.decisive {
            Some(decisive) if decisive.word == Judgement::Undecided => format!(
                " The difference in {} ({}) may be chance.",
                decisive.figure.name(),
                decisive.format_ratio()
            ),
            _ => String::new(),
        }
    }
}

/// Judges the changes from `than` to `what`. `beyond` is what a difference exceeds.
pub(super) fn judge_pair(changes: Changes<'_>, what: &str, than: &str, beyond: &str) -> Verdict {
    let figures = changes.describe(true);
    let undecided = changes.describe_undecided();
    let differs = format!("{what} is {figures} than {than}, by more than {beyond}.{undecided}");
    let (label, tone, sentence) = match changes.judge() {
        None => (
            "MIXED",
            Tone::Unsure,
            format!("{what} against {than}: {figures}.{undecided}"),
        ),
        Some(Judgement::DifferentLoad) => (
            "DIFFERENT LOAD",
            Tone::Plain,
            format!("{what} and {than} are different loads, so neither is better."),
        ),
        Some(Judgement::Doubtful) => (
            DOUBTFUL,
            Tone::Unsure,
            format!("Findings invalidate the figures, so neither {what} nor {than} is better."),
        ),
        Some(Judgement::Better) => ("BETTER", Tone::Good, differs),
        Some(Judgement::Same) => (
            SAME,
            Tone::Plain,
            format!("{what} and {than} differ by less than the margin, if at all."),
        ),
        Some(Judgement::Worse) => ("WORSE", Tone::Bad, differs),
        Some(Judgement::Undecided) => (
            UNPROVEN,
            Tone::Unsure,
            format!("These runs do not show which is better, {what} or {than}."),
        ),
    };
    Verdict::new(label, tone, sentence)
}

/// Weakens a verdict if other programs disturbed a run: they may be the cause of a difference.
pub(super) fn weaken_if_disturbed(verdict: Verdict, heads: &[Head]) -> Verdict {
    if [SAME, UNPROVEN, DOUBTFUL].contains(&&*verdict.word) {
        return verdict;
    }
    match (describe_disturbed(heads), verdict.tone) {
        (Some(which), Tone::Good | Tone::Bad | Tone::Unsure) => Verdict {
            word: CANNOT_TELL.into(),
            tone: Tone::Unsure,
            sentence: format!(
                "{}. Other programs disturbed {which}, so the storage may not be the cause.",
                verdict.sentence.trim_end_matches('.')
            ),
            ..verdict
        },
        _ => verdict,
    }
}

/// Rewords a page that cannot tell the cause of a difference: a result measured better is not one
/// that is better.
pub(super) fn reword_open_verdict(page: &mut Page) {
    if page.verdict.word != CANNOT_TELL {
        return;
    }
    let reword = |text: &mut String| {
        *text = text
            .replace(" is better ", " measured better ")
            .replace(" is worse ", " measured worse ");
    };
    reword(&mut page.verdict.sentence);
    page.lead.iter_mut().for_each(|lead| reword(&mut lead.sentence));
    for block in page.sections.iter_mut().flat_map(|section| &mut section.blocks) {
        if let Block::Table(table) = block {
            let titles = table.head.iter_mut().filter(|title| **title == JUDGEMENT_TITLE);
            titles.for_each(|title| *title = "it measured".into());
        }
    }
}

/// Weakens a verdict about single runs, which do not show the variation from run to run.
pub(super) fn weaken_single_runs(verdict: Verdict, heads: &[Head]) -> Verdict {
    let verdict = weaken_if_disturbed(verdict, heads);
    match verdict.tone {
        Tone::Good | Tone::Bad => Verdict {
            word: format!("{} (ONE RUN EACH)", verdict.word),
            tone: Tone::Plain,
            ..verdict
        },
        _ => verdict,
    }
}

/// Judges a comparison: two results in the order of the command line, more by how the others
/// compare with the best.
pub(super) fn judge(files: &[String], job: &Sides<'_>) -> Verdict {
    if let [to] = job.changes[..] {
        let first = job.ranking.first().and_then(|best| best.figures.first());
        let primary = first.map_or(Figure::Iops, |first| first.figure);
        return judge_pair(Changes::new(primary, to), &files[1], &files[0], WITHIN_RUNS);
    }
    job.ranking
        .split_first()
        .map_or_else(Verdict::default, |(best, others)| {
            judge_ranking(files, best, others, job.from_best)
        })
}

/// Judges three or more results by how the others compare with the best.
fn judge_ranking(files: &[String], best: &RankedResult, others: &[RankedResult], from_best: &[Vec<Change>]) -> Verdict {
    let best_name = short_name(files, best.index);
    let results = others.iter().zip(from_best);
    let results: Vec<(&str, Changes<'_>)> = results
        .map(|(result, changes)| (short_name(files, result.index), Changes::from_ranked(result, changes)))
        .collect();
    let words: Vec<Option<Judgement>> = results.iter().map(|(_, changes)| changes.judge()).collect();
    let compared = describe_others(best, best_name, &results);
    let all_equal = |wanted: Judgement| words.iter().all(|word| *word == Some(wanted));
    let has = |wanted: Option<Judgement>| words.contains(&wanted);
    let (label, tone, sentence): (String, Tone, String) = if has(Some(Judgement::DifferentLoad)) {
        (
            "DIFFERENT LOADS".into(),
            Tone::Plain,
            "The results are of different loads, so none is better.".to_owned(),
        )
    } else if has(Some(Judgement::Doubtful)) {
        (
            DOUBTFUL.into(),
            Tone::Unsure,
            "Findings invalidate figures, so no result is better.".to_owned(),
        )
    } else if all_equal(Judgement::Worse) {
        (format!("{best_name} WAS BEST"), Tone::Good, compared)
    } else if all_equal(Judgement::Same) {
        (
            SAME.into(),
            Tone::Plain,
            "The results differ by less than the margin, if at all.".to_owned(),
        )
    } else if has(None) || has(Some(Judgement::Better)) {
        ("NO SINGLE BEST".into(), Tone::Unsure, compared)
    } else if has(Some(Judgement::Worse)) {
        let worse = results
            .iter()
            .zip(&words)
            .filter(|(_, word)| **word == Some(Judgement::Worse));
        let names: Vec<&str> = worse.map(|((name, _), _)| *name).collect();
        (format!("{} WORSE", names.join(", ")), Tone::Bad, compared)
    } else {
        (
            UNPROVEN.into(),
            Tone::Unsure,
            "These runs do not show which is the best: they may differ by chance alone.".to_owned(),
        )
    };
    Verdict::new(label, tone, sentence)
}

fn describe_others(best: &RankedResult, best_name: &str, results: &[(&str, Changes<'_>)]) -> String {
    let first = best.figures.first().map(|first| first.figure.name());
    let described = results.iter().map(|(name, changes)| match changes.judge() {
        Some(Judgement::Undecided) => format!("{name} may differ by chance only"),
        Some(Judgement::Same) => format!("{name} is the same"),
        _ => format!("{name} is {}", changes.describe_main()),
    });
    let described: Vec<String> = described.collect();
    let is_open = |(_, changes): &(&str, Changes<'_>)| {
        changes.judge() != Some(Judgement::Undecided) && !changes.describe_undecided().is_empty()
    };
    let open = match (&first, results.iter().any(is_open)) {
        (Some(first), true) => format!(" The differences in {first} may be chance."),
        _ => String::new(),
    };
    format!(
        "Compared with {best_name}, which has the best {}: {}.{open}",
        first.unwrap_or_default(),
        described.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use report::html::page::{Lead, Section, Table};

    use super::*;

    #[test]
    fn an_open_verdict_calls_nothing_better() {
        let table = Table::new("", &["", JUDGEMENT_TITLE], Vec::new());
        let page = |word: &str| Page {
            verdict: Verdict::new(word, Tone::Unsure, "B is better in IOPS (+9 %) than A, but …"),
            lead: vec![Lead::new("", "B is better than A: +9 %.".into(), Vec::new())],
            sections: vec![Section::new("", vec![Block::Table(table.clone())])],
            ..Page::default()
        };
        let mut reworded = page(CANNOT_TELL);
        reword_open_verdict(&mut reworded);
        assert_eq!(
            reworded.verdict.sentence,
            "B measured better in IOPS (+9 %) than A, but …"
        );
        assert_eq!(reworded.lead[0].sentence, "B measured better than A: +9 %.");
        let Block::Table(table) = &reworded.sections[0].blocks[0] else {
            panic!("a table");
        };
        assert_eq!(table.head, ["", "it measured"]);
        let mut proven = page("BETTER");
        reword_open_verdict(&mut proven);
        assert_eq!(proven, page("BETTER"));
    }
}
