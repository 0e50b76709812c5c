//! The text of a plan that has fio's shape, continued: traces, what jobs share, priorities of parts of their operations.

use model::Direction;
use model::plan::{FileLock, Flow, PriorityClass, PriorityRule, Replay, Stream, Worker};

use super::fio_text::{Say, on};

/// Rules for all operations of a direction, or for those of some lengths; fio cannot have both.
pub(super) fn priorities(stream: &Stream, say: Say<'_>) {
    let of = |direction: Direction| stream.priorities.iter().filter(move |rule| rule.direction == direction);
    let class = |rule: &PriorityRule| match rule.class {
        PriorityClass::RealTime => "1",
        PriorityClass::BestEffort => "2",
        PriorityClass::Idle => "3",
    };
    let directions = [Direction::Read, Direction::Write];
    if stream.priorities.iter().any(|rule| rule.length.is_some()) {
        let list = |direction| {
            let entries = of(direction).map(|rule| {
                let length = rule.length.map_or(0, |length| length.0);
                let PriorityRule {
                    percent, level, hint, ..
                } = *rule;
                format!("{length}/{percent}/{}/{level}/{hint}", class(rule))
            });
            match entries.collect::<Vec<_>>() {
                // A size that no operation has.
                entries if entries.is_empty() => "1/0".to_owned(),
                entries => entries.join(":"),
            }
        };
        say("cmdprio_bssplit", directions.map(list).join(","));
        return;
    }
    if stream.priorities.is_empty() {
        return;
    }
    let each = |of_rule: &dyn Fn(&PriorityRule) -> String| {
        directions
            .map(|direction| of(direction).next().map_or("0".to_owned(), of_rule))
            .join(",")
    };
    say("cmdprio_percentage", each(&|rule| rule.percent.to_string()));
    say("cmdprio_class", each(&|rule| class(rule).to_owned()));
    say("cmdprio", each(&|rule| rule.level.to_string()));
    say("cmdprio_hint", each(&|rule| rule.hint.to_string()));
}

/// What a job shares with others.
pub(super) fn shared(stream: &Stream, say: Say<'_>) {
    match stream.lock {
        FileLock::None => {}
        FileLock::Exclusive => say("lockfile", "exclusive".into()),
        FileLock::ReadersTogether => say("lockfile", "readwrite".into()),
    }
    if let Some(Flow { id, weight, pause_ns }) = stream.flow {
        say("flow", weight.to_string());
        say("flow_id", id.to_string());
        if pause_ns.0 > 0 {
            say("flow_sleep", (pause_ns.0 / 1000).to_string());
        }
    }
}

/// The traces that clones carry out, in turn.
pub(super) fn replays(clones: &[Worker], say: Say<'_>) {
    let replays: Vec<&Replay> = clones
        .iter()
        .flat_map(|clone| &clone.streams)
        .filter_map(|stream| stream.replay.as_ref())
        .collect();
    let Some(first) = replays.first() else { return };
    let mut names: Vec<String> = replays.iter().map(|replay| replay.trace.replace(':', "\\:")).collect();
    if names.iter().all(|name| *name == names[0]) {
        names.truncate(1);
    }
    say("read_iolog", names.join(":"));
    on(say, "replay_no_stall", first.without_times);
    if first.redirected {
        say("replay_redirect", first.files.join(""));
    }
    for (name, value, usual) in [
        ("replay_time_scale", first.speed_percent, 100),
        ("replay_scale", first.scale, 1),
        ("replay_align", first.align, 0),
    ] {
        if value != usual {
            say(name, value.to_string());
        }
    }
    let kinds = [
        (first.skip.reads, "read"),
        (first.skip.writes, "write"),
        (first.skip.trims, "trim"),
        (first.skip.flushes, "sync"),
    ];
    let skipped: Vec<&str> = kinds
        .into_iter()
        .filter(|(skipped, _)| *skipped)
        .map(|(_, kind)| kind)
        .collect();
    if !skipped.is_empty() {
        say("replay_skip", skipped.join(","));
    }
}
