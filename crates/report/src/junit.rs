//! JUnit XML for build servers: one suite, whose cases passed, failed, or could not be judged.
//!
//! Jenkins and GitLab read this layout: `testsuites` / `testsuite` / `testcase` with `failure` or
//! `error`.

use std::fmt::Write;

/// A suite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suite {
    /// Name of the suite.
    pub name: String,
    /// When it began, as `2026-11-22T14:05:00`.
    pub started: String,
    /// How long it took in seconds.
    pub seconds: f64,
    /// Cases, in order.
    pub cases: Vec<Case>,
    /// Properties of the suite: name and value.
    pub properties: Vec<(String, String)>,
    /// The text report.
    pub output: String,
}

/// A case.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Name of the case.
    pub name: String,
    /// Passed, failed or undecided, with the message.
    pub outcome: CaseOutcome,
    /// The reason, in a sentence.
    pub message: String,
}

/// The outcome of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseOutcome {
    /// Passed.
    Passed,
    /// Failed.
    Failed,
    /// Could not be judged. Build servers show it as an error instead of a failure.
    Undecided,
    /// Reported without being judged.
    Skipped,
}

/// Formats the JUnit document.
pub fn document(suite: &Suite) -> String {
    let count = |outcome: CaseOutcome| suite.cases.iter().filter(|case| case.outcome == outcome).count();
    let counts = format!(
        r#"tests="{}" failures="{}" errors="{}" skipped="{}" time="{:.3}""#,
        suite.cases.len(),
        count(CaseOutcome::Failed),
        count(CaseOutcome::Undecided),
        count(CaseOutcome::Skipped),
        suite.seconds
    );
    let name = escape_xml(&suite.name);
    let mut text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"fathom\" {counts}>\n");
    let _ = writeln!(
        text,
        r#"  <testsuite name="{name}" {counts} timestamp="{}">"#,
        escape_xml(&suite.started)
    );
    if !suite.properties.is_empty() {
        text += "    <properties>\n";
        for (key, value) in &suite.properties {
            let _ = writeln!(
                text,
                r#"      <property name="{}" value="{}"/>"#,
                escape_xml(key),
                escape_xml(value)
            );
        }
        text += "    </properties>\n";
    }
    for case in &suite.cases {
        let (case_name, message) = (escape_xml(&case.name), escape_xml(&case.message));
        let _ = write!(text, r#"    <testcase classname="{name}" name="{case_name}""#);
        let _ = match case.outcome {
            CaseOutcome::Passed => writeln!(text, "><system-out>{message}</system-out></testcase>"),
            CaseOutcome::Failed => writeln!(text, r#"><failure message="{message}" type="FAIL"/></testcase>"#),
            CaseOutcome::Undecided => {
                writeln!(text, r#"><error message="{message}" type="INCONCLUSIVE"/></testcase>"#)
            }
            CaseOutcome::Skipped => writeln!(text, r#"><skipped message="{message}"/></testcase>"#),
        };
    }
    let _ = writeln!(text, "    <system-out>{}</system-out>", escape_xml(&suite.output));
    text + "  </testsuite>\n</testsuites>\n"
}

/// Escapes text for XML 1.0, which allows no control characters except tab and line ends.
fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\n' | '\t' => out.push(character),
            control if control.is_control() => out.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_valid_xml_and_counts_its_cases() {
        let case = |name: &str, outcome: CaseOutcome, message: &str| Case {
            name: name.into(),
            outcome,
            message: message.into(),
        };
        let suite = Suite {
            name: "provider-sla/ssd-ultra \"on\" /data".into(),
            started: "2026-11-22T14:05:00".into(),
            seconds: 330.5,
            cases: vec![
                case(
                    "iops >= 4000",
                    CaseOutcome::Passed,
                    "4000 (3999 to 4001) is at or above 4000",
                ),
                case("mean <= 3 ms", CaseOutcome::Failed, "5 ms & more"),
                case("p99 <= 3 ms", CaseOutcome::Undecided, "too few\u{1b}[0m"),
                case("availability >= 99 %", CaseOutcome::Skipped, "consistent"),
            ],
            properties: vec![("rate".into(), "4000".into())],
            output: "iops >= 4000\n\tfine".into(),
        };
        let text = document(&suite);
        let tree = roxmltree::Document::parse(&text).unwrap();
        let root = tree.root_element();
        assert_eq!(root.tag_name().name(), "testsuites");
        let suite_node = root.first_element_child().unwrap();
        for (attribute, value) in [
            ("tests", "4"),
            ("failures", "1"),
            ("errors", "1"),
            ("skipped", "1"),
            ("time", "330.500"),
        ] {
            assert_eq!(suite_node.attribute(attribute), Some(value), "{attribute}");
        }
        assert_eq!(
            suite_node.attribute("name"),
            Some("provider-sla/ssd-ultra \"on\" /data")
        );
        let cases: Vec<_> = suite_node
            .children()
            .filter(|node| node.has_tag_name("testcase"))
            .collect();
        let outcome_tags: Vec<&str> = cases
            .iter()
            .map(|case| case.first_element_child().unwrap().tag_name().name())
            .collect();
        assert_eq!(outcome_tags, ["system-out", "failure", "error", "skipped"]);
        assert_eq!(
            cases[1].first_element_child().unwrap().attribute("message"),
            Some("5 ms & more")
        );
        assert_eq!(
            cases[2].first_element_child().unwrap().attribute("message"),
            Some("too few\u{fffd}[0m")
        );
    }
}
