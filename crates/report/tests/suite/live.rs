//! The live view on terminals of several sizes, rendered from events as text and compared with
//! golden files. `INSTA_UPDATE=always` rewrites them.

use crate::check;
use crate::prelude::*;
use model::environment::CoreUse;
use model::event::{Counts, DeviceUnder, Event, Interval, Phase, RankFigures, RankProgress, RankState, TargetInterval};
use model::histogram::Histogram;
use model::plan::{Job, Phases, Plan, Stop};
use report::live::{Machine, State, ViewOptions, draw};
use unicode_width::UnicodeWidthStr;

const LOOK: ViewOptions = ViewOptions {
    unicode: true,
    colour: false,
    silent_for: Nanos(0),
};

/// The lines on a terminal of this size, without styles and trailing blanks.
fn shown(state: &State, look: ViewOptions, width: usize, height: usize) -> String {
    let lines = draw(state, look, width, height);
    assert!(lines.len() <= height, "{lines:?}");
    let texts = lines.iter().map(|line| {
        let text = line.text();
        assert!(text.width() <= width, "wider than {width}: {text}");
        text.trim_end().to_owned() + "\n"
    });
    let empty = std::iter::repeat_n("\n".to_owned(), height - lines.len());
    texts.chain(empty).collect()
}

fn job(name: &str, warm_up: u64, measured: u64) -> Job {
    Job {
        name: name.into(),
        phases: Phases::with_warm_up(Nanos::secs(warm_up)),
        stop: Stop::after(Nanos::secs(measured)),
        ..Job::default()
    }
}

/// Three steps, the first with a job of 5 s and 60 s.
fn plan() -> Plan {
    let targets = [
        "/mnt/fast/a.dat",
        "/mnt/slow/a/long/way/down/the/tree/b.dat",
        "/dev/nvme1n1",
    ];
    let steps = [("oltp", 60), ("backup", 30), ("restore", 30)];
    let step = |(name, measured): (&str, u64)| testing::step(vec![job(name, 5, measured)]);
    testing::plan("nightly", targets.map(testing::file).to_vec(), steps.map(step).to_vec())
}

/// Latencies around 100 us, with a tail.
fn latency(operations: u64) -> Histogram {
    let mut histogram = Histogram::new();
    histogram.record_times(95_000, operations / 2);
    histogram.record_times(180_000, operations - operations / 2 - operations / 50);
    histogram.record_times(1_250_000, operations / 50);
    histogram
}

/// A second in which `operations` operations of 8 KiB of each kind completed.
fn second(number: u64, reads: u64, writes: u64) -> Interval {
    let counts = |operations: u64| Counts::new(operations, Bytes(operations * 8192));
    let some = |operations: u64| (operations > 0).then(|| latency(operations));
    let latency = PerDirection::new(some(reads), some(writes), None);
    let sum = |of: &Option<Histogram>| of.as_ref().map_or(0, |of| of.sum() as u64);
    Interval {
        name: "oltp".into(),
        phase: Phase::Measured,
        start_ns: Nanos::secs(number),
        length_ns: Nanos::secs(1),
        counts: PerDirection::new(counts(reads), counts(writes), Counts::default()),
        in_flight_ns: Nanos(sum(&latency.read) + sum(&latency.write)),
        latency,
        depth: 32,
        left_ns: Some(Nanos::secs(59 - number)),
        ..Interval::default()
    }
}

fn ready(devices: Vec<DeviceUnder>) -> Event {
    Event::Ready { step: 0, devices }
}

fn interval(interval: Interval) -> Event {
    Event::Interval(Box::new(interval))
}

/// The progress of one of several ranks.
fn rank(number: u32, of: u32, state: RankState, iops: f64) -> Event {
    let figures = RankFigures::default().with(|rank_figures| {
        (rank_figures.iops, rank_figures.p99_ns) = (iops, Some(400_000 + 1_000 * u64::from(number)))
    });
    Event::Rank(Box::new(RankProgress {
        rank: number,
        rank_count: of,
        host: format!("db{}", number / 2 + 1),
        state,
        figures: (iops > 0.0).then_some(figures),
    }))
}

/// Twelve seconds of 70 % reads on three targets on two devices, with eight processors.
fn busy() -> State {
    let mut state = State::default();
    state.begin(&plan(), None);
    let device = |name: &str, targets: &[u32]| DeviceUnder {
        name: name.into(),
        targets: targets.to_vec(),
    };
    state.apply(&ready(vec![device("sda", &[0, 1]), device("nvme1n1", &[2])]));
    for number in 0..12 {
        let (reads, writes) = (86_419 - 1_000 * (number % 4), 37_037 + 500 * number);
        let mut event = second(number, reads, writes);
        let part = |target: u32, share: u64| TargetInterval {
            targets: vec![target],
            counts: PerDirection::from_reads(Counts::new(reads / share, Bytes(reads / share * 8192))),
            latency_ns: Nanos(reads / share * 150_000),
        };
        event.targets = vec![part(0, 2), part(1, 4), part(2, 4)];
        state.apply(&interval(event));
    }
    let core = |cpu: u32| CoreUse {
        cpu,
        user_ns: Nanos::millis(100 * u64::from(cpu)),
        system_ns: Nanos::millis(50),
        idle_ns: Nanos::millis(950 - 100 * u64::from(cpu)),
        ..CoreUse::default()
    };
    let used = |name: &str, operations: u64| DeviceUse {
        name: name.into(),
        operations: [operations, 0, 0],
        bytes: [operations * 8192, 0, 0],
        busy_ns: Nanos::millis(970),
        weighted_ns: Nanos::millis(31_400),
        ..DeviceUse::default()
    };
    state.set_machine(Machine {
        length: Nanos::secs(1),
        cores: (0..8).map(core).collect(),
        devices: vec![used("sda", 62_570), used("nvme1n1", 20_857)],
    });
    state.push_message(
        Severity::Note,
        "/mnt/fast/a.dat: 1 GiB of random data written for this run in 2.1 s",
    );
    state.push_message(
        Severity::Warning,
        "warning: the device under /mnt/fast/a.dat is 91 % full, and writes may become slower for that",
    );
    state
}

#[test]
fn an_ordinary_and_a_large_terminal() {
    check("view-80x24", &shown(&busy(), LOOK, 80, 24));
    check("view-120x40", &shown(&busy(), LOOK, 120, 40));
}

#[test]
fn a_small_terminal_keeps_the_most_important_parts() {
    check("view-60x15", &shown(&busy(), LOOK, 60, 15));
    check("view-40x10", &shown(&busy(), LOOK, 40, 10));
    check("view-24x6", &shown(&busy(), LOOK, 24, 6));
}

#[test]
fn the_view_without_unicode_is_plain_ascii() {
    let look = ViewOptions { unicode: false, ..LOOK };
    let text = shown(&busy(), look, 80, 24);
    assert!(text.is_ascii(), "{text}");
    check("view-ascii-80x24", &text);
}

/// Numbers are complete or absent: every group of digits on a narrow screen is also on a wide one.
#[test]
fn figures_are_never_cut() {
    let state = busy();
    let wide = shown(&state, LOOK, 400, 200);
    let known: Vec<&str> = figures(&wide).collect();
    for width in 0..130 {
        for height in [1, 2, 3, 5, 8, 13, 24, 60] {
            let text = shown(&state, LOOK, width, height);
            for figure in figures(&text) {
                // The width determines for how long a message or name is shown, the height how many
                // rows are hidden.
                assert!(known.contains(&figure), "`{figure}` at {width}x{height}:\n{text}");
            }
        }
    }
}

/// Words with digits, except in lines that quote messages or names.
fn figures(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| {
        let others = ["/", ".dat", "…", "warning", "and "];
        !others.iter().any(|part| line.contains(part))
    });
    lines
        .flat_map(str::split_whitespace)
        .filter(|word| word.contains(|c: char| c.is_ascii_digit()))
}

#[test]
fn every_terminal_size_works() {
    for state in [State::default(), busy(), prepared_half()] {
        for width in 0..30 {
            for height in 0..12 {
                let text = shown(&state, LOOK, width, height);
                assert_eq!(text.lines().count(), height);
            }
        }
    }
}

fn prepared_half() -> State {
    let mut state = State::default();
    state.begin(&plan(), Some("point 3 of about 12".into()));
    state.apply(&Event::Preparing {
        target: "/mnt/fast/a.dat".into(),
        done: Bytes::mib(256),
        total: Bytes::mib(512),
        left_ns: Nanos::millis(2_500),
    });
    state
}

#[test]
fn preparation_has_its_own_bar() {
    check("view-preparing-80x24", &shown(&prepared_half(), LOOK, 80, 8));
}

#[test]
fn silence_is_reported_and_old_figures_are_not_shown_as_new() {
    let silent = ViewOptions {
        silent_for: Nanos::millis(7_400),
        ..LOOK
    };
    let text = shown(&busy(), silent, 80, 24);
    assert!(text.contains("no new figures for 7 s"), "{text}");
    let mut ended = busy();
    ended.apply(&Event::JobEnded {
        step: 0,
        job: 0,
        reason: EndReason::Time,
    });
    let text = shown(&ended, silent, 80, 24);
    assert!(!text.contains("no new figures"), "{text}");
    assert!(text.contains("oltp  ended"), "{text}");
}

#[test]
fn percentiles_of_few_operations_are_marked() {
    let mut state = State::default();
    state.begin(&plan(), None);
    state.apply(&ready(Vec::new()));
    state.apply(&interval(second(0, 2_000, 0)));
    let text = shown(&state, LOOK, 80, 24);
    // 100 operations are slower than the 95th percentile, 20 than the 99th, two than the 99.9th.
    assert!(text.contains("   180 us   ~1.25 ms   ?1.25 ms"), "{text}");
    assert_contains(&text, "~ fewer than 100 slower  ? fewer than 10 slower");
}

#[test]
fn control_characters_in_a_name_are_escaped() {
    let mut state = State::default();
    let plan = plan().with(|plan| plan.steps[0].jobs[0].name = "\x1b[2Jevil\r\n".into());
    state.begin(&plan, None);
    state.apply(&Event::Phase {
        step: 0,
        job: 0,
        name: "\x1b[2Jevil\r\n".into(),
        phase: Phase::WarmUp,
        length_ns: None,
    });
    state.push_message(Severity::Note, "a \x1b]0;title\x07 of others");
    let text = shown(&state, LOOK, 80, 24);
    text.assert_contains(&["\\u001b[2J", "a \\u001b]0;title\\u0007 of others"]);
}

/// A second of several ranks: the fourth is slow, the fifth late and the last lost.
fn fleet(of: u32) -> State {
    let mut state = State::default();
    state.begin(&plan(), None);
    state.apply(&ready(Vec::new()));
    for number in 0..of {
        let (now, iops) = match number {
            3 => (RankState::Running, 4_000.0),
            4 => (RankState::Late, 9_900.0),
            _ if number == of - 1 => (RankState::Lost, 0.0),
            _ => (RankState::Running, 10_000.0 + f64::from(number)),
        };
        state.apply(&rank(number, of, now, iops));
    }
    state.apply(&interval(second(0, 60_000, 0)));
    state
}

#[test]
fn several_hosts_have_a_table() {
    check("view-fleet-80x24", &shown(&fleet(6), LOOK, 80, 24));
}

#[test]
fn outliers_among_many_ranks_are_listed_first() {
    let text = shown(&fleet(40), LOOK, 80, 24);
    check("view-fleet-of-40-80x24", &text);
    let place = |part: &str| {
        text.find(part)
            .unwrap_or_else(|| panic!("`{part}` is missing:\n{text}"))
    };
    assert!(
        place("39 db20") < place("4 db3") && place("4 db3") < place("3 db2"),
        "{text}"
    );
}

#[test]
fn the_preparation_of_each_host_is_shown() {
    let mut state = State::default();
    state.begin(&plan(), None);
    state.apply(&rank(0, 2, RankState::Ready, 0.0));
    state.apply(&rank(1, 2, RankState::Preparing, 0.0));
    let text = shown(&state, LOOK, 80, 24);
    text.assert_contains(&["0 db1", "ready", "1 db1", "preparing", "1 host"]);
}
