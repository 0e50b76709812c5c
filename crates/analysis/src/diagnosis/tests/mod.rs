//! Published reports and artificial cases, with known answers.

mod paced;

use model::environment::VolumeUse;
use model::histogram::Histogram;
use model::observation::{CoreShare, GeneratorCost, IoStats, Latency, Observation, SeriesPoint};
use model::testing::assert_contains;
use model::{Bytes, Nanos};

use super::samples::{closed_loop, with_series};
use super::{
    Answer, Context, Counts, Diagnosis, KnownBurst, Network, Signature, Temperature, Verdict, compare, diagnose,
};
use crate::caps::{Applies, LayerKind, Limit, LimitLayer};

fn layer(name: &str, kind: LayerKind, iops: f64) -> LimitLayer {
    LimitLayer {
        name: name.into(),
        kind,
        iops: Some(Limit::exactly(iops)),
        ..LimitLayer::default()
    }
}

/// The diagnosis of a load whose other depth is known.
fn diagnose_with_deeper(observation: &Observation, layers: &[LimitLayer], deeper: &Observation) -> Diagnosis {
    let context = Context {
        deeper: Some(deeper),
        ..Context::default()
    };
    diagnose(observation, layers, &context)
}

/// A cluster of three small virtual machines with four premium disks each: 1953.31 IOPS, depth 64.
#[test]
fn a_small_machine_limits_its_large_disks() {
    let layers = [
        layer("VM Standard_B2ms", LayerKind::Machine, 1920.0),
        layer("4 × P30", LayerKind::Disk, 20_000.0),
    ];
    let found = diagnose(&closed_loop(64, 1953.31), &layers, &Context::default());
    assert_eq!(
        (found.answer, found.layer.as_deref()),
        (Answer::Cap, Some("VM Standard_B2ms"))
    );
    assert_eq!(found.confirmed, None);
    assert_contains(&found.sentence, "1950 IOPS reach its limit of 1920 IOPS");
    let disks = found.layers.iter().find(|layer| layer.layer == "4 × P30").unwrap();
    assert!((disks.share - 0.0977).abs() < 0.0001);
    assert_eq!(disks.stranded, Some(18_080.0));
    assert!(!disks.binds && found.layers[0].binds);
}

/// A host with a read cache: 78.3k cached reads and 12.6k uncached writes at the same time.
#[test]
fn caps_of_reads_and_writes_count_their_own_direction() {
    let mut mixed_load = closed_loop(128, 90_900.0);
    let flow = |iops: f64| IoStats {
        iops: Some(iops),
        bytes_per_sec: Some(iops * 8192.0),
        ..IoStats::default()
    };
    mixed_load.directions.read = Some(flow(78_300.0));
    mixed_load.directions.write = Some(flow(12_600.0));
    let cached = LimitLayer {
        applies: Applies::Reads,
        ..layer("VM, cached", LayerKind::Machine, 77_000.0)
    };
    let uncached = LimitLayer {
        applies: Applies::Writes,
        ..layer("VM, uncached", LayerKind::Machine, 12_800.0)
    };
    let found = diagnose(&mixed_load, &[cached, uncached], &Context::default());
    assert_eq!(found.answer, Answer::Cap);
    let limit_shares: Vec<f64> = found
        .layers
        .iter()
        .map(|layer| (1000.0 * layer.share).round())
        .collect();
    assert_eq!(limit_shares, [1017.0, 984.0]);
}

/// 1 MiB counts as four units of 256 KiB: 500 operations use 2000 of 2000.
#[test]
fn long_operations_count_in_units() {
    let mut large = closed_loop(16, 500.0);
    large.load.block = Some(Bytes::mib(1));
    let disk = LimitLayer {
        unit: Some(Bytes::kib(256)),
        ..layer("volume", LayerKind::Disk, 2000.0)
    };
    let found = diagnose(&large, &[disk], &Context::default());
    assert_eq!((found.answer, found.share), (Answer::Cap, Some(1.0)));
}

#[test]
fn the_byte_limit_binds_for_large_operations() {
    let disk = LimitLayer {
        bytes_per_sec: Some(Limit {
            low: 22.0e6,
            high: 23.1e6,
        }),
        ..layer("disk", LayerKind::Disk, 5000.0)
    };
    // 2700 × 8 KiB are 22.1 MB/s.
    let found = diagnose(&closed_loop(32, 2700.0), &[disk], &Context::default());
    let percent = found.share.map(|share| format!("{:.1}", 100.0 * share));
    assert_eq!((found.answer, percent.as_deref()), (Answer::Cap, Some("100.5")));
    assert!(found.sentence.contains("22.1 MB/s"), "{}", found.sentence);
}

/// Above the largest reading of a limit, every figure compares with that reading.
#[test]
fn sentence_evidence_and_share_name_the_same_limit() {
    let disk = LimitLayer {
        iops: Some(Limit {
            low: 2000.0,
            high: 2200.0,
        }),
        ..layer("disk", LayerKind::Disk, 0.0)
    };
    for (iops, limit, percent) in [(2100.0, 2000.0, "105.0"), (2250.0, 2200.0, "102.3")] {
        let found = diagnose(&closed_loop(32, iops), std::slice::from_ref(&disk), &Context::default());
        let text = format!("disk: {iops} IOPS reach its limit of {limit} IOPS");
        assert_eq!(found.sentence, text);
        assert_eq!((found.evidence[0].against, found.layers[0].limit), (Some(limit), limit));
        assert_eq!(format!("{:.1}", 100.0 * found.share.unwrap()), percent);
    }
}

#[test]
fn a_second_depth_confirms_or_refutes_a_limit() {
    let disk = [layer("disk", LayerKind::Disk, 5000.0)];
    let shallow = closed_loop(32, 4990.0);
    let (same, grown) = (closed_loop(64, 5005.0), closed_loop(64, 9600.0));
    assert_eq!(compare(&shallow, &same).unwrap().verdict, Verdict::Limit);
    let confirmed = diagnose_with_deeper(&shallow, &disk, &same);
    assert_eq!((confirmed.answer, confirmed.confirmed), (Answer::Cap, Some(true)));
    // The match is a coincidence: the disk delivers more than its limit.
    assert_eq!(
        diagnose_with_deeper(&shallow, &disk, &grown).answer,
        Answer::LatencyBound
    );
    assert_eq!(compare(&same, &shallow), None);
}

#[test]
fn a_limit_without_a_name_is_saturation() {
    let (shallow, deeper) = (closed_loop(32, 7000.0), closed_loop(64, 7050.0));
    let found = diagnose_with_deeper(&shallow, &[], &deeper);
    assert_eq!((found.answer, found.confirmed), (Answer::Saturated, Some(true)));
    let between = closed_loop(64, 8500.0);
    let found = diagnose_with_deeper(&shallow, &[], &between);
    assert_eq!(
        (found.answer, found.confirmed),
        (Answer::Undetermined, Some(false)),
        "the second depth was inconclusive"
    );
}

/// Also saturated: a queue that flushes empty at times, and a load that missed its target rate.
/// `closed_loop` may be unknown.
#[test]
fn a_second_depth_that_only_adds_latency_is_saturation() {
    let deeper = closed_loop(64, 7000.0);
    // 28.8 of 32 in flight on average; twice as many at the second depth.
    let partly_full = |depth: u64| {
        let mut observation = closed_loop(depth, 7000.0);
        let mean = observation.total.latency.as_mut().unwrap().mean_ns.as_mut().unwrap();
        *mean *= 0.9;
        observation
    };
    let (shallow, twice) = (partly_full(32), partly_full(64));
    let flushes = Context {
        deeper: Some(&twice),
        flushes: true,
        ..Context::default()
    };
    let found = diagnose(&shallow, &[], &flushes);
    assert_eq!((found.answer, found.confirmed), (Answer::Saturated, Some(true)));
    for is_closed in [None, Some(false)] {
        let mut shallow = closed_loop(32, 7000.0);
        shallow.load.closed_loop = is_closed;
        let found = diagnose_with_deeper(&shallow, &[], &deeper);
        assert_eq!(found.answer, Answer::Saturated, "{is_closed:?}: {}", found.sentence);
    }
}

#[test]
fn a_second_depth_that_costs_operations_is_saturation() {
    let (shallow, deeper) = (closed_loop(32, 7000.0), closed_loop(64, 6300.0));
    assert_eq!(compare(&shallow, &deeper).unwrap().verdict, Verdict::Decline);
    let found = diagnose_with_deeper(&shallow, &[], &deeper);
    assert_eq!(found.answer, Answer::Saturated);
    assert!(
        found
            .sentence
            .ends_with("at 2.0 times the depth it delivered 10 % less"),
        "{}",
        found.sentence
    );
    // A real limit of 7000 would deliver 7000 at both depths, so a decline does not confirm it.
    let found = diagnose_with_deeper(&shallow, &[layer("disk", LayerKind::Disk, 7000.0)], &deeper);
    assert_eq!((found.answer, found.confirmed), (Answer::Cap, Some(false)));
}

/// The added operations were never in flight, so an unchanged rate does not show a limit.
#[test]
fn unused_depth_does_not_show_a_limit() {
    let shallow = closed_loop(32, 7000.0);
    let mut deeper = closed_loop(32, 7000.0);
    deeper.load.depth = Some(64);
    let found = diagnose_with_deeper(&shallow, &[], &deeper);
    assert_eq!(found.answer, Answer::Undetermined);
    assert_contains(&found.sentence, "did not grow with the depth");
}

#[test]
fn without_a_second_depth_nothing_is_guessed() {
    let found = diagnose(&closed_loop(32, 7000.0), &[], &Context::default());
    assert_eq!(found.answer, Answer::Undetermined);
    assert!(found.advice[0].contains("--confirm"));
    let tried = Context {
        tried_twice_the_depth: true,
        ..Context::default()
    };
    let limits = [layer("VM", LayerKind::Machine, 7000.0)];
    for (layers, advised) in [(&[][..], "fathom sweep"), (&limits, "a larger machine")] {
        let advice = diagnose(&closed_loop(32, 7000.0), layers, &tried).advice.concat();
        assert!(advice.contains(advised) && !advice.contains("--confirm"), "{advice}");
    }
    assert!(!found.missing.is_empty());
    assert_eq!(
        diagnose(&closed_loop(1, 7000.0), &[], &Context::default()).answer,
        Answer::LatencyBound
    );
    let nothing = Observation::default();
    assert_eq!(
        diagnose(&nothing, &[], &Context::default()).answer,
        Answer::Undetermined
    );
}

#[test]
fn an_unloaded_latency_replaces_a_second_depth() {
    let judged = |unloaded_ns: f64| {
        let context = Context {
            unloaded_ns: Some(unloaded_ns),
            ..Context::default()
        };
        // 32 in flight at 3.2 ms each.
        diagnose(&closed_loop(32, 10_000.0), &[], &context).answer
    };
    assert_eq!(judged(3.0e6), Answer::LatencyBound);
    assert_eq!(judged(0.5e6), Answer::Saturated);
    assert_eq!(judged(2.0e6), Answer::Undetermined);
}

#[test]
fn a_generator_that_cannot_keep_up_comes_first() {
    let disk = [layer("disk", LayerKind::Disk, 5000.0)];
    let mut busy = closed_loop(32, 5000.0);
    busy.generator = Some(GeneratorCost {
        busiest_worker: 0.97,
        processors: 0.97,
        ceiling_iops: None,
    });
    assert_eq!(diagnose(&busy, &disk, &Context::default()).answer, Answer::Generator);
    // In a window of 1 us, one tick of the system's clock is 400,000 %.
    let short = Observation {
        measured_ns: Some(Nanos::micros(1)),
        ..busy.clone()
    };
    assert_ne!(diagnose(&short, &disk, &Context::default()).answer, Answer::Generator);
    let polling = Context {
        polls: true,
        ..Context::default()
    };
    assert_eq!(diagnose(&busy, &disk, &polling).answer, Answer::Cap);
    let mut half_empty = closed_loop(32, 5000.0);
    half_empty.load.depth = Some(64);
    assert_eq!(
        diagnose(&half_empty, &disk, &Context::default()).answer,
        Answer::Generator
    );
    // 32 of 34 in flight: submitting takes some time, but the disk is the limit.
    let mut almost_full = closed_loop(32, 5000.0);
    almost_full.load.depth = Some(34);
    assert_eq!(diagnose(&almost_full, &disk, &Context::default()).answer, Answer::Cap);
    let mut near_ceiling = closed_loop(32, 5000.0);
    near_ceiling.generator = Some(GeneratorCost {
        busiest_worker: 0.5,
        processors: 0.5,
        ceiling_iops: Some(6000.0),
    });
    assert_eq!(
        diagnose(&near_ceiling, &disk, &Context::default()).answer,
        Answer::Generator
    );
}

#[test]
fn a_rate_that_is_met_is_its_own_limit() {
    let mut paced = closed_loop(32, 4000.0);
    (paced.load.closed_loop, paced.load.rate_iops, paced.load.depth) = (Some(false), Some(4000.0), Some(64));
    let disk = [layer("disk", LayerKind::Disk, 4000.0)];
    let found = diagnose(&paced, &disk, &Context::default());
    assert_eq!(found.answer, Answer::Cap);
    assert_eq!(found.layer.as_deref(), Some("the requested rate"));
    // A repetition at twice the depth would issue the same rate.
    paced.load.rate_iops = Some(9000.0);
    let found = diagnose(&paced, &disk, &Context::default());
    assert_eq!(found.layer.as_deref(), Some("disk"));
    assert!(
        !found.advice.iter().any(|advice| advice.contains("--confirm")),
        "{found:?}"
    );
}

fn core(cpu: u32, user: f64, kernel: f64) -> CoreShare {
    CoreShare {
        cpu,
        user,
        kernel,
        stolen: None,
    }
}

/// The first of eight processors has 12.29 % in the kernel, the others 2 %. The finding IRQ-SKEW
/// reports it; it is not the limit.
#[test]
fn interrupts_on_one_processor_are_the_limit_only_if_it_is_full() {
    let mut skewed = closed_loop(64, 7177.0);
    skewed.cores = (1..8).map(|cpu| core(cpu, 0.01, 0.02)).collect();
    skewed.cores.insert(0, core(0, 0.013, 0.1229));
    let found = diagnose(&skewed, &[], &Context::default());
    assert_eq!((found.answer, &found.also[..]), (Answer::Undetermined, &[][..]));
    // Counters that are read one after the other add up to 101 %.
    skewed.cores[0] = core(0, 0.12, 0.89);
    let found = diagnose(&skewed, &[], &Context::default());
    assert_eq!((found.answer, found.evidence[0].value), (Answer::Processor, 100.0));
    // Another program on one processor does not limit a load.
    skewed.cores[0] = core(0, 0.97, 0.02);
    assert_eq!(diagnose(&skewed, &[], &Context::default()).answer, Answer::Undetermined);
}

#[test]
fn the_providers_counters_come_first() {
    let mut context = Context {
        window_ns: Nanos::secs(60),
        volumes: vec![VolumeUse {
            provider: "Amazon EBS".into(),
            instance_iops_exceeded_ns: Nanos::secs(30),
            volume_iops_exceeded_ns: Nanos::secs(2),
            ..VolumeUse::default()
        }],
        ..Context::default()
    };
    let disk = [layer("gp3", LayerKind::Disk, 3000.0)];
    let found = diagnose(&closed_loop(32, 3000.0), &disk, &context);
    assert_eq!(found.layer.as_deref(), Some("instance (Amazon EBS)"));
    assert_eq!(found.confirmed, Some(true));
    context.volumes[0].instance_iops_exceeded_ns = Nanos::secs(2);
    let found = diagnose(&closed_loop(32, 3000.0), &disk, &context);
    assert_eq!(found.layer.as_deref(), Some("gp3"));
}

/// The burst ends in the warm-up, so the measured window shows only the lower rate.
#[test]
fn credits_that_end_in_the_warm_up_are_named() {
    let window = with_series(closed_loop(32, 500.0), &[500.0; 60]);
    let answer = |warm_up: Vec<f64>| {
        let context = Context {
            warm_up_rates: warm_up,
            ..Context::default()
        };
        let mut window = window.clone();
        window.load.warm_up_ns = Some(Nanos::secs(30));
        diagnose(&window, &[], &context)
    };
    let found = answer([vec![2000.0; 20], vec![1100.0], vec![500.0; 9]].concat());
    assert_eq!(found.answer, Answer::BurstEnd, "{}", found.sentence);
    assert_contains(&found.sentence, "from 2000 to 500 IOPS 20 s into the warm-up");
    // The queue fills in the first second, and a rate that returns is not a step.
    assert_ne!(answer([vec![900.0], vec![500.0; 29]].concat()).answer, Answer::BurstEnd);
    let returns = [vec![2000.0; 10], vec![500.0; 10], vec![2000.0; 10]].concat();
    assert_ne!(answer(returns).answer, Answer::BurstEnd);
}

/// Most seconds are at the contract's limit, but the storage fell below it for good.
#[test]
fn credits_that_run_out_precede_the_limit_before() {
    let load = with_series(closed_loop(32, 3900.0), &[vec![4000.0; 270], vec![3000.0; 30]].concat());
    let found = diagnose(
        &load,
        &[layer("contract", LayerKind::Disk, 4000.0)],
        &Context::default(),
    );
    assert_eq!(found.answer, Answer::BurstEnd, "{}", found.sentence);
    assert!(
        !found.also.iter().any(|remark| remark.rule == "D-CAP"),
        "{:?}",
        found.also
    );
}

/// gp2 of 100 GiB: 3000 IOPS until 5.4 million credits are used up, then 300.
#[test]
fn known_credits_are_named_with_their_refill() {
    let mut series = vec![3000.0; 100];
    series.extend([300.0; 60]);
    let burst = KnownBurst {
        layer: "gp2".into(),
        counts: Counts::Operations,
        ceiling: 3000.0,
        refill: 300.0,
        bucket: 5.4e6,
    };
    let context = Context {
        bursts: vec![burst],
        ..Context::default()
    };
    let found = diagnose(&with_series(closed_loop(32, 1987.0), &series), &[], &context);
    assert_eq!((found.answer, found.layer.as_deref()), (Answer::BurstEnd, Some("gp2")));
    let refill = found.evidence.iter().find(|evidence| evidence.unit == "s").unwrap();
    // (3000 − 300) × 100 s of credits at 300 per second.
    assert!((refill.value - 900.0).abs() < 1.0, "{refill:?}");
}

#[test]
fn packet_loss_and_heat_are_recognised() {
    let context = Context {
        network: Some(Network {
            link_share: Some(0.2),
            losses: Some(17),
        }),
        ..Context::default()
    };
    assert_eq!(
        diagnose(&closed_loop(32, 7000.0), &[], &context).answer,
        Answer::Network
    );
    let falling: Vec<f64> = (0..60).map(|second| 7000.0 - 30.0 * f64::from(second)).collect();
    let hot = Context {
        temperature: Some(Temperature {
            highest: 82.0,
            limit: 80.0,
        }),
        ..Context::default()
    };
    let observation = with_series(closed_loop(32, 6100.0), &falling);
    assert_eq!(diagnose(&observation, &[], &hot).answer, Answer::Thermal);
    // Without the temperature, only the drift is known.
    assert_eq!(diagnose(&observation, &[], &Context::default()).answer, Answer::Drift);
}

#[test]
fn more_in_flight_than_the_depth_is_reported() {
    let mut wrong = closed_loop(32, 7000.0);
    wrong.load.depth = Some(16);
    let found = diagnose(&wrong, &[], &Context::default());
    assert!(found.also.iter().any(|remark| remark.rule == "LITTLE-MISMATCH"));
}

/// Every signature describes how it recognises its answer.
#[test]
fn every_signature_is_explained() {
    for Signature { about, .. } in super::SIGNATURES {
        assert!(about.ends_with('.') && about.len() > 30, "{about}");
    }
}

/// A report once stated "the rate rose from 6000 to 6000 IOPS". The rate had returned to its first
/// level.
#[test]
fn a_rate_that_recovers_has_not_risen() {
    let series = [vec![6000.0; 25], vec![5000.0; 12], vec![6000.0; 25]].concat();
    let found = diagnose(&with_series(closed_loop(32, 5806.0), &series), &[], &Context::default());
    assert_eq!(found.answer, Answer::Undetermined);
    assert!(
        !found.sentence.contains("rose") && !found.sentence.contains("fell"),
        "{}",
        found.sentence
    );
}

/// Depth 16 on 12 servers of 300 us has two latency modes. Counts vary by less than the depth.
#[test]
fn a_plain_queue_is_not_a_throttle() {
    let waves = |swing: u64| {
        let mut observation = closed_loop(16, 40_000.0);
        let point_at = |number: u64| SeriesPoint {
            start_ns: Nanos::millis(100 * number),
            length_ns: Nanos::millis(100),
            operations: [
                if number.is_multiple_of(3) {
                    4000 + 2 * swing
                } else {
                    4000 - swing
                },
                0,
                0,
            ],
            ..SeriesPoint::default()
        };
        observation.series = (0..600).map(point_at).collect();
        let mut humps = Histogram::new();
        humps.record_times(300_000, 1_600_000);
        humps.record_times(600_000, 800_000);
        observation.total.latency = Latency::from_histogram(&humps);
        diagnose(&observation, &[], &Context::default()).answer
    };
    assert_ne!(waves(4), Answer::ThrottleQuantum);
    assert_eq!(waves(1000), Answer::ThrottleQuantum);
}

#[test]
fn a_step_of_writes_without_credits_is_a_full_cache() {
    let series = [vec![5000.0; 12], vec![1500.0; 18]].concat();
    let mut writes = with_series(closed_loop(32, 2900.0), &series);
    writes.directions.write = writes.directions.read.take();
    writes.load.read_percent = Some(0.0);
    let found = diagnose(&writes, &[], &Context::default());
    assert_eq!(found.answer, Answer::SlcCliff, "{}", found.sentence);
    let context = Context {
        bursts: vec![KnownBurst {
            layer: "gp2".into(),
            counts: Counts::Operations,
            ceiling: 5000.0,
            refill: 1500.0,
            bucket: 5.4e6,
        }],
        ..Context::default()
    };
    assert_eq!(diagnose(&writes, &[], &context).answer, Answer::BurstEnd);
}
