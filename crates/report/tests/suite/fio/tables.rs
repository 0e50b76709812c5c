//! Exact computations as in fio: number formats, bins, and percentiles of recorded histograms.

use report::formats::fio::bins::{bin_index, bin_value};
use report::formats::fio::numbers::{Style, Unit};

use crate::fio::builder::{Work, json, recorded, results, set};
use crate::prelude::*;

fn rows(file: &str) -> Vec<Vec<String>> {
    let text = recorded(file);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

#[test]
fn every_recorded_number_matches() {
    let rows = rows("numbers.tsv");
    assert_eq!(rows.len(), 500);
    for row in rows {
        let unit = match row[4].as_str() {
            "none" => Unit::None,
            "B" => Unit::Bytes,
            "B/s" => Unit::BytesPerSecond,
            "bit/s" => Unit::BitsPerSecond,
            other => panic!("{other}"),
        };
        let style = Style {
            figures: row[1].parse().unwrap(),
            thousands: row[2] == "1024",
            binary: row[3] == "1",
            unit,
        };
        assert_eq!(style.write(row[0].parse().unwrap()), row[5], "{row:?}");
    }
}

#[test]
fn every_recorded_bin_matches() {
    let rows = rows("bins.tsv");
    assert_eq!(rows.len(), 38);
    for row in rows {
        let [latency, bin, shown] = [0, 1, 2].map(|index| row[index].parse::<u64>().unwrap());
        assert_eq!(bin_index(latency), bin as usize, "{latency}");
        assert_eq!(bin_value(bin as usize), shown, "{latency}");
    }
}

/// All latency objects with bins within a JSON value.
fn latencies<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(pairs) if pairs.contains_key("bins") => found.push(value),
        Value::Object(pairs) => pairs.values().for_each(|value| latencies(value, found)),
        Value::Array(values) => values.iter().for_each(|value| latencies(value, found)),
        _ => {}
    }
}

/// Histograms rebuilt from the recorded bins yield the recorded percentiles, and the same bins
/// again.
#[test]
fn recorded_bins_yield_the_recorded_percentiles() {
    let mut seen = 0;
    for case in crate::fio::recorded::CASES {
        let text = recorded(&format!("golden/{case}/out.json+"));
        let document: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
        let mut objects = Vec::new();
        latencies(&document, &mut objects);
        for object in objects {
            let mut results = results(&[Work::new("job", Direction::Read, 1, 4096)]);
            let list: Vec<&str> = object["percentile"]
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .collect();
            set(&mut results, "percentile_list", &list.join(":"));
            let direction = results.steps[0].jobs[0].workers[0].streams[0]
                .directions
                .read
                .as_mut()
                .unwrap();
            direction.completion.clear();
            for (value, count) in object["bins"].as_object().unwrap() {
                let (value, count) = (value.parse().unwrap(), count.as_u64().unwrap());
                direction.completion.record_times(value, count);
            }
            assert_eq!(direction.completion.n(), object["N"].as_u64().unwrap());
            let document = json(&results, "fio-json+");
            let written = &document["jobs"][0]["read"]["clat_ns"];
            for key in ["percentile", "bins"] {
                let lines = |value: &Value| serde_json::to_string(&value[key]).unwrap();
                assert_eq!(lines(written), lines(object), "{case}");
            }
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen}");
}
