//! Truncated, duplicated and garbled reports: reading them never panics, regardless of the result.

use dialects::import::{self, Form};
use model::observation::IoStats;
use proptest::prelude::*;

use super::read_text;

const REPORTS: [&str; 13] = [
    "diskspd/legacy/report.txt",
    "diskspd/runs/05-thread-pool/result.txt",
    "diskspd/runs/06-two-timespans/result.txt",
    "diskspd/runs/02-latency-and-buckets-mixed/result.xml",
    "fio/golden/05-sla-70-30/out.json",
    "fio/golden/14-unified-mixed/out.json",
    "fio/golden/05-sla-70-30/normal.txt",
    "fio/golden/13-groups-desc/normal.txt",
    "vdbench/summary-50407.html",
    "vdbench/summary-503.txt",
    "vdbench/flatfile-50407.html",
    "iometer/results-2006.csv",
    "iometer/results-1.1.csv",
];

/// One kind of damage to a text.
#[derive(Clone, Debug)]
enum Damage {
    Cut(usize),
    Drop(usize, usize),
    Double(usize, usize),
    Insert(usize, String),
    EachOf(char, &'static str),
}

impl Damage {
    fn apply(&self, text: &str) -> String {
        let at = |place: &usize| {
            let mut index = place % (text.len() + 1);
            while !text.is_char_boundary(index) {
                index -= 1;
            }
            index
        };
        let pair = |first: &usize, other: &usize| (at(first).min(at(other)), at(first).max(at(other)));
        match self {
            Damage::Cut(place) => text[..at(place)].to_owned(),
            Damage::Drop(first, second) => {
                let (start, end) = pair(first, second);
                format!("{}{}", &text[..start], &text[end..])
            }
            Damage::Double(first, second) => {
                let (start, end) = pair(first, second);
                format!("{}{}", &text[..end], &text[start..])
            }
            Damage::Insert(place, what) => format!("{}{what}{}", &text[..at(place)], &text[at(place)..]),
            Damage::EachOf(from, to) => text.replace(*from, to),
        }
    }
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = || any::<usize>();
    let other = prop_oneof![
        Just(""),
        Just("9999999999999999999999"),
        Just("-1"),
        Just("\u{2013}"),
        Just("NaN"),
        Just("1e999")
    ];
    prop_oneof![
        place().prop_map(Damage::Cut),
        (place(), place()).prop_map(|(a, b)| Damage::Drop(a, b)),
        (place(), place()).prop_map(|(a, b)| Damage::Double(a, b)),
        (place(), "[\\x00-\u{2fff}|,.:%=<>&{}\"\\n0-9]{0,12}").prop_map(|(at, what)| Damage::Insert(at, what)),
        (
            prop_oneof![
                Just('.'),
                Just('|'),
                Just(':'),
                Just('0'),
                Just('8'),
                Just(' '),
                Just('"')
            ],
            other
        )
            .prop_map(|(from, to)| Damage::EachOf(from, to)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_reports_do_not_panic(report in 0..REPORTS.len(), list in prop::collection::vec(damage(), 1..4)) {
        let mut text = read_text(REPORTS[report]);
        for damage in &list {
            text = damage.apply(&text);
        }
        // Each text is also read with the reader of its original form, in case the form is no
        // longer recognised.
        let _ = import::read("x", &text);
        for form in [Form::DiskspdText, Form::DiskspdXml, Form::FioJson] {
            let _ = import::read_as(form, "x", &text);
        }
        let read = [Form::FioNormal, Form::VdbenchSummary, Form::VdbenchFlat, Form::Iometer]
            .map(|form| import::read_as(form, "x", &text));
        for load in read.into_iter().flatten().flat_map(|read| read.loads) {
            prop_assert!(load.total.iops.is_none_or(|iops| iops.is_finite() && iops >= 0.0));
            let quantiles = |flow: &IoStats| flow.latency.as_ref().map_or(0, |latency| latency.quantiles.len());
            prop_assert!(load.tool == "fio" || quantiles(&load.total) == 0, "a mean is not a percentile");
        }
    }

    #[test]
    fn random_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = import::read("x", &import::decode(&bytes).text);
    }

    #[test]
    fn columns_are_found_in_any_order(order in Just((0..34).collect::<Vec<usize>>()).prop_shuffle()) {
        let text = read_text("vdbench/flatfile-50407.html");
        let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let shuffled: Vec<String> = lines.map(|cells| in_order(&cells, &order).join(" ")).collect();
        // The names, and seven rows of each run.
        let moved = text.lines().filter(|line| line.split_whitespace().count() == order.len());
        prop_assert_eq!(moved.count(), 15);
        let read = import::read("x", &shuffled.join("\n"));
        prop_assert_eq!(read.map(|read| read.loads), import::read("x", &text).map(|read| read.loads));
    }

    #[test]
    fn titles_are_found_in_any_order(order in Just((1..56).collect::<Vec<usize>>()).prop_shuffle()) {
        let text = read_text("iometer/results-2006.csv");
        // The kind of row comes first.
        let order: Vec<usize> = std::iter::once(0).chain(order).collect();
        let lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let shuffled: Vec<String> = lines.map(|cells| in_order(&cells, &order).join(",")).collect();
        // The titles and eight rows of each test.
        let moved = text.lines().filter(|line| line.split(',').count() == order.len());
        prop_assert_eq!(moved.count(), 18);
        let read = import::read("x", &shuffled.join("\n"));
        prop_assert_eq!(read.map(|read| read.loads), import::read("x", &text).map(|read| read.loads));
    }
}

/// The cells of a row in another order; a line that is not a row is unchanged.
fn in_order<'a>(cells: &[&'a str], order: &[usize]) -> Vec<&'a str> {
    match cells.len() == order.len() {
        true => order.iter().map(|place| cells[*place]).collect(),
        false => cells.to_vec(),
    }
}
