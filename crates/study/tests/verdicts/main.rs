//! Measures the accuracy of verdicts on simulated devices with known performance: how often a met
//! promise is judged FAIL, and a broken one PASS.
//!
//! `FATHOM_SEEDS` sets the number of seeds, and `FATHOM_CASE` selects devices by a part of their
//! names. `FATHOM_REASONS=1` prints the reasons of INCONCLUSIVE verdicts, and `FATHOM_UPDATE=1`
//! rewrites `docs/verdict-accuracy.md`.

#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

mod devices;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use analysis::policies::{Burst, BurstUnit, Workload};
use analysis::requirement;
use analysis::verdict::{Outcome, Verdict};
use devices::{Case, Promised};
use model::histogram::Histogram;
use model::observation::Observation;
use model::plan::Plan;
use model::results::Results;
use model::{Bytes, Nanos};
use run::RunContext;
use run::targets::guard::Permissions;
use study::verify::{Attempt, Promise, SLOTS_MAX, Search, Verification};

/// Requirements relative to the true figure.
const MARGINS: [f64; 6] = [-0.20, -0.05, -0.02, 0.02, 0.05, 0.20];
/// Seeds of a test run. A hundred take most of an hour.
const SEEDS: u64 = 2;

/// Length of the measured window and of the I/O before it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Form {
    name: &'static str,
    measured: f64,
    warm_up: f64,
    /// Number of runs for the true figure of a latency.
    reference_runs: u64,
}

const FORMS: [Form; 2] = [
    Form {
        name: "quick",
        measured: 30.0,
        warm_up: 5.0,
        reference_runs: 100,
    },
    Form {
        name: "full",
        measured: 300.0,
        warm_up: 30.0,
        reference_runs: 10,
    },
];

/// Number of verdicts with each outcome at a margin.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    pass: u32,
    fail: u32,
    inconclusive: u32,
    /// PASS verdicts with the note that credits were not exhausted.
    with_credits: u32,
}

fn execute(plan: Plan) -> Results {
    let interrupt = AtomicBool::new(false);
    let permissions = Permissions::default();
    let context = RunContext::new(engine_clock(), &interrupt, &permissions);
    run::execute(plan, context, &mut |_| ()).unwrap()
}

fn engine_clock() -> engine::Clock {
    engine::clock::ClockStart::now().calibrate()
}

fn verification(case: &Case, form: Form, clauses: &str, rate: Option<f64>, seed: u64) -> Verification {
    let workload = Workload {
        block: Bytes::kib(4),
        random: true,
        read_percent: case.reads,
        rate_iops: None,
        concurrency: None,
        duration_secs: 300.0,
        warm_up_secs: 30.0,
    };
    let mut promise = Promise::from_requirement(requirement::parse(clauses).unwrap(), workload, rate).unwrap();
    promise.bursts = case
        .credits
        .iter()
        .map(|(ceiling, refill, bucket)| Burst {
            unit: BurstUnit::Iops,
            ceiling: *ceiling,
            refill: *refill,
            bucket: *bucket,
            full_after_secs: None,
        })
        .collect();
    Verification {
        promise,
        paths: vec!["simulated:device".into()],
        simulated: vec![(case.device)(form.warm_up, form.warm_up + form.measured)],
        file_size: None,
        cpus: 1,
        workers: None,
        concurrency: None,
        measured: Nanos((form.measured * 1e9) as u64),
        warm_up: Nanos((form.warm_up * 1e9) as u64),
        quick: form.name == "quick",
        seed,
        arguments: Vec::new(),
    }
}

/// The verdict, with the steps of `fathom verify`. Windows that several promises share run once.
fn verdict(verification: &Verification, shared: Option<&mut HashMap<u32, Results>>) -> Verdict {
    let mut search = Search::default();
    let mut last = None;
    let mut own = HashMap::new();
    let shared = shared.unwrap_or(&mut own);
    while let Some(attempt) = verification.next(&search) {
        if attempt.is_probe {
            let results = execute(verification.plan(&attempt));
            let observed = Observation::from_results(&results, 0, 0).unwrap();
            verification.record_probe(&mut search, &attempt, observed.total.iops.unwrap());
            continue;
        }
        let results = shared
            .entry(attempt.slots)
            .or_insert_with(|| execute(verification.plan(&attempt)));
        let verdict = verification.judge(results, &search).unwrap();
        let observed = Observation::from_results(results, 0, 0).unwrap();
        verification.record_window(&mut search, &attempt, &verdict, &observed);
        last = Some(verdict);
    }
    last.unwrap()
}

/// The true latency in nanoseconds, from many windows in which no operation waits for a slot.
fn reference_latency(case: &Case, form: Form, rate: f64, share: Option<f64>) -> f64 {
    let mut all = Histogram::new();
    for seed in 0..form.reference_runs {
        let verification = verification(case, form, "mean<=1s", Some(rate), 10_000 + seed);
        let attempt = Attempt {
            slots: SLOTS_MAX,
            number: 1,
            is_probe: false,
        };
        let results = execute(verification.plan(&attempt));
        all.merge(results.steps[0].jobs[0].total().latency());
    }
    match share {
        Some(share) => all.quantile(share) as f64,
        None => all.mean(),
    }
}

/// The highest rate that the device delivers within the tolerance.
fn true_rate(form: Form, delivers: fn(f64, f64) -> f64) -> f64 {
    let is_delivered = |rate: f64| {
        // Every run has a fresh device, whose warm-up uses up credits too.
        let begins = form.warm_up;
        let end = begins + form.measured;
        (delivers(rate, end) - delivers(rate, begins)).min(rate * form.measured) >= 0.99 * rate * form.measured
    };
    let (mut low, mut high) = (1.0, 1e6);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if is_delivered(middle) {
            low = middle
        } else {
            high = middle
        }
    }
    low / 1.01
}

/// The outcomes of a seed at every margin.
fn outcomes(case: &Case, form: Form, truth: f64, seed: u64) -> Vec<Verdict> {
    let mut shared = HashMap::new();
    let judge_margin = |margin: &f64| {
        let target = truth * (1.0 + margin);
        match case.promised {
            Promised::Mean { rate } => {
                let clauses = format!("mean<={}ns", target.round());
                verdict(&verification(case, form, &clauses, Some(rate), seed), Some(&mut shared))
            }
            Promised::Quantile { name, rate } => {
                let clauses = format!("{name}<={}ns", target.round());
                verdict(&verification(case, form, &clauses, Some(rate), seed), Some(&mut shared))
            }
            Promised::Rate => {
                let clauses = format!("iops>={target:.3}");
                verdict(&verification(case, form, &clauses, None, seed), None)
            }
        }
    };
    MARGINS.iter().map(judge_margin).collect()
}

/// True if the device meets the promise at this margin.
fn is_met(case: &Case, margin: f64) -> bool {
    match case.promised {
        Promised::Rate => margin < 0.0,
        Promised::Mean { .. } | Promised::Quantile { .. } => margin > 0.0,
    }
}

fn required_share(promised: Promised) -> Option<f64> {
    match promised {
        Promised::Quantile { name, .. } => {
            let clauses = requirement::parse(&format!("{name}<=1s")).unwrap();
            match clauses[0].metric {
                requirement::Metric::Quantile { share } => Some(share),
                _ => None,
            }
        }
        Promised::Mean { .. } | Promised::Rate => None,
    }
}

struct Row {
    case: usize,
    form: Form,
    truth: f64,
    counts: [Counts; MARGINS.len()],
}

fn run_table(cases: &[Case], seeds: u64) -> Vec<Row> {
    let rows: Vec<(usize, Form)> = (0..cases.len())
        .flat_map(|case| FORMS.map(|form| (case, form)))
        .collect();
    let truth = compute_in_parallel(rows.len(), |index| {
        let (case, form) = (&cases[rows[index].0], rows[index].1);
        match case.promised {
            Promised::Mean { rate } | Promised::Quantile { rate, .. } => {
                reference_latency(case, form, rate, required_share(case.promised))
            }
            Promised::Rate => true_rate(form, case.delivers.unwrap()),
        }
    });
    let work = rows.len() * seeds as usize;
    let judged = compute_in_parallel(work, |index| {
        let (row, seed) = (index % rows.len(), (index / rows.len()) as u64);
        let (case, form) = rows[row];
        outcomes(&cases[case], form, truth[row], 1 + seed)
    });
    let mut table: Vec<Row> = rows
        .iter()
        .zip(&truth)
        .map(|((case, form), truth)| Row {
            case: *case,
            form: *form,
            truth: *truth,
            counts: Default::default(),
        })
        .collect();
    for (index, verdicts) in judged.iter().enumerate() {
        let row = &mut table[index % rows.len()];
        for (counts, verdict) in row.counts.iter_mut().zip(verdicts) {
            match verdict.outcome {
                Outcome::Pass => counts.pass += 1,
                Outcome::Fail => counts.fail += 1,
                Outcome::Inconclusive | Outcome::Consistent => counts.inconclusive += 1,
            }
            if verdict.outcome == Outcome::Inconclusive && std::env::var_os("FATHOM_REASONS").is_some() {
                eprintln!(
                    "{}: {}: {}",
                    cases[row.case].name, verdict.clauses[0].clause, verdict.clauses[0].reason
                );
            }
            let mentions_credits = verdict.clauses[0].reason.contains("credits were not exhausted");
            counts.with_credits += u32::from(verdict.outcome == Outcome::Pass && mentions_credits);
        }
    }
    for row in &table {
        for (margin, counts) in MARGINS.iter().zip(&row.counts) {
            let case = &cases[row.case];
            let wrong = match is_met(case, *margin) {
                true => counts.fail,
                false => counts.pass - counts.with_credits,
            };
            if wrong > 0 {
                eprintln!("{} ({}) at {margin:+}: {wrong} wrong", case.name, row.form.name);
            }
            if counts.inconclusive > 0 && margin.abs() > 0.1 {
                eprintln!(
                    "{} ({}) at {margin:+}: {} inconclusive",
                    case.name, row.form.name, counts.inconclusive
                );
            }
        }
    }
    table
}

/// Computes the results of all indexes on all processors.
fn compute_in_parallel<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let result = work(index);
                    done.lock().unwrap().push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Shares over the whole table.
#[derive(Debug)]
struct Totals {
    verdicts: u32,
    wrong_fail: u32,
    wrong_pass: f64,
    open_at_20: f64,
    open_at_5: f64,
}

fn totals(cases: &[Case], table: &[Row]) -> Totals {
    let (mut verdicts, mut wrong_fail, mut broken, mut wrong_pass) = (0, 0, 0, 0);
    let mut open = HashMap::new();
    for row in table {
        for (margin, counts) in MARGINS.iter().zip(&row.counts) {
            let all = counts.pass + counts.fail + counts.inconclusive;
            verdicts += all;
            let of_margin: &mut (u32, u32) = open.entry((margin.abs() * 100.0) as u32).or_default();
            *of_margin = (of_margin.0 + counts.inconclusive, of_margin.1 + all);
            if is_met(&cases[row.case], *margin) {
                wrong_fail += counts.fail;
            } else {
                broken += all;
                wrong_pass += counts.pass - counts.with_credits;
            }
        }
    }
    let share = |margin: u32| {
        let (open, all) = open[&margin];
        f64::from(open) / f64::from(all)
    };
    Totals {
        verdicts,
        wrong_fail,
        wrong_pass: f64::from(wrong_pass) / f64::from(broken),
        open_at_20: share(20),
        open_at_5: share(5),
    }
}

fn page(cases: &[Case], table: &[Row], seeds: u64) -> String {
    let found = totals(cases, table);
    let mut page = format!(
        "# Accuracy of verdicts\n\n\
         `fathom verify` was run on simulated devices with known performance, {seeds} times with different\n\
         random numbers for each of six requirements: 20, 5 and 2 % below and above the true figure. Each\n\
         cell counts PASS / FAIL / INCONCLUSIVE. Bold cells are promises that the device does not meet.\n\
         The true rate follows from the parameters of the device; the true latency is measured over many\n\
         other windows in which no operation waited for a slot. In the quick form (30 s), a disk with\n\
         credits passes with the note \"credits were not exhausted\"; such a PASS is not counted as wrong.\n\n\
         `cargo xtask verdicts` regenerates this page.\n\n\
         | over all {} verdicts | found | goal |\n| --- | --- | --- |\n\
         | met promises judged FAIL | {} | 0 |\n\
         | broken promises judged PASS | {:.2} % | < 0.5 % |\n\
         | INCONCLUSIVE 20 % from the truth | {:.1} % | < 5 % |\n\
         | INCONCLUSIVE 5 % from the truth | {:.1} % | < 40 % |\n\n\
         | device | promise | form |",
        found.verdicts,
        found.wrong_fail,
        100.0 * found.wrong_pass,
        100.0 * found.open_at_20,
        100.0 * found.open_at_5
    );
    for margin in MARGINS {
        let _ = write!(page, " {:+.0} % |", 100.0 * margin);
    }
    page += "\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for row in table {
        let case = &cases[row.case];
        let promise = match case.promised {
            Promised::Mean { rate } => format!("mean <= {:.3} ms at {rate} IOPS", row.truth / 1e6),
            Promised::Quantile { name, rate } => format!("{name} <= {:.3} ms at {rate} IOPS", row.truth / 1e6),
            Promised::Rate => format!("IOPS >= {:.0}", row.truth),
        };
        let _ = write!(page, "| {} | {promise} | {} |", case.name, row.form.name);
        for (margin, counts) in MARGINS.iter().zip(&row.counts) {
            let cell = format!("{} / {} / {}", counts.pass, counts.fail, counts.inconclusive);
            let _ = match is_met(case, *margin) {
                true => write!(page, " {cell} |"),
                false => write!(page, " **{cell}** |"),
            };
        }
        page += "\n";
    }
    page
}

#[test]
fn verdicts_agree_with_the_truth() {
    let seeds = std::env::var("FATHOM_SEEDS").ok();
    let seeds = seeds.map_or(SEEDS, |seeds| seeds.parse().unwrap());
    let only = std::env::var("FATHOM_CASE").unwrap_or_default();
    let cases: Vec<Case> = devices::all()
        .into_iter()
        .filter(|case| case.name.contains(&only))
        .collect();
    let table = run_table(&cases, seeds);
    let found = totals(&cases, &table);
    let page = page(&cases, &table, seeds);
    println!("{page}");
    if std::env::var_os("FATHOM_UPDATE").is_some() && only.is_empty() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verdict-accuracy.md");
        std::fs::write(path, &page).unwrap();
    }
    assert_eq!(found.wrong_fail, 0, "{page}");
    assert!(found.wrong_pass < 0.005, "{page}");
    if only.is_empty() {
        assert!(found.open_at_20 < 0.05 && found.open_at_5 < 0.40, "{page}");
    }
}
