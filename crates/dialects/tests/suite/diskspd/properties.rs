//! Command lines generated from the table of switches: accepted ones survive being printed and read
//! again, and no line makes the parser panic.

use std::cell::RefCell;
use std::collections::HashMap;

use dialects::diskspd::profile::Profile;
use dialects::diskspd::{ExitOutput, Form, ParseOutcome, Value, Version, switches, xml};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use testbed::With;

use crate::diskspd::support::{TestEnv, request};

/// Command lines that this test runs.
const LINES: u32 = 10_000;

/// The profile that `-X` finds.
const FILE: &str = "<Profile><TimeSpans><TimeSpan><Targets><Target><Path>*1</Path></Target></Targets></TimeSpan></TimeSpans></Profile>";

/// The environment of a DiskSpd that has all switches.
fn newer(path: &str, text: &str) -> TestEnv {
    TestEnv::with_file(path, text).with(|test_env| test_env.version = Version::V2_3)
}

/// A switch that must accompany a form for it to be accepted.
fn companion(form: &Form) -> Option<&'static str> {
    match form.head {
        "N" => Some("-Sm"),
        "i" => Some("-j5"),
        "j" => Some("-i5"),
        "T" => Some("-t2"),
        "rdpct" | "rdabs" => Some("-r1K"),
        _ => None,
    }
}

/// A form and its value on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Kind {
    head: &'static str,
    /// The form as in the help, or the keyword that is its value.
    value: &'static str,
}

/// A switch on a line.
#[derive(Clone, Debug)]
struct Piece {
    kind: Kind,
    text: String,
    companion: Option<&'static str>,
}

/// All kinds in the table: each form once, or once per keyword if it has keywords.
fn kinds() -> Vec<(Kind, &'static Form)> {
    let forms = switches().flat_map(|switch| switch.forms);
    forms
        .flat_map(|form| {
            let values: Vec<&'static str> = match form.value {
                Value::Word(words) => words.to_vec(),
                Value::None => vec![""],
                Value::Integer { .. } => vec!["integer"],
                Value::Size { .. } => vec!["size"],
                Value::BaseAndLength => vec!["base and length"],
                Value::SizeAndFile => vec!["size and file"],
                Value::Iops => vec!["iops"],
                Value::Processors => vec!["processors"],
                Value::ProcessorRanges => vec!["ranges of processors"],
                Value::RingBatch => vec!["batch"],
                Value::PercentRanges => vec!["percent ranges"],
                Value::AbsoluteRanges => vec!["absolute ranges"],
                Value::EventName => vec!["event"],
                Value::ProfilePath => vec!["profile"],
            };
            let head = form.head;
            values.into_iter().map(move |value| (Kind { head, value }, form))
        })
        .collect()
}

fn value(kind: Kind, form: &Form) -> BoxedStrategy<String> {
    match form.value {
        Value::None => Just(String::new()).boxed(),
        Value::Word(_) => Just(kind.value.to_string()).boxed(),
        Value::Integer { min, max, .. } => {
            let near = min..=max.min(min.saturating_add(100));
            prop_oneof![4 => near, 1 => min..=max, 1 => Just(max)]
                .prop_map(|number| number.to_string())
                .boxed()
        }
        Value::Size { zero } => size(u64::from(!zero)).boxed(),
        Value::BaseAndLength => (size(0), size(1))
            .prop_map(|(base, length)| format!("{base}:{length}"))
            .boxed(),
        Value::SizeAndFile => (size(1), select(&["a.bin", "b c", "x,y", ""][..]))
            .prop_map(|(size, file)| format!("{size},{file}"))
            .boxed(),
        Value::Iops => (1u32..1_000_000).prop_map(|number| format!("{number}i")).boxed(),
        Value::Processors => prop::collection::vec((any::<bool>(), 0u32..4), 1..5)
            .prop_map(processors)
            .boxed(),
        Value::ProcessorRanges => (0u32..2, 0u32..3)
            .prop_map(|(first, more)| format!("g0,{first}-{}", first + more))
            .boxed(),
        Value::RingBatch => "n?[1-9][0-9]?p?".boxed(),
        Value::PercentRanges => ranges(false).boxed(),
        Value::AbsoluteRanges => ranges(true).boxed(),
        Value::EventName => "[a-zA-Z0-9 ]{0,8}".boxed(),
        Value::ProfilePath => Just("p.xml".to_string()).boxed(),
    }
}

fn size(least: u64) -> impl Strategy<Value = String> {
    let units = select(&["", "k", "K", "m", "M", "g", "T", "b", "B"][..]);
    (prop_oneof![least..=least, 1u64..5000], units).prop_map(|(number, unit)| format!("{number}{unit}"))
}

fn processors(list: Vec<(bool, u32)>) -> String {
    let item = |(group, number): (bool, u32)| {
        if group {
            format!("g0,{number}")
        } else {
            number.to_string()
        }
    };
    list.into_iter().map(item).collect::<Vec<_>>().join(",")
}

/// Ranges that leave some I/O undistributed, or one range of everything.
fn ranges(absolute: bool) -> impl Strategy<Value = String> {
    let unit = if absolute { "G" } else { "" };
    let some = prop::collection::vec((0u32..25, 1u32..25), 1..5).prop_map(move |list| {
        let texts = list.into_iter().map(|(io, length)| format!("{io}/{length}{unit}"));
        texts.collect::<Vec<_>>().join(":")
    });
    prop_oneof![4 => some, 1 => Just(format!("100/100{unit}"))]
}

fn piece(allowed: fn(&Form) -> bool) -> impl Strategy<Value = Piece> {
    let choices: Vec<_> = kinds().into_iter().filter(|(_, form)| allowed(form)).collect();
    select(choices).prop_flat_map(|(kind, form)| {
        value(kind, form).prop_map(move |value| Piece {
            kind,
            text: format!("-{}{value}", form.head),
            companion: companion(form),
        })
    })
}

/// True if the switch may accompany `-X`.
fn is_allowed_with_profile(form: &Form) -> bool {
    form.head == "X" || ":CdRvWz".contains(&form.head[..1])
}

fn is_not_profile(form: &Form) -> bool {
    form.head != "X"
}

/// Targets of all sorts.
const PATHS: &[&str] = &[
    "t.dat", "a&b <c>.dat", "#1", "d:", "/dev/sdx", "dir with space\\f.dat", "é\"'.dat",
];

/// The switches of a line, and its targets.
fn lines() -> impl Strategy<Value = (Vec<Piece>, Vec<&'static str>)> {
    let usual = prop::collection::vec(piece(is_not_profile), 0..5);
    let with_profile = prop::collection::vec(piece(is_allowed_with_profile), 1..5);
    prop_oneof![
        19 => (usual, prop::collection::vec(select(PATHS), 1..4)),
        1 => (with_profile, Just(vec!["t.dat"])),
    ]
}

/// Normalises two spellings of the same profile: a stride equal to the block size, and a buffer
/// that zeros override.
fn normalized(mut profile: Profile) -> Profile {
    for target in profile.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
        target.alignment = target.step();
        if target.zero_buffers {
            target.source = None;
        }
    }
    profile
}

#[test]
fn accepted_lines_survive_being_printed() {
    let seen: RefCell<HashMap<Kind, u32>> = RefCell::default();
    let config = Config::default().with(|config| (config.cases, config.failure_persistence) = (LINES, None));
    let outcome = TestRunner::new(config).run(&lines(), |(pieces, paths)| {
        let given = |companion: &str| {
            let mut others = pieces.iter().filter(|piece| piece.companion != Some(companion));
            others.any(|piece| piece.text[..2] == companion[..2])
        };
        let companions = pieces.iter().filter_map(|piece| piece.companion);
        let companions = companions.filter(|companion| !given(companion));
        let mut arguments: Vec<&str> = companions.collect();
        arguments.dedup();
        arguments.extend(pieces.iter().map(|piece| piece.text.as_str()));
        arguments.extend(&paths);
        let worked = match newer("p.xml", FILE).read(&arguments) {
            ParseOutcome::End(ExitOutput { code, stdout, .. }) => code == 0 || (code == 1 && !stdout.is_empty()),
            ParseOutcome::Run(request) | ParseOutcome::Print(request) => {
                let text = xml::lines(&request.profile).join("\n");
                let again = newer("again.xml", &text).read(&["-Rp", "-Xagain.xml"]);
                let ParseOutcome::Print(again) = again else {
                    return Err(TestCaseError::fail(format!("{arguments:?}: {again:?}")));
                };
                prop_assert_eq!(
                    normalized(again.profile),
                    normalized(request.profile),
                    "{:?}",
                    arguments
                );
                // Every target of a file is checked; here they are alike.
                let of_all = paths.iter().flat_map(|_| &request.stderr);
                prop_assert!(again.stderr.is_empty() == request.stderr.is_empty());
                prop_assert!(
                    again.stderr.is_empty() || again.stderr.iter().eq(of_all),
                    "{arguments:?}"
                );
                true
            }
        };
        if worked {
            let mut seen = seen.borrow_mut();
            pieces
                .iter()
                .for_each(|piece| *seen.entry(piece.kind).or_default() += 1);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|why| panic!("{why}"));
    let seen = seen.into_inner();
    let table: Vec<(Kind, u32)> = kinds()
        .iter()
        .map(|(kind, _)| (*kind, seen.get(kind).copied().unwrap_or(0)))
        .collect();
    let missing: Vec<_> = table.iter().filter(|(_, count)| *count == 0).collect();
    assert!(
        missing.is_empty(),
        "never accepted in {LINES} lines: {missing:?}\nof {table:?}"
    );
}

#[test]
fn every_example_works() {
    for form in switches().flat_map(|switch| switch.forms) {
        for example in form.examples {
            let mut env = newer("profile.xml", FILE);
            env.processors.online = (0..128).collect();
            env.processors.possible = 128;
            let arguments: Vec<&str> = companion(form).into_iter().chain([*example, "t.dat"]).collect();
            match env.read(&arguments) {
                ParseOutcome::End(end) => {
                    let expected = match form.head {
                        "?" | "Rs" => 0,
                        "ye" => 1,
                        _ => 3,
                    };
                    assert!(expected < 3 && end.code == expected, "{example}: {end:?}");
                }
                // Some examples could also be a switch of the other case.
                accepted => assert!(
                    { request(accepted).notes.into_iter() }
                        .all(|note| note.starts_with(&format!("`{example}` means "))),
                    "{example}"
                ),
            }
        }
    }
}

/// Any arguments, most of which look like a switch.
fn garbage() -> impl Strategy<Value = String> {
    let letters: Vec<char> = switches().map(|switch| switch.letter).collect();
    let tails = prop_oneof![
        any::<String>(),
        "[0-9a-zA-Z,:/.g%-]{0,12}",
        "[0-9]{1,25}[kKmMgGtTbB]?",
        "(pct|abs)([0-9]{0,4}[/:]?){0,6}",
        "[sdipfry]?[0-9]{0,12}",
    ];
    let dashes = select(&["-", "-", "-", "/", "–", "\u{2212}"][..]);
    prop_oneof![
        8 => (dashes, select(letters), tails).prop_map(|(dash, letter, tail)| format!("{dash}{letter}{tail}")),
        1 => any::<String>(),
        1 => Just("t.dat".to_string()),
    ]
}

proptest! {
    #![proptest_config(Config { cases: LINES, failure_persistence: None, ..Config::default() })]

    #[test]
    fn random_arguments_do_not_panic(
        switches in prop::collection::vec(garbage(), 0..4),
        target in any::<bool>(),
        slash in any::<bool>(),
        events_fail in any::<bool>(),
        file in prop_oneof![Just(FILE.to_string()), any::<String>()],
    ) {
        let mut env = TestEnv { slash, events_fail, ..newer("p.xml", &file) };
        let mut arguments: Vec<&str> = switches.iter().map(String::as_str).collect();
        arguments.extend(target.then_some("t.dat"));
        if let ParseOutcome::End(end) = env.read(&arguments) {
            prop_assert!(matches!(end.code, 0 | 1 | 3));
            let says_something = !end.stderr.is_empty() || !end.stdout.is_empty() || end.system.is_some();
            prop_assert!(says_something, "{arguments:?}");
        }
    }
}
