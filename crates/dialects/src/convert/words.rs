//! Describes values. Plans are compared by these descriptions, so equal texts mean equal values.

use model::access::{
    Access, Advance, Between, Continuation, OnceMethod, Placement, PositionSharing, RangeBasis, RangeShare,
};
use model::block_size::BlockSizes;
use model::caps::LimitLayer;
use model::content::Content;
use model::mix::Mix;
use model::plan::{
    Control, ControlGroup, DividedSettings, ErrorPolicy, FileLock, FileWork, Flow, FlushKind, MapFlush, Mapping,
    Pacing, Priority, PriorityClass, PriorityRule, Replay, StoragePath, Stream, SyncRule, Think, TraceSkip,
};
use model::{Direction, PerDirection};

use crate::native::cap_text;
pub(super) use crate::notation::{
    format_cpus, format_hexadecimal, format_memory_nodes, format_size, format_time, metric_name, period,
};

/// The settings that hosts divide, such as `rate,region`; empty for none.
pub(super) fn divided_resources(what: DividedSettings) -> String {
    let words = [(what.rate, "rate"), (what.depth, "depth"), (what.region, "region")];
    let words: Vec<&str> = words.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
    words.join(",")
}

/// Limits in the syntax of `cap`, without their sources.
pub(super) fn describe_limits(limits: &[LimitLayer]) -> String {
    limits.iter().map(cap_text).collect::<Vec<_>>().join("; ")
}

/// The storage, such as `path=cached, role=log, replicas=3, hops=2`; empty if unknown.
pub(super) fn describe_storage(storage: &StoragePath) -> String {
    let StoragePath {
        cache,
        role,
        replicas,
        hops,
    } = storage;
    let words = [
        cache.map(|path| format!("path={}", path.word())),
        role.as_ref().map(|role| format!("role={role}")),
        replicas.map(|replicas| format!("replicas={replicas}")),
        hops.map(|hops| format!("hops={hops}")),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The effective mix. If reads and writes have separate rates, the rates determine it. If only one
/// has a rate, or lengths or units differ, it is the stream's mix.
pub(super) fn resulting_mix(stream: &Stream) -> Mix {
    let (Pacing::PerDirection { rates }, true) = (&stream.pacing, stream.mix.directions().count() == 2) else {
        return stream.mix;
    };
    let lengths = &stream.pattern.sizes;
    match (stream.mix, &rates[Direction::Read], &rates[Direction::Write]) {
        (Mix::Drawn { rule, .. }, Some(read), Some(write))
            if read.unit == write.unit
                && format_sizes(&lengths[Direction::Read]) == format_sizes(&lengths[Direction::Write]) =>
        {
            let write_percent = 100.0 * write.per_second() / (read.per_second() + write.per_second());
            Mix::Drawn { write_percent, rule }
        }
        _ => stream.mix,
    }
}

pub(super) fn mix(mix: &Mix) -> String {
    let trims = mix.includes(Direction::Trim);
    // Shares computed from rates differ by rounding.
    let share = (1e6 * mix.write_share()).round() / 1e6;
    match (mix, share) {
        (Mix::TrimThenWrite, _) => "each block trimmed, then written".into(),
        (Mix::Traced { .. }, _) => "as in the trace".into(),
        _ if trims => "trims".into(),
        (_, 0.0) => "reads".into(),
        (_, 100.0) => "writes".into(),
        (Mix::Exact { .. }, share) => format!("exactly {share} % writes"),
        // Drawn for each operation.
        (_, share) => format!("{share} % writes on average"),
    }
}

pub(super) fn format_sizes(sizes: &BlockSizes) -> String {
    match sizes {
        BlockSizes::Fixed { size: fixed } => format_size(fixed.0),
        BlockSizes::Range { low, high, unaligned } => {
            let tail = if *unaligned { ", any number of bytes" } else { "" };
            format!("{}-{}{tail}", format_size(low.0), format_size(high.0))
        }
        BlockSizes::Split { entries } => {
            let total: f64 = entries.iter().map(|entry| entry.percent).sum();
            let share = |percent: f64| (percent / total * 1e8).round() / 1e6;
            let mut entries = entries.clone();
            entries.sort_by_key(|entry| entry.size);
            let entries = entries
                .iter()
                .map(|entry| format!("{}/{}", format_size(entry.size.0), share(entry.percent)));
            entries.collect::<Vec<_>>().join(":")
        }
    }
}

/// Describes each direction that occurs; directions with equal descriptions share one.
pub(super) fn describe_by_direction(mix: &Mix, word: impl Fn(Direction) -> String) -> String {
    let words: Vec<(Direction, String)> = mix.directions().map(|direction| (direction, word(direction))).collect();
    match words.first() {
        Some((_, first)) if words.iter().all(|(_, other)| other == first) => first.clone(),
        _ => {
            let described = words
                .iter()
                .map(|(direction, word)| format!("{}s {word}", direction.word()));
            described.collect::<Vec<_>>().join(", ")
        }
    }
}

/// The distance between starts of operations if it is constant, else the gap between them.
fn advance(stream: &Stream, direction: Direction, advance: Advance) -> String {
    match (advance, stream.fixed_length(direction)) {
        (Advance::Stride, Some(length)) if stream.alignment(direction) == length => String::new(),
        (Advance::Stride, _) => format!(" in steps of {}", format_size(stream.alignment(direction))),
        (Advance::Length { skip: 0 }, _) => String::new(),
        (Advance::Length { skip }, Some(length)) if length as i64 + skip > 0 => {
            format!(" in steps of {}", format_size((length as i64 + skip) as u64))
        }
        (Advance::Length { skip }, _) => format!(" with {skip} bytes between operations"),
        (Advance::RandomGap { min, max }, _) => {
            format!(" with random gaps from {} to {}", format_size(min), format_size(max))
        }
    }
}

pub(super) fn describe_access(stream: &Stream, direction: Direction) -> String {
    match stream.access(direction) {
        Access::Sequential(walk) => {
            // `passes` covers whether a walk stops at the end.
            let start = match walk.start.0 {
                0 => String::new(),
                start => format!(", starting at {}", format_size(start)),
            };
            format!("sequential{}{start}", advance(stream, direction, walk.advance))
        }
        Access::Interlocked(_) => format!(
            "one sequence for all workers{}",
            advance(stream, direction, Advance::Stride)
        ),
        Access::Parallel(walk) => format!(
            "a sequence per slot{}, starting at {}",
            advance(stream, direction, Advance::Stride),
            format_size(walk.start.0)
        ),
        Access::Random {
            placement: Placement::Once(once),
        } if once.method == OnceMethod::Bijection && stream.fixed_length(direction).is_none() => {
            "random, each position once, so that operations overlap".into()
        }
        Access::Random { placement: of } => describe_placement(of, direction),
        Access::Mixed(mixed) if mixed.random_percent[direction] == 0 => "sequential".into(),
        Access::Mixed(mixed) if mixed.random_percent[direction] == 100 => {
            describe_placement(&mixed.placement, direction)
        }
        Access::Mixed(mixed) => {
            let step = match mixed.continuation {
                Continuation::Stride => advance(stream, direction, Advance::Stride),
                Continuation::Length | Continuation::Aligned | Continuation::Shared => String::new(),
            };
            format!(
                "{} % random ({}), the others sequential{step}",
                mixed.random_percent[direction],
                describe_placement(&mixed.placement, direction)
            )
        }
        Access::Every(every) => {
            let between = match every.between {
                Between::Continue => "the others continue from there",
                Between::Repeat => "the others repeat it",
            };
            format!(
                "every {}th {}, {between}",
                every.operations,
                describe_placement(&every.placement, direction)
            )
        }
        Access::Zones(zones) => {
            let placement = describe_order(&zones.within, direction);
            format!(
                "windows of {}, {} apart, {} in each, {placement}",
                format_size(zones.range.0),
                format_size(zones.skip.0),
                format_size(zones.work.0)
            )
        }
        Access::WritePointers(zones) => {
            let placement = describe_order(&zones.within, direction);
            format!(
                "along write pointers of zones of {}, {placement}",
                format_size(zones.zone.0)
            )
        }
    }
}

/// The order within a zone.
fn describe_order(within: &Option<Placement>, direction: Direction) -> String {
    match within {
        None => "sequential".to_owned(),
        Some(placement) => describe_placement(placement, direction),
    }
}

/// True if reads and writes of a walk have separate positions.
pub(super) fn separate_positions(access: &Access) -> bool {
    match access {
        Access::Sequential(walk) => walk.positions == PositionSharing::PerDirection,
        Access::Zones(zones) => zones.positions == PositionSharing::PerDirection,
        Access::WritePointers(_) => true,
        Access::Interlocked(_) | Access::Parallel(_) | Access::Random { .. } | Access::Mixed(_) | Access::Every(_) => {
            false
        }
    }
}

pub(super) fn describe_placement(placement: &Placement, direction: Direction) -> String {
    let center = |center: Option<f64>| center.map(|at| format!(", centre {at}")).unwrap_or_default();
    match placement {
        Placement::Uniform(_) => "random".into(),
        Placement::Once(_) => "random, each block once".into(),
        Placement::Ranges(ranges) => {
            let shares = direction_ranges(&ranges.shares, direction);
            let unit = |span: f64| match ranges.basis {
                RangeBasis::Percent => format!("{span} %"),
                RangeBasis::Bytes => format_size(span as u64),
            };
            let described = shares
                .iter()
                .map(|share| format!("{} % to {}", share.operations_percent, unit(share.span)));
            format!("random: {}", described.collect::<Vec<_>>().join(", "))
        }
        Placement::Zipf(zipf) => format!("zipf {}{}", zipf.theta, center(zipf.center)),
        Placement::Pareto(pareto) => format!("pareto {}{}", pareto.h, center(pareto.center)),
        Placement::Normal(normal) => format!("normal {}{}", normal.deviation_percent, center(Some(normal.center))),
        Placement::List(list) => {
            let blocks = list.blocks.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            let moving = if list.moving { ", moving on" } else { "" };
            format!("the blocks {blocks}{moving}")
        }
        Placement::Aged(aged) => format!("a pass that ages an SSD with {} of spare area", aged.spare),
    }
}

/// The ranges of a direction, or else the first ranges of any.
pub(super) fn direction_ranges(shares: &PerDirection<Vec<RangeShare>>, direction: Direction) -> &[RangeShare] {
    let own_shares = &shares[direction];
    let mut lists = std::iter::once(own_shares).chain(shares.iter().map(|(_, list)| list));
    lists.find(|list| !list.is_empty()).unwrap_or(own_shares)
}

pub(super) fn describe_content(content: &Content) -> String {
    match content {
        Content::Fresh | Content::Drawn => "new random data for each write".into(),
        Content::Stamped => "random data, stamped at each write".into(),
        Content::Once => "the same random data each time".into(),
        Content::Zeros => "zeros".into(),
        Content::Counting => "the repeated bytes 0 to 255".into(),
        Content::Pattern { bytes } if *bytes == counting() => "the repeated bytes 0 to 255".into(),
        Content::Pattern { bytes } => format!("the repeated bytes 0x{}", format_hexadecimal(bytes)),
        Content::Compressible {
            percent,
            chunk,
            pattern,
        } => {
            let suffix = match pattern.is_empty() {
                true => String::new(),
                false => format!(", 0x{}", format_hexadecimal(pattern)),
            };
            format!(
                "{percent} % compressible in each {}{suffix}",
                format_size(u64::from(*chunk))
            )
        }
        Content::Duplicated {
            percent,
            working_set,
            shared_working_set: shared,
            constant,
        } => {
            let source = match (working_set, shared) {
                (0, _) => "the previous write".into(),
                (set, false) => format!("{set} buffers"),
                (set, true) => format!("{set} buffers shared by jobs"),
            };
            let constant_part = constant.clone().map(|part| {
                let standalone = Content::Compressible {
                    percent: part.percent,
                    chunk: part.chunk,
                    pattern: part.pattern,
                };
                format!(", {}", describe_content(&standalone))
            });
            format!("{percent} % repeats of {source}{}", constant_part.unwrap_or_default())
        }
        Content::Source { size: of, file } => match file {
            None => format!("pieces of {} of random data", format_size(of.0)),
            Some(file) => format!("pieces of {} of {file}", format_size(of.0)),
        },
    }
}

/// The bytes that DiskSpd writes.
pub(super) fn counting() -> Vec<u8> {
    (0..=255).collect()
}

pub(super) fn describe_mapping(mapping: Option<Mapping>) -> String {
    let Some(Mapping { flush, non_temporal }) = mapping else {
        return "no memory map".into();
    };
    let flush = match flush {
        MapFlush::None => "",
        MapFlush::View => ", written back after each write",
        MapFlush::Lines => ", cache lines drained after each write",
        MapFlush::LinesWithoutDrain => ", cache lines written back after each write",
    };
    format!(
        "a memory map{flush}{}",
        if non_temporal { ", bypassing the CPU caches" } else { "" }
    )
}

pub(super) fn describe_flushes(sync: &SyncRule) -> String {
    let SyncRule {
        every_writes,
        kind,
        data_every_writes,
        file_range,
        at_end,
        on_close,
        file_system_at_end,
    } = *sync;
    let (mut full, mut data) = (0, data_every_writes);
    match kind {
        FlushKind::Full => full = every_writes,
        FlushKind::Data if every_writes > 0 => data = every_writes,
        FlushKind::Data => {}
    }
    let mut words = Vec::new();
    if full > 0 {
        words.push(format!("fsync after {full}"));
    }
    if data > 0 {
        words.push(format!("fdatasync after {data}"));
    }
    if let Some((every, flags)) = file_range {
        words.push(format!("sync_file_range after {every} ({flags:?})"));
    }
    let places = [
        (at_end, "at the end"),
        (on_close, "at each close"),
        (file_system_at_end, "of the file system at the end"),
    ];
    let flushed = places.into_iter().filter(|(is, _)| *is);
    words.extend(flushed.map(|(_, place)| place.to_owned()));
    match words.is_empty() {
        true => "no flushes".into(),
        false => words.join(", "),
    }
}

/// Pauses between operations.
pub(super) fn describe_pauses(think: Option<Think>) -> String {
    let Some(Think {
        pause_ns,
        spin_ns,
        operations,
        after_ns,
        count: _,
        shifts_schedule,
        cycles_each,
    }) = think
    else {
        return "no pauses".into();
    };
    // A burst without a pause after it. Its length decides how many operations a line gets at once.
    let mut word = match (pause_ns.0, operations) {
        (0, 0 | 1) => "no pauses".to_owned(),
        (0, _) => format!("no pauses, bursts of {operations} operations"),
        _ => format!("{} after {operations} operations", format_time(pause_ns)),
    };
    if spin_ns.0 > 0 {
        word += &format!(", {} of it spinning", format_time(spin_ns));
    }
    if let Some(after) = after_ns {
        word += &format!(", or after {}", format_time(after));
    }
    if cycles_each > 0 {
        word += &format!(", {cycles_each} CPU cycles after each");
    }
    if shifts_schedule {
        word += ", not caught up by the schedule";
    }
    word
}

/// Priority rules for parts of the operations.
pub(super) fn describe_priority_rules(rules: &[PriorityRule]) -> String {
    let words: Vec<String> = rules.iter().map(describe_priority_rule).collect();
    match words.is_empty() {
        true => "no part has its own".into(),
        false => words.join("; "),
    }
}

/// A priority rule for a part of the operations.
fn describe_priority_rule(rule: &PriorityRule) -> String {
    let PriorityRule {
        direction,
        length,
        percent,
        class,
        level,
        hint,
    } = *rule;
    let length_text = length.map_or(String::new(), |length| format!(" of {length}"));
    let given = Priority {
        class,
        level,
        hint,
        percent,
    };
    format!("{}s{length_text}: {}", direction.word(), describe_priority(Some(given)))
}

pub(super) fn describe_file_lock(lock: FileLock) -> String {
    let words = match lock {
        FileLock::None => "files are not locked",
        FileLock::Exclusive => "one worker at a time uses a file",
        FileLock::ReadersTogether => "one worker at a time writes a file",
    };
    words.into()
}

pub(super) fn describe_flow(flow: &Flow) -> String {
    let Flow { id, weight, pause_ns } = flow;
    let pause = match pause_ns.0 {
        0 => String::new(),
        _ => format!(", checked every {pause_ns}"),
    };
    format!("weight {weight} in flow {id}{pause}")
}

/// Operations on files.
pub(super) fn describe_file_work(work: &FileWork) -> String {
    let FileWork {
        in_sequence,
        in_order,
        shares_files,
        midpoint,
        destination,
        once,
        working_set,
        part,
        block,
        session,
        groups: _,
    } = work;
    let how = if *in_sequence { "in sequence" } else { "drawn" };
    let order = match midpoint {
        _ if *in_order => "files in order",
        Some(_) => "the first files most often",
        None => "files at random",
    };
    let to = if destination.is_some() { " to another tree" } else { "" };
    let shared = if *shares_files { ", shared by workers" } else { "" };
    let sessions = session
        .as_ref()
        .map_or(String::new(), |session| match &session.transfers {
            None => ", and closed".into(),
            Some(transfers) => format!(
                ", then {} transfers of up to {}, {} % of them writes, and closed",
                if transfers.random { "random" } else { "sequential" },
                transfers.sizes.max(),
                transfers.write_percent
            ),
        });
    let once_text = if *once { ", each once" } else { "" };
    let set = working_set.map_or(String::new(), |set| format!(", {} of them", set.files));
    let part = part.map_or(String::new(), |part| {
        format!(", every file {} of {} on this host", part.index + 1, part.count)
    });
    format!(
        "operations on files, {how}: {work}{to}{sessions}; {order}{shared}{once_text}{set}{part}, blocks of {block}"
    )
}

pub(super) fn replay(replay: &Replay) -> String {
    let Replay {
        trace,
        // The form of a trace follows from the trace.
        form: _,
        files: _,
        flushes: _,
        redirected,
        without_times,
        speed_percent,
        scale,
        align,
        skip,
    } = replay;
    let mut words = vec![format!("the operations of {trace}")];
    let TraceSkip {
        reads,
        writes,
        trims,
        flushes,
    } = *skip;
    let mut add = |is_set: bool, what: String| words.extend(is_set.then_some(what));
    add(*redirected, "all to one file".into());
    add(*without_times, "without their timing".into());
    add(
        *speed_percent != 100,
        format!("at {speed_percent} % of the recorded speed"),
    );
    add(*scale > 1, format!("positions divided by {scale}"));
    add(*align > 0, format!("positions aligned to {align}"));
    for (left_out, what) in [
        (reads, "reads"),
        (writes, "writes"),
        (trims, "trims"),
        (flushes, "flushes"),
    ] {
        add(left_out, format!("without {what}"));
    }
    words.join(", ")
}

pub(super) fn describe_priority(priority: Option<Priority>) -> String {
    let Some(Priority {
        class,
        level,
        percent,
        hint,
    }) = priority
    else {
        return "the default priority".into();
    };
    let class = match class {
        PriorityClass::RealTime => "real time",
        PriorityClass::BestEffort => "best effort",
        PriorityClass::Idle => "idle",
    };
    let share = match percent {
        100 => String::new(),
        _ => format!(" for {percent} %"),
    };
    let hint = match hint {
        0 => String::new(),
        _ => format!(", hint {hint}"),
    };
    format!("{class} {level}{share}{hint}")
}

/// A control group, with its weight.
pub(super) fn describe_control_group(group: &ControlGroup) -> String {
    let ControlGroup { path, weight, keep } = group;
    let weight = weight
        .map(|weight| format!(" with the weight {weight}"))
        .unwrap_or_default();
    let kept = if *keep { ", kept afterwards" } else { "" };
    format!("{path}{weight}{kept}")
}

/// Tolerated errors.
pub(super) fn describe_errors(policy: &ErrorPolicy) -> String {
    let ErrorPolicy {
        tolerate_read,
        tolerate_write,
        tolerate_verify,
        errors_max,
        stop_when_full: _,
        latency_ns_max: _,
        report_tolerated: _,
        block_lifetimes: _,
    } = policy;
    let lists = [
        ("reads", tolerate_read),
        ("writes", tolerate_write),
        ("checks", tolerate_verify),
    ];
    let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let words = lists.map(|(direction, list)| format!("{direction} tolerate {list:?}"));
    let limit = errors_max.map(|max| format!("it ends after {max} errors"));
    let words: Vec<String> = words.chain(limit).collect();
    match words.is_empty() {
        true => "no error is tolerated".into(),
        false => words.join(", "),
    }
}

pub(super) fn describe_control(control: &Control) -> String {
    match control {
        Control::Precision(rule) => {
            format!(
                "{} to {} % after {}",
                metric_name(rule.metric),
                rule.percent,
                format_time(rule.at_least_ns)
            )
        }
        Control::SteadyState(rule) => format!(
            "{}{} within {}{} over {} in intervals of {}{}",
            metric_name(rule.metric),
            if rule.slope { "_slope" } else { "" },
            rule.limit,
            if rule.percent { " %" } else { "" },
            format_time(rule.window_ns),
            format_time(rule.interval_ns),
            match rule.ramp_ns.0 {
                0 => String::new(),
                _ => format!(" after {}", format_time(rule.ramp_ns)),
            }
        ),
        Control::LatencyTarget(rule) => format!(
            "{} for {} % in windows of {}{}",
            format_time(rule.target_ns),
            rule.percentile,
            format_time(rule.window_ns),
            match rule.keep_running {
                true => ", until the time is over",
                false => "",
            }
        ),
        Control::MinimumRate(rule) => format!(
            "{} {} of {} over {}",
            rule.min_per_sec,
            metric_name(rule.metric),
            rule.direction.map_or("all", Direction::word),
            format_time(rule.cycle_ns)
        ),
    }
}
