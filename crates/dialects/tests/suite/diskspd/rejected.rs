//! Refused command lines, recorded from DiskSpd 2.2.

use serde_json::Value;

use crate::diskspd::support::{DATA, TestEnv, end};

fn texts(value: &Value) -> Vec<&str> {
    let list = value.as_array().expect("a list");
    list.iter().map(|text| text.as_str().expect("a text")).collect()
}

#[test]
fn refused_lines_have_the_recorded_messages() {
    let text = std::fs::read_to_string(format!("{DATA}/rejected.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(cases.len(), 33);
    let template = std::fs::read_to_string(format!("{DATA}/profiles/24-xml-template/template.xml")).unwrap();
    for case in &cases {
        let arguments = texts(&case["argv"]);
        let end = end(TestEnv::with_file("template.xml", &template).read(&arguments));
        assert_eq!(u64::from(end.code), case["exit"].as_u64().unwrap(), "{arguments:?}");
        assert_eq!(end.stderr, texts(&case["stderr"]), "{arguments:?}");
        assert!(end.stdout.is_empty(), "{arguments:?}");
    }
}
