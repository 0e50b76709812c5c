//! Randomly generated job files and command lines: none makes the parser panic, and the output of
//! `--showcmd` has the meaning of the file.

use dialects::fio::table::{Kind, Row, Status, rows};
use proptest::prelude::*;
use proptest::sample::select;

use crate::fio::support::{TestEnv, all};

/// Options whose values cannot be compared: the section's name, and directories that do not exist.
const APART: &[&str] = &["name", "directory", "description", "ioengine", "profile"];

fn usable() -> Vec<&'static Row> {
    let readable = |row: &&Row| {
        !matches!(row.kind, Kind::Removed | Kind::Ignored | Kind::Unread(_))
            && !matches!(row.status, Status::Refused(_))
            && row.engines.is_empty()
            && !APART.contains(&row.name)
    };
    rows().filter(readable).collect()
}

/// An option of the table with a value that fits it.
fn good_option() -> impl Strategy<Value = String> {
    let rows = usable();
    let choice = any::<prop::sample::Index>;
    (choice(), 1u32..8, choice()).prop_map(move |(row, number, word)| {
        let row = rows[row.index(rows.len())];
        match row.kind {
            Kind::Flag(_) => row.name.to_string(),
            Kind::Bool(_) => format!("{}={}", row.name, number % 2),
            Kind::Word(words, None) => format!("{}={}", row.name, words[word.index(words.len())].text),
            _ => format!("{}={}", row.name, row.example),
        }
    })
}

/// Text that resembles an option.
fn odd_option() -> impl Strategy<Value = String> {
    let names: Vec<&'static str> = rows().flat_map(|row| row.names()).collect();
    let values = "[-0-9a-z%:,/.$(){}*+^'\"\\\\ x=;#é]{0,12}";
    prop_oneof![
        (select(names.clone()), values).prop_map(|(name, value)| format!("{name}={value}")),
        (select(names), "[0-9]{0,20}[kmgtpis%b]{0,3}").prop_map(|(name, value)| format!("{name}={value}")),
        "\\PC{0,20}".prop_map(|text| text),
        "\\[[a-zé ]{0,6}\\]?".prop_map(|text| text),
        Just("include b.inc".to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_files_do_not_panic(lines in prop::collection::vec(odd_option(), 0..12)) {
        let text = format!("[a]\n{}\n", lines.join("\n"));
        let mut env = TestEnv::with_file("a.fio", &text);
        env.files.insert("b.inc".into(), lines.join("\n"));
        let _ = env.read(&["a.fio"]);
        let _ = env.read(&["--showcmd", "a.fio"]);
    }

    #[test]
    fn random_lines_do_not_panic(options in prop::collection::vec((odd_option(), 0usize..3), 0..8)) {
        let arguments: Vec<String> = options
            .iter()
            .map(|(option, dashes)| format!("{}{option}", &"--"[..*dashes]))
            .collect();
        let mut borrowed: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let _ = TestEnv::default().read(&borrowed);
        borrowed.insert(0, "--name=x");
        let _ = TestEnv::default().read(&borrowed);
    }

    #[test]
    fn the_output_of_showcmd_means_the_same(
        global in prop::collection::vec(good_option(), 0..6),
        first in prop::collection::vec(good_option(), 0..6),
        second in prop::collection::vec(good_option(), 0..6),
    ) {
        let text = format!("[global]\n{}\n[a]\n{}\n[b]\n{}\n", global.join("\n"), first.join("\n"), second.join("\n"));
        let (code, from_file) = all(TestEnv::with_file("a.fio", &text).read(&["--parse-only", "a.fio"]));
        prop_assert_eq!(code, 0, "{}: {:?}", text, from_file.notices);
        let (_, shown) = all(TestEnv::with_file("a.fio", &text).read(&["--showcmd", "a.fio"]));
        let line = shown.stdout().last().unwrap().to_string();
        // Values are printed without quotes, so none with blanks are generated here.
        let mut arguments: Vec<&str> = line.split_whitespace().collect();
        arguments[0] = "--parse-only";
        let (code, again) = all(TestEnv::default().read(&arguments));
        prop_assert_eq!(code, 0, "{}: {:?}", line, again.notices);
        prop_assert_eq!(again.jobs.len(), 2);
        for (job, file_job) in again.jobs.iter().zip(&from_file.jobs) {
            prop_assert_eq!(&job.options, &file_job.options, "{}", &line);
        }
    }
}
