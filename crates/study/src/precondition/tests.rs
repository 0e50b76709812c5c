//! Procedures over series with a known outcome.

#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

use model::testing::assert_contains;

use super::*;

fn settings(rounds: u32, cells: Vec<Cell>) -> ProcedureSettings {
    ProcedureSettings {
        passes: 0,
        round: Nanos::secs(60),
        rounds,
        cells,
        load: "4 KiB random writes".into(),
    }
}

fn rate(cell: Option<Cell>, iops: f64) -> CellResult {
    CellResult {
        cell,
        iops,
        bytes_per_sec: iops * 4096.0,
        mean_ns: 1e9 / iops,
        p999_ns: None,
        written: Bytes((iops * 60.0 * 4096.0) as u64),
    }
}

/// Feeds a series to the procedure until it ends.
fn run_procedure(rounds: u32, series: &[f64]) -> Report {
    let mut procedure = Procedure::new(settings(rounds, Vec::new()));
    for iops in series {
        let Some(NextRun::Round { cell: None, .. }) = procedure.next_run() else {
            break;
        };
        procedure.record_cell(rate(None, *iops));
    }
    let interrupted = procedure.next_run().is_some();
    procedure.report("disk", Vec::new(), interrupted)
}

#[test]
fn a_settling_series_is_steady_after_five_steady_rounds() {
    // The rounds of the fresh device must first leave the window.
    let report = run_procedure(25, &[900.0, 500.0, 200.0, 104.0, 100.0, 98.0, 102.0, 100.0, 1.0]);
    let window = report.window.unwrap();
    assert!(report.steady && window.steady_by_stricter_reading);
    assert_eq!((window.first, window.last, report.rounds.len()), (4, 8, 8));
    assert!((window.figures.average - 100.8).abs() < 1e-9);
    assert_contains(&report.sentences.join("\n"), "rounds 4 to 8 meet both conditions");
    // 900 + 500 + … + 100 operations per second, 60 s of 4 KiB each.
    assert_eq!(report.written, Bytes(2104 * 60 * 4096));
}

#[test]
fn rounds_too_far_apart_are_not_steady() {
    let report = run_procedure(5, &[112.0, 89.0, 100.0, 89.0, 110.0]);
    let window = report.window.unwrap();
    assert!(!report.steady && !report.interrupted);
    assert!(
        !window.figures.keeps_range() && window.figures.keeps_excursion(),
        "{window:?}"
    );
    let sentence = report.sentences.join("\n");
    assert!(sentence.contains("NOT reached in 5 rounds"), "{sentence}");
    assert_contains(&sentence, "23.0 % of their mean (maximum 20 %): missed");
    assert_contains(&sentence, "1.6 % of their mean (maximum 10 %): met");
}

#[test]
fn rounds_that_keep_falling_are_not_steady() {
    let report = run_procedure(5, &[106.0, 103.0, 100.0, 97.0, 94.0]);
    let window = report.window.unwrap();
    assert!(!report.steady);
    assert!(window.figures.keeps_range() && !window.figures.keeps_excursion());
    assert!((window.figures.slope + 3.0).abs() < 1e-9 && (window.figures.excursion - 0.12).abs() < 1e-9);
}

#[test]
fn the_stricter_reading_is_reported_but_does_not_decide() {
    let report = run_procedure(25, &[100.0, 96.0, 114.0, 96.0, 94.0]);
    assert!(report.steady && !report.window.unwrap().steady_by_stricter_reading);
    assert_contains(&report.sentences.join("\n"), "the largest distance is 14.0 %, missed");
}

#[test]
fn a_procedure_ends_after_the_maximum_number_of_rounds() {
    let halving: Vec<f64> = (0..40).map(|round| 1e6 / 1.2f64.powi(round)).collect();
    let report = run_procedure(MAX_ROUNDS, &halving);
    assert_eq!(report.rounds.len(), 25);
    assert!(!report.steady && !report.interrupted);
    assert!(report.sentences[0].contains("NOT reached in 25 rounds"));
}

#[test]
fn an_idle_device_is_not_steady() {
    assert_eq!(judge_window(&[0.0; 5]), None);
    assert_eq!(judge_window(&[100.0; 4]), None);
}

#[test]
fn an_interrupted_procedure_is_not_judged() {
    let report = run_procedure(25, &[900.0, 500.0]);
    assert!(report.interrupted && !report.steady && report.window.is_none());
    assert!(report.sentences[0].contains("ended after 2 complete rounds"));
}

#[test]
fn a_matrix_round_is_complete_with_all_its_cells() {
    let cells = matrix_cells();
    assert_eq!(cells.len(), 56);
    assert_eq!(
        (cells[0].name(), cells[55].name()),
        ("100/0 1 MiB".into(), "0/100 512 B".into())
    );
    let mut procedure = Procedure::new(settings(25, cells.clone()));
    for (position, cell) in cells.iter().enumerate() {
        let next = procedure.next_run();
        assert_eq!(
            next,
            Some(NextRun::Round {
                number: 1,
                cell: Some((position, *cell))
            })
        );
        // Only the tracked cell counts.
        let iops = if *cell == Cell::TRACKED { 777.0 } else { 5.0 };
        procedure.record_cell(rate(Some(*cell), iops));
    }
    assert_eq!(procedure.rounds().len(), 1);
    assert_eq!(procedure.rounds()[0].tracked, 777.0);
    assert_eq!(
        procedure.next_run(),
        Some(NextRun::Round {
            number: 2,
            cell: Some((0, cells[0]))
        })
    );
}

#[test]
fn filling_comes_first_unless_disabled() {
    let fills = Procedure::new(ProcedureSettings {
        passes: 2,
        ..settings(25, Vec::new())
    });
    assert_eq!(fills.next_run(), Some(NextRun::Fill));
    let none = Procedure::new(settings(25, Vec::new()));
    assert_eq!(none.next_run(), Some(NextRun::Round { number: 1, cell: None }));
}
