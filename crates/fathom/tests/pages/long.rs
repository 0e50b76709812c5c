//! A long run with many jobs: the page must still open.

use model::PerDirection;
use model::histogram::Histogram;
use model::results::{IntervalHistogram, Point, Series};
use report::html;
use report::html::run::{self, PageContext};
use testbed::With;

use super::browser::open_pages;
use crate::prelude::*;

/// Seconds and jobs of the runs whose pages are opened.
const RUNS: [(u64, usize); 3] = [(300, 1), (3600, 1), (3600, 8)];

/// Jobs with a point for each second: rates and latencies that wander.
fn long_run(seconds: u64, jobs: usize) -> Results {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/results/mixed.json");
    let mut results: Results = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let asked = results.plan.steps[0].jobs.remove(0);
    let mut found = results.steps[0].jobs.remove(0);
    for worker in &mut found.workers {
        worker.measured_ns = Nanos::secs(seconds);
    }
    let point = |second: u64, operations: u64| Point {
        operations,
        bytes: operations * 4096,
        latency_ns: operations * (200_000 + 1000 * (second % 60)),
        ..Point::default()
    };
    let rates = |count: u64| {
        (0..seconds)
            .map(|second| point(second, count + second * 7919 % 97))
            .collect::<Vec<_>>()
    };
    found.series = vec![Series {
        length_ns: Nanos::secs(1),
        source: None,
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
            latency: PerDirection::new(Some(latency), None, None),
        }
    };
    found.histograms = (0..seconds).map(interval).collect();
    for job in 0..jobs {
        let name = format!("job{job}");
        let (asked, found) = (asked.clone(), found.clone());
        results.plan.steps[0]
            .jobs
            .push(asked.with(|job| job.name.clone_from(&name)));
        results.steps[0].jobs.push(found.with(|job| job.name = name));
    }
    results
}

#[test]
fn an_hour_of_eight_jobs_opens() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let write = |(seconds, jobs): (u64, usize)| {
        let file = place.path().join(format!("{seconds}-{jobs}.html"));
        let begin = Instant::now();
        let page = html::render_file(&run::create_page(&long_run(seconds, jobs), &PageContext::default()));
        let made = begin.elapsed().as_secs_f64();
        fs::write(&file, &page).unwrap();
        (file, page.len(), made)
    };
    let written = RUNS.map(write);
    let files: Vec<&Path> = written.iter().map(|(file, ..)| file.as_path()).collect();
    let pages = need!(open_pages(&files));
    for (((seconds, jobs), (_, bytes, made)), seen) in RUNS.into_iter().zip(&written).zip(&pages) {
        assert_eq!(seen.errors, Vec::<String>::new());
        assert_eq!(seen.state, "ready");
        assert_eq!(seen.misplaced, Vec::<String>::new());
        let chart = if jobs == 1 { "iops" } else { "s0j0-iops" };
        assert_eq!(
            seen.trace(chart, "reads").x.len() as u64,
            seconds,
            "every second is drawn"
        );
        assert!(seconds > 300 || *bytes <= 250_000, "{bytes} bytes of five minutes");
        println!(
            "{seconds} s, {jobs} jobs: {} KB, {} charts, made in {made:.2} s, open after {:.2} s",
            bytes / 1000,
            seen.charts.len(),
            seen.ready_secs
        );
    }
}
