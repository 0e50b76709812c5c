//! Profiles survive being read and written: recorded documents byte for byte, generated profiles
//! value for value.

use dialects::diskspd::profile::ResultFormat;
use dialects::diskspd::xml;
use proptest::prelude::*;

use super::arbitrary::profiles;
use super::file;
use crate::diskspd::support::cases;

#[test]
fn recorded_profiles_are_rewritten_unchanged() {
    for case in cases("profiles") {
        let text = file(&case, "profile.xml");
        let profile = xml::read(&text).unwrap_or_else(|error| panic!("{}: {error}", case.display()));
        assert_eq!(xml::lines(&profile).join("\n"), text.trim_end(), "{}", case.display());
    }
}

#[test]
fn profiles_inside_recorded_results_are_rewritten_unchanged() {
    for case in cases("runs") {
        let result = file(&case, "result.xml");
        let inside = result.lines().skip_while(|line| *line != "  <Profile>");
        let upto = inside.take_while(|line| *line != "  </Profile>");
        let mut recorded: Vec<&str> = upto.map(|line| &line[2..]).collect();
        recorded.push("</Profile>");
        let profile = xml::read(&recorded.join("\n")).unwrap_or_else(|error| panic!("{}: {error}", case.display()));
        assert_eq!(xml::lines(&profile), recorded, "{}", case.display());
    }
}

#[test]
fn a_profile_read_by_diskspd_becomes_the_recorded_one() {
    for case in cases("profiles").iter().filter(|case| case.join("pool.xml").exists()) {
        let mut profile = xml::read(&file(case, "pool.xml")).unwrap();
        // The result format of the command line that printed it.
        profile.result_format = ResultFormat::Xml;
        // DiskSpd reads RandomWriteData but does not write it.
        assert!(profile.time_spans[0].random_write_data);
        let written = xml::lines(&profile);
        let kept: Vec<&String> = written
            .iter()
            .filter(|line| !line.contains("RandomWriteData"))
            .collect();
        assert_eq!(kept.len() + 1, written.len());
        assert_eq!(kept, file(case, "profile.xml").lines().collect::<Vec<_>>());
    }
}

#[test]
fn a_path_with_characters_invalid_in_xml_still_gives_a_document() {
    let text = "<Profile><TimeSpans><TimeSpan><Targets><Target><Path>a</Path></Target></Targets></TimeSpan></TimeSpans></Profile>";
    let mut profile = xml::read(text).unwrap();
    profile.time_spans[0].targets[0].path = "a\0\u{1}\u{1f}\u{ffff}]]>\n\u{7f}b".to_string();
    let again = xml::read(&xml::lines(&profile).join("\n")).unwrap();
    assert_eq!(
        again.time_spans[0].targets[0].path,
        "a\u{fffd}\u{fffd}\u{fffd}\u{fffd}]]>\n\u{7f}b"
    );
}

proptest! {
    #[test]
    fn any_profile_survives_a_round_trip(profile in profiles()) {
        let text = xml::lines(&profile).join("\n");
        prop_assert_eq!(xml::read(&text).unwrap(), profile);
    }

    /// After bytes of a document were cut, repeated or swapped, the parser returns a profile or an
    /// error with a position, and does not panic.
    #[test]
    fn damaged_documents_are_refused_or_read(
        profile in profiles(),
        damages in prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, any::<char>()), 1..6),
    ) {
        let mut characters: Vec<char> = xml::lines(&profile).join("\n").chars().collect();
        for (place, kind, character) in damages {
            if characters.is_empty() {
                break;
            }
            let place = place.index(characters.len());
            match kind {
                0 => { characters.remove(place); }
                1 => characters.insert(place, character),
                2 => characters[place] = character,
                _ => characters.truncate(place),
            }
        }
        let text: String = characters.into_iter().collect();
        if let Err(error) = xml::read(&text) {
            prop_assert!(error.line >= 1 && error.line <= text.lines().count().max(1) + 1);
            prop_assert!(error.column >= 1);
            prop_assert!(!error.reason.is_empty());
        }
    }
}
