//! Every format from the same saved results, compared with golden files. `INSTA_UPDATE=always`
//! rewrites them.

use std::path::PathBuf;

use crate::check;
use crate::prelude::*;
use model::event::Event;
use report::live::{Live, Update};
use report::{formats, stream};

fn file(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/results")
        .join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn results(name: &str) -> Results {
    serde_json::from_str(&file(&format!("{name}.json"))).expect("an example is a saved result")
}

fn events(name: &str) -> Vec<Event> {
    let text = file(&format!("{name}.events.ndjson"));
    text.lines()
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect()
}

fn written(results: &Results, format: &str) -> String {
    let format = formats::find(format).expect("the format exists");
    let mut bytes = Vec::new();
    (format.write)(results, &mut bytes).expect("writing to memory succeeds");
    String::from_utf8(bytes).expect("formats are text")
}

#[test]
fn each_format_has_its_golden_files() {
    for (format, names) in [
        ("text", "mixed steps fleet"),
        ("json", "mixed paced"),
        ("csv", "mixed steps"),
        ("csv-percentiles", "mixed paced"),
        ("csv-histogram", "paced steps"),
        ("csv-ranks", "fleet"),
        ("markdown", "mixed fleet"),
        ("openmetrics", "mixed paced"),
    ] {
        for name in names.split(' ') {
            check(&format!("{format}-{name}"), &written(&results(name), format));
        }
    }
    // A single process has no ranks.
    assert_eq!(written(&results("mixed"), "csv-ranks").lines().count(), 1);
}

#[test]
fn findings_are_part_of_the_text() {
    let mut paced = results("paced");
    let lag = Finding::new("SCHED-LAG", Severity::Note, "1 % of the operations were issued late").at("paced");
    let clock = Finding::new(
        "CLOCK",
        Severity::Warning,
        "the clock went -250 ppm apart from the system's",
    );
    let clock = clock.why("latencies and rates are off by as much");
    // The gravest comes first, regardless of the order in which they were found.
    paced.findings = vec![lag, clock.help("set FATHOM_CLOCK=system and repeat")];
    check("text-paced", &written(&paced, "text"));
}

#[test]
fn text_charts_fit_80_columns_and_can_be_plain_ascii() {
    for name in ["mixed", "paced", "steps"] {
        let [plain, drawn] = [false, true].map(|unicode| report::charts::format_charts(&results(name), unicode));
        assert!(plain.is_ascii(), "{plain}");
        for line in plain.lines().chain(drawn.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        check(&format!("charts-{name}"), &drawn);
        check(&format!("charts-{name}-ascii"), &plain);
    }
}

#[test]
fn bars_of_a_histogram_add_up() {
    let results = results("mixed");
    let text = report::charts::format_charts(&results, true);
    let table = text.lines().skip_while(|line| !line.contains("latency up to")).skip(1);
    let operations = table.map_while(|line| {
        let (operations, _) = line.get(15..)?.trim_start().split_once(' ')?;
        operations.replace(',', "").parse::<u64>().ok()
    });
    let found = &results.steps[0].jobs[0];
    assert_eq!(operations.sum::<u64>(), found.total().latency().n());
}

#[test]
fn processor_time_is_split_if_there_is_enough_of_it() {
    let processor_line = |each_ms: u64| {
        let mut results = results("mixed");
        let workers = &mut results.steps[0].jobs[0].workers;
        for worker in workers.iter_mut() {
            worker.usage.user_ns = Nanos(0);
            worker.usage.system_ns = Nanos(0);
        }
        workers[0].usage.user_ns = Nanos::millis(each_ms);
        workers[0].usage.system_ns = Nanos::millis(each_ms);
        let text = written(&results, "text");
        let line = text.lines().find(|line| line.starts_with("  cpu ")).map(str::to_owned);
        line.expect("there is a line of processors")
    };
    let (little, enough) = (processor_line(499), processor_line(500));
    assert!(little.contains(" per operation, "), "{little}");
    assert!(!little.contains("in the kernel"), "{little}");
    assert!(enough.contains(" in the kernel)"), "{enough}");
}

#[test]
fn names_are_escaped_in_markdown() {
    let mut steps = results("steps");
    steps.plan.steps[0].jobs[0].name = "a|b </td><script>".into();
    let clock = Finding::new("CLOCK", Severity::Warning, "the clock went *wrong*").at("a|b");
    steps.findings = vec![Finding::new("NOTE", Severity::Note, "not shown"), clock];
    check("markdown-steps", &written(&steps, "markdown"));
}

#[test]
fn ndjson_stream() {
    let lines = |name: &str| -> String {
        let lines = events(name)
            .iter()
            .map(|event| stream::line(event) + "\n")
            .collect::<String>();
        lines + &stream::last_line(&results(name)) + "\n"
    };
    check("stream-paced", &lines("paced"));
    check("stream-steps", &lines("steps"));
}

#[test]
fn live_lines() {
    let shown = |name: &str, steps: u32| {
        let mut live = Live::new(steps);
        let line = |event: &Event| match live.apply(event) {
            Update::Nothing => "(nothing)\n".to_owned(),
            Update::State(text) => format!("state: {text}\n"),
            Update::Line(text) => format!("line:  {text}\n"),
        };
        events(name).iter().map(line).collect::<String>()
    };
    check("live-mixed", &shown("mixed", 1));
    check("live-paced", &shown("paced", 1));
    check("live-steps", &shown("steps", 2));
}

/// A run without any results still has a report.
#[test]
fn an_empty_result_does_not_panic() {
    let mut empty = results("mixed");
    for step in &mut empty.steps {
        for job in &mut step.jobs {
            (job.workers, job.series, job.histograms) = Default::default();
        }
    }
    check("text-empty", &written(&empty, "text"));
    empty.steps[0].jobs[0].ended = None;
    check("text-not-started", &written(&empty, "text"));
    empty.steps.clear();
    empty.hosts.clear();
    for format in formats::FORMATS {
        let _ = written(&empty, format.name);
    }
}
