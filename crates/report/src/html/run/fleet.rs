//! The hosts of a fleet: the figures of each, their differences, and their start times.

use model::results::{JobResults, RankSeries, Results};

use super::ChartScope;
use crate::html::chart::{Axis, Chart, Form, Series, Tone};
use crate::html::page::{Block, Lead, Section, Table, Tile};
use crate::numbers::{count, format_rough, format_time, signed_time};
use crate::summary::{JobSummary, RankSummary, Summary};

/// Up to this many ranks have a line each in the chart over time.
const MAX_LINES: usize = 16;
/// Number of adjacent bars that can still be distinguished.
const MAX_BARS: usize = 128;
/// Maximum number of table rows.
const MAX_ROWS: usize = 256;
/// Maximum number of points over time.
const MAX_POINTS: usize = 3600;

/// Counts the hosts and processes, and those that were lost.
pub(super) fn describe_fleet(results: &Results, summary: &Summary) -> Option<String> {
    let fleet = results.fleet.as_ref()?;
    let (hosts, ranks) = (count_hosts(results), fleet.ranks.len());
    let lost = fleet.ranks.iter().filter(|rank| rank.lost.is_some()).count();
    let lost_note = match lost {
        0 => String::new(),
        lost => format!("; {lost} of them lost"),
    };
    let transport = summary.transport.as_deref().unwrap_or_default();
    Some(format!(
        "{} took part ({}, by {transport}){lost_note}",
        count_noun(hosts, "host"),
        count_noun(ranks, "process")
    ))
}

/// Counts hosts by name, which may be all that is known of a lost host.
fn count_hosts(results: &Results) -> usize {
    let ranks = results.fleet.iter().flat_map(|fleet| &fleet.ranks);
    let names: std::collections::BTreeSet<&str> = ranks.map(|rank| rank.host.as_str()).collect();
    names.len()
}

fn count_noun(number: usize, word: &str) -> String {
    match (number, word) {
        (1, _) => format!("1 {word}"),
        (_, "process") => format!("{number} processes"),
        _ => format!("{number} {word}s"),
    }
}

pub(super) fn lost_hosts_lead(results: &Results) -> Option<Lead> {
    let ranks = results.fleet.iter().flat_map(|fleet| fleet.ranks.iter().enumerate());
    let lost: Vec<String> = ranks
        .filter_map(|(number, rank)| Some(format!("{} (rank {number}): {}", rank.host, rank.lost.as_ref()?)))
        .collect();
    let omitted = lost.len().saturating_sub(4);
    let mut sentence = lost.iter().take(4).cloned().collect::<Vec<_>>().join("; ");
    if omitted > 0 {
        sentence += &format!("; and {omitted} more");
    }
    let consequence = match results.fleet.as_ref().is_some_and(|fleet| fleet.continues_on_loss) {
        true => "The other hosts continued; the figures include the last reports of the lost ones.",
        false => "The other hosts were then stopped; the figures include the last reports of all.",
    };
    (!lost.is_empty()).then(|| Lead {
        topic: if lost.len() == 1 {
            "A host was lost"
        } else {
            "Hosts were lost"
        }
        .into(),
        sentence: format!("{sentence}. {consequence}"),
        advice: Vec::new(),
    })
}

/// The tile with the number of hosts.
pub(super) fn fleet_tile(results: &Results) -> Option<Tile> {
    let fleet = results.fleet.as_ref()?;
    let lost = fleet.ranks.iter().filter(|rank| rank.lost.is_some()).count();
    let note = match lost {
        0 => count_noun(fleet.ranks.len(), "process"),
        lost => format!("{}, {lost} lost", count_noun(fleet.ranks.len(), "process")),
    };
    Some(Tile::new("Hosts", count_hosts(results).to_string(), note))
}

/// Creates the section with the figures of each host.
pub(super) fn fleet_section(results: &Results, summary: &Summary) -> Option<Section> {
    let fleet = results.fleet.as_ref()?;
    let mut blocks: Vec<Block> = host_differences(summary).map(Block::Table).into_iter().collect();
    let several = summary.jobs.len() > 1;
    let job_results = results.steps.iter().flat_map(|step| &step.jobs);
    for (number, (job, job_results)) in summary.jobs.iter().zip(job_results).enumerate() {
        if job.ranks.is_empty() {
            continue;
        }
        let scope = ChartScope {
            prefix: if several { format!("j{number}-") } else { String::new() },
            name: several.then(|| job.name.clone()),
        };
        blocks.push(Block::Table(rank_table(&scope, job)));
        blocks.extend(Block::chart_block(Some(rank_bars(&scope, job))));
        blocks.extend(Block::chart_block(iops_over_time(&scope, job, job_results)));
    }
    let skew = summary.findings.iter().filter(|finding| finding.rule == "START-SKEW");
    blocks.extend(skew.map(|finding| Block::Text(finding.what.clone())));
    Some(Section {
        title: "Hosts".into(),
        about: format!(
            "The {} that ran the test together. Histograms and counters are summed, never averaged. Unequal shares of an even load point to \
             a host, or to its path to the storage.",
            count_noun(fleet.ranks.len(), "process")
        ),
        blocks,
        ..Section::default()
    })
}

fn host_differences(summary: &Summary) -> Option<Table> {
    let findings = summary.findings.iter().filter(|finding| finding.rule == "HOSTS-DIFFER");
    let rows: Vec<Vec<String>> = findings
        .take(MAX_ROWS)
        .map(|finding| vec![finding.at.clone().unwrap_or_default(), finding.what.clone()])
        .collect();
    (!rows.is_empty()).then(|| Table::new("Differences between hosts", &["host", "difference"], rows))
}

/// The distance of a rank's rate from the median; infinite for a lost rank.
fn deviation_from_median(rank: &RankSummary, median: f64) -> f64 {
    match rank.lost.is_some() {
        true => f64::INFINITY,
        false => (rank.total.iops - median).abs(),
    }
}

/// The ranks that were not lost, the slowest first.
fn sort_by_rate(job: &JobSummary) -> Vec<&RankSummary> {
    let mut ranks: Vec<&RankSummary> = job.ranks.iter().filter(|rank| rank.lost.is_none()).collect();
    ranks.sort_by(|a, b| a.total.iops.total_cmp(&b.total.iops));
    ranks
}

fn rank_table(scope: &ChartScope, job: &JobSummary) -> Table {
    let sorted = sort_by_rate(job);
    let median = sorted.get(sorted.len() / 2).map_or(0.0, |rank| rank.total.iops);
    let mut shown: Vec<&RankSummary> = job.ranks.iter().collect();
    let host_count = shown.len();
    if host_count > MAX_ROWS {
        shown.sort_by(|a, b| deviation_from_median(b, median).total_cmp(&deviation_from_median(a, median)));
        shown.truncate(MAX_ROWS);
        shown.sort_by_key(|rank| rank.rank);
    }
    let caption = match host_count > MAX_ROWS {
        true => {
            format!("The {MAX_ROWS} of {host_count} ranks furthest from the median; the CSV of ranks lists all")
        }
        false => "Ranks".into(),
    };
    Table::new(
        &scope.title(&caption),
        &[
            "rank", "host", "IOPS", "MiB/s", "p50", "p99", "in flight", "began after", "clock ahead", "ended after", "",
        ],
        shown.into_iter().map(rank_row).collect(),
    )
}

fn rank_row(rank: &RankSummary) -> Vec<String> {
    let format_percentile = |percent: f64| {
        let percentile = rank.total.latency.percentile(percent);
        percentile.map_or("-".to_owned(), |percentile| super::format_percentile(&percentile))
    };
    let word = match (&rank.lost, rank.straggles) {
        (Some(why), _) => format!("lost: {why}"),
        (None, true) => "straggler".into(),
        (None, false) => String::new(),
    };
    vec![
        rank.rank.to_string(),
        rank.host.clone(),
        format_rough(rank.total.iops),
        format_rough(rank.total.mib_per_sec),
        format_percentile(50.0),
        format_percentile(99.0),
        rank.in_flight
            .map_or("-".into(), |average| format!("{average:.1} of {}", count(rank.depth))),
        rank.start_ns.map_or("-".into(), signed_time),
        format!(
            "{} ± {}",
            signed_time(rank.clock_ahead_ns),
            format_time(rank.clock_error_ns as f64)
        ),
        rank.ended_ns.map_or("-".into(), crate::numbers::duration),
        word,
    ]
}

fn rank_label(rank: &RankSummary) -> String {
    format!("{} {}", rank.rank, rank.host)
}

/// Creates a chart with a bar for each rank; if there are too many, for the slowest and fastest.
fn rank_bars(scope: &ChartScope, job: &JobSummary) -> Chart {
    let host_count = job.ranks.len();
    let shown: Vec<&RankSummary> = match host_count > MAX_BARS {
        false => job.ranks.iter().collect(),
        true => {
            let sorted = sort_by_rate(job);
            let half = MAX_BARS.min(sorted.len()) / 2;
            sorted[..half]
                .iter()
                .chain(&sorted[sorted.len() - half..])
                .copied()
                .collect()
        }
    };
    type RankFilter = fn(&RankSummary) -> bool;
    let kinds: [(&str, RankFilter, Tone); 3] = [
        ("normal", |rank| rank.lost.is_none() && !rank.straggles, Tone::Total),
        ("straggler", |rank| rank.lost.is_none() && rank.straggles, Tone::Limit),
        ("lost (partial)", |rank| rank.lost.is_some(), Tone::Other),
    ];
    let kinds = kinds.into_iter().filter(|(_, is, _)| shown.iter().any(|rank| is(rank)));
    let series = kinds.map(|(words, is, tone)| {
        let value = |rank: &&RankSummary| is(rank).then_some(rank.total.iops);
        Series::over_names(
            words,
            Form::Stack,
            shown.iter().map(|rank| (rank_label(rank), value(rank))),
        )
        .tone(tone)
    });
    let selection = match host_count > MAX_BARS {
        true => format!(
            "The {half} slowest and the {half} fastest of {host_count} ranks. ",
            half = MAX_BARS / 2
        ),
        false => String::new(),
    };
    Chart {
        id: scope.id("ranks"),
        title: scope.title("Operations per second of each rank"),
        about: format!(
            "{selection}Equal bars mean that all hosts get the same rate from the storage. A straggler reached less \
                than 80 % of the typical rate."
        ),
        x: Axis::names("rank and host"),
        y: Axis::from_zero("IOPS", "IOPS"),
        series: series.collect(),
        ..Chart::default()
    }
}

/// Start in seconds and operations per second of each interval of a rank.
fn iops_points(series: &RankSeries, rank: &RankSummary) -> Vec<(f64, f64)> {
    let length = series.length_ns.as_secs().max(1e-9);
    let measured = rank.measured_ns.as_secs();
    let intervals_per_point = series.operations.len().div_ceil(MAX_POINTS).max(1);
    let chunk_rate = |(number, chunk): (usize, &[u64])| {
        let start = (number * intervals_per_point) as f64 * length;
        // The last interval may be shorter.
        let long = (chunk.len() as f64 * length).min(measured - start);
        let operations: u64 = chunk.iter().sum();
        (long > 1e-9).then(|| (start, operations as f64 / long))
    };
    series
        .operations
        .chunks(intervals_per_point)
        .enumerate()
        .filter_map(chunk_rate)
        .collect()
}

/// Creates the chart of the ranks' rates over time; if there are many, of the slowest, the median
/// and the fastest rank, with all others in a band.
fn iops_over_time(scope: &ChartScope, job: &JobSummary, job_results: &JobResults) -> Option<Chart> {
    let rank_points = |rank: &RankSummary| {
        let index = job_results
            .rank_series
            .binary_search_by_key(&rank.rank, |series| series.rank);
        Some(iops_points(&job_results.rank_series[index.ok()?], rank))
    };
    let line = |words: String, rank: &RankSummary| Some(Series::new(words, Form::Steps, rank_points(rank)?));
    let has_line_each = job.ranks.len() <= MAX_LINES;
    let series: Vec<Series> = match has_line_each {
        true => job
            .ranks
            .iter()
            .filter_map(|rank| line(rank_label(rank), rank))
            .collect(),
        false => {
            let sorted = sort_by_rate(job);
            let (slowest, fastest) = (*sorted.first()?, *sorted.last()?);
            let median = sorted[sorted.len() / 2];
            let mut median_line = line(format!("median: {}", rank_label(median)), median)?.tone(Tone::Total);
            let all: Vec<Vec<f64>> = sorted
                .iter()
                .filter_map(|rank| rank_points(rank))
                .map(rates_of_points)
                .collect();
            let rates_in_interval = |number: usize| all.iter().filter_map(move |rates| rates.get(number).copied());
            let numbers = || 0..median_line.y.len();
            let low = numbers()
                .map(|number| rates_in_interval(number).min_by(f64::total_cmp))
                .collect();
            let high = numbers()
                .map(|number| rates_in_interval(number).max_by(f64::total_cmp))
                .collect();
            (median_line.low, median_line.high) = (low, high);
            let slowest = line(format!("slowest: {}", rank_label(slowest)), slowest)?.tone(Tone::Limit);
            let fastest = line(format!("fastest: {}", rank_label(fastest)), fastest)?;
            vec![median_line, slowest, fastest]
        }
    };
    Some(Chart {
        id: scope.id("ranks-over-time"),
        title: scope.title("Operations per second of the ranks over time"),
        about: match has_line_each {
            true => "One line for each rank; together they are the rate of the whole test. A line that departs from the others points to a host or its path.",
            false => "The slowest, the median and the fastest rank; the band covers all ranks that were not lost.",
        }
        .into(),
        x: Axis::linear("time in the measured window", "s"),
        y: Axis::from_zero("IOPS", "IOPS"),
        series,
        ..Chart::default()
    })
}

fn rates_of_points(points: Vec<(f64, f64)>) -> Vec<f64> {
    points.into_iter().map(|(_, rate)| rate).collect()
}
