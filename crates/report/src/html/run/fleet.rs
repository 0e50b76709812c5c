//! The hosts of a test that several ran together: what each of them did, how unlike they
//! are, and when they began.

use model::results::{JobResults, RankSeries, Results};

use super::Place;
use crate::html::chart::{Axis, Chart, Form, Series, Tone};
use crate::html::page::{Block, Lead, Section, Table, Tile};
use crate::numbers::{count, rate, signed_time, throughput, time};
use crate::summary::{JobSummary, RankSummary, Summary};

/// Of that many each has a line of its own over time.
const MAX_LINES: usize = 16;
/// Bars beside each other that can be distinguished.
const MAX_BARS: usize = 128;
/// The most rows of a table for human readers.
const MAX_ROWS: usize = 256;
/// Points along the time.
const MAX_POINTS: usize = 3600;

/// How many took part, and who of them was lost.
pub(super) fn about(results: &Results, summary: &Summary) -> Option<String> {
    let fleet = results.fleet.as_ref()?;
    let (hosts, ranks) = (hosts(results), fleet.ranks.len());
    let lost = fleet.ranks.iter().filter(|rank| rank.lost.is_some()).count();
    let some = match lost {
        0 => String::new(),
        lost => format!("; {lost} of them lost"),
    };
    let transport = summary.transport.as_deref().unwrap_or_default();
    Some(format!(
        "{} took part ({}, by {transport}){some}",
        counted(hosts, "host"),
        counted(ranks, "process")
    ))
}

/// Hosts by name: of one that was lost there may be nothing but that.
fn hosts(results: &Results) -> usize {
    let ranks = results.fleet.iter().flat_map(|fleet| &fleet.ranks);
    let names: std::collections::BTreeSet<&str> = ranks.map(|rank| rank.host.as_str()).collect();
    names.len()
}

fn counted(number: usize, word: &str) -> String {
    match (number, word) {
        (1, _) => format!("1 {word}"),
        (_, "process") => format!("{number} processes"),
        _ => format!("{number} {word}s"),
    }
}

/// What was lost, in words, before everything else.
pub(super) fn lead(results: &Results) -> Option<Lead> {
    let ranks = results.fleet.iter().flat_map(|fleet| fleet.ranks.iter().enumerate());
    let lost: Vec<String> = ranks
        .filter_map(|(number, rank)| Some(format!("{} (rank {number}): {}", rank.host, rank.lost.as_ref()?)))
        .collect();
    let more = lost.len().saturating_sub(4);
    let mut sentence = lost.iter().take(4).cloned().collect::<Vec<_>>().join("; ");
    if more > 0 {
        sentence += &format!("; and {more} more");
    }
    let then = match results.fleet.as_ref().is_some_and(|fleet| fleet.goes_on) {
        true => "The others went on: the figures hold what the lost had reported until shortly before.",
        false => "The others were stopped then: the figures are of what all had reported until shortly before.",
    };
    (!lost.is_empty()).then(|| Lead {
        topic: if lost.len() == 1 {
            "A host was lost"
        } else {
            "Hosts were lost"
        }
        .into(),
        sentence: format!("{sentence}. {then}"),
        advice: Vec::new(),
    })
}

/// How many hosts took part.
pub(super) fn tile(results: &Results) -> Option<Tile> {
    let fleet = results.fleet.as_ref()?;
    let lost = fleet.ranks.iter().filter(|rank| rank.lost.is_some()).count();
    let note = match lost {
        0 => counted(fleet.ranks.len(), "process"),
        lost => format!("{}, {lost} lost", counted(fleet.ranks.len(), "process")),
    };
    Some(Tile {
        name: "Hosts".into(),
        value: hosts(results).to_string(),
        note,
    })
}

/// What each host did.
pub(super) fn section(results: &Results, summary: &Summary) -> Option<Section> {
    let fleet = results.fleet.as_ref()?;
    let mut blocks: Vec<Block> = unlike(summary).map(Block::Table).into_iter().collect();
    let several = summary.jobs.len() > 1;
    let found = results.steps.iter().flat_map(|step| &step.jobs);
    for (number, (job, found)) in summary.jobs.iter().zip(found).enumerate() {
        if job.ranks.is_empty() {
            continue;
        }
        let place = Place {
            prefix: if several { format!("j{number}-") } else { String::new() },
            name: several.then(|| job.name.clone()),
        };
        blocks.push(Block::Table(table(&place, job)));
        blocks.extend(Block::chart(Some(bars(&place, job))));
        blocks.extend(Block::chart(over_time(&place, job, found)));
    }
    let skew = summary.findings.iter().filter(|found| found.rule == "START-SKEW");
    blocks.extend(skew.map(|found| Block::Text(found.what.clone())));
    Some(Section {
        title: "Hosts".into(),
        about: format!(
            "Each of the {} that carried the test out together. Histograms and counters are added up, never averaged; unequal shares of an \
             even load point at a host, or at its path to the storage.",
            counted(fleet.ranks.len(), "process")
        ),
        blocks,
        ..Section::default()
    })
}

/// What is not the same on all hosts.
fn unlike(summary: &Summary) -> Option<Table> {
    let found = summary.findings.iter().filter(|found| found.rule == "HOSTS-DIFFER");
    let rows: Vec<Vec<String>> = found
        .take(MAX_ROWS)
        .map(|found| vec![found.at.clone().unwrap_or_default(), found.what.clone()])
        .collect();
    (!rows.is_empty()).then(|| Table {
        caption: "What is not the same on all hosts".into(),
        head: ["host", "what differs"].map(str::to_owned).to_vec(),
        rows,
    })
}

/// How far a rank is from the middle of all.
fn deviation(rank: &RankSummary, middle: f64) -> f64 {
    match rank.lost.is_some() {
        true => f64::INFINITY,
        false => (rank.total.iops - middle).abs(),
    }
}

/// Those that were not lost, the slowest first.
fn by_rate(job: &JobSummary) -> Vec<&RankSummary> {
    let mut ranks: Vec<&RankSummary> = job.ranks.iter().filter(|rank| rank.lost.is_none()).collect();
    ranks.sort_by(|one, other| one.total.iops.total_cmp(&other.total.iops));
    ranks
}

fn table(place: &Place, job: &JobSummary) -> Table {
    let sorted = by_rate(job);
    let middle = sorted.get(sorted.len() / 2).map_or(0.0, |rank| rank.total.iops);
    let mut shown: Vec<&RankSummary> = job.ranks.iter().collect();
    let all = shown.len();
    if all > MAX_ROWS {
        shown.sort_by(|one, other| deviation(other, middle).total_cmp(&deviation(one, middle)));
        shown.truncate(MAX_ROWS);
        shown.sort_by_key(|rank| rank.rank);
    }
    let caption = match all > MAX_ROWS {
        true => {
            format!("The {MAX_ROWS} of {all} ranks that are furthest from the middle; all are in the table of ranks")
        }
        false => "The ranks".into(),
    };
    Table {
        caption: place.title(&caption),
        head: [
            "rank", "host", "IOPS", "MiB/s", "p50", "p99", "in flight", "began after", "clock ahead", "ended after", "",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: shown.into_iter().map(row).collect(),
    }
}

fn row(rank: &RankSummary) -> Vec<String> {
    let at = |percent: f64| {
        let found = rank.total.latency.percentile(percent);
        found.map_or("-".to_owned(), |found| super::percentile(&found))
    };
    let word = match (&rank.lost, rank.straggles) {
        (Some(why), _) => format!("lost: {why}"),
        (None, true) => "straggler".into(),
        (None, false) => String::new(),
    };
    vec![
        rank.rank.to_string(),
        rank.host.clone(),
        rate(rank.total.iops),
        throughput(rank.total.mib_per_sec),
        at(50.0),
        at(99.0),
        rank.in_flight
            .map_or("-".into(), |average| format!("{average:.1} of {}", count(rank.depth))),
        rank.start_ns.map_or("-".into(), signed_time),
        format!(
            "{} ± {}",
            signed_time(rank.clock_ahead_ns),
            time(rank.clock_error_ns as f64)
        ),
        rank.ended_ns.map_or("-".into(), crate::numbers::duration),
        word,
    ]
}

/// What a rank is called in charts.
fn name(rank: &RankSummary) -> String {
    format!("{} {}", rank.rank, rank.host)
}

/// A bar for each rank; of very many, the slowest and the fastest.
fn bars(place: &Place, job: &JobSummary) -> Chart {
    let all = job.ranks.len();
    let shown: Vec<&RankSummary> = match all > MAX_BARS {
        false => job.ranks.iter().collect(),
        true => {
            let sorted = by_rate(job);
            let half = MAX_BARS.min(sorted.len()) / 2;
            sorted[..half]
                .iter()
                .chain(&sorted[sorted.len() - half..])
                .copied()
                .collect()
        }
    };
    type Belongs = fn(&RankSummary) -> bool;
    let kinds: [(&str, Belongs, Tone); 3] = [
        (
            "as the others",
            |rank| rank.lost.is_none() && !rank.straggles,
            Tone::Total,
        ),
        ("straggler", |rank| rank.lost.is_none() && rank.straggles, Tone::Limit),
        ("lost, until then", |rank| rank.lost.is_some(), Tone::Other),
    ];
    let kinds = kinds.into_iter().filter(|(_, is, _)| shown.iter().any(|rank| is(rank)));
    let series = kinds.map(|(words, is, tone)| {
        let value = |rank: &&RankSummary| is(rank).then_some(rank.total.iops);
        Series::over_names(words, Form::Stack, shown.iter().map(|rank| (name(rank), value(rank)))).tone(tone)
    });
    let which = match all > MAX_BARS {
        true => format!("Of {all} ranks the {MAX_BARS} slowest and fastest. "),
        false => String::new(),
    };
    Chart {
        id: place.id("ranks"),
        title: place.title("Operations per second of each rank"),
        about: format!(
            "{which}Bars of one height are hosts that get the same from the storage. A straggler did less than 80 % of what is usual among them."
        ),
        x: Axis::names("rank and host"),
        y: Axis::from_zero("IOPS", "IOPS"),
        series: series.collect(),
        ..Chart::default()
    }
}

/// The rate of a rank in each interval: its seconds, and operations per second.
fn points(series: &RankSeries, rank: &RankSummary) -> Vec<(f64, f64)> {
    let length = series.length_ns.as_secs().max(1e-9);
    let measured = rank.measured_ns.as_secs();
    let each = series.operations.len().div_ceil(MAX_POINTS).max(1);
    let of = |(number, some): (usize, &[u64])| {
        let start = (number * each) as f64 * length;
        // The last interval may be shorter.
        let long = (some.len() as f64 * length).min(measured - start);
        let operations: u64 = some.iter().sum();
        (long > 1e-9).then(|| (start, operations as f64 / long))
    };
    series.operations.chunks(each).enumerate().filter_map(of).collect()
}

/// The rates of the ranks over time; of many, the slowest, the middle and the fastest with all
/// others in a band.
fn over_time(place: &Place, job: &JobSummary, found: &JobResults) -> Option<Chart> {
    let of = |rank: &RankSummary| {
        let place = found.rank_series.binary_search_by_key(&rank.rank, |series| series.rank);
        Some(points(&found.rank_series[place.ok()?], rank))
    };
    let line = |words: String, rank: &RankSummary| Some(Series::new(words, Form::Steps, of(rank)?));
    let few = job.ranks.len() <= MAX_LINES;
    let series: Vec<Series> = match few {
        true => job.ranks.iter().filter_map(|rank| line(name(rank), rank)).collect(),
        false => {
            let sorted = by_rate(job);
            let (slowest, fastest) = (*sorted.first()?, *sorted.last()?);
            let middle = sorted[sorted.len() / 2];
            let mut middle_line = line(format!("middle: {}", name(middle)), middle)?.tone(Tone::Total);
            let all: Vec<Vec<f64>> = sorted.iter().filter_map(|rank| of(rank)).map(rates).collect();
            let at = |number: usize| all.iter().filter_map(move |rates| rates.get(number).copied());
            let numbers = || 0..middle_line.y.len();
            let low = numbers().map(|number| at(number).min_by(f64::total_cmp)).collect();
            let high = numbers().map(|number| at(number).max_by(f64::total_cmp)).collect();
            (middle_line.low, middle_line.high) = (low, high);
            let slowest = line(format!("slowest: {}", name(slowest)), slowest)?.tone(Tone::Limit);
            let fastest = line(format!("fastest: {}", name(fastest)), fastest)?;
            vec![middle_line, slowest, fastest]
        }
    };
    Some(Chart {
        id: place.id("ranks-over-time"),
        title: place.title("Operations per second of the ranks over time"),
        about: match few {
            true => "One line for each rank; their sum is the line of the whole test. A line that leaves the others is a host, or its path.",
            false => "The slowest rank, the one in the middle and the fastest; the band holds all that were not lost.",
        }
        .into(),
        x: Axis::linear("time in the measured window", "s"),
        y: Axis::from_zero("IOPS", "IOPS"),
        series,
        ..Chart::default()
    })
}

fn rates(points: Vec<(f64, f64)>) -> Vec<f64> {
    points.into_iter().map(|(_, rate)| rate).collect()
}
