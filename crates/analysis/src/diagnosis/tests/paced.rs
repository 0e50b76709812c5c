//! Diagnoses of paced loads that missed their promised rate or latency.

use model::observation::{CoreShare, GeneratorCost, Observation, Second};
use model::seconds::{BusyProcess, DeviceSample, HostSample, IntervalFacts};
use model::testing::{assert_contains, assert_starts_with};
use model::{Bytes, Nanos};

use super::super::samples::{closed_loop, with_series};
use super::super::{Answer, Context, Diagnosis, Question, diagnose, find_dips};

/// A paced load that reached 1,000 of 1,200 IOPS; `second` edits the facts of each second.
fn paced(second: impl Fn(&mut Second)) -> Observation {
    let mut observation = closed_loop(32, 1000.0);
    observation.load.closed_loop = Some(false);
    observation.load.rate_iops = Some(1200.0);
    observation.load.workers = Some(1);
    observation.generator = Some(GeneratorCost {
        busiest_worker: 0.15,
        processors: 0.15,
        ceiling_iops: None,
    });
    let second_at = |number: u64| {
        let mut made = Second {
            facts: IntervalFacts {
                start_ns: Nanos::secs(number),
                length_ns: Nanos::secs(1),
                operations: 1000,
                service_ns: Nanos::secs(32),
                ..IntervalFacts::default()
            },
            hosts: vec![HostSample {
                start_ns: Nanos::secs(number),
                length_ns: Nanos::secs(1),
                cpus_ns: Nanos::secs(2),
                busy_ns: Nanos::millis(200),
                own_ns: Nanos::millis(150),
                ..HostSample::default()
            }],
            bytes_transferred: Bytes(1000 * 8192),
        };
        made.facts.queue.slots_ns = Nanos::secs(32);
        made.facts.queue.queues_ns = Nanos::secs(1);
        made.facts.queue.issued = 1000;
        second(&mut made);
        made
    };
    observation.seconds = (0..60).map(second_at).collect();
    observation
}

/// The advice was once "more workers" for a device behind a throttle.
#[test]
fn a_throttled_device_is_not_a_slow_generator() {
    let throttled = paced(|second| {
        second.facts.queue.in_use_ns = Nanos::secs(32);
        second.facts.queue.full_ns = Nanos::secs(1);
    });
    let found = diagnose(&throttled, &[], &Context::default());
    assert_ne!(found.answer, Answer::Generator, "{}", found.sentence);
    let late = paced(|second| second.facts.queue.in_use_ns = Nanos::secs(3));
    let found = diagnose(&late, &[], &Context::default());
    assert_eq!(found.answer, Answer::Generator, "{}", found.sentence);
    assert_contains(&found.sentence, "in 60 of 60 missed seconds slots were free");
}

/// The diagnosis once stated only that every processor was full. Other programs filled them, and
/// fathom itself used 0.15 of 2.
#[test]
fn processors_kept_busy_by_others_are_attributed_to_them() {
    let full = |cpu| CoreShare {
        cpu,
        user: 0.99,
        ..CoreShare::default()
    };
    let others_of = |waited: Nanos, slots: Nanos, operations: u64| {
        let mut observation = paced(move |second| {
            second.facts.operations = operations;
            second.facts.queue.issued = operations;
            second.facts.queue.in_use_ns = slots;
            second.facts.threads.run_delay_ns = waited;
            second.hosts[0].busy_ns = Nanos::millis(1980);
            second.hosts[0].busiest_others = vec![BusyProcess {
                name: "stress".into(),
                pid: 7,
                cpu_ns: Nanos::millis(1800),
            }];
        });
        observation.cores = vec![full(0), full(1)];
        diagnose(&observation, &[], &Context::default())
    };
    let others = |waited: Nanos| others_of(waited, Nanos(0), 1000);
    let found = others(Nanos::millis(400));
    assert_eq!(found.answer, Answer::Processor);
    assert_contains(
        &found.sentence,
        "other programs used 1.8 of 2 processors (stress 1.8), so operations waited for a processor",
    );
    // Busy processors do not delay threads that never waited for one.
    assert_ne!(others(Nanos(0)).answer, Answer::Processor);
    // Each second misses 700 of 1,200 operations, and 200 ms of waiting for a processor explain
    // only 240 of them. If every slot is taken, the storage causes the rest.
    let waited = Nanos::millis(200);
    assert_ne!(others_of(waited, Nanos::secs(32), 500).answer, Answer::Processor);
    assert_eq!(others_of(waited, Nanos(0), 500).answer, Answer::Processor);
}

/// The answers were once "the queue was not kept full" and "no limit except the requested rate".
#[test]
fn busy_processors_precede_their_effects() {
    let diagnosed = |rate: Option<f64>, waited: Nanos| {
        let mut observation = paced(|second| {
            second.facts.threads.run_delay_ns = waited;
            second.hosts[0].busy_ns = Nanos::millis(1980);
        });
        (observation.load.rate_iops, observation.load.closed_loop) = (rate, Some(rate.is_none()));
        if rate.is_none() {
            observation.total.iops = Some(800.0);
        }
        diagnose(&observation, &[], &Context::default())
    };
    for (rate, waited) in [(None, Nanos::millis(200)), (Some(1000.0), Nanos::millis(50))] {
        let found = diagnosed(rate, waited);
        assert_eq!(found.answer, Answer::Processor, "{}", found.sentence);
        let effect = "so operations waited for a processor; the storage may be faster";
        assert!(found.sentence.ends_with(effect), "{}", found.sentence);
    }
    // Such a short wait explains neither.
    assert_eq!(diagnosed(None, Nanos::millis(10)).answer, Answer::Generator);
    assert_eq!(diagnosed(Some(1000.0), Nanos::millis(10)).answer, Answer::Cap);
}

fn judged(observation: &Observation, question: Question) -> Diagnosis {
    let context = Context {
        question,
        ..Context::default()
    };
    diagnose(observation, &[], &context)
}

/// The verdict once blamed other programs, and the diagnosis below it advised testing more depths.
#[test]
fn others_are_named_for_disturbed_seconds() {
    let with_device = |second: &mut Second| {
        second.hosts[0].device = Some(DeviceSample {
            operations: 1300,
            bytes: Bytes(1300 * 8192),
        });
    };
    let mut disturbed = paced(with_device);
    let found = judged(&disturbed, Question::MissedRate);
    assert_eq!(found.answer, Answer::Noisy, "{}", found.sentence);
    let words = "in 60 of 60 missed seconds other programs moved";
    assert!(found.sentence.starts_with(words), "{}", found.sentence);
    // The rate is met, but other programs affected the latencies.
    disturbed.load.rate_iops = Some(1000.0);
    let found = judged(&disturbed, Question::MissedLatency);
    assert_starts_with(
        &found.sentence,
        "the requested 1000 IOPS were served, but in all 60 seconds other",
    );
    // Other programs fill the processors, and the source does not report use per core.
    let starved = paced(|second| {
        second.facts.threads.run_delay_ns = Nanos::millis(400);
        second.hosts[0].busy_ns = Nanos::millis(1980);
    });
    let found = judged(&starved, Question::MissedRate);
    assert_eq!(found.answer, Answer::Processor, "{}", found.sentence);
}

/// Thirteen dips, after each of which a paced load caught up. The peaks are higher early than late,
/// but the device does not decline.
#[test]
fn catching_up_does_not_hide_a_neighbour() {
    let starts = [5, 11, 17, 23, 29, 34, 42, 49, 56, 63, 80, 100, 111];
    let mut series = vec![6000.0; 120];
    for (number, start) in starts.into_iter().enumerate() {
        let length = 2 + number % 2;
        series[start..start + length].fill(4200.0);
        let peak = if number < 10 { 11_400.0 } else { 7_000.0 };
        series[start + length] = peak;
    }
    let mut observation = with_series(closed_loop(32, 5999.0), &series);
    (observation.load.closed_loop, observation.load.rate_iops) = (Some(false), Some(6000.0));
    let found = judged(&observation, Question::MissedLatency);
    assert_eq!(found.answer, Answer::Noisy, "{}", found.sentence);
    assert!(found.sentence.contains("13 dips"), "{}", found.sentence);
    let dips = find_dips(&observation);
    assert_eq!((dips.len(), dips[0], dips[1]), (13, (5.0, 2.0), (11.0, 3.0)));
    // Dips do not explain a rate that is missed between them too.
    observation.load.rate_iops = Some(12_000.0);
    let found = judged(&observation, Question::MissedRate);
    assert_ne!(found.answer, Answer::Noisy, "{}", found.sentence);
}

/// An outage of four seconds, after which the load caught up to 1,000 per second on average.
#[test]
fn an_outage_is_not_the_requested_rate() {
    let outage = |in_use: Nanos| {
        let observation = paced(|second| {
            if (7..11).contains(&(second.facts.start_ns.as_secs() as u64)) {
                (second.facts.operations, second.facts.queue.issued) = (0, 0);
                second.facts.queue.in_use_ns = in_use;
            }
        });
        let series = [vec![1000.0; 7], vec![0.0; 4], vec![5000.0], vec![1000.0; 8]].concat();
        let mut observation = with_series(observation, &series);
        observation.load.rate_iops = Some(1000.0);
        observation
    };
    let found = judged(&outage(Nanos::secs(32)), Question::MissedRate);
    assert_eq!(found.answer, Answer::Stall, "{}", found.sentence);
    assert!(!found.also.iter().any(|note| note.rule == "D-CAP"));
    // Slots were free and nothing was issued, so the host was paused.
    let found = judged(&outage(Nanos(0)), Question::MissedRate);
    assert_eq!(
        found.answer,
        Answer::Cap,
        "neither a stall nor a neighbour: {}",
        found.sentence
    );
    assert!(found.also.is_empty(), "{:?}", found.also);
}

/// `fathom verify` once advised to remove the promised rate itself.
#[test]
fn advice_keeps_the_promised_rate() {
    let mut load = closed_loop(32, 1000.0);
    (load.load.closed_loop, load.load.rate_iops) = (Some(false), Some(1000.0));
    let found = judged(&load, Question::MissedRate);
    assert_eq!(found.answer, Answer::Cap, "{}", found.sentence);
    assert!(found.advice.is_empty(), "{:?}", found.advice);
    assert!(judged(&load, Question::Limit).advice[0].contains("remove the target rate"));
    // A load that falls behind in some seconds and catches up in others is still paced.
    let uneven = with_series(load.clone(), &[vec![900.0; 15], vec![1100.0; 15]].concat());
    assert_eq!(judged(&uneven, Question::MissedRate).answer, Answer::Cap);
    let found = judged(&load, Question::MissedLatency);
    assert_eq!(found.answer, Answer::Undetermined);
    assert!(found.sentence.contains("took 32 ms"), "{}", found.sentence);
    assert_contains(&found.advice[0], "`fathom sweep TARGET --over depth=1..64`");
    load.load.rate_iops = Some(1005.0);
    assert_eq!(judged(&load, Question::MissedLatency).answer, Answer::Undetermined);
}

/// The load reaches 1,000 of 1,005 requested IOPS: the rate counts as met, but the backlog
/// grows.
#[test]
fn a_growing_backlog_is_not_a_drift() {
    let rising = |blocked: u64| {
        let mut observation = with_series(paced(|second| second.facts.queue.blocked = blocked), &[1000.0; 60]);
        observation.load.rate_iops = Some(1005.0);
        for (number, point) in observation.series.iter_mut().enumerate() {
            point.mean_ns = Some(1e6 * (1 + number) as f64);
        }
        judged(&observation, Question::MissedLatency).answer
    };
    assert_eq!(rising(0), Answer::Drift);
    assert_ne!(rising(900), Answer::Drift);
}

#[test]
fn evidence_names_the_service_time_of_paced_loads() {
    let mut mixed_load = closed_loop(32, 1000.0);
    let names = |observation: &Observation| -> Vec<String> {
        let found = diagnose(observation, &[], &Context::default());
        found.evidence.into_iter().map(|evidence| evidence.what).collect()
    };
    assert!(names(&mixed_load).contains(&"mean latency".to_owned()));
    mixed_load.total.response.clone_from(&mixed_load.total.latency);
    assert!(names(&mixed_load).contains(&"mean service time".to_owned()));
}
