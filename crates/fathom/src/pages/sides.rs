//! Pages that hold results against each other: A and B in turns, and saved results.

use analysis::compare::{self, Change, Difference, Figure, Judgement, Ranked};
use model::observation::Observation;
use model::study::{Role, Study};
use report::Summary;
use report::html::chart::{Across, Axis, Chart, Form, Mark, Series, Tone, time_unit};
use report::html::page::{self, Block, Download, Lead, Page, Section, Table, Verdict};
use report::html::run::provenance;
use serde::Serialize;
use study::ab::Report;

/// The page of a comparison in turns.
pub fn ab(report: &Report, study: &Study) -> Page {
    let summary = study.runs.first().map(|run| Summary::from_results(&run.results));
    let changes = report
        .found
        .as_ref()
        .map(|found| found.changes.as_slice())
        .unwrap_or_default();
    let mut sections = vec![Section {
        title: "A against B".into(),
        blocks: bars("", &["A".into(), "B".into()], &[changes], report.margin),
        ..Section::default()
    }];
    sections.push(Section {
        title: "Pair by pair".into(),
        about: "What drifts meanwhile meets both alike: in a pair they were measured one after the other.".into(),
        blocks: Block::chart(Some(pairs(study))).into_iter().collect(),
        ..Section::default()
    });
    Page {
        title: format!("{}: A against B", study.name),
        about: std::iter::once(format!("A: {}", report.a))
            .chain([
                format!("B: {}", report.b),
                format!("{} runs in turns", study.runs.len()),
            ])
            .chain(summary.as_ref().map(|summary| summary.started.clone()))
            .collect(),
        verdict: report
            .found
            .as_ref()
            .map_or_else(Verdict::default, |found| word((found.word, &found.changes), "B", "A")),
        lead: vec![Lead {
            topic: "What this means".into(),
            sentence: report.sentences.join(" "),
            advice: Vec::new(),
        }],
        sections,
        downloads: json("ab", report),
        provenance: summary.as_ref().map_or_else(String::new, provenance),
        ..Page::default()
    }
}

/// Better, same or worse on the first screen.
fn word((word, changes): (Judgement, &[Change]), what: &str, than: &str) -> Verdict {
    let contrary = compare::contrary(word, changes);
    let (said, tone, sentence) = match word {
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
        Judgement::Better => (
            "BETTER",
            page::Tone::Good,
            format!("{what} is better than {than}, by more than chance."),
        ),
        Judgement::Same => (
            "SAME",
            page::Tone::Plain,
            format!("{what} and {than} differ by less than the margin, if at all."),
        ),
        Judgement::Worse => (
            "WORSE",
            page::Tone::Bad,
            format!("{what} is worse than {than}, by more than chance."),
        ),
        Judgement::Undecided => (
            "NOT KNOWN",
            page::Tone::Unsure,
            format!("These runs do not show which is better, {what} or {than}."),
        ),
    };
    Verdict {
        word: said.into(),
        tone,
        sentence,
        ..Verdict::default()
    }
}

/// Figures of each side as bars, and how they change from the first to the others with their
/// intervals.
fn bars(prefix: &str, names: &[String], changes: &[&[Change]], margin: f64) -> Vec<Block> {
    let is_rate = |change: &&Change| change.figure == Figure::Iops;
    let mut charts = Vec::new();
    let Some(first) = changes.first() else {
        return Vec::new();
    };
    let slowest = first
        .iter()
        .filter(|change| !is_rate(change))
        .map(|change| change.from.max(change.to))
        .fold(0.0, f64::max);
    let (unit, ns) = time_unit(slowest / 4.0);
    let side = |index: usize, of: bool| -> Vec<(String, Option<f64>)> {
        let of_first = |change: &Change| {
            if index == 0 {
                Some(change.from)
            } else {
                changes
                    .get(index - 1)?
                    .iter()
                    .find(|one| one.figure == change.figure)
                    .map(|one| one.to)
            }
        };
        let scale = if of { 1.0 } else { ns };
        let kept = first.iter().filter(|change| is_rate(change) == of);
        kept.map(|change| (change.figure.name(), of_first(change).map(|value| value / scale)))
            .collect()
    };
    let chart = |id: &str, title: &str, about: &str, y: Axis, rates: bool| Chart {
        id: format!("{prefix}{id}"),
        title: title.into(),
        about: about.into(),
        x: Axis::names(""),
        y,
        series: names
            .iter()
            .enumerate()
            .map(|(index, name)| Series::over_names(name.clone(), Form::Bars, side(index, rates)))
            .collect(),
        ..Chart::default()
    };
    charts.push(chart(
        "rates",
        "Rate",
        "Operations per second of each side. More is better.",
        Axis::from_zero("IOPS", "IOPS"),
        true,
    ));
    charts.push(chart(
        "latencies",
        "Latency",
        "Latencies of each side. Less is better.",
        Axis::from_zero("latency", unit),
        false,
    ));
    charts.push(effects(prefix, names, changes, margin));
    let mut blocks: Vec<Block> = charts
        .into_iter()
        .filter_map(|chart| Block::chart(Some(chart)))
        .collect();
    for (number, to) in changes.iter().enumerate() {
        blocks.push(Block::Table(changes_table(&names[0], &names[number + 1], to)));
    }
    blocks
}

/// How much each figure changes, with its interval.
fn effects(prefix: &str, names: &[String], changes: &[&[Change]], margin: f64) -> Chart {
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let of = |(number, to): (usize, &&[Change])| {
        let mut series = Series::over_names(
            format!("{} against {}", names[number + 1], names[0]),
            Form::Bars,
            to.iter()
                .map(|change| (change.figure.name(), Some(percent(change.ratio)))),
        );
        if to.iter().all(|change| change.low.is_some() && change.high.is_some()) {
            series.low = to.iter().map(|change| change.low.map(percent)).collect();
            series.high = to.iter().map(|change| change.high.map(percent)).collect();
        }
        series.words = to.iter().map(|change| change.word.word().to_owned()).collect();
        series
    };
    Chart {
        id: format!("{prefix}effects"),
        title: "Change with its 95 % interval".into(),
        about: "By how much each figure differs. An interval that does not reach zero is a difference by more than chance; within the shaded margin it counts as none.".into(),
        x: Axis::names(""),
        y: Axis::linear("change", "%"),
        series: changes.iter().enumerate().map(of).collect(),
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

/// How each figure of one result changes to that of another.
pub fn changes_table(from: &str, to: &str, changes: &[Change]) -> Table {
    let row = |change: &Change| {
        vec![
            change.figure.name(),
            change.figure.words(change.from),
            change.figure.words(change.to),
            change.words(),
            change.word.word().to_owned(),
        ]
    };
    Table {
        caption: format!("{to} against {from}"),
        head: ["", from, to, "change (95 %)", "it is"].map(str::to_owned).to_vec(),
        rows: changes.iter().map(row).collect(),
    }
}

/// In which order ranked results stand: of different loads none is better.
fn order(ranking: &[Ranked]) -> &'static str {
    match has_different_loads(ranking) {
        true => "In the order of their figures, although the loads differ",
        false => "From the best to the worst",
    }
}

fn has_different_loads(ranking: &[Ranked]) -> bool {
    let changes = ranking.iter().filter_map(|one| one.to_best.as_ref());
    changes
        .into_iter()
        .any(|change| change.word == Judgement::DifferentLoad)
}

/// What the first of them is.
fn first_word(ranking: &[Ranked]) -> &'static str {
    match has_different_loads(ranking) {
        true => "the first",
        false => "the best",
    }
}

/// Several results from the best to the worst, each against the best.
pub fn ranking_table(files: &[String], ranking: &[Ranked]) -> Table {
    let with_interval = |one: &Ranked| {
        let decisive = &one.figures[0];
        let ends = decisive.interval.map(|(low, high)| {
            let words = [low, high].map(|end| decisive.figure.words(end));
            format!(" ({} to {})", words[0], words[1])
        });
        decisive.figure.words(decisive.value) + &ends.unwrap_or_default()
    };
    let mut figures: Vec<Figure> = Vec::new();
    for shown in ranking.iter().flat_map(|one| &one.figures) {
        if !figures.contains(&shown.figure) {
            figures.push(shown.figure);
        }
    }
    let row = |(place, one): (usize, &Ranked)| {
        let others = figures.iter().skip(1).map(|figure| {
            let found = one.figures.iter().find(|shown| shown.figure == *figure);
            found.map_or("-".to_owned(), |shown| figure.words(shown.value))
        });
        let (change, word) = match &one.to_best {
            None => (first_word(ranking).to_owned(), String::new()),
            Some(change) => (change.words(), change.word.word().to_owned()),
        };
        std::iter::once(format!("{}. {}", place + 1, files[one.index]))
            .chain([with_interval(one)])
            .chain(others)
            .chain([change, word])
            .collect()
    };
    let head = figures.iter().enumerate().map(|(place, figure)| match place {
        0 => format!("{} (95 %)", figure.name()),
        _ => figure.name(),
    });
    Table {
        caption: order(ranking).into(),
        head: std::iter::once(String::new())
            .chain(head)
            .chain([format!("against {} (95 %)", first_word(ranking)), "it is".into()])
            .collect(),
        rows: ranking.iter().enumerate().map(row).collect(),
    }
}

/// The figure that decides, a row for each result with its interval.
fn intervals(prefix: &str, files: &[String], ranking: &[Ranked], margin: f64) -> Option<Chart> {
    let best = ranking.first()?.figures.first()?;
    let (unit, scale, title) = match best.figure {
        Figure::Iops => ("IOPS", 1.0, "IOPS".to_owned()),
        Figure::Mean | Figure::Quantile(_) => {
            let (unit, ns) = time_unit(best.value / 4.0);
            (unit, ns, best.figure.name())
        }
    };
    let decisive = || ranking.iter().filter_map(|one| Some((one, one.figures.first()?)));
    let ends = |which: fn((f64, f64)) -> f64| {
        decisive()
            .map(|(_, shown)| Some(which(shown.interval?) / scale))
            .collect()
    };
    let mut series = Series::over_names(
        title.clone(),
        Form::Rows,
        decisive().map(|(one, shown)| (files[one.index].clone(), Some(shown.value / scale))),
    );
    (series.low, series.high) = (ends(|interval| interval.0), ends(|interval| interval.1));
    series.words = decisive()
        .map(|(one, shown)| {
            let to_best = one.to_best.as_ref().map(Change::words);
            format!(
                "{}, {}",
                shown.figure.words(shown.value),
                to_best.unwrap_or_else(|| first_word(ranking).into())
            )
        })
        .collect();
    Some(Chart {
        id: format!("{prefix}intervals"),
        title: format!("{title}: {}", order(ranking).to_lowercase()),
        about: "Each point is a result, the line its 95 % interval by what varied within the run, and the words its change \
                from the first with the interval of that change. A result without a line has no series of its own."
            .into(),
        x: Axis::names("result"),
        y: Axis::linear(&title, unit),
        series: vec![series],
        marks: vec![Mark {
            across: Across::Y,
            at: best.value / scale * (1.0 - margin),
            to: Some(best.value / scale * (1.0 + margin)),
            words: format!("counts as the same as {}", first_word(ranking)),
            tone: Tone::Other,
        }],
        ..Chart::default()
    })
}

/// The rate of each run, pair by pair.
fn pairs(study: &Study) -> Chart {
    let of = |side: &str| {
        let runs = study.runs.iter().filter(|run| run.role == Role::Point);
        let points = runs.filter_map(|run| {
            let is = run
                .settings
                .iter()
                .any(|setting| setting.name == "side" && setting.value == side);
            let pair = run.settings.iter().find(|setting| setting.name == "pair")?.number?;
            let iops = Observation::from_results(&run.results, 0, 0)?.total.iops?;
            is.then_some((pair, iops))
        });
        Series::new(side, Form::Points, points)
    };
    Chart {
        id: "pairs".into(),
        title: "Rate of each run".into(),
        about: "Lines that rise and fall together show that something else drifted; the difference within each pair is what counts.".into(),
        x: Axis::linear("pair", ""),
        y: Axis::linear("IOPS", "IOPS"),
        series: vec![of("A"), of("B")],
        ..Chart::default()
    }
}

/// One job of several results that are held against each other.
pub struct Sides<'a> {
    /// Its name.
    pub job: &'a str,
    /// What differs around the results.
    pub differences: &'a [Difference],
    /// From the first result to each of the others.
    pub changes: Vec<&'a [Change]>,
    /// From the best to the worst.
    pub ranking: &'a [Ranked],
    /// In words.
    pub sentences: &'a [String],
}

/// The page of saved results that are held against each other.
pub fn compared<T: Serialize>(files: &[String], jobs: &[Sides<'_>], margin: f64, document: &T) -> Page {
    let mut sections = Vec::new();
    for (number, job) in jobs.iter().enumerate() {
        let differing = job.differences.iter().map(|difference| {
            let values = difference
                .values
                .iter()
                .map(|value| value.clone().unwrap_or_else(|| "not known".into()));
            std::iter::once(difference.name.clone()).chain(values).collect()
        });
        let rows: Vec<Vec<String>> = differing.collect();
        let mut blocks = Vec::new();
        blocks.push(match rows.is_empty() {
            true => Block::Text("Nothing that is known differs around the results.".into()),
            false => Block::Table(Table {
                caption: "What differs around the results".into(),
                head: std::iter::once(String::new()).chain(files.iter().cloned()).collect(),
                rows,
            }),
        });
        let prefix = if jobs.len() > 1 {
            format!("j{number}-")
        } else {
            String::new()
        };
        let mut pairs = bars(&prefix, files, &job.changes, margin);
        let is_ranked = files.len() > 2;
        match is_ranked {
            false => blocks.append(&mut pairs),
            true => {
                blocks.insert(0, Block::Table(ranking_table(files, job.ranking)));
                let chart = Block::chart(intervals(&prefix, files, job.ranking, margin));
                blocks.splice(0..0, chart);
            }
        }
        sections.push(Section {
            title: if jobs.len() > 1 {
                job.job.to_owned()
            } else {
                "What was compared".into()
            },
            blocks,
            ..Section::default()
        });
        if is_ranked {
            sections.push(Section {
                title: format!("Each against {}", files[0]),
                folded: true,
                blocks: pairs,
                ..Section::default()
            });
        }
    }
    let [only] = jobs else {
        return compared_page(files, Verdict::default(), jobs, sections, document);
    };
    let decisive = match &only.changes[..] {
        [to] => to.iter().find(|change| change.figure == Figure::Iops).zip(Some(*to)),
        _ => None,
    };
    let verdict = decisive.map_or_else(Verdict::default, |(change, to)| {
        word((change.word, to), &files[1], &files[0])
    });
    compared_page(files, verdict, jobs, sections, document)
}

fn compared_page<T: Serialize>(
    files: &[String],
    verdict: Verdict,
    jobs: &[Sides<'_>],
    sections: Vec<Section>,
    document: &T,
) -> Page {
    let lead = jobs.iter().map(|job| Lead {
        topic: if jobs.len() > 1 {
            job.job.to_owned()
        } else {
            "What this means".into()
        },
        sentence: job.sentences.join(" "),
        advice: Vec::new(),
    });
    Page {
        title: "Results compared".into(),
        about: files.to_vec(),
        verdict,
        lead: lead.collect(),
        sections,
        downloads: json("comparison", document),
        provenance: format!("fathom {}", env!("CARGO_PKG_VERSION")),
        ..Page::default()
    }
}

fn json<T: Serialize>(name: &str, document: &T) -> Vec<Download> {
    vec![Download {
        file: format!("{name}.json"),
        words: "All figures (JSON)".into(),
        media: "application/json".into(),
        text: serde_json::to_string_pretty(document).unwrap_or_default(),
    }]
}
