//! Pages of comparisons: alternating runs of A and B, and saved results.

mod ab;
mod advice;
mod facts;

use analysis::compare::{self, Change, Difference, Fact, Figure, Judgement, RankedResult};
use report::html::chart::{Across, Axis, Chart, Form, Look, Mark, Series, Tone, time_unit};
use report::html::page::{self, Block, Lead, Page, Section, Table, Verdict};
use report::html::run::{Head, add_options};
use serde::Serialize;

use super::figures_download;
use facts::{differences_block, shared_facts};

pub use ab::ab;
pub use advice::{next, warnings};

/// Caveat about the intervals of a comparison of single runs.
const INTERVALS_CAVEAT: &str =
    "The intervals cover variation within each run, not from run to run: `fathom ab` measures that.";
/// Caveat about a difference between single runs that exceeds their intervals.
const ORDER_CAVEAT: &str = "With one run each, the order may be chance although the intervals are apart.";

/// How the interval of a change decides.
const INTERVAL_RULE: &str = "If the whole interval is within the shaded margin, the figure is the same; if the \
    interval contains zero, or may exclude it by chance because several figures are compared, the difference is not \
    known; otherwise the figure is better or worse.";

/// Returns the caveats of a comparison of single runs.
pub fn caveats(ranking: &[RankedResult]) -> Vec<String> {
    let mut to_best = ranking.iter().filter_map(|result| result.to_best.as_ref());
    let is_apart = to_best.any(|change| matches!(change.word, Judgement::Better | Judgement::Worse));
    let order = is_apart.then_some(ORDER_CAVEAT);
    std::iter::once(INTERVALS_CAVEAT)
        .chain(order)
        .map(str::to_owned)
        .collect()
}

/// Lists the lines that the heads of all results share.
fn common_lines(heads: &[Head]) -> Vec<String> {
    let has_all = |line: &&String| heads.iter().all(|head| head.about.contains(line));
    let first = heads.first().map_or(&[][..], |head| &head.about[..]);
    first.iter().filter(has_all).cloned().collect()
}

/// The variation that the intervals of single runs include.
const WITHIN_RUNS: &str = "the variation within each run";

/// Describes better, same or worse for the first screen. `beyond` is what the difference exceeds.
fn judgement_verdict((word, changes): (Judgement, &[Change]), what: &str, than: &str, beyond: &str) -> Verdict {
    let contrary = compare::describe_contrary(word, changes);
    let (label, tone, sentence) = match word {
        _ if contrary.is_some() => (
            "MIXED",
            page::Tone::Unsure,
            format!("{what} against {than}: {}.", contrary.unwrap_or_default()),
        ),
        Judgement::DifferentLoad => (
            "DIFFERENT LOAD",
            page::Tone::Plain,
            format!("{what} and {than} are different loads, so neither is better."),
        ),
        Judgement::Doubtful => (
            DOUBTFUL,
            page::Tone::Unsure,
            format!("Findings invalidate the figures, so neither {what} nor {than} is better."),
        ),
        Judgement::Better => (
            "BETTER",
            page::Tone::Good,
            format!("{what} is better than {than}, by more than {beyond}."),
        ),
        Judgement::Same => (
            SAME,
            page::Tone::Plain,
            format!("{what} and {than} differ by less than the margin, if at all."),
        ),
        Judgement::Worse => (
            "WORSE",
            page::Tone::Bad,
            format!("{what} is worse than {than}, by more than {beyond}."),
        ),
        Judgement::Undecided => (
            UNPROVEN,
            page::Tone::Unsure,
            format!("These runs do not show which is better, {what} or {than}."),
        ),
    };
    Verdict {
        word: label.into(),
        tone,
        sentence,
        ..Verdict::default()
    }
}

/// Builds charts and tables of the changes from the first result to each other one.
fn build_change_charts(
    prefix: &str,
    names: &[String],
    changes: &[&[Change]],
    order: &[usize],
    margin: f64,
) -> Vec<Block> {
    let build_pair = |(number, to): (usize, &&[Change])| {
        let id = match number {
            0 => format!("{prefix}effects"),
            _ => format!("{prefix}effects-{number}"),
        };
        let mut chart = build_effect_chart(id, &names[0], &names[number + 1], to, margin);
        let place = order.iter().position(|index| *index == number + 1);
        chart.series[0].looks = vec![Look::Series(place.unwrap_or(0)); to.len()];
        let table = Block::Table(changes_table(&names[0], &names[number + 1], to));
        Block::chart_block(Some(chart)).into_iter().chain([table])
    };
    changes.iter().enumerate().flat_map(build_pair).collect()
}

/// Builds the chart of the latencies of each side. `order` lists the sides as the other charts do,
/// so that each has the same colour in all of them.
fn latencies(prefix: &str, names: &[String], changes: &[&[Change]], order: &[usize]) -> Option<Chart> {
    let is_latency = |change: &&Change| change.figure != Figure::Iops;
    let first: Vec<&Change> = changes.first()?.iter().filter(is_latency).collect();
    let slowest = first
        .iter()
        .map(|change| change.from.max(change.to))
        .fold(0.0, f64::max);
    let (unit, ns) = time_unit(slowest / 4.0);
    let value = |index: usize, change: &Change| match index.checked_sub(1) {
        None => Some(change.from),
        Some(other) => {
            let to = changes
                .get(other)?
                .iter()
                .find(|candidate| candidate.figure == change.figure);
            to.map(|change| change.to)
        }
    };
    let bars = |index: &usize| {
        let (index, name) = (*index, names.get(*index)?);
        let values = first
            .iter()
            .map(|change| (change.figure.name(), value(index, change).map(|value| value / ns)));
        Some(Series::over_names(name.clone(), Form::Points, values))
    };
    Some(Chart {
        id: format!("{prefix}latencies"),
        title: "Latency".into(),
        about: "Latency: the mean, and the time within which 50 %, 95 %, 99 % … of the operations \
            completed. Less is better."
            .into(),
        x: Axis::names(""),
        y: Axis::log("latency", unit),
        series: order.iter().filter_map(bars).collect(),
        ..Chart::default()
    })
}

/// Builds a chart of the change of each figure, with its interval.
fn build_effect_chart(id: String, from: &str, name: &str, to: &[Change], margin: f64) -> Chart {
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let mut series = Series::over_names(
        format!("{name} against {from}"),
        Form::Rows,
        to.iter()
            .map(|change| (change.figure.name(), Some(percent(change.ratio)))),
    );
    series.low = to.iter().map(|change| change.low.map(percent)).collect();
    series.high = to.iter().map(|change| change.high.map(percent)).collect();
    series.words = to
        .iter()
        .map(|change| format!("{}: {}", change.describe(), change.word.word()))
        .collect();
    Chart {
        id,
        title: format!("Change of each figure: {name} against {from}"),
        about: format!("The difference of each figure, with its 95 % interval. {INTERVAL_RULE}"),
        x: Axis::names("figure"),
        y: Axis::linear("change", "%"),
        series: vec![series],
        marks: vec![Mark {
            across: Across::Y,
            at: -100.0 * margin,
            to: Some(100.0 * margin),
            words: "counts as the same".into(),
            tone: Tone::Other,
        }],
        ..Chart::default()
    }
}

/// Builds a table of the change of each figure.
pub fn changes_table(from: &str, to: &str, changes: &[Change]) -> Table {
    let row = |change: &Change| {
        vec![
            change.figure.name(),
            change.figure.format_value(change.from),
            change.figure.format_value(change.to),
            change.describe(),
            change.word.word().to_owned(),
        ]
    };
    Table {
        caption: format!("{to} against {from}"),
        head: ["", from, to, "change (95 %)", "it is"].map(str::to_owned).to_vec(),
        rows: changes.iter().map(row).collect(),
    }
}

/// Returns the title of a ranking: results of different loads are not better or worse.
fn ranking_title(ranking: &[RankedResult]) -> &'static str {
    match has_different_loads(ranking) {
        true => "Sorted by their figures, although the loads differ",
        false => "From the best to the worst",
    }
}

fn has_different_loads(ranking: &[RankedResult]) -> bool {
    let changes = ranking.iter().filter_map(|result| result.to_best.as_ref());
    changes
        .into_iter()
        .any(|change| change.word == Judgement::DifferentLoad)
}

/// The file of the first result of a ranking, with which the others are compared.
fn baseline_file<'a>(files: &'a [String], ranking: &[RankedResult]) -> &'a str {
    ranking.first().map_or("", |first| short_name(files, first.index))
}

/// The changes that a verdict counts: those of the deciding figure, the median and the p99.
fn counted_changes<'a>(result: &'a RankedResult, changes: &'a [Change]) -> impl Iterator<Item = &'a Change> {
    let decisive = result.to_best.as_ref();
    let is_counted = move |change: &&Change| {
        [Figure::Quantile(0.5), Figure::Quantile(0.99)].contains(&change.figure)
            && decisive.is_none_or(|decisive| decisive.figure != change.figure)
    };
    decisive.into_iter().chain(changes.iter().filter(is_counted))
}

/// Judges a result by the counted changes; `None` if it is better in some and worse in others.
fn judge_result(result: &RankedResult, changes: &[Change]) -> Option<Judgement> {
    let has = |wanted: Judgement| counted_changes(result, changes).any(|change| change.word == wanted);
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

/// Describes the verdict on a result: `worse in IOPS and p99`.
fn describe_result(result: &RankedResult, changes: &[Change]) -> String {
    let in_figures = |wanted: Judgement| {
        let changed = counted_changes(result, changes).filter(|change| change.word == wanted);
        let names: Vec<String> = changed.map(|change| change.figure.name()).collect();
        let (last, others) = names.split_last()?;
        Some(match others {
            [] => format!("{} in {last}", wanted.word()),
            others => format!("{} in {} and {last}", wanted.word(), others.join(", ")),
        })
    };
    let parts = [Judgement::Better, Judgement::Worse].map(in_figures);
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => judge_result(result, changes).map_or("", Judgement::word).to_owned(),
        false => parts.join("; "),
    }
}

/// Builds a table of results from best to worst, each compared with the best. With heads it is the
/// table of a page: the verdict is in the first columns, which a phone shows, and the time and the
/// target of each result in the last.
pub fn ranking_table(
    files: &[String],
    heads: Option<&[Head]>,
    ranking: &[RankedResult],
    from_best: &[Vec<Change>],
) -> Table {
    let with_interval = |ranked: &RankedResult| {
        let decisive = &ranked.figures[0];
        let ends = decisive.interval.map(|(low, high)| {
            let words = [low, high].map(|end| decisive.figure.format_value(end));
            match words[0] == words[1] {
                true => String::new(),
                false => format!(" ({} to {})", words[0], words[1]),
            }
        });
        decisive.figure.format_value(decisive.value) + &ends.unwrap_or_default()
    };
    let mut figures: Vec<Figure> = Vec::new();
    for shown in ranking.iter().flat_map(|result| &result.figures) {
        if !figures.contains(&shown.figure) {
            figures.push(shown.figure);
        }
    }
    let arrange = |name: String, verdict: String, mut cells: Vec<String>, last: Option<[String; 2]>| {
        let place = if last.is_some() { 0 } else { cells.len() };
        cells.insert(place, verdict);
        std::iter::once(name)
            .chain(cells)
            .chain(last.into_iter().flatten())
            .collect::<Vec<_>>()
    };
    let row = |(place, result): (usize, &RankedResult)| {
        let others = figures.iter().skip(1).map(|figure| {
            let ranked_figure = result.figures.iter().find(|shown| shown.figure == *figure);
            ranked_figure.map_or("-".to_owned(), |shown| figure.format_value(shown.value))
        });
        let (change, word) = match (
            &result.to_best,
            place.checked_sub(1).and_then(|place| from_best.get(place)),
        ) {
            (Some(change), Some(changes)) => (change.describe(), describe_result(result, changes)),
            _ => ("-".to_owned(), "baseline".to_owned()),
        };
        let cells = std::iter::once(with_interval(result))
            .chain(others)
            .chain([change])
            .collect();
        let head = heads.and_then(|heads| heads.get(result.index));
        let last = head.map(|head| [head.started.clone(), head.targets.clone()]);
        arrange(format!("{}. {}", place + 1, files[result.index]), word, cells, last)
    };
    let decisive = figures.iter().take(1).map(|figure| format!("{} (95 %)", figure.name()));
    let against = format!("against {} (95 %)", baseline_file(files, ranking));
    let titles = decisive
        .chain(figures.iter().skip(1).map(|figure| figure.name()))
        .chain([against]);
    let last = heads.map(|_| ["measured", "target"].map(str::to_owned));
    Table {
        caption: ranking_title(ranking).into(),
        head: arrange(String::new(), "verdict".into(), titles.collect(), last),
        rows: ranking.iter().enumerate().map(row).collect(),
    }
}

/// Builds a chart of the deciding figure, with a row and interval for each result.
fn build_interval_chart(prefix: &str, files: &[String], ranking: &[RankedResult], margin: f64) -> Option<Chart> {
    let best = ranking.first()?.figures.first()?;
    let (unit, scale, title) = match best.figure {
        Figure::Iops => ("IOPS", 1.0, "IOPS".to_owned()),
        Figure::Mean | Figure::Quantile(_) => {
            let (unit, ns) = time_unit(best.value / 4.0);
            (unit, ns, best.figure.name())
        }
    };
    let decisive = || {
        ranking
            .iter()
            .filter_map(|result| Some((result, result.figures.first()?)))
    };
    let ends = |bound: fn((f64, f64)) -> f64| {
        decisive()
            .map(|(_, shown)| Some(bound(shown.interval?) / scale))
            .collect()
    };
    let mut series = Series::over_names(
        title.clone(),
        Form::Rows,
        decisive().map(|(result, shown)| (files[result.index].clone(), Some(shown.value / scale))),
    );
    (series.low, series.high) = (ends(|interval| interval.0), ends(|interval| interval.1));
    series.looks = (0..ranking.len()).map(Look::Series).collect();
    series.words = decisive()
        .map(|(result, shown)| {
            let to_best = result.to_best.as_ref().map(Change::describe);
            format!(
                "{}, {}",
                shown.figure.format_value(shown.value),
                to_best.unwrap_or_else(|| "baseline".into())
            )
        })
        .collect();
    Some(Chart {
        id: format!("{prefix}intervals"),
        title: format!("{title}: {}", ranking_title(ranking).to_lowercase()),
        about: format!(
            "Each point is a result, with its 95 % interval from the variation within the run, and its change from \
             {} with the interval of that change. {INTERVAL_RULE}",
            baseline_file(files, ranking)
        ),
        x: Axis::names("result"),
        y: Axis::linear(&title, unit),
        series: vec![series],
        marks: vec![Mark {
            across: Across::Y,
            at: best.value / scale * (1.0 - margin),
            to: Some(best.value / scale * (1.0 + margin)),
            words: format!("counts as the same as {}", baseline_file(files, ranking)),
            tone: Tone::Other,
        }],
        ..Chart::default()
    })
}

/// A job that all compared results have.
pub struct Sides<'a> {
    /// Name of the job.
    pub job: &'a str,
    /// Facts about each result.
    pub facts: &'a [Vec<Fact>],
    /// Differences in the environment of the results.
    pub differences: &'a [Difference],
    /// From the first result to each of the others.
    pub changes: Vec<&'a [Change]>,
    /// From the best to the worst.
    pub ranking: &'a [RankedResult],
    /// From the best to each of the others, in the order of the ranking.
    pub from_best: &'a [Vec<Change>],
    /// The comparison in sentences.
    pub sentences: &'a [String],
}

/// Builds the sections of a job. `prefix` is part of the identifiers of its charts; empty for an
/// only job, whose table is on the first screen.
fn job_sections(files: &[String], prefix: &str, job: &Sides<'_>, margin: f64) -> Vec<Section> {
    let mut sections = Vec::new();
    let is_ranked = files.len() > 2;
    // Several results are compared with the best, two in the order of the command line.
    let (names, changes, order): (Vec<String>, Vec<&[Change]>, Vec<usize>) = match is_ranked {
        true => (
            job.ranking.iter().map(|result| files[result.index].clone()).collect(),
            job.from_best.iter().map(Vec::as_slice).collect(),
            (0..job.ranking.len()).collect(),
        ),
        false => (
            files.to_vec(),
            job.changes.clone(),
            job.ranking.iter().map(|result| result.index).collect(),
        ),
    };
    let mut blocks: Vec<Block> = Block::chart_block(build_interval_chart(prefix, files, job.ranking, margin))
        .into_iter()
        .chain(Block::chart_block(latencies(prefix, &names, &changes, &order)))
        .collect();
    let pairs = build_change_charts(prefix, &names, &changes, &order, margin);
    match is_ranked {
        true if prefix.is_empty() => {}
        true => blocks.push(Block::Table(ranking_table(files, None, job.ranking, job.from_best))),
        false => blocks.extend(pairs.iter().cloned()),
    }
    blocks.push(differences_block(files, job.differences));
    sections.push(Section {
        title: match prefix {
            "" => "Compared results".into(),
            _ => job.job.to_owned(),
        },
        blocks,
        ..Section::default()
    });
    if is_ranked {
        sections.push(Section {
            title: format!("Each figure against {}", baseline_file(files, job.ranking)),
            folded: true,
            blocks: pairs,
            ..Section::default()
        });
    }
    sections.extend(shared_facts(job.facts));
    sections
}

/// Builds the page of a comparison of saved results; each has a head.
pub fn compared<T: Serialize>(files: &[String], heads: &[Head], jobs: &[Sides<'_>], margin: f64, document: &T) -> Page {
    let mut sections = Vec::new();
    for (number, job) in jobs.iter().enumerate() {
        let prefix = if jobs.len() > 1 {
            format!("j{number}-")
        } else {
            String::new()
        };
        sections.extend(job_sections(files, &prefix, job, margin));
    }
    sections.extend(build_commands_section(files, heads));
    let verdict = match jobs {
        [only] => Verdict {
            notes: caveats(only.ranking),
            ..weaken_verdict(judge(files, only), heads)
        },
        _ => Verdict::default(),
    };
    let lead = jobs.iter().map(|job| Lead {
        topic: match jobs.len() {
            1 => "What this means".into(),
            _ => job.job.to_owned(),
        },
        sentence: job.sentences.join(" "),
        advice: Vec::new(),
    });
    let (title, mut about) = headline(files, heads);
    let table = match jobs {
        [only] if files.len() > 2 => Some(ranking_table(files, Some(heads), only.ranking, only.from_best)),
        _ => None,
    };
    if table.is_some() {
        about = common_lines(heads);
    }
    let mut page = Page {
        title,
        about,
        table,
        verdict,
        lead: lead.chain([next(files, heads, jobs)]).collect(),
        findings: warnings(files, heads),
        sections,
        downloads: vec![figures_download("comparison", document)],
        provenance: format!("fathom {}", env!("CARGO_PKG_VERSION")),
        ..Page::default()
    };
    if jobs.len() == 1 {
        page.promote_charts(&["intervals", "latencies"]);
    }
    page
}

/// Builds title and first lines: what all results have in common, then each result.
pub fn headline(files: &[String], heads: &[Head]) -> (String, Vec<String>) {
    let mut about = common_lines(heads);
    let common = about.len();
    if heads.iter().all(|head| head.about.len() == common) {
        about.push(format!("Results: {}", files.join(", ")));
    } else {
        for (file, head) in files.iter().zip(heads) {
            let own_lines = head.about.iter().filter(|line| !about[..common].contains(line));
            let own_lines: Vec<&str> = own_lines.map(String::as_str).collect();
            about.push(match own_lines.is_empty() {
                true => file.clone(),
                false => format!("{file}: {}", own_lines.join("; ")),
            });
        }
    }
    let title = heads.first().map_or("", |head| head.title.as_str());
    let is_common = !title.is_empty() && heads.iter().all(|head| head.title == title);
    let title = match is_common {
        true => format!("{title}: {} results compared", files.len()),
        false => format!("{} results compared", files.len()),
    };
    let simulation = heads.iter().find_map(|head| head.simulation);
    (page::mark_title(simulation, &title), about)
}

/// The last part of a path, for headings.
/// The name of a file, with its directory if another file has the same name.
fn short_name(files: &[String], index: usize) -> &str {
    let name = |path: &'_ str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
    let path = &files[index];
    let short = name(path);
    match files.iter().filter(|other| name(other) == short).count() {
        1 => &path[path.len() - short.len()..],
        _ => path,
    }
}

/// Weakens a verdict about single runs, which do not show the variation from run to run. If other
/// programs disturbed one, they may be the cause of a difference.
fn weaken_verdict(verdict: Verdict, heads: &[Head]) -> Verdict {
    if [SAME, UNPROVEN, DOUBTFUL].contains(&&*verdict.word) {
        return verdict;
    }
    match (advice::describe_disturbed(heads), verdict.tone) {
        (Some(which), page::Tone::Good | page::Tone::Bad | page::Tone::Unsure) => Verdict {
            word: "CANNOT TELL".into(),
            tone: page::Tone::Unsure,
            sentence: format!(
                "{} But other programs disturbed {which}, so the storage may not be the cause.",
                verdict.sentence
            ),
            ..verdict
        },
        (None, page::Tone::Good | page::Tone::Bad) => Verdict {
            word: format!("{} (ONE RUN EACH)", verdict.word),
            tone: page::Tone::Plain,
            ..verdict
        },
        _ => verdict,
    }
}

const SAME: &str = "SAME";
const UNPROVEN: &str = "NO DIFFERENCE PROVEN";
const DOUBTFUL: &str = "DOUBTFUL";

/// Judges a comparison: two results by the deciding figure, more by how the others compare with the
/// best.
fn judge(files: &[String], job: &Sides<'_>) -> Verdict {
    if let [to] = &job.changes[..] {
        let decisive = to.iter().find(|change| change.figure == Figure::Iops);
        return decisive.map_or_else(Verdict::default, |change| {
            judgement_verdict((change.word, to), &files[1], &files[0], WITHIN_RUNS)
        });
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
    let first_figure = best
        .figures
        .first()
        .map_or_else(String::new, |first| first.figure.name());
    let results = others.iter().zip(from_best);
    let words: Vec<Option<Judgement>> = results
        .clone()
        .map(|(side, changes)| judge_result(side, changes))
        .collect();
    let described = results
        .clone()
        .map(|(side, changes)| format!("{}: {}", short_name(files, side.index), describe_result(side, changes)));
    let compared = format!(
        "Compared with {best_name}, which has the best {first_figure}: {}.",
        described.collect::<Vec<_>>().join(", ")
    );
    let all_equal = |wanted: Judgement| words.iter().all(|word| *word == Some(wanted));
    let has = |wanted: Option<Judgement>| words.contains(&wanted);
    let (label, tone, sentence) = if has(Some(Judgement::DifferentLoad)) {
        (
            "DIFFERENT LOADS".into(),
            page::Tone::Plain,
            "The results are of different loads, so none is better.".to_owned(),
        )
    } else if has(Some(Judgement::Doubtful)) {
        (
            DOUBTFUL.into(),
            page::Tone::Unsure,
            "Findings invalidate figures, so no result is better.".to_owned(),
        )
    } else if all_equal(Judgement::Worse) {
        (
            format!("{best_name} WAS BEST"),
            page::Tone::Good,
            format!("{best_name} had better figures than all others. {compared}"),
        )
    } else if all_equal(Judgement::Same) {
        (
            SAME.into(),
            page::Tone::Plain,
            format!("The results differ by less than the margin, if at all. {compared}"),
        )
    } else if has(None) || has(Some(Judgement::Better)) {
        (
            "NO SINGLE BEST".into(),
            page::Tone::Unsure,
            format!("No result is the best in rate and latency. {compared}"),
        )
    } else if has(Some(Judgement::Worse)) {
        let worse = results.zip(&words).filter(|(_, word)| **word == Some(Judgement::Worse));
        let names: Vec<&str> = worse.map(|((side, _), _)| short_name(files, side.index)).collect();
        (
            format!("{} WORSE", names.join(", ")),
            page::Tone::Bad,
            format!(
                "{}: clearly slower than {best_name} in these runs. {compared}",
                names.join(" and ")
            ),
        )
    } else {
        (
            UNPROVEN.into(),
            page::Tone::Unsure,
            format!("These runs do not show which is the best: they may differ by chance alone. {compared}"),
        )
    };
    Verdict {
        word: label,
        tone,
        sentence,
        ..Verdict::default()
    }
}

/// Builds the section with the command line of each result.
fn build_commands_section(files: &[String], heads: &[Head]) -> Option<Section> {
    let with_command = files.iter().zip(heads).filter(|(_, head)| !head.arguments.is_empty());
    let code = with_command.map(|(file, head)| Block::Code {
        title: file.clone(),
        text: add_options(&head.arguments, &[]),
        notes: Vec::new(),
    });
    let blocks: Vec<Block> = code.collect();
    (!blocks.is_empty()).then(|| Section {
        title: "Command lines".into(),
        folded: true,
        blocks,
        ..Section::default()
    })
}
