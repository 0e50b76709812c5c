//! How values are parsed: every recorded row.

use dialects::fio::JobOptions;
use dialects::fio::options::typed::Range;
use dialects::fio::table::{Kind, find};
use dialects::fio::values::Amount;

use crate::fio::support::{DATA, all, reading};

/// An option's value, in the form of the recording.
fn held(options: &mut JobOptions, name: &str) -> Vec<String> {
    let text = |value: u64| vec![value.to_string()];
    let ends = |range: Range| vec![range.low.to_string(), range.high.to_string()];
    match find(name).unwrap().kind {
        Kind::Flag(at) | Kind::Bool(at) => text(u64::from(*at(options))),
        Kind::Int(at) => vec![at(options).to_string()],
        Kind::OptionalInt(at) => vec![at(options).unwrap().to_string()],
        Kind::Size(at) | Kind::Time(at, _) => text(*at(options)),
        Kind::OptionalSize(at) => text(at(options).unwrap()),
        Kind::Amount(at) => match at(options).unwrap() {
            Amount::Bytes(bytes) => text(bytes),
            Amount::Percent(percent) => vec![format!("{percent}%")],
            Amount::Zones(zones) => vec![format!("{zones}z")],
        },
        Kind::PerDirection(at, _) => {
            let values = *at(options);
            [values.read, values.write, values.trim]
                .iter()
                .map(u64::to_string)
                .collect()
        }
        Kind::Reals(at) => at(options).iter().map(|value| format!("{value:.6}")).collect(),
        _ => match name {
            "filesize" => ends(options.files.filesize),
            "startdelay" => ends(options.job.startdelay),
            "bsrange" => ends(options.pattern.bsrange.read),
            other => panic!("{other} is not opened"),
        },
    }
}

/// The values of a recorded list: the elements that were written, `~` where one was omitted.
fn spread(name: &str, written: &str, elements: &[&str]) -> Vec<String> {
    let defaults = held(&mut JobOptions::new(), name);
    let mut elements = elements.to_vec();
    if written.ends_with(',') {
        elements.resize(3, "~");
    }
    let last = *elements.last().unwrap();
    elements.resize(3, last);
    let value = |(element, default): (&&str, String)| match *element {
        "~" => default,
        element => element.to_string(),
    };
    elements.iter().zip(defaults).map(value).collect()
}

#[test]
fn recorded_values_match() {
    let text = std::fs::read_to_string(format!("{DATA}/values.tsv")).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for row in rows {
        count += 1;
        let [name, value, stored] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let (code, mut read) = all(reading(&format!("--parse-only --name=x --{name}={value}")));
        if stored == "-" {
            assert_eq!(code, 1, "{row}");
            let failed = format!("fio: failed parsing {name}={value}");
            assert_eq!(read.stderr().last(), Some(failed.as_str()), "{row}");
            continue;
        }
        assert_eq!(code, 0, "{row}: {:?}", read.notices);
        let options = &mut read.jobs[0].options;
        let elements: Vec<&str> = stored.split_whitespace().collect();
        let kind = find(name).unwrap().kind;
        let expected: Vec<String> = match kind {
            _ if stored == "accepted" => continue,
            Kind::PerDirection(..) => spread(name, value, &elements),
            // A second number is printed in the trace but not stored.
            Kind::Amount(_) => vec![elements[0].to_string()],
            // The trace has the number; only whether it is zero is stored.
            Kind::Flag(_) => vec![if stored == "0" { "0" } else { "1" }.to_string()],
            Kind::Special(_) => {
                let high = elements.get(1).unwrap_or(&elements[0]);
                vec![elements[0].to_string(), high.to_string()]
            }
            _ => elements.iter().map(|element| element.to_string()).collect(),
        };
        assert_eq!(held(options, name), expected, "{row}");
    }
    assert_eq!(count, 170);
}

#[test]
fn ranges_of_block_sizes_are_sorted() {
    for written in ["1k-4k", "4k-1k", "1k:4k"] {
        let range = crate::fio::support::job(&format!("--bsrange={written}"))
            .options
            .pattern
            .bsrange;
        assert_eq!(range.trim, Range { low: 1024, high: 4096 }, "{written}");
    }
    let range = crate::fio::support::job("--bsrange=1k-4k,2k-8k")
        .options
        .pattern
        .bsrange;
    assert_eq!((range.read.high, range.write.low, range.trim.low), (4096, 2048, 2048));
}

/// With some of them fio 3.33 crashes, or creates a file of another size.
#[test]
fn negative_numbers_without_a_meaning_are_refused() {
    for (option, min) in [
        ("offset", 0),
        ("offset_increment", 0),
        ("ramp_size", 1),
        ("ramp_time", 0),
        ("startdelay", 0),
        ("steadystate_duration", 0),
    ] {
        let (code, read) = all(reading(&format!("--name=x --{option}=-5")));
        assert_eq!(code, 1, "{option}");
        let notices = format!("{:?}", read.notices);
        let negative = notices.contains(&format!("{option}: min value out of range: -5"));
        let with_unit = notices.contains(&format!("{option}: min value out of range: -5000000 ({min} min)"));
        assert!(negative || with_unit, "{notices}");
    }
}
