//! Consistency of a report's figures, regardless of their values.

use model::results::Results;
use roxmltree::{Document, Node};

use crate::diskspd::builder::{self, Work, step};

const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// All kinds of loads: none, one direction, both, several threads and targets, odd block sizes.
fn loads() -> Vec<Results> {
    let mut made = Vec::new();
    for (threads, block, reads, writes, seconds) in [
        (1, 4096, 0, 0, 1.0),
        (1, 512, 777, 0, 0.25),
        (2, 65_536, 0, 901, 3.7),
        (3, 8192, 250, 750, 10.0),
        (7, 12_345, 333, 77, 2.003_7),
    ] {
        let mut results = builder::results(&[("one.dat", 1 << 30), ("two.dat", 3 << 20)]);
        let work = |thread: u64, target: u32| Work {
            target,
            block: block + thread * 512,
            reads: reads * (thread + 1),
            writes: writes + thread * u64::from(target),
        };
        let rows: Vec<[Work; 2]> = (0..threads).map(|thread| [work(thread, 0), work(thread, 1)]).collect();
        let rows: Vec<&[Work]> = rows.iter().map(|row| &row[..]).collect();
        results.steps = vec![step(seconds, None, &rows)];
        results.plan.origin.presentation.latency = true;
        made.push(results);
    }
    made
}

/// The rows of a table of the text, and its total row, as numbers without the thread: bytes, I/Os,
/// MiB/s, I/O per s, AvgLat.
fn table(text: &str, title: &str) -> (Vec<Vec<f64>>, Vec<f64>) {
    let lines = builder::section(text, title);
    let figures = |line: &&str| -> Vec<f64> {
        let line = line.replace("total:", "total |");
        line.split('|')
            .skip(1)
            .take(5)
            .map(|cell| cell.trim().parse().unwrap())
            .collect()
    };
    let rows = lines[3..lines.len() - 2].iter().map(figures).collect();
    (rows, figures(lines.last().unwrap()))
}

#[test]
fn rows_of_the_text_add_up() {
    for results in loads() {
        let text = builder::text(&results);
        let seconds = results.steps[0].jobs[0].measured().as_secs();
        let tables = ["Total IO", "Read IO", "Write IO"].map(|title| table(&text, title));
        for (rows, total) in &tables {
            for column in [0, 1] {
                let sum: f64 = rows.iter().map(|row| row[column]).sum();
                assert!((sum - total[column]).abs() < 0.5);
            }
            let mut weighted = 0.0;
            for row in rows {
                assert!(
                    (row[2] * seconds * MEBIBYTE - row[0]).abs() <= 0.005_001 * seconds * MEBIBYTE,
                    "{row:?}"
                );
                assert!((row[3] * seconds - row[1]).abs() <= 0.005_001 * seconds, "{row:?}");
                weighted += row[4] * row[1];
            }
            // Rounded to a microsecond in each row and in the sum.
            assert!(
                (weighted - total[4] * total[1]).abs() <= 0.001_001 * total[1].max(1.0),
                "{total:?}"
            );
        }
        let [(all, all_total), (reads, reads_total), (writes, writes_total)] = tables;
        let rows = all.iter().zip(reads.iter().zip(&writes));
        for (all, (read, write)) in rows.chain([(&all_total, (&reads_total, &writes_total))]) {
            for column in [0, 1] {
                assert!((read[column] + write[column] - all[column]).abs() < 0.5);
            }
        }
    }
}

/// The only child of the given name, as a number.
fn child(node: Node, name: &str) -> f64 {
    let found: Vec<Node> = node.children().filter(|child| child.has_tag_name(name)).collect();
    assert_eq!(found.len(), 1, "{name}");
    found[0].text().unwrap().parse().unwrap()
}

#[test]
fn threads_of_the_xml_add_up() {
    for results in loads() {
        let xml = builder::xml(&results);
        let document = Document::parse(&xml).unwrap();
        let mut counts = 0.0;
        for target in document.descendants().filter(|node| node.has_tag_name("BytesCount")) {
            let target = target.parent().unwrap();
            let sum = |read: &str, write: &str| child(target, read) + child(target, write);
            assert!((sum("ReadBytes", "WriteBytes") - child(target, "BytesCount")).abs() < 0.5);
            assert!((sum("ReadCount", "WriteCount") - child(target, "IOCount")).abs() < 0.5);
            counts += child(target, "IOCount");
        }
        assert!((counts - results.steps[0].jobs[0].total().operations as f64).abs() < 0.5);
        // Percentiles never decrease, and all are between the minimum and the maximum.
        let buckets = document.descendants().filter(|node| node.has_tag_name("Bucket"));
        let values: Vec<f64> = buckets
            .filter_map(|bucket| bucket.children().find(|child| child.has_tag_name("TotalMilliseconds")))
            .map(|value| value.text().unwrap().parse().unwrap())
            .collect();
        assert!(values.is_sorted());
        assert!(values.len() == 108 || (values.is_empty() && counts < 0.5));
    }
}

/// Both reports have the same figures.
#[test]
fn text_and_xml_agree() {
    for results in loads() {
        let (text, xml) = (builder::text(&results), builder::xml(&results));
        let document = Document::parse(&xml).unwrap();
        let (rows, _) = table(&text, "Total IO");
        let targets: Vec<Node> = document
            .descendants()
            .filter(|node| node.has_tag_name("BytesCount"))
            .collect();
        assert_eq!(rows.len(), targets.len());
        for (row, bytes) in rows.iter().zip(targets) {
            let target = bytes.parent().unwrap();
            assert!((row[0] - child(target, "BytesCount")).abs() < 0.5);
            assert!((row[1] - child(target, "IOCount")).abs() < 0.5);
            if row[1] > 0.0 {
                assert!((row[4] - child(target, "AverageLatencyMilliseconds")).abs() < 1e-9);
            }
        }
    }
}
