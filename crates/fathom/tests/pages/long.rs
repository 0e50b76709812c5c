//! A long run with many jobs: the page must still open.

use std::path::Path;

use model::histogram::Histogram;
use model::results::{IntervalHistogram, Point, Results, Series};
use model::{Nanos, PerDirection};
use report::html;
use report::html::run::{self, Beside};

use super::browser::open_pages;

const SECONDS: u64 = 3600;
const JOBS: usize = 8;

/// An hour of eight jobs, a point for each second: rates and latencies that wander.
fn an_hour() -> Results {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/results/mixed.json");
    let mut results: Results = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let asked = results.plan.steps[0].jobs[0].clone();
    let mut found = results.steps[0].jobs[0].clone();
    for worker in &mut found.workers {
        worker.measured_ns = Nanos::secs(SECONDS);
    }
    let point = |second: u64, operations: u64| Point {
        operations,
        bytes: operations * 4096,
        latency_ns: operations * (200_000 + 1000 * (second % 60)),
        ..Point::default()
    };
    let rates = |of: u64| {
        (0..SECONDS)
            .map(|second| point(second, of + second * 7919 % 97))
            .collect::<Vec<_>>()
    };
    found.series = vec![Series {
        length_ns: Nanos::secs(1),
        of: None,
        points: PerDirection::new(rates(700), rates(300), Vec::new()),
    }];
    let interval = |second: u64| {
        let mut latency = Histogram::new();
        for step in 0..40 {
            latency.record_times(50_000 + step * step * 5_000 + 700 * (second % 60), 25);
        }
        IntervalHistogram {
            start_ns: Nanos::secs(second),
            length_ns: Nanos::secs(1),
            latency: PerDirection::new(Some((&latency).into()), None, None),
        }
    };
    found.histograms = (0..SECONDS).map(interval).collect();
    for job in 0..JOBS {
        let name = format!("job{job}");
        let mut asked = asked.clone();
        asked.name.clone_from(&name);
        let mut found = found.clone();
        found.name = name;
        if job == 0 {
            results.plan.steps[0].jobs[0] = asked;
            results.steps[0].jobs[0] = found;
        } else {
            results.plan.steps[0].jobs.push(asked);
            results.steps[0].jobs.push(found);
        }
    }
    results
}

#[test]
fn an_hour_of_eight_jobs_opens() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = place.path().join("hour.html");
    let page = html::file(&run::page(&an_hour(), &Beside::default()));
    std::fs::write(&file, &page).unwrap();
    let Some(seen) = open_pages(&[&file]) else { return };
    let seen = &seen[0];
    assert_eq!(seen.errors, Vec::<String>::new());
    assert_eq!(seen.state, "ready");
    assert_eq!(seen.misplaced, Vec::<String>::new());
    let points = seen.trace("s0j0-iops", "reads").x.len();
    assert_eq!(points as u64, SECONDS, "every second is drawn");
    let times = format!(
        "{{\"bytes\": {}, \"ready_secs\": {:.2}, \"charts\": {}}}\n",
        page.len(),
        seen.ready_secs,
        seen.charts.len()
    );
    println!("an hour of {JOBS} jobs: {times}");
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages/hour.json"), times).unwrap();
}
