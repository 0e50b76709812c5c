//! Findings as SARIF 2.1.0, which code scanners and editors read.

use model::finding::Finding;
use serde_json::{Value, json};

/// Formats the SARIF document. `artifact` is the checked file, if any.
pub fn document(findings: &[Finding], artifact: Option<&str>) -> String {
    let mut rules: Vec<&Finding> = Vec::new();
    for finding in findings {
        if !rules.iter().any(|listed| listed.rule == finding.rule) {
            rules.push(finding);
        }
    }
    let rule = |finding: &&Finding| {
        let mut rule = json!({ "id": finding.rule });
        let texts = [("fullDescription", &finding.why), ("help", &finding.help)];
        for (key, text) in texts.into_iter().filter_map(|(key, text)| Some((key, text.as_ref()?))) {
            rule[key] = json!({ "text": text });
        }
        rule
    };
    let result = |finding: &Finding| {
        let mut result = json!({
            "ruleId": finding.rule,
            "ruleIndex": rules.iter().position(|listed| listed.rule == finding.rule),
            "level": finding.severity.word(),
            "message": { "text": crate::diagnosis::format_sentence(&finding.what) },
        });
        let mut location = json!({});
        if let Some(file) = artifact {
            location["physicalLocation"] = json!({ "artifactLocation": { "uri": path_to_uri(file) } });
        }
        if let Some(at) = &finding.at {
            location["logicalLocations"] = json!([{ "fullyQualifiedName": at }]);
        }
        if location != json!({}) {
            result["locations"] = json!([location]);
        }
        result
    };
    let results: Vec<Value> = findings.iter().map(result).collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "fathom",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            } },
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&document).expect("plain values are valid JSON") + "\n"
}

/// Converts a path to a URI: relative to the working directory, or with `file://`.
fn path_to_uri(path: &str) -> String {
    let encoded = path.bytes().map(|byte| match byte {
        b'/' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    std::iter::once(scheme.to_owned()).chain(encoded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::finding::Severity;

    #[test]
    fn results_refer_to_their_rule_and_file() {
        let found = [
            Finding::new("A", Severity::Error, "it is short")
                .at("job `x`")
                .help("longer"),
            Finding::new("B", Severity::Note, "other"),
            Finding::new("A", Severity::Warning, "again"),
        ];
        let value: Value = serde_json::from_str(&document(&found, Some("/a b/ü.toml"))).unwrap();
        let run = &value["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert_eq!(rules.iter().map(|rule| &rule["id"]).collect::<Vec<_>>(), ["A", "B"]);
        assert_eq!(rules[0]["help"]["text"], "longer");
        let results = run["results"].as_array().unwrap();
        let levels: Vec<_> = results
            .iter()
            .map(|result| (&result["level"], &result["ruleIndex"]))
            .collect();
        assert_eq!(
            levels,
            [
                (&json!("error"), &json!(0)),
                (&json!("note"), &json!(1)),
                (&json!("warning"), &json!(0))
            ]
        );
        let location = &results[0]["locations"][0];
        assert_eq!(
            location["physicalLocation"]["artifactLocation"]["uri"],
            "file:///a%20b/%C3%BC.toml"
        );
        assert_eq!(location["logicalLocations"][0]["fullyQualifiedName"], "job `x`");
        let without: Value = serde_json::from_str(&document(&found[1..2], None)).unwrap();
        assert_eq!(without["runs"][0]["results"][0]["locations"], Value::Null);
    }
}
