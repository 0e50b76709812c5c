//! Observations of saved results: their figures, compared with counts that were read from the files
//! by hand.

use model::observation::Observation;
use model::results::Results;
use model::{Bytes, Nanos};

fn observed(example: &str) -> Vec<Observation> {
    let path = format!("{}/../../tests/data/results/{example}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the example is in the repository");
    let results: Results = serde_json::from_str(&text).expect("the example is complete");
    Observation::all(&results)
}

#[test]
fn a_mixed_load_in_a_closed_loop_is_observed() {
    let found = &observed("mixed")[0];
    // 336,287 reads and 144,123 writes in 3 s.
    assert_eq!(found.total.operations, Some(480_410));
    assert!((found.total.iops.unwrap() - 480_410.0 / 3.0).abs() < 1e-6);
    assert!((found.read_percent().unwrap() - 70.0).abs() < 0.001);
    assert_eq!(found.load.depth, Some(16));
    assert_eq!(found.load.workers, Some(2));
    assert_eq!(found.load.read_percent, Some(70.0));
    assert_eq!((found.load.closed_loop, found.load.random), (Some(true), Some(true)));
    assert_eq!(found.load.rate_iops, None);
    // A closed loop on a simulated device keeps its queue full.
    assert!((found.in_flight().unwrap() / 16.0 - 1.0).abs() < 0.01);
    assert!(found.total.response.is_none());
    assert_eq!(found.series.len(), 30);
    let counted: u64 = found.series.iter().flat_map(|point| point.operations).sum();
    assert_eq!(counted, 480_410);
    assert_eq!(found.series[29].start_ns, Nanos::millis(2900));
}

#[test]
fn a_paced_load_is_observed() {
    let found = &observed("paced")[0];
    assert_eq!(found.load.rate_iops, Some(1000.0));
    assert_eq!(found.load.closed_loop, Some(false));
    assert_eq!(found.total.iops, Some(1000.0));
    assert!(found.total.response.is_some() && found.total.schedule_delay.is_some());
    assert_eq!(found.directions.write, None);
}

#[test]
fn every_measured_job_is_observed() {
    let found = observed("steps");
    let names: Vec<&str> = found.iter().map(|load| load.name.as_str()).collect();
    assert_eq!(names, ["fill", "check"]);
    assert_eq!(found[0].load.random, Some(false));
    assert_eq!(found[0].read_percent(), Some(0.0));
    assert_eq!(found[0].load.block.map(|block| block > Bytes(0)), Some(true));
    // The last interval was cut short and counts with its real length.
    assert_eq!(found[0].series.len(), 1);
    assert_eq!(found[0].series[0].length_ns, Nanos::millis(13));
    // The second interval began when the window ended, so it is not part of it.
    assert_eq!(found[1].series.len(), 1);
}
