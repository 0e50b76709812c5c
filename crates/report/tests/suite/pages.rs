//! Pages for browsers: what they show, that their figures are those of the results, and that text
//! is escaped.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::check;
use crate::prelude::*;
use model::diagnosis::{Answer, Diagnosis, JobDiagnosis, LayerUse};
use model::event::{Counts, Phase};
use model::results::PhaseInterval;
use report::html::chart::{Chart, Form, X};
use report::html::page::{Block, Clause, JudgeCommand, Lead, Line, Page, Tone, Verdict};
use report::html::run::{self, Change, PageContext};
use report::html::{self, to_identifier};

pub(super) fn results(name: &str) -> Results {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/data/results/{name}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("an example is a saved result")
}

fn charts(page: &Page) -> BTreeMap<String, &Chart> {
    let blocks = page.sections.iter().flat_map(|section| &section.blocks);
    let below = blocks.filter_map(|block| match block {
        Block::Chart(chart) => Some(&**chart),
        Block::Text(_) | Block::Table(_) | Block::Path(_) | Block::Code { .. } => None,
    });
    let charts = page.charts.iter().chain(below);
    charts.map(|chart| (chart.id.clone(), chart)).collect()
}

/// The part of the first screen that says what to do next.
fn next_steps(page: &Page) -> &Lead {
    page.lead.iter().find(|lead| lead.topic == "What next").unwrap()
}

fn number(x: &X) -> f64 {
    match x {
        X::Number(number) => *number,
        X::Name(name) => panic!("{name} is not a number"),
    }
}

/// Arguments of a command line, one for each word.
fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// The page without its style sheet, scripts and figures.
fn markup(page: &Page) -> String {
    let mut text = html::render_file(page);
    for (begin, end) in [("<style>", "</style>"), ("<script", "</script>")] {
        let mut kept = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once(begin) {
            kept += before;
            rest = after.split_once(end).expect("every element is closed").1;
        }
        text = kept + rest;
    }
    // The digests of the scripts change with the scripts.
    let policy = text
        .find("script-src ")
        .expect("the page has a content security policy");
    let end = policy + text[policy..].find(';').expect("the directive ends");
    text.replace_range(policy..end, "script-src …");
    // The page shows the time in the reader's time zone.
    let started = "2026-01-01T00:00:00Z";
    let local = report::numbers::local_time(started);
    let (date, time) = local.split_once(' ').expect("a date and a time");
    let whole_date = format!("<span class=\"option\">{date}</span> {time}");
    text.replace(&whole_date, started).replace(&local, started)
}

/// Every chart in a few lines.
fn outline(page: &Page) -> String {
    let mut text = String::new();
    for chart in charts(page).values() {
        let _ = writeln!(text, "{}: {}", chart.id, chart.title);
        let _ = writeln!(
            text,
            "  x: {} {:?}, y: {} {:?}",
            chart.x.title_with_unit(),
            chart.x.scale,
            chart.y.title_with_unit(),
            chart.y.scale
        );
        for series in &chart.series {
            let weak = if series.weak { ", weak" } else { "" };
            let _ = writeln!(
                text,
                "  {:?} `{}`, {} points{weak}",
                series.form,
                series.name,
                series.y.len()
            );
        }
        for mark in &chart.marks {
            let _ = writeln!(text, "  mark `{}` at {}", mark.words, mark.at);
        }
        if let Some(heat) = &chart.heat {
            let _ = writeln!(text, "  heat of {} × {}, {}", heat.x.len(), heat.y.len(), heat.title);
        }
    }
    text
}

pub(super) fn verdict_context() -> PageContext {
    PageContext {
        verdict: Verdict {
            word: "FAIL".into(),
            tone: Tone::Bad,
            sentence: "The storage does not meet the requirement: iops >= 4000.".into(),
            ..Verdict::default()
        },
        diagnoses: vec![JobDiagnosis {
            name: "job1".into(),
            diagnosis: Diagnosis {
                answer: Answer::Cap,
                sentence: "VM: 1953 IOPS are 101.7 % of its limit of 1920 IOPS".into(),
                layer: Some("VM".into()),
                layers: vec![LayerUse {
                    layer: "VM".into(),
                    unit: "IOPS".into(),
                    limit: 1920.0,
                    used: 1953.0,
                    share: 1.017,
                    binds: true,
                    ..LayerUse::default()
                }],
                advice: vec!["a larger machine".into()],
                ..Diagnosis::default()
            },
            ..JobDiagnosis::default()
        }],
        changes: vec![Change::default().with(|change| (change.at_secs, change.words) = (1.0, "100 to 50 IOPS".into()))],
        ..PageContext::default()
    }
}

#[test]
fn a_page_of_a_run() {
    let page = run::create_page(&results("mixed"), &verdict_context());
    check("page-mixed", &markup(&page));
    check("page-mixed-charts", &outline(&page));
}

#[test]
fn a_page_of_several_jobs() {
    let page = run::create_page(&results("steps"), &PageContext::default());
    check("page-steps-charts", &outline(&page));
}

#[test]
fn a_repetition_at_twice_the_depth_is_no_part_of_the_first_screen() {
    let mut results = results("steps");
    let context = PageContext::default().with(|context| context.diagnoses = verdict_context().diagnoses);
    assert_eq!(run::create_page(&results, &context).tiles.len(), 2, "several jobs");
    results.plan.origin.arguments = words("fathom run --confirm");
    let page = run::create_page(&results, &context);
    let charts: Vec<&str> = page.charts.iter().map(|chart| chart.id.as_str()).collect();
    // The only interval is no curve over time.
    assert_eq!(charts, ["s0j0-percentiles"]);
    assert!(page.tiles.len() >= 3, "{:?}", page.tiles);
}

/// Four ranks, with the findings of the checks.
fn fleet() -> Results {
    let mut results = results("fleet");
    let note = |rule: &str, severity, what: &str, at: &str| Finding::new(rule, severity, what).at(at);
    results.findings = vec![
        note(
            "HOST-LOST",
            Severity::Error,
            "this host was lost: its process has ended",
            "db3 (rank 3)",
        ),
        note(
            "HOSTS-DIFFER",
            Severity::Note,
            "not as db1: kernel 6.6.0 instead of 6.12.0",
            "db2",
        ),
        note(
            "STRAGGLER",
            Severity::Warning,
            "db2 (rank 2) did 5000 operations per second, 50 % of what is usual among these hosts",
            "shared",
        ),
    ];
    results
}

#[test]
fn a_page_of_a_test_on_several_hosts() {
    let page = run::create_page(&fleet(), &PageContext::default());
    check("page-fleet", &markup(&page));
    check("page-fleet-charts", &outline(&page));
    // How many hosts took part, and which were lost, comes before everything else.
    assert!(
        page.about
            .iter()
            .any(|line| line == "3 hosts took part (4 processes, by ssh); 1 of them lost"),
        "{:?}",
        page.about
    );
    assert_eq!(page.lead[0].topic, "A host was lost");
    assert!(page.lead[0].sentence.starts_with("db3 (rank 3): its process has ended"));
}

#[test]
fn the_lines_of_ranks_add_up_to_the_line_of_the_test() {
    let results = fleet();
    let page = run::create_page(&results, &PageContext::default());
    let charts = charts(&page);
    let lines = &charts["ranks-over-time"].series;
    assert_eq!(lines.len(), 4);
    let first = |series: &html::chart::Series| -> f64 { series.y[..10].iter().map(|y| y.unwrap()).sum() };
    let sum: f64 = lines.iter().map(first).sum();
    let whole: f64 = charts["iops"].series.iter().take(1).map(first).sum();
    assert!((sum - whole).abs() < 1e-6 * whole, "{sum} of {whole}");
    // Each rank has one bar, with its own description.
    let bars = &charts["ranks"].series;
    let bar_positions = |name: &str| -> Vec<usize> {
        let series = bars.iter().find(|series| series.name == name).unwrap();
        (0..4).filter(|number| series.y[*number].is_some()).collect()
    };
    assert_eq!(bar_positions("normal"), [0, 1]);
    assert_eq!(bar_positions("straggler"), [2]);
    assert_eq!(bar_positions("lost (partial)"), [3]);
}

#[test]
fn the_outermost_of_many_ranks_and_a_band_are_drawn() {
    let mut results = fleet();
    let ranks = results.fleet.as_ref().unwrap().ranks.clone();
    let job = &mut results.steps[0].jobs[0];
    let (workers, series) = (job.workers.clone(), job.rank_series.clone());
    // A thousand ranks like the first, with the slow one among them.
    let fleet = results.fleet.as_mut().unwrap();
    (job.workers, job.rank_series, fleet.ranks) = Default::default();
    for number in 0..1000 {
        let like = if number == 700 { 2 } else { 0 };
        let (mut worker, mut series, mut rank) = (workers[like].clone(), series[like].clone(), ranks[like].clone());
        (worker.rank, series.rank) = (number, number);
        rank.host = format!("h{number}");
        job.workers.push(worker);
        job.rank_series.push(series);
        fleet.ranks.push(rank);
    }
    let page = run::create_page(&results, &PageContext::default());
    let charts = charts(&page);
    let lines = &charts["ranks-over-time"].series;
    let names: Vec<&str> = lines.iter().map(|series| series.name.as_str()).collect();
    assert!(names[0].starts_with("median: ") && names[1] == "slowest: 700 h700" && names[2].starts_with("fastest: "));
    assert_eq!(lines[0].low, lines[1].y);
    assert_eq!(lines[0].high, lines[2].y);
    assert_eq!(charts["ranks"].series[0].y.len(), 128);
    let tables = page.sections.iter().flat_map(|section| &section.blocks);
    let rows = tables.filter_map(|block| match block {
        Block::Table(table) if table.caption.starts_with("The 256 of 1000 ranks") => Some(&table.rows),
        _ => None,
    });
    let rows: Vec<_> = rows.flatten().collect();
    assert_eq!(rows.len(), 256);
    assert!(rows.iter().any(|row| row[1] == "h700"));
}

#[test]
fn figures_of_charts_are_those_of_the_results() {
    let results = results("mixed");
    let page = run::create_page(&results, &PageContext::default());
    let charts = charts(&page);
    let job = &results.steps[0].jobs[0];
    let directions = job.directions();

    // Rates over time times the length of the intervals are the operations.
    let measured = job.measured().as_secs();
    for (name, direction) in [("reads", Direction::Read), ("writes", Direction::Write)] {
        let series = charts["iops"].series.iter().find(|series| series.name == name).unwrap();
        let ends = series.x.iter().skip(1).map(number).chain([measured]);
        let intervals = series.x.iter().zip(ends).zip(&series.y);
        let operations: f64 = intervals.map(|((x, end), y)| (end - number(x)) * y.unwrap()).sum();
        let counted = directions[direction].as_ref().unwrap().operations as f64;
        assert!(
            (operations - counted).abs() < 1e-6 * counted + 1e-6,
            "{name}: {operations} of {counted}"
        );
    }

    // The curve of percentiles passes through the quantiles, and ends at the slowest operation.
    let latency = directions.read.as_ref().unwrap().latency();
    let curve: Vec<(f64, f64)> = charts["percentiles"]
        .series
        .iter()
        .filter(|series| series.name.starts_with("reads"))
        .flat_map(|series| series.x.iter().map(number).zip(series.y.iter().map(|y| y.unwrap())))
        .collect();
    let unit = match charts["percentiles"].y.unit.as_str() {
        "us" => 1e3,
        "ms" => 1e6,
        other => panic!("{other}"),
    };
    let latency_at = |nines: f64| {
        curve
            .iter()
            .find(|(x, _)| (x - nines).abs() < 1e-9)
            .map(|(_, y)| y * unit)
    };
    assert_eq!(latency_at(0.0).unwrap().round() as u64, latency.min());
    assert_eq!(latency_at(1.0).unwrap().round() as u64, latency.quantile(0.9));
    assert_eq!((curve.last().unwrap().1 * unit).round() as u64, latency.max());

    // Every operation is in exactly one cell of the heat map.
    let heat = charts["heat"].heat.as_ref().unwrap();
    let in_fields: f64 = heat.z.iter().flatten().flatten().sum();
    assert_eq!(
        in_fields as u64,
        job.histograms
            .iter()
            .flat_map(|histogram| histogram.latency.iter())
            .filter_map(|(_, found)| found.as_ref())
            .map(|found| found.n())
            .sum::<u64>()
    );

    // The plane shows the rate of each job; for a single job it is not drawn.
    assert!(!charts.contains_key("plane"));
    let points = [1000.0, 2000.0].map(|iops| run::PlanePoint {
        name: "a job".into(),
        iops,
        mean_ns: 1e6,
    });
    let plane = run::plane_chart("plane", "", &points).unwrap();
    let measured = plane.series.iter().find(|series| series.form != Form::Guide).unwrap();
    assert_eq!(measured.x.iter().map(number).collect::<Vec<_>>(), [1000.0, 2000.0]);
}

#[test]
fn phases_are_shown_next_to_the_measured_window() {
    let mut results = results("mixed");
    let interval = |phase: Phase, second: u64, operations: u64| PhaseInterval {
        phase,
        start_ns: Nanos::secs(second),
        length_ns: Nanos::secs(1),
        counts: PerDirection::from_reads(Counts::new(operations, Bytes(operations * 4096))),
    };
    let job = &mut results.steps[0].jobs[0];
    job.around = vec![
        interval(Phase::WarmUp, 0, 50),
        interval(Phase::WarmUp, 1, 80),
        interval(Phase::Verify, 0, 30),
    ];
    let measured = job.measured().as_secs();
    let page = run::create_page(&results, &PageContext::default());
    let chart = charts(&page)["iops"];
    let points = |name: &str| -> Vec<(f64, f64)> {
        let series = chart.series.iter().find(|series| series.name == name).unwrap();
        let x = series.x.iter().map(number);
        x.zip(series.y.iter().map(|y| y.unwrap())).collect()
    };
    // Only the end of a long warm-up is drawn before a short window.
    assert_eq!(points("warm-up, all"), [(-1.0, 80.0), (0.0, 80.0)]);
    assert_eq!(points("verification, all"), [(measured, 30.0), (measured + 1.0, 30.0)]);
    let bands: Vec<(f64, Option<f64>, &str)> = chart
        .marks
        .iter()
        .filter(|mark| mark.to.is_some())
        .map(|mark| (mark.at, mark.to, mark.words.as_str()))
        .collect();
    assert_eq!(
        bands,
        [
            (-1.0, Some(0.0), "warm-up, last 1 of 2 s"),
            (measured, Some(measured + 1.0), "verification")
        ]
    );
}

#[test]
fn percentiles_without_enough_samples_are_marked_weak() {
    let results = results("mixed");
    let page = run::create_page(&results, &PageContext::default());
    let charts = charts(&page);
    let n = results.steps[0].jobs[0].directions().read.as_ref().unwrap().operations as f64;
    for series in &charts["percentiles"].series {
        let last = series.x.iter().map(number).fold(0.0, f64::max);
        // Ten operations are beyond 1 − 10^−x if n × 10^−x is ten.
        if series.name == "reads" {
            assert!(
                n * 10f64.powf(-last) >= 10.0,
                "{} supports {last} nines of {n}",
                series.name
            );
        }
    }
    assert!(charts["percentiles"].series.iter().any(|series| series.weak));
}

#[test]
fn names_are_escaped() {
    let mut results = results("mixed");
    let nasty = "</script><script>alert(1)</script>'\"><img src=x onerror=alert(2)>";
    results.plan.name = nasty.into();
    results.plan.steps[0].jobs[0].name = nasty.into();
    results.steps[0].jobs[0].name = nasty.into();
    results.plan.targets[0].path = nasty.into();
    for target in &mut results.hosts[0].environment.targets {
        target.path = nasty.into();
    }
    let page = run::create_page(&results, &PageContext::default());
    let text = html::render_file(&page);
    // No name became a script or another element, and each is there as text.
    text.assert_lacks(&["<script>alert", "<img"]);
    text.assert_contains(&["&lt;/script&gt;&lt;script&gt;alert(1)"]);
    to_identifier(nasty).assert_is("script--script-alert-1---script-----img-src-x-onerror-aler");
}

#[test]
fn an_undecided_promise_suggests_a_repetition_that_is_long_enough() {
    let mut results = results("mixed");
    results.plan.origin.arguments = words("fathom verify /data --quick --rate=500");
    let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let context = PageContext {
        verdict: Verdict {
            word: "INCONCLUSIVE".into(),
            tone: Tone::Unsure,
            options: vec![option("--time", "2000s"), option("--rate", "900")],
            actions: vec!["stop make, then repeat".into(), "stop make, or repeat later".into()],
            ..Verdict::default()
        },
        ..PageContext::default()
    };
    let next = |context: &PageContext| next_steps(&run::create_page(&results, context)).clone();
    let once = next(&context);
    assert_eq!(once.advice, ["`fathom verify /data --rate=900 --time 2000s`"]);
    assert!(
        once.sentence.starts_with("Stop make, then repeat."),
        "{}",
        once.sentence
    );
    assert!(!once.sentence.contains("later"), "{}", once.sentence);
    let tier = ("if it is P15".to_owned(), option("--tier", "P15"));
    let cases = context.with(|context| context.verdict.alternatives = vec![tier]);
    next(&cases)
        .advice
        .assert_is(&["if it is P15: `fathom verify /data --rate=900 --time 2000s --tier P15`"]);
}

#[test]
fn a_judged_result_is_repeated_and_judged_again() {
    let mut results = results("mixed");
    results.plan.origin.arguments = words("fathom run --target /d --save a.fathom --report a.html");
    results.plan.origin.directory = Some("/home/dba".into());
    let context = PageContext {
        verdict: Verdict {
            word: "INCONCLUSIVE".into(),
            tone: Tone::Unsure,
            options: vec![("--time".into(), "300s".into())],
            actions: vec!["stop the other programs (mysqld), then repeat for the full 5 min: --time 300s".into()],
            judged_by: Some(JudgeCommand {
                arguments: words("fathom report a.fathom --require p99<=3ms -o b.html"),
                file: "a.fathom".into(),
            }),
            ..Verdict::default()
        },
        ..PageContext::default()
    };
    let page = run::create_page(&results, &context);
    let next = next_steps(&page);
    assert_eq!(
        next.sentence,
        "Stop the other programs (mysqld), then repeat for the full 5 min. On host example, in /home/dba:"
    );
    next.advice.assert_is(&[
        "`fathom run --target /d --save a-again.fathom --report a-again.html --time 300s`",
        "`fathom report a-again.fathom --require 'p99<=3ms' -o b-again.html`",
    ]);
}

#[test]
fn an_untested_figure_and_a_judged_percentile_are_shown() {
    let mut results = results("mixed");
    results.plan.origin.arguments = words("fathom verify d.toml --report a.html");
    let help = "the target is the limit; find what it can do: `fathom sweep TARGET --over depth=1..64`";
    results.findings = vec![Finding::new("SCHED-LAG", Severity::Note, "late").help(help)];
    let context = PageContext {
        verdict: Verdict {
            word: "PASS".into(),
            tone: Tone::Good,
            clauses: vec![Clause {
                tone: Tone::Good,
                line: Some(Line::Percentile(0.999, 3e6)),
                ..Clause::default()
            }],
            untested: Some(("throughput".into(), ("--block".into(), "64KiB".into()))),
            ..Verdict::default()
        },
        ..PageContext::default()
    };
    let page = run::create_page(&results, &context);
    let next = next_steps(&page);
    next.advice[1]
        .assert_is("to test the throughput as well: `fathom verify d.toml --report a-throughput.html --block 64KiB`");
    assert!(page.tiles.iter().any(|tile| tile.name == "99.9 % took no longer than"));
    // `verify` takes its load from options, not from the job file.
    let help = page.findings[0].help.as_ref().unwrap();
    assert!(help.contains("`fathom sweep d.toml --block 8KiB --read 7"), "{help}");
}

#[test]
fn a_page_without_a_promise_explains_how_to_judge_the_result() {
    let mut results = results("mixed");
    results.hosts[0].environment.targets[0].kind = "file".into();
    let context = PageContext::default().with(|context| context.comparison = "An operation took 1 ms.".into());
    let judge = |results: &Results| {
        let page = run::create_page(results, &context);
        let advice = next_steps(&page).advice.clone();
        (page.verdict, advice)
    };
    results.plan.origin.arguments = ["/opt/fathom", "run", "--target", "x", "--save", "a b.fathom"]
        .map(str::to_owned)
        .to_vec();
    let (quality, advice) = judge(&results);
    assert!(
        quality
            .sentence
            .starts_with("An operation took 1 ms. The mean rate is known within"),
        "{quality:?}"
    );
    assert_eq!((&*quality.word, quality.tone), ("STEADY", Tone::Good));
    assert!(
        quality.notes[0].starts_with("Tested: ") && quality.notes[0].ends_with("Commits (fsync) were not tested."),
        "{quality:?}"
    );
    assert!(
        advice[0].contains("`/opt/fathom report 'a b.fathom' --require 'iops>="),
        "{advice:?}"
    );
    // Other programs make the figures unreliable, so the test is repeated first.
    results.findings = vec![
        Finding::new("OTHER-LOAD", Severity::Warning, "50 % of the traffic"),
        Finding::new("D-CPU", Severity::Warning, "1.9 of 2 processors"),
        // The storage is not to blame for it.
        Finding::new("NOT-STEADY", Severity::Warning, "rose by 50 %"),
    ];
    let (quality, _) = judge(&results);
    assert_eq!((&*quality.word, quality.tone), ("NOT RELIABLE", Tone::Unsure));
    let reason = "Other programs used the disk and kept the processors busy.";
    assert_eq!(quality.sentence, reason);
    results.findings.pop();
    let (_, advice) = judge(&results);
    assert_eq!(advice[0], "`/opt/fathom run --target x --save 'a b-again.fathom'`");
    assert!(advice[1].contains("report 'a b-again.fathom' --require"), "{advice:?}");
    // The repetition has no fault that the page names, and is saved.
    results
        .findings
        .push(Finding::new("SHORT-RUN", Severity::Warning, "only 30 s"));
    results.plan.origin.arguments.truncate(4);
    let (_, advice) = judge(&results);
    assert_eq!(advice[0], "`/opt/fathom run --target x --time 60s --save again.fathom`");
    assert!(advice[1].contains("report again.fathom --require"), "{advice:?}");
    results.findings.clear();
    results.plan.origin.arguments.clear();
    let (_, unsaved) = judge(&results);
    assert!(unsaved[0].contains("`fathom verify "), "{unsaved:?}");
    assert!(unsaved[0].contains(" --block 8KiB --read "), "{unsaved:?}");
    // It writes to a file that exists.
    assert!(
        unsaved[0].contains("whose data are lost: `fathom verify "),
        "{unsaved:?}"
    );
    results.hosts[0].environment.targets[0].path = "/data/fathom-1-2-0.dat".into();
    let (_, created) = judge(&results);
    assert!(created[0].contains("`fathom verify /data --file-size "), "{created:?}");
}

#[test]
fn the_title_shows_the_verdict_and_the_page_explains_its_terms() {
    let context = verdict_context().with(|context| context.verdict.headline = "misses iops >= 4000 by 51 %".into());
    let text = html::render_file(&run::create_page(&results("mixed"), &context));
    assert!(text.contains("QD 16 — simulated: misses iops &gt;= 4,000 by 51 %</title>"));
    let terms = text.split("<section id=\"terms\">").nth(1).unwrap();
    assert!(text.contains("<a href=\"#terms\">"));
    assert!(terms.contains("<dt>IOPS</dt>") && terms.contains("<dt>in flight, depth, QD</dt>"));
    // A term that the page does not use is not explained.
    assert!(!terms.contains("<dt>knee</dt>"));
    // Terms below the first screen are explained too.
    assert!(terms.contains("<dt>bottleneck</dt>"));
    assert!((1..=20).contains(&terms.matches("<dt>").count()));
}

#[test]
fn a_page_loads_nothing_from_other_hosts() {
    let text = html::render_file(&run::create_page(&results("mixed"), &PageContext::default()));
    assert!(text.contains("default-src 'none'"));
    text.assert_lacks(&[" src=", "<link", "url(", "@import", "fetch(", "XMLHttpRequest"]);
}

#[test]
fn a_promise_is_drawn_in_its_charts_and_the_box_gives_evidence_and_next_steps() {
    let mut results = results("mixed");
    results.plan.origin.arguments = words("fathom verify /data --require iops>=60000,p99<=3ms");
    let target = &mut results.hosts[0].environment.targets[0];
    target.path = "/data/fathom-7-1-0.dat".into();
    target.kind = "file".into();
    target.size = Bytes::mib(1024);
    target.devices = vec![model::environment::Device {
        name: "sda".into(),
        size: Bytes::mib(100 * 1024),
        ..Default::default()
    }];
    let advice = Finding::new("SCHED-LAG", Severity::Note, "35306 operations came late");
    results.findings = vec![advice.help("find out with `fathom sweep TARGET --over depth=1..64` what it can do")];
    let clause = |promised: &str, line: Line| Clause {
        promised: promised.into(),
        word: "PASS".into(),
        line: Some(line),
        ..Clause::default()
    };
    let verdict = Verdict {
        word: "PASS".into(),
        tone: Tone::Good,
        clauses: vec![
            clause("iops >= 60000", Line::Iops(60_000.0)),
            clause("p99 <= 3 ms", Line::Percentile(0.99, 3e6)),
        ],
        ..Verdict::default()
    };
    let context = PageContext::default().with(|context| context.verdict = verdict);
    let page = run::create_page(&results, &context);
    let charts = charts(&page);
    let lines = |chart: &str| -> Vec<(f64, String)> {
        let marks = charts[chart]
            .marks
            .iter()
            .filter(|mark| mark.tone == html::chart::Tone::Limit);
        marks.map(|mark| (mark.at, mark.words.clone())).collect()
    };
    assert_eq!(lines("iops"), [(60_000.0, "iops >= 60,000".to_owned())]);
    let in_unit = |chart: &Chart| 3e6 / if chart.y.unit == "us" { 1e3 } else { 1e6 };
    let limit = in_unit(charts["latency-over-time"]);
    assert_eq!(lines("latency-over-time"), [(limit, "p99 <= 3 ms".to_owned())]);
    let curve = charts["percentiles"];
    let limit = in_unit(curve);
    assert_eq!(lines("percentiles"), [(limit, "p99 <= 3 ms".to_owned())]);
    let dots = curve.series.iter().find(|series| series.name == "required").unwrap();
    assert_eq!((dots.form, dots.y[0]), (Form::Dots, Some(limit)));
    let notes = page.verdict.notes.join("\n");
    assert!(notes.contains("on 1 GiB of /data, 1 % of sda (100 GiB)"), "{notes}");
    let next = next_steps(&page);
    assert_eq!(next.advice, ["`fathom verify /data --require 'iops>=60000,p99<=3ms'`"]);
    // The name of a file that was created for the run is not shown.
    assert!(!page.about[0].contains("fathom-7-1-0.dat"), "{:?}", page.about);
    let help = page.findings[0].help.as_deref().unwrap();
    help.assert_contains(&["`fathom sweep /data --size 1GiB --block ", " --over depth=1..64`"]);
    let file = html::render_file(&page);
    file.assert_contains(&["35,306 operations came late", "iops\u{a0}&gt;=\u{a0}60,000"]);
    // Commands can be copied unchanged.
    assert!(file.contains("&#39;iops&gt;=60000,p99&lt;=3ms&#39;"));
}
