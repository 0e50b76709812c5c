//! Comparisons of parts that need more than their value.

mod amounts;
mod targets;

use model::access::Access;
use model::block_size::BlockSizes;
use model::content::Content;
use model::draws::GeneratorChoice;
use model::mix::{Mix, MixRule};
use model::plan::{
    CatchUp, Control, CpuWork, DepthScope, Dialect, EngineKind, LatencyPoints, Mapping, Pacing, Process, Rate,
    RateUnit, Stream, ThinkCount, Verify, Worker, WriteThrough,
};
use model::{Direction, Nanos, PerDirection};

use super::rows::Impact::{self, Equivalent, Lost};
use super::{Pair, StreamContext};
use crate::convert::{shares, words};

pub(in crate::convert) use amounts::repeats_passes;
pub(super) use amounts::{
    compare_bytes, compare_operations, compare_passes, compare_region_percent, compare_rounds, compare_total,
};
pub(super) use targets::{
    compare_file_choice, compare_file_removal, compare_file_size, compare_paths, compare_preparation,
    compare_recreation_per_step, compare_region, describe_target_kind,
};

/// Descriptions of the original and the converted value.
type Difference = Option<(String, String)>;

/// Creates a difference.
fn difference(wanted: impl Into<String>, got: impl Into<String>) -> Difference {
    Some((wanted.into(), got.into()))
}

/// Describes two values if they differ.
fn difference_if<T: PartialEq, W: Into<String>>(wanted: T, got: T, words: impl Fn(T) -> W) -> Difference {
    match wanted == got {
        true => None,
        false => difference(words(wanted), words(got)),
    }
}

pub(super) fn text_if(condition: bool, text: &str) -> String {
    if condition { text.to_owned() } else { String::new() }
}

pub(super) fn equivalent_if(condition: bool) -> Impact {
    if condition { Equivalent } else { Lost }
}

pub(super) fn optional<T>(value: &Option<T>, words: fn(&T) -> String) -> String {
    value.as_ref().map(words).unwrap_or_default()
}

pub(super) fn describe_start_delay(at: &StreamContext<'_>, _: &StreamContext<'_>) -> String {
    let delay = at.job.phases.start_delay;
    match delay.low_ns == delay.high_ns {
        true => words::format_time(delay.low_ns),
        false => format!(
            "{} to {}",
            words::format_time(delay.low_ns),
            words::format_time(delay.high_ns)
        ),
    }
}

/// An amount that includes the warm-up.
pub(super) fn describe_counted_warm_up(at: &StreamContext<'_>, _: &StreamContext<'_>) -> String {
    let (phases, stop) = (&at.job.phases, &at.job.stop);
    let has_warm_up = phases.warm_up_ns > Nanos(0) || phases.warm_up_bytes.is_some();
    text_if(
        has_warm_up && stop.includes_warm_up(),
        "the amount includes the warm-up",
    )
}

pub(super) fn describe_after(at: &StreamContext<'_>, _: &StreamContext<'_>) -> String {
    match at.job.after.len() {
        0 => String::new(),
        1 => "after 1 other job".into(),
        count => format!("after {count} other jobs"),
    }
}

/// True if the list names a job other than this one.
fn names_another_job(at: &StreamContext<'_>, list: &[u32]) -> bool {
    list.iter().any(|other| at.job_number != *other as usize)
}

pub(super) fn describe_ends_jobs(at: &StreamContext<'_>, _: &StreamContext<'_>) -> String {
    let ends = &at.job.ends_with;
    text_if(
        names_another_job(at, &ends.jobs) || ends.plan_always,
        "its end stops other jobs",
    )
}

pub(super) fn describe_failure(at: &StreamContext<'_>, _: &StreamContext<'_>) -> String {
    let ends = &at.job.ends_with;
    let ends = [
        (names_another_job(at, &ends.on_failure), "other jobs"),
        (ends.workers_on_failure, "other workers"),
        (ends.plan, "later steps"),
    ];
    let ends: Vec<&str> = ends
        .into_iter()
        .filter(|(applies, _)| *applies)
        .map(|(_, word)| word)
        .collect();
    match ends.is_empty() {
        true => "a failure stops nothing else".into(),
        false => format!("a failure also stops {}", ends.join(" and ")),
    }
}

/// Describes the control rules of a kind.
pub(super) fn describe_control_rules(at: &StreamContext<'_>, is_kind: fn(&Control) -> bool) -> String {
    let rules = at.job.control.iter().filter(|rule| is_kind(rule));
    rules.map(words::describe_control).collect::<Vec<_>>().join("; ")
}

pub(super) fn describe_cpu_work(at: &StreamContext<'_>, _: &StreamContext<'_>) -> String {
    match at.worker.engine.work {
        None => String::new(),
        Some(CpuWork::Spin { time_ns }) => format!("the CPU spins for {}", words::format_time(time_ns)),
        Some(CpuWork::Sort { numbers, percent }) => {
            format!("the CPU sorts {numbers} numbers, {percent} % of the time")
        }
    }
}

pub(super) fn compare_engine(pair: &Pair<'_>) -> Difference {
    let (wanted, got) = (pair.wanted.worker.engine.kind, pair.got.worker.engine.kind);
    if wanted == got || wanted == EngineKind::Auto || pair.wanted.stream.cache.mapping.is_some() {
        return None;
    }
    match is_synchronous_by_depth(pair) {
        true => difference("synchronous calls, one at a time", got.name()),
        false => difference(wanted.name(), got.name()),
    }
}

/// DiskSpd has no engines: it makes synchronous calls at a depth of one.
fn is_synchronous_by_depth(pair: &Pair<'_>) -> bool {
    let (wanted, got) = (pair.wanted.worker.engine.kind, pair.got.worker.engine.kind);
    pair.from == Dialect::Diskspd && wanted == EngineKind::Psync && !got.simulates_io()
}

pub(super) fn engine_impact(pair: &Pair<'_>) -> Impact {
    let (wanted, got) = (pair.wanted.worker.engine.kind, pair.got.worker.engine.kind);
    // On Linux, Iometer itself uses AIO.
    let is_of_iometer = pair.to == Dialect::Iometer && wanted == EngineKind::Libaio;
    let is_default = (wanted, got) == (EngineKind::Psync, EngineKind::Auto);
    equivalent_if(is_synchronous_by_depth(pair) || is_default || is_of_iometer)
}

/// Memory-mapped operations run one after the other.
pub(super) fn describe_depth(at: &StreamContext<'_>, wanted: &StreamContext<'_>) -> String {
    if wanted.stream.cache.mapping.is_some() {
        return String::new();
    }
    let worker = at.worker;
    let each: Vec<u32> = worker.streams.iter().map(|stream| stream.depth).collect();
    let depth = match worker.depth {
        DepthScope::Shared { operations } if each.len() > 1 => format!("{operations} over all targets"),
        DepthScope::Shared { operations } => operations.to_string(),
        DepthScope::PerTarget { alternatives } if alternatives > 1 => {
            format!(
                "{} on each target; each burst draws one of {alternatives} streams",
                worker.slots()
            )
        }
        _ if each.iter().any(|depth| *depth != each[0]) => format!("{each:?} on its targets"),
        _ if each.len() > 1 => format!("{} on each target", each[0]),
        DepthScope::PerStream | DepthScope::PerTarget { .. } => each[0].to_string(),
    };
    // A file set has one depth for all files, like targets that share a depth.
    match &worker.streams[..] {
        [only] if only.target.ids().len() > 1 => format!("{depth} over all targets"),
        _ => depth,
    }
}

pub(super) fn compare_weights(pair: &Pair<'_>) -> Difference {
    let (wanted, got) = (pair.wanted.worker, pair.got.worker);
    let count = wanted.streams.len();
    let is_decided = match shares::are_paced(&wanted.streams) {
        // The comparison of rates covers the weights.
        true => pair.got.stream.pacing != Pacing::Unpaced,
        false => wanted.depth == DepthScope::PerStream,
    };
    if count < 2 || is_decided {
        return None;
    }
    let shares = |worker: &Worker| {
        let amounts = match worker.streams.len() == count {
            true => shares::stream_shares(&worker.streams),
            false => vec![1.0; count],
        };
        let all: f64 = amounts.iter().sum();
        let shares = amounts.iter().map(|amount| format!("{:.1}", amount / all * 100.0));
        format!("shares of {} %", shares.collect::<Vec<_>>().join("/"))
    };
    difference_if(shares(wanted), shares(got), |shares| shares)
}

/// Operations per submission, limited by the number of slots.
pub(super) fn describe_batch(at: &StreamContext<'_>, _: &StreamContext<'_>) -> String {
    let (batch, slots) = (at.worker.batching.submit, at.worker.slots());
    optional(
        &batch.map(|batch| batch.min(slots)).filter(|_| slots > 1),
        u32::to_string,
    )
}

fn describe_random_generator(at: &StreamContext<'_>) -> &'static str {
    match at.worker.draws {
        GeneratorChoice::Native { seed: _ } => "fathom's own, one per purpose",
        GeneratorChoice::DiskSpd { seed: _ } => "a single one",
        GeneratorChoice::Fio { .. } => "one per purpose",
    }
}

pub(super) fn compare_random_generators(pair: &Pair<'_>) -> Difference {
    let (wanted, got) = (
        describe_random_generator(&pair.wanted),
        describe_random_generator(&pair.got),
    );
    let wanted_words = format!("random numbers: {wanted}");
    let got_words = format!("{got}: the distributions are the same, the positions and data are not");
    (wanted != got).then_some((wanted_words, got_words))
}

pub(super) fn compare_seeds(pair: &Pair<'_>) -> Difference {
    let comparable =
        pair.from == pair.to && describe_random_generator(&pair.wanted) == describe_random_generator(&pair.got);
    let draws = |at: &StreamContext<'_>| at.worker.draws;
    difference_if(draws(&pair.wanted), draws(&pair.got), describe_seeds).filter(|_| comparable)
}

fn describe_seeds(draws: GeneratorChoice) -> String {
    match draws {
        GeneratorChoice::Native { seed } => format!("random numbers from seed {seed}"),
        GeneratorChoice::DiskSpd { seed } => format!("random numbers from seed {seed}"),
        GeneratorChoice::Fio { .. } => "other seeds of its generators".to_owned(),
    }
}

pub(super) fn describe_cpus(at: &StreamContext<'_>, _: &StreamContext<'_>) -> String {
    match &at.worker.placement.cpus[..] {
        [] => "no binding".into(),
        list => format!("bound to {}", words::format_cpus(list)),
    }
}

pub(super) fn describe_latency(at: &StreamContext<'_>, _: &StreamContext<'_>) -> String {
    let points = match at.worker.latency {
        LatencyPoints::BeforeCall => "start of the submitting call; series show total latency",
        LatencyPoints::CompletionInSeries => "start of the submitting call; series show completion latency",
        LatencyPoints::AfterCall => "end of the submitting call; series show total latency",
    };
    format!("completion latency is measured from the {points}")
}

/// The mix that the converted stream must have. A single schedule must have the mix that results
/// from the wanted rates; separate schedules keep the mix of the stream.
fn wanted_mix(pair: &Pair<'_>) -> Mix {
    match pair.got.stream.pacing {
        Pacing::PerDirection { .. } => pair.wanted.stream.mix,
        Pacing::Unpaced | Pacing::Together { .. } => words::resulting_mix(pair.wanted.stream),
    }
}

pub(super) fn compare_mix(pair: &Pair<'_>) -> Difference {
    difference_if(
        words::mix(&wanted_mix(pair)),
        words::mix(&pair.got.stream.mix),
        |words| words,
    )
}

/// Compares whether the first operation of a sequential run decides the direction of the others.
pub(super) fn compare_runs(pair: &Pair<'_>) -> Difference {
    let runs = |stream: &Stream| {
        let mixed = matches!(stream.pattern.access[0], Access::Mixed(_));
        let after_place = |mix: Mix| match mix {
            Mix::Drawn {
                rule: MixRule::AfterPosition,
                write_percent,
            } => write_percent > 0.0 && write_percent < 100.0,
            _ => false,
        };
        mixed && after_place(stream.mix)
    };
    let describe = |runs: bool| match runs {
        true => "all operations of a sequential run are reads or all are writes, like the first",
        false => "each operation is drawn as a read or a write",
    };
    difference_if(runs(pair.wanted.stream), runs(pair.got.stream), describe)
        .filter(|_| wanted_mix(pair).directions().count() > 1)
}

/// Directions that both streams have. If there are none, only the mix is reported: no pattern can
/// be compared.
fn common_directions(pair: &Pair<'_>) -> Vec<Direction> {
    let wanted = pair.wanted.stream.mix.directions();
    wanted
        .filter(|direction| pair.got.stream.mix.includes(*direction))
        .collect()
}

/// Compares a part of the pattern direction by direction.
pub(super) fn compare_by_direction(pair: &Pair<'_>, describe: fn(&Stream, Direction) -> String) -> Difference {
    let common = common_directions(pair);
    let first = *common.first()?;
    let words = |stream: &Stream| {
        words::describe_by_direction(&pair.wanted.stream.mix, |direction| match common.contains(&direction) {
            true => describe(stream, direction),
            false => describe(stream, first),
        })
    };
    difference_if(words(pair.wanted.stream), words(pair.got.stream), |words| words)
}

pub(super) fn compare_positions(pair: &Pair<'_>) -> Difference {
    let separate = |stream: &Stream| stream.pattern.access.iter().any(words::separate_positions);
    let describe = |separate: bool| match separate {
        true => "reads and writes have separate positions",
        false => "reads and writes share a position",
    };
    difference_if(separate(pair.wanted.stream), separate(pair.got.stream), describe)
        .filter(|_| common_directions(pair).len() > 1)
}

pub(super) fn compare_alignment(pair: &Pair<'_>) -> Difference {
    let is_sequential = |access: &Access| {
        matches!(
            access,
            Access::Sequential(_) | Access::Interlocked(_) | Access::Parallel(_)
        )
    };
    let are_all_sequential = |at: &StreamContext<'_>| at.stream.pattern.access.iter().all(is_sequential);
    if are_all_sequential(&pair.wanted) || are_all_sequential(&pair.got) {
        return None;
    }
    compare_by_direction(pair, |stream, direction| {
        format!("multiples of {}", words::format_size(stream.alignment(direction)))
    })
}

pub(super) fn compare_whole_blocks(pair: &Pair<'_>) -> Difference {
    let sizes = &pair.wanted.stream.pattern.sizes;
    let varies = common_directions(pair)
        .iter()
        .any(|direction| !matches!(sizes[*direction], BlockSizes::Fixed { .. }));
    let rounding = |at: &StreamContext<'_>| at.stream.pattern.whole_blocks;
    let describe = |rounding: bool| match rounding {
        true => "positions leave room for the longest operation",
        false => "operations near the end are shortened",
    };
    difference_if(rounding(&pair.wanted), rounding(&pair.got), describe).filter(|_| varies)
}

/// The content of writes. Verified writes have their own content.
pub(super) fn describe_content(at: &StreamContext<'_>, wanted: &StreamContext<'_>) -> String {
    let is_compared = wanted.writes() && wanted.stream.verify.is_none();
    text_if(is_compared, &words::describe_content(&at.stream.content))
}

pub(super) fn content_impact(pair: &Pair<'_>) -> Impact {
    let is_fresh =
        |at: &StreamContext<'_>| matches!(at.stream.content, Content::Fresh | Content::Drawn | Content::Stamped);
    equivalent_if(is_fresh(&pair.wanted) && is_fresh(&pair.got))
}

pub(super) fn describe_write_through(at: &StreamContext<'_>, wanted: &StreamContext<'_>) -> String {
    let words = match at.stream.cache.write_through {
        WriteThrough::Off => "writes complete in the cache",
        WriteThrough::Data => "writes complete when the data is on stable storage",
        WriteThrough::DataAndMetadata => "writes complete when data and metadata are on stable storage",
    };
    text_if(wanted.writes(), words)
}

pub(super) fn write_through_impact(pair: &Pair<'_>) -> Impact {
    let is_off = |at: &StreamContext<'_>| at.stream.cache.write_through == WriteThrough::Off;
    equivalent_if(!is_off(&pair.wanted) && !is_off(&pair.got))
}

/// The memory map of the stream, or of the mmap engine.
pub(super) fn describe_mapping(at: &StreamContext<'_>, wanted: &StreamContext<'_>) -> String {
    let maps = at.worker.engine.kind == EngineKind::Mmap && wanted.stream.cache.mapping.is_some();
    let engine_mapping = maps.then(Mapping::default);
    words::describe_mapping(at.stream.cache.mapping.or(engine_mapping))
}

/// Without the page cache there is nothing to drop.
pub(super) fn describe_cache_drop(at: &StreamContext<'_>, wanted: &StreamContext<'_>) -> String {
    let words = match at.stream.cache.drop_before {
        true => "cached pages are dropped before the job",
        false => "cached pages are kept",
    };
    text_if(!wanted.stream.cache.direct, words)
}

/// fio sets hints by default, and hints have no effect without the page cache.
pub(super) fn hint_impact(pair: &Pair<'_>) -> Impact {
    equivalent_if(pair.from == Dialect::Fio || pair.wanted.stream.cache.direct)
}

/// The rates of both streams. A file set has one schedule for all its targets; elsewhere each
/// target has its own, so the rates of the worker's streams are added.
fn total_rates(pair: &Pair<'_>) -> [PerDirection<Option<Rate>>; 2] {
    let rates = |stream: &Stream| stream.pacing.by_direction(&stream.mix);
    let targets = |at: &StreamContext<'_>| at.stream.target.ids().len();
    let has_same_targets = targets(&pair.wanted) == targets(&pair.got);
    [&pair.wanted, &pair.got].map(|at| match has_same_targets {
        true => rates(at.stream),
        false => sum_rates(at.worker.streams.iter().map(rates)),
    })
}

fn sum_rates(all_rates: impl Iterator<Item = PerDirection<Option<Rate>>>) -> PerDirection<Option<Rate>> {
    // A rate is a fraction of whole numbers.
    const PARTS: f64 = 1e6;
    all_rates.fold(PerDirection::default(), |mut sum, rates| {
        for (direction, rate) in rates.iter() {
            sum[direction] = match (sum[direction], *rate) {
                (Some(first), Some(second)) if first.unit == second.unit => Some(Rate {
                    amount: ((first.per_second() + second.per_second()) * PARTS).round() as u64,
                    per_ns: Nanos::secs(PARTS as u64),
                    ..first
                }),
                (first, second) => first.or(second),
            };
        }
        sum
    })
}

fn same_rates(pair: &Pair<'_>) -> bool {
    let [wanted, got] = total_rates(pair);
    let are_equal_rates = |a: &Option<Rate>, b: &Option<Rate>| match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            let (x, y) = (a.per_second(), b.per_second());
            a.unit == b.unit && (x - y).abs() <= 1e-6 * x.max(y)
        }
        _ => false,
    };
    Direction::ALL
        .iter()
        .all(|direction| are_equal_rates(&wanted[*direction], &got[*direction]))
}

pub(super) fn compare_rate(pair: &Pair<'_>) -> Difference {
    let describe = |rates: &PerDirection<Option<Rate>>| {
        let rates_text = words::describe_by_direction(&pair.wanted.stream.mix, |direction| {
            rates[direction].as_ref().map_or("no limit".into(), format_rate)
        });
        match rates_text.as_str() {
            "no limit" => rates_text,
            _ => format!("{rates_text} for each worker"),
        }
    };
    let [wanted, got] = total_rates(pair);
    match same_rates(pair) {
        true => None,
        false => difference(describe(&wanted), describe(&got)),
    }
}

fn format_rate(rate: &Rate) -> String {
    let rounded = (rate.per_second() * 1000.0).round() / 1000.0;
    match rate.unit {
        RateUnit::Operations => format!("{rounded} iops"),
        RateUnit::Bytes if rounded.fract() == 0.0 => format!("{}/s", words::format_size(rounded as u64)),
        RateUnit::Bytes => format!("{rounded} bytes/s"),
    }
}

/// Compares whether there is one schedule or one for each direction.
pub(super) fn compare_schedules(pair: &Pair<'_>) -> Difference {
    let separate = |at: &StreamContext<'_>| matches!(at.stream.pacing, Pacing::PerDirection { .. });
    let is_paced = |at: &StreamContext<'_>| at.stream.pacing != Pacing::Unpaced;
    let describe = |separate: bool| match separate {
        true => "separate schedules for reads and writes",
        false => "one schedule; each operation draws its type",
    };
    let comparable = is_paced(&pair.wanted) && is_paced(&pair.got) && same_rates(pair);
    difference_if(separate(&pair.wanted), separate(&pair.got), describe)
        .filter(|_| comparable && pair.wanted.stream.mix.directions().count() > 1)
}

/// The first rate of each stream, if both have one.
fn first_rates(pair: &Pair<'_>) -> Option<(Rate, Rate)> {
    let [wanted, got] = total_rates(pair).map(|rates| rates.iter().find_map(|(_, rate)| *rate));
    wanted.zip(got)
}

pub(super) fn compare_arrivals(pair: &Pair<'_>) -> Difference {
    let (wanted, got) = first_rates(pair)?;
    difference_if(wanted.process, got.process, |process| match process {
        Process::Linear => "even gaps",
        Process::Poisson => "exponential gaps",
        Process::Uniform => "uniform gaps",
    })
}

pub(super) fn compare_catch_up(pair: &Pair<'_>) -> Difference {
    let (wanted, got) = first_rates(pair)?;
    difference_if(wanted.catch_up, got.catch_up, |catch_up| match catch_up {
        CatchUp::Unlimited => "every delay is caught up".to_owned(),
        CatchUp::Within(time) => format!("delays up to {} are caught up", words::format_time(time)),
    })
}

pub(super) fn compare_counted_pauses(pair: &Pair<'_>) -> Difference {
    let (wanted, got) = pair.wanted.stream.think.zip(pair.got.stream.think)?;
    // With one operation at a time, none is in flight when the next is counted.
    let is_deep = pair.wanted.worker.slots() > 1;
    difference_if(wanted.count, got.count, |count| match count {
        ThinkCount::Issued => "a pause follows a number of submitted operations, while others are in flight",
        ThinkCount::Completed => "a pause begins when all operations are complete, so that the queue runs empty",
    })
    .filter(|_| is_deep)
}

pub(super) fn describe_latency_max(at: &StreamContext<'_>, wanted: &StreamContext<'_>) -> String {
    let latency_max = &at.stream.on_error.latency_ns_max;
    words::describe_by_direction(&wanted.stream.mix, |direction| {
        latency_max[direction].map_or("any".into(), words::format_time)
    })
}

/// Iometer counts I/O errors in every test.
pub(super) fn errors_impact(pair: &Pair<'_>) -> Impact {
    let is_strict = pair.wanted.stream.on_error.tolerate_read.is_empty();
    match pair.to == Dialect::Iometer && is_strict {
        true => Impact::DialectWide,
        false => Lost,
    }
}

pub(super) fn compare_verify(pair: &Pair<'_>) -> Difference {
    // The path of the state file follows from the job name.
    let without_path = |verify: &Verify| Verify {
        state_file: String::new(),
        directory: String::new(),
        ..verify.clone()
    };
    let wanted = pair.wanted.stream.verify.as_ref()?;
    let is_same_method = pair.got.stream.verify.as_ref().map(without_path) == Some(without_path(wanted));
    match is_same_method {
        true => None,
        false => difference(format!("{:?}", wanted.method).to_lowercase(), ""),
    }
}
