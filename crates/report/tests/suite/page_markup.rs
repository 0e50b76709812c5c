//! Single parts of a page: colours, figures of charts, notes of a verdict.

use report::html::page::{Clause, Line, Page, Tone, Verdict};
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
