//! Single parts of a page: colours, figures of charts, notes of a verdict.

use model::diagnosis::LayerUse;
use model::mix::Mix;
use model::results::{Equivalent, EquivalentForm};
use report::html::chart::{Chart, Form};
use report::html::page::{Block, Clause, Line, Page, Section, Tone, Verdict};
use report::html::run::PageContext;
use report::html::{self, run};

use super::pages::{results, verdict_context};
use crate::prelude::*;

/// The bar of a limit was red on a page that passed.
#[test]
fn a_bottleneck_is_not_red_if_the_load_passes() {
    let mut results = results("mixed");
    results.findings = vec![Finding::new("RATE-NOT-KEPT", Severity::Warning, "900 of 1000")];
    let markup = |tone: Tone| {
        let mut context = verdict_context();
        context.verdict.tone = tone;
        context.verdict.clauses =
            vec![Clause::default().with(|clause| (clause.tone, clause.line) = (tone, Some(Line::Iops(1000.0))))];
        html::render_file(&run::create_page(&results, &context))
    };
    let (bad, good) = (markup(Tone::Bad), markup(Tone::Partly));
    assert!(bad.contains(">Bottleneck</em>") && bad.contains("optimum=\"0\""));
    assert!(good.contains(">Bottleneck</em>") && !good.contains("optimum=\"0\""));
    assert!(good.contains("class=\"verdict unsure\""));
    // The clause about the rate states that it was missed.
    assert!(good.contains("RATE-NOT-KEPT") && !bad.contains("RATE-NOT-KEPT"));
}

/// Points of the same rate were one row of the figures.
#[test]
fn figures_of_named_points_have_a_row_each() {
    let point = |depth: u32, mean_ns: f64| run::PlanePoint {
        name: format!("depth {depth}"),
        iops: 2202.3333,
        mean_ns,
    };
    let chart = run::plane_chart("plane", "Rate and latency", &[point(16, 1e6), point(32, 2e6)]);
    let page = Page::default().with(|page| page.charts = chart.into_iter().collect());
    let text = html::render_file(&page);
    text.assert_contains(&[
        "<th scope=\"row\">depth 16</th><td>2,200</td><td>1</td>",
        "<th scope=\"row\">depth 32</th><td>2,200</td><td>2</td>",
    ]);
}

/// A line joined the points of jobs that had nothing to do with each other.
#[test]
fn points_of_jobs_are_not_joined() {
    let point = |name: &str, iops: f64| run::PlanePoint {
        name: name.into(),
        iops,
        mean_ns: 1e6,
    };
    let points = [point("read", 1e3), point("write", 2e3)];
    let chart = run::plane_chart_of_jobs("plane", "Rate and latency", &points).unwrap();
    let drawn = chart.series.iter().filter(|series| series.form != Form::Guide);
    assert!(
        drawn
            .clone()
            .all(|series| (series.form, series.y.len()) == (Form::Dots, 1))
    );
    assert_eq!(drawn.count(), 2);
    let page = Page::default().with(|page| page.charts = vec![chart]);
    html::render_file(&page).assert_contains(&[
        "</svg>read</li>",
        "</svg>write</li>",
        "<th scope=\"row\">read</th><td>1,000</td><td>1</td>",
        "<th scope=\"row\">write</th><td>2,000</td><td>1</td>",
    ]);
}

#[test]
fn a_title_of_several_jobs_names_their_loads() {
    let page = run::create_page(&results("steps"), &PageContext::default());
    assert!(
        page.title.contains("2 jobs: 128 KiB sequential writes"),
        "{}",
        page.title
    );
    assert!(page.title.contains("; 4 KiB random reads, QD 1"), "{}", page.title);
    assert!(page.about.contains(&"Test “steps”".to_owned()), "{:?}", page.about);
    let loads = ["a", "b", "a", "c", "d", "e"].map(str::to_owned);
    assert_eq!(run::title_of_loads(loads), "6 jobs: a; b; c; and 2 more");
}

/// The lines were missing where a load had only one size, or no requirement.
#[test]
fn known_limits_are_drawn_in_charts_of_rates() {
    let layer = |name: &str, unit: &str, limit: f64, share: f64, source: &str| LayerUse {
        layer: name.into(),
        unit: unit.into(),
        limit,
        share,
        source: source.into(),
        ..LayerUse::default()
    };
    let layers = [
        layer("VM", "IOPS", 6400.0, 0.7, "flag"),
        layer("disk", "bytes/s", 200e6, 0.9, "flag"),
        layer("network", "bytes/s", 1e9, 0.2, "flag"),
        layer("the requested rate", "IOPS", 5000.0, 0.9, "the test itself"),
    ];
    let lines = |id: &str, verdict: &Verdict, iops: Option<f64>| {
        let mut chart = Chart::default().with(|chart| chart.id = id.into());
        run::mark_limits(&mut chart, &layers, verdict, iops);
        let lines = chart.marks.into_iter().map(|mark| (mark.at, mark.words));
        lines.collect::<Vec<_>>()
    };
    let line = |at: f64, words: &str| (at, words.to_owned());
    assert_eq!(
        lines("iops", &Verdict::default(), Some(4500.0)),
        [
            line(6400.0, "VM: 6,400"),
            line(5000.0, "disk: 200.0 MB/s"),
            line(5000.0, "the requested rate: 5,000")
        ]
    );
    let clause = Clause::default().with(|clause| clause.line = Some(Line::Iops(5000.0)));
    let required = Verdict::default().with(|verdict| verdict.clauses = vec![clause]);
    assert_eq!(lines("iops", &required, None), [line(6400.0, "VM: 6,400")]);
    assert_eq!(lines("throughput", &required, None), [line(200.0, "disk: 200.0 MB/s")]);
    // A required throughput is drawn at the rate that needs it.
    let mut page = Page::default();
    page.verdict.clauses = vec![Clause::default().with(|clause| clause.line = Some(Line::Throughput(8e6)))];
    let chart = Chart::default().with(|chart| chart.id = "iops".into());
    let blocks = vec![Block::Chart(Box::new(chart))];
    page.sections = vec![Section::new("Measurements", blocks)];
    run::mark_required(&mut page, Some(4000.0));
    let Block::Chart(chart) = &page.sections[0].blocks[0] else {
        panic!("a chart")
    };
    let lines = chart.marks.iter().map(|mark| (mark.at, mark.words.as_str()));
    assert_eq!(lines.collect::<Vec<_>>(), [(2000.0, "")]);
}

/// The share was rounded to `0.00 %`.
#[test]
fn a_tiny_share_of_a_disk_is_not_zero() {
    let mut results = results("mixed");
    let target = &mut results.hosts[0].environment.targets[0];
    target.size = Bytes::mib(1);
    target.devices = vec![model::environment::Device {
        name: "sda".into(),
        size: Bytes::gib(100 * 1024),
        ..Default::default()
    }];
    let page = run::create_page(&results, &verdict_context());
    let notes = page.verdict.notes.join("\n");
    notes.assert_contains(&["1 MiB of simulated, less than 0.01 % of sda (100 TiB)"]);
}

/// fathom refuses to change a file that it did not create. The permission was missing for trims.
#[test]
fn the_equivalent_command_permits_the_changes_of_its_load() {
    let mut results = results("mixed");
    results.equivalents = vec![Equivalent {
        dialect: Dialect::Native,
        form: EquivalentForm::CommandLine,
        text: "fathom run --target x\n".into(),
        one_line: None,
        lost: Vec::new(),
        differs: Vec::new(),
    }];
    let target = &mut results.hosts[0].environment.targets[0];
    (target.path, target.kind) = ("x".into(), "file".into());
    for (direction, permission) in [
        (Direction::Read, ""),
        (Direction::Write, " --allow-overwrite x"),
        (Direction::Trim, " --allow-overwrite x"),
    ] {
        let jobs = results.plan.steps.iter_mut().flat_map(|step| &mut step.jobs);
        let streams = jobs
            .flat_map(|job| &mut job.workers)
            .flat_map(|worker| &mut worker.streams);
        streams.for_each(|stream| stream.mix = Mix::Only { direction });
        let page = run::create_page(&results, &PageContext::default());
        let blocks = page.sections.iter().flat_map(|section| &section.blocks);
        let commands = blocks.filter_map(|block| match block {
            Block::Code { title, text, .. } if title == "For fathom" => Some(text.trim_end()),
            _ => None,
        });
        let expected = format!("fathom run --target x{permission}");
        assert_eq!(commands.collect::<Vec<_>>(), [expected], "{direction:?}");
    }
}

#[test]
fn other_programs_do_not_weaken_a_pass() {
    let mut results = results("mixed");
    results.findings = vec![Finding::new("OTHER-LOAD", Severity::Warning, "50 % of the traffic")];
    let notes = |tone: Tone| {
        let verdict = Verdict::default().with(|verdict| (verdict.word, verdict.tone) = ("X".into(), tone));
        let context = PageContext::default().with(|context| context.verdict = verdict);
        run::create_page(&results, &context).verdict.notes.join(" ")
    };
    for tone in [Tone::Good, Tone::Partly] {
        assert!(!notes(tone).contains("rely"), "{}", notes(tone));
    }
    let bad = notes(Tone::Bad);
    bad.assert_contains(&[
        "Not only the storage determined the distance from the limit: other programs used the disk (see Findings).",
    ]);
}
