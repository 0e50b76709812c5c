//! Pages of comparisons: alternating runs of A and B, and saved results.

mod ab;
mod advice;
mod facts;
mod judgement;

use analysis::compare::{Change, Difference, Fact, Figure, Judgement, RankedResult};
use report::html::chart::{Axis, Chart, Form, Mark, MarkAxis, PointStyle, Series, Tone, time_unit};
use report::html::page::{self, Block, Lead, Page, Section, Table, Verdict};
use report::html::run::{Head, add_options, name_place};
use serde::Serialize;

use super::figures_download;
use facts::{differences_block, shared_facts};

use judgement::{Changes, judge, reword_open_verdict, weaken_single_runs};

pub use ab::{ab, warnings as ab_warnings};
pub use advice::{next, warnings};

/// Caveat about the intervals of a comparison of single runs.
const INTERVALS_CAVEAT: &str =
    "The intervals cover variation within each run, not from run to run, which `fathom ab` measures.";
/// The same caveat, if a difference between single runs exceeds their intervals.
const ORDER_CAVEAT: &str = "With one run each, the order may be chance although the intervals are apart: they cover \
    variation within each run, not from run to run, which `fathom ab` measures.";

/// The title of the column with the judgement of each figure.
const JUDGEMENT_TITLE: &str = "it is";

/// A chart of changes has a logarithmic axis if one of them, or an end of its interval, exceeds
/// this ratio.
const MAX_LINEAR_RATIO: f64 = 3.0;

/// How the interval of a change decides.
const INTERVAL_RULE: &str = "If the whole interval is within the shaded margin, the figure is the same; if the \
    interval includes no change, the difference is not known; if it nearly includes it, it may be chance, because \
    several figures are compared; otherwise the figure is better or worse.";

/// Returns the caveats of a comparison of single runs.
pub fn caveats(ranking: &[RankedResult]) -> Vec<String> {
    let mut to_best = ranking.iter().filter_map(|result| result.to_best.as_ref());
    let is_apart = to_best.any(|change| matches!(change.word, Judgement::Better | Judgement::Worse));
    vec![if is_apart { ORDER_CAVEAT } else { INTERVALS_CAVEAT }.to_owned()]
}

/// Lists the lines that the heads of all results share.
fn common_lines(heads: &[Head]) -> Vec<String> {
    let has_all = |line: &&String| heads.iter().all(|head| head.about.contains(line));
    let first = heads.first().map_or(&[][..], |head| &head.about[..]);
    first.iter().filter(has_all).cloned().collect()
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
        chart.series[0].row_styles = vec![PointStyle::Series(place.unwrap_or(0)); to.len()];
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
        Some(Series::over_names(name.clone(), Form::Dots, values))
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
    // A change by a factor would leave no room for the others on an axis of percent.
    let near = 1.0 / MAX_LINEAR_RATIO..=MAX_LINEAR_RATIO;
    let is_far = |ratio: f64| !near.contains(&ratio);
    let is_wide = to.iter().any(|change| {
        let ends = [Some(change.ratio), change.low, change.high];
        ends.into_iter().flatten().any(is_far)
    });
    let place = |ratio: f64| match is_wide {
        true => ratio,
        false => 100.0 * (ratio - 1.0),
    };
    let mut series = Series::over_names(
        format!("{name} against {from}"),
        Form::Rows,
        to.iter()
            .map(|change| (change.figure.name(), Some(place(change.ratio)))),
    );
    series.low = to.iter().map(|change| change.low.map(place)).collect();
    series.high = to.iter().map(|change| change.high.map(place)).collect();
    series.words = to
        .iter()
        .map(|change| format!("{}: {}", change.describe(), change.describe_judgement()))
        .collect();
    let (low, high) = (place(1.0 - margin), place(1.0 + margin));
    Chart {
        id,
        title: format!("Change of each figure: {name} against {from}"),
        about: format!("The difference of each figure, with its 95 % interval. {INTERVAL_RULE}"),
        x: Axis::names("figure"),
        y: match is_wide {
            true => Axis::log("ratio", "times"),
            false => Axis::linear("change", "%"),
        },
        series: vec![series],
        marks: vec![Mark::band(MarkAxis::Y, low, high, "counts as the same", Tone::Other)],
        ..Chart::default()
    }
}

pub fn changes_table(from: &str, to: &str, changes: &[Change]) -> Table {
    let row = |change: &Change| {
        vec![
            change.figure.name(),
            change.figure.format_value(change.from),
            change.figure.format_value(change.to),
            change.describe(),
            change.describe_judgement().to_owned(),
        ]
    };
    let head = ["", from, to, "change (95 %)", JUDGEMENT_TITLE];
    let caption = format!("{to} against {from}");
    Table::new(&caption, &head, changes.iter().map(row).collect())
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

/// Builds a table of results from best to worst, each compared with the best. With heads it is the
/// table of a page: a mark at each figure replaces the verdict, so that a phone shows the figures.
/// Targets that differ are in the last column.
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
    // The lines about the results say when each was measured.
    let mut pairs = heads.unwrap_or_default().windows(2);
    let targets_differ = pairs.any(|pair| pair[0].targets != pair[1].targets);
    let arrange = |name: String, verdict: String, mut cells: Vec<String>, last: Vec<String>| {
        cells.extend(heads.is_none().then_some(verdict));
        std::iter::once(name).chain(cells).chain(last).collect::<Vec<_>>()
    };
    let row = |(place, result): (usize, &RankedResult)| {
        let changes = place.checked_sub(1).and_then(|place| from_best.get(place));
        let mark = |figure: Figure| mark_change(changes.filter(|_| heads.is_some()), figure);
        let others = figures.iter().skip(1).map(|figure| {
            let ranked_figure = result.figures.iter().find(|shown| shown.figure == *figure);
            ranked_figure.map_or("-".to_owned(), |shown| figure.format_value(shown.value) + mark(*figure))
        });
        let (change, word) = match (&result.to_best, changes) {
            (Some(change), Some(changes)) => (change.describe(), Changes::from_ranked(result, changes).describe(false)),
            _ if heads.is_some() => ("baseline".to_owned(), String::new()),
            _ => ("-".to_owned(), "baseline".to_owned()),
        };
        let cells = std::iter::once(with_interval(result))
            .chain(others)
            .chain([change])
            .collect();
        let head = heads.and_then(|heads| heads.get(result.index));
        let last = head.filter(|_| targets_differ).map(|head| head.targets.clone());
        let last = last.into_iter().collect();
        arrange(format!("{}. {}", place + 1, files[result.index]), word, cells, last)
    };
    let decisive = figures.iter().take(1).map(|figure| format!("{} (95 %)", figure.name()));
    let change = figures.first().map(|figure| format!("{} change (95 %)", figure.name()));
    let titles = decisive
        .chain(figures.iter().skip(1).map(|figure| figure.name()))
        .chain(change);
    let last = targets_differ.then(|| "target".to_owned()).into_iter().collect();
    Table {
        caption: ranking_title(ranking).into(),
        head: arrange(String::new(), "verdict".into(), titles.collect(), last),
        rows: ranking.iter().enumerate().map(row).collect(),
    }
}

/// The mark of a figure that is better or worse than in the best result.
fn mark_change(changes: Option<&Vec<Change>>, figure: Figure) -> &'static str {
    let change = changes.and_then(|changes| changes.iter().find(|change| change.figure == figure));
    match (change.map(|change| change.word), figure.higher_is_better()) {
        (Some(Judgement::Better), true) => " ▲ better",
        (Some(Judgement::Better), false) => " ▼ better",
        (Some(Judgement::Worse), true) => " ▼ worse",
        (Some(Judgement::Worse), false) => " ▲ worse",
        _ => "",
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
    series.row_styles = (0..ranking.len()).map(PointStyle::Series).collect();
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
    let place = best.value / scale;
    let (low, high) = (place * (1.0 - margin), place * (1.0 + margin));
    let words = format!("counts as the same as {}", baseline_file(files, ranking));
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
        marks: vec![Mark::band(MarkAxis::Y, low, high, words, Tone::Other)],
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
    let title = if prefix.is_empty() { "Compared results" } else { job.job };
    sections.push(Section::new(title, blocks));
    if is_ranked {
        let title = format!("Each figure against {}", baseline_file(files, job.ranking));
        sections.push(Section::folded(title, pairs));
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
    let ranked: Vec<RankedResult> = jobs.iter().flat_map(|job| job.ranking).cloned().collect();
    let verdict = Verdict {
        notes: caveats(&ranked),
        ..judge_jobs(files, jobs, heads)
    };
    // The box and the table of a ranking have the same figures.
    let is_ranked = jobs.len() == 1 && files.len() > 2;
    let lead = jobs.iter().filter(|_| !is_ranked).map(|job| Lead {
        topic: match jobs.len() {
            1 => "What this means".into(),
            _ => job.job.to_owned(),
        },
        sentence: job.sentences.join(" "),
        advice: Vec::new(),
    });
    let (title, mut about) = headline(files, heads);
    let table = match jobs {
        [only] if is_ranked => Some(ranking_table(files, Some(heads), only.ranking, only.from_best)),
        _ => None,
    };
    if table.is_some() {
        // The table has the targets that differ; the rest follows below.
        let own_lines = about.split_off(common_lines(heads).len());
        let texts = own_lines
            .into_iter()
            .filter(|line| line.contains(": "))
            .map(Block::Text);
        sections
            .iter_mut()
            .take(1)
            .for_each(|section| section.blocks.extend(texts.clone()));
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
    reword_open_verdict(&mut page);
    if let Some(place) = common_place(heads) {
        name_place(&mut page.lead, place);
    }
    if jobs.len() == 1 {
        page.promote_charts(&["intervals", "latencies"]);
    }
    page
}

/// Judges a comparison of one job or of several, of which each has a clause.
fn judge_jobs(files: &[String], jobs: &[Sides<'_>], heads: &[Head]) -> Verdict {
    let judged = jobs.iter().map(|job| weaken_single_runs(judge(files, job), heads));
    let mut judged: Vec<Verdict> = judged.collect();
    if judged.len() < 2 {
        return judged.pop().unwrap_or_default();
    }
    let is_common = judged.iter().all(|verdict| verdict.word == judged[0].word);
    let verdict = match is_common {
        true => Verdict::new(
            judged[0].word.as_str(),
            judged[0].tone,
            format!("All {} jobs have this verdict.", jobs.len()),
        ),
        false => Verdict::new("MIXED", page::Tone::Unsure, "The jobs have different verdicts."),
    };
    let clauses = jobs.iter().zip(judged).map(|(job, of_job)| page::Clause {
        promised: job.job.to_owned(),
        word: of_job.word,
        tone: of_job.tone,
        sentence: of_job.sentence,
        ..page::Clause::default()
    });
    Verdict {
        clauses: clauses.collect(),
        ..verdict
    }
}

/// Where all commands ran; `None` if the places differ.
fn common_place(heads: &[Head]) -> Option<&str> {
    let place = heads.first()?.place.as_deref()?;
    let is_common = heads.iter().all(|head| head.place.as_deref() == Some(place));
    is_common.then_some(place)
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

/// Builds the section with the command line of each result.
fn build_commands_section(files: &[String], heads: &[Head]) -> Option<Section> {
    let with_command = files.iter().zip(heads).filter(|(_, head)| !head.arguments.is_empty());
    let code = with_command.map(|(file, head)| Block::Code {
        title: file.clone(),
        text: add_options(&head.arguments, &[]),
        notes: Vec::new(),
    });
    let blocks: Vec<Block> = code.collect();
    (!blocks.is_empty()).then(|| Section::folded("Command lines", blocks))
}
