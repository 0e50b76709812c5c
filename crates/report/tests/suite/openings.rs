//! The first screens of pages: several jobs, stalls, and figures that are not reliable.

use crate::pages::results;
use crate::prelude::*;
use model::diagnosis::{Answer, Diagnosis, DiagnosisNote, Evidence, JobDiagnosis};
use model::histogram::Histogram;
use model::results::SyncResults;
use report::html;
use report::html::page::{Block, Page, Tone, Verdict};
use report::html::run::{self, PageContext};

#[test]
fn several_jobs_have_one_opening() {
    let mut results = results("steps");
    let at = |rule: &str, job: &str| {
        let what = format!("{rule} of {job}");
        Finding::new(rule, Severity::Warning, what).at(job)
    };
    results.findings = vec![
        at("D-CPU", "fill"),
        at("D-CPU", "check"),
        at("PCT-UNSUPPORTED", "check"),
        Finding::new("GUARD", Severity::Note, "a file").at("/t/f"),
    ];
    let limit = |name: &str, step: u32, by: &str| JobDiagnosis {
        name: name.into(),
        step,
        diagnosis: Diagnosis {
            answer: Answer::Processor,
            sentence: format!("{by} limit {name}"),
            ..Diagnosis::default()
        },
        ..JobDiagnosis::default()
    };
    let limits = |page: &Page| -> Vec<(String, String)> {
        let limits = page.lead.iter().filter(|lead| lead.topic.starts_with("What limits"));
        limits.map(|lead| (lead.topic.clone(), lead.sentence.clone())).collect()
    };
    let context_with = |by: &str| PageContext {
        diagnoses: vec![limit("fill", 0, by), limit("check", 1, by)],
        ..PageContext::default()
    };
    let context = context_with("other programs");
    let page = run::create_page(&results, &context);
    assert_eq!(
        (&*page.verdict.word, &*page.verdict.sentence),
        (
            "NOT RELIABLE",
            "Other programs kept the processors busy in both jobs. Warning: PCT-UNSUPPORTED of check."
        )
    );
    let clauses: Vec<&str> = page.verdict.clauses.iter().map(|clause| &*clause.promised).collect();
    assert_eq!(clauses, ["fill", "check"]);
    assert!(page.verdict.clauses[0].sentence.contains(" MB/s, flush 100 us"));
    assert!(
        page.verdict.notes[0].starts_with("Tested: 13 ms to 100 ms on "),
        "{:?}",
        page.verdict.notes
    );
    assert!(
        page.about.iter().any(|line| line.starts_with("check: ")),
        "{:?}",
        page.about
    );
    let tiles: Vec<&str> = page.tiles.iter().map(|tile| &*tile.name).collect();
    assert_eq!(tiles, ["fill", "check"]);
    // Equal findings and limits are stated once.
    let findings: Vec<&str> = page.findings.iter().map(|finding| &*finding.what).collect();
    let merged = "D-CPU of fill (fill; also in check)";
    assert_eq!(findings, [merged, "PCT-UNSUPPORTED of check", "a file"]);
    assert_eq!(page.findings[1].at.as_deref(), Some("check"));
    let merged = "Other programs limit fill (fill; also in check).";
    assert_eq!(limits(&page), [("What limits them".to_owned(), merged.to_owned())]);
    // Other reasons are those of one job.
    let apart = limits(&run::create_page(&results, &context_with("these processors")));
    let apart: Vec<&str> = apart.iter().map(|(topic, _)| topic.as_str()).collect();
    assert_eq!(apart, ["What limits fill", "What limits check"]);
    // The jobs of a finding are not cut off as details after a semicolon.
    results.findings = ["fill", "check"].map(|job| at("MIX-DRIFT", job)).to_vec();
    let sentence = run::create_page(&results, &context).verdict.sentence;
    sentence.assert_contains(&["Warning: MIX-DRIFT of fill (fill; also in check)."]);
}

#[test]
fn percentiles_without_enough_operations_take_little_room() {
    let page = run::create_page(&results("steps"), &PageContext::default());
    let blocks = page.sections.iter().flat_map(|section| &section.blocks);
    let figures = blocks.filter_map(|block| match block {
        Block::Table(table) if table.caption.starts_with("Figures") => Some(table),
        _ => None,
    });
    for row in figures.flat_map(|table| &table.rows) {
        assert!(row.iter().all(|cell| cell != "too few operations"), "{row:?}");
        assert!(row[1..].iter().any(|cell| cell != "-"), "{row:?}");
    }
}

#[test]
fn stalls_and_a_falling_rate_are_stated_in_the_box() {
    let mut results = results("mixed");
    results.plan.origin.arguments = ["fathom", "run", "--target", "x", "--save", "a.fathom"]
        .map(str::to_owned)
        .to_vec();
    let stalls = "no operation completed for 2.0 s, at 14:54:19 UTC (25.0 s)";
    results.findings = vec![Finding::new("STALLS", Severity::Warning, stalls)];
    let context = PageContext::default().with(|context| context.calm_iops = Some(17_600.0));
    let page = run::create_page(&results, &context);
    assert_eq!((&*page.verdict.word, page.verdict.tone), ("STALLED", Tone::Unsure));
    assert_eq!(
        page.verdict.sentence,
        "No operation completed for 2.0 s, at 14:54:19 UTC (25.0 s). Outside of that time: 17,600 IOPS."
    );
    let next = page.lead.iter().find(|lead| lead.topic == "What next").unwrap();
    assert_eq!(
        next.sentence,
        "Repeat the test for longer, to see whether stalls recur."
    );
    assert_eq!(
        next.advice[0],
        "`fathom run --target x --save a-again.fathom --time 300s`"
    );
    assert!(
        next.advice[1].starts_with("then judge it by your own limits, for example: `"),
        "{:?}",
        next.advice
    );
    let verdict = Verdict {
        word: "PASS".into(),
        tone: Tone::Good,
        notes: ["first", "second", "third"].map(str::to_owned).to_vec(),
        ..Verdict::default()
    };
    let judged = PageContext::default().with(|context| context.verdict = verdict);
    let page = run::create_page(&results, &judged);
    assert_eq!(page.verdict.word, "PASS, one stall of 2.0 s");
    // What was tested is never folded.
    let text = html::render_file(&page);
    let folded = text.split("<details><summary>2 more notes</summary>").nth(1).unwrap();
    let folded = folded.split("</details>").next().unwrap();
    assert!(
        folded.contains("third") && !folded.contains("Scope of this verdict"),
        "{folded}"
    );

    let fell = "operations per second fell from 44,500 to 18,400 (-59 %) between the first and the last 6 s of 60 s";
    results.findings = vec![
        Finding::new("NOT-STEADY", Severity::Warning, fell),
        Finding::new("D-CPU", Severity::Warning, "1.9 of 2 processors"),
    ];
    let page = run::create_page(&results, &PageContext::default());
    assert_eq!(
        page.verdict.sentence,
        "The rate fell from 44,500 to 18,400 IOPS, and other programs kept the processors busy."
    );
    let next = page.lead.iter().find(|lead| lead.topic == "What next").unwrap();
    assert!(
        next.advice[1].starts_with("then judge it by your own limits, for example: `"),
        "{:?}",
        next.advice
    );
}

/// The rate that was missed is the same event, and the repetition begins after it.
#[test]
fn the_end_of_credits_is_one_finding_with_one_action() {
    let mut results = results("mixed");
    results.plan.origin.arguments = ["fathom", "run", "--target", "x"].map(str::to_owned).to_vec();
    let fell = "the rate fell from 6000 to 3000 IOPS 30 s into the measured window";
    results.findings = ["RATE-NOT-KEPT", "D-BURST-END"]
        .map(|rule| Finding::new(rule, Severity::Warning, format!("{fell}; only that can be sustained")))
        .to_vec();
    let advice = "to judge the sustained rate, measure after the step, with 40 s of warm-up";
    let mut context = PageContext {
        diagnoses: vec![JobDiagnosis {
            diagnosis: Diagnosis {
                answer: Answer::BurstEnd,
                sentence: fell.into(),
                advice: vec![advice.into()],
                evidence: vec![Evidence {
                    what: "level after".into(),
                    value: 500.0,
                    unit: "IOPS".into(),
                    ..Evidence::default()
                }],
                ..Diagnosis::default()
            },
            ..JobDiagnosis::default()
        }],
        ..PageContext::default()
    };
    let page = run::create_page(&results, &context);
    assert_eq!(
        (&*page.verdict.word, &*page.verdict.sentence),
        (
            "NOT STEADY",
            "The rate fell from 6000 to 3000 IOPS 30 s into the measured window."
        )
    );
    let rules: Vec<&str> = page.findings.iter().map(|finding| &*finding.rule).collect();
    assert_eq!(rules, ["D-BURST-END"]);
    let next = page.lead.iter().find(|lead| lead.topic == "What next").unwrap();
    assert_eq!(next.sentence, "Repeat the test with a longer warm-up.");
    assert_eq!(
        next.advice[0],
        "`fathom run --target x --warm-up 40s --save again.fathom`"
    );
    assert_contains(&next.advice[1], "--require 'iops>=450,p99<=");
    // The limits are for all jobs.
    let mut slower = context.diagnoses[0].clone();
    slower.diagnosis.evidence[0].value = 400.0;
    context.diagnoses.push(slower);
    let page = run::create_page(&results, &context);
    let next = page.lead.iter().find(|lead| lead.topic == "What next").unwrap();
    assert_contains(&next.advice[1], "--require 'iops>=360,p99<=");
}

#[test]
fn a_second_cause_follows_the_decisive_one() {
    let note = |rule: &str, what: &str| DiagnosisNote {
        rule: rule.into(),
        what: what.into(),
    };
    let context = PageContext {
        diagnoses: vec![JobDiagnosis {
            diagnosis: Diagnosis {
                answer: Answer::Processor,
                sentence: "other programs used 1.9 of 2 processors".into(),
                also: vec![
                    note("D-STALL", "nothing completed"),
                    note("D-CAP", "disk: 3000 IOPS reach its limit"),
                ],
                ..Diagnosis::default()
            },
            ..JobDiagnosis::default()
        }],
        ..PageContext::default()
    };
    let page = run::create_page(&results("mixed"), &context);
    let limits = page.lead.iter().find(|lead| lead.topic == "What limits it").unwrap();
    assert_eq!(
        limits.sentence,
        "Other programs used 1.9 of 2 processors. Also possible: disk: 3000 IOPS reach its limit."
    );
}

#[test]
fn a_commit_is_a_write_and_its_flush() {
    let mut results = results("mixed");
    let workers = results.steps[0].jobs[0].workers.iter_mut();
    for stream in workers.flat_map(|worker| &mut worker.streams) {
        let writes = stream.directions[Direction::Write].as_ref().unwrap().operations;
        let mut latency = Histogram::new();
        latency.record_times(1_000_000, writes);
        stream.sync = Some(SyncResults {
            operations: writes,
            latency,
        });
    }
    let summary = report::Summary::from_results(&results);
    let commit_ns = summary.jobs[0].commit_ns().unwrap();
    let write_ns = summary.jobs[0].write.as_ref().unwrap().latency.mean_ns;
    assert!((commit_ns - write_ns - 1e6).abs() < 1.0, "{commit_ns} {write_ns}");
    let page = run::create_page(&results, &PageContext::default());
    let latency = page.tiles.iter().find(|tile| tile.name == "Mean latency").unwrap();
    let commit = report::numbers::format_time(commit_ns);
    assert_contains(&latency.note, &format!("; commit (write and flush) {commit}"));
    let mut rows = page
        .sections
        .iter()
        .flat_map(|section| &section.blocks)
        .filter_map(|block| match block {
            Block::Table(table) => Some(&table.rows),
            _ => None,
        });
    let row = [
        "commits, each a write and its flush".to_owned(),
        format!("mean {commit}"),
    ];
    assert!(rows.any(|rows| rows.iter().any(|cells| cells == &row)));
}

/// One operation of 3 ns stretched the axis over seven decades.
#[test]
fn a_few_fast_operations_do_not_stretch_the_axis() {
    let mut latency = Histogram::new();
    latency.record_times(3, 1);
    latency.record_times(1_000_000, 999);
    let histograms = [("reads".to_owned(), html::chart::Tone::Read, &latency)];
    let chart = run::percentile_curve("p".into(), "P".into(), &histograms).unwrap();
    let drawn = &chart.series[0].y;
    assert_eq!(drawn[0], None);
    assert!(drawn[1..].iter().all(Option::is_some), "{drawn:?}");
    assert!(
        chart
            .about
            .ends_with("faster than a hundredth of the median are not drawn.")
    );
}
