//! Builds the page of alternating runs of A and B.

use analysis::compare::{self, Judgement};
use model::observation::Observation;
use model::study::{RunRole, Study};
use report::Summary;
use report::html::chart::{Axis, Chart, Form, Series};
use report::html::page::{Block, Lead, Page, Section, Verdict};
use report::html::run::{Head, provenance, repeat_command};
use report::numbers::local_time;
use study::ab::{Report, Topic};

use super::{build_change_charts, common_lines, figures_download, judgement_verdict, latencies};

/// Builds the page of a comparison of A and B in alternating runs.
pub fn ab(report: &Report, study: &Study) -> Page {
    let summary = study.runs.first().map(|run| Summary::from_results(&run.results));
    let changes = report
        .found
        .as_ref()
        .map(|comparison| comparison.changes.as_slice())
        .unwrap_or_default();
    let names = ["A".to_owned(), "B".to_owned()];
    let mut sections = vec![Section {
        title: "A against B".into(),
        blocks: Block::chart_block(latencies("", &names, &[changes], &[0, 1]))
            .into_iter()
            .chain(build_change_charts("", &names, &[changes], &[0, 1], report.margin))
            .collect(),
        ..Section::default()
    }];
    let texts = |topic: Topic| {
        let topic_sentences = report.sentences.iter().filter(move |sentence| sentence.topic == topic);
        topic_sentences.map(|sentence| sentence.text.clone())
    };
    let means: Vec<String> = texts(Topic::Meaning).collect();
    sections.push(Section {
        title: "Pair by pair".into(),
        about: "Drift affects both sides equally, because each pair was measured in succession.".into(),
        blocks: Block::chart_block(Some(build_pair_chart(study)))
            .into_iter()
            .chain(texts(Topic::Tests).map(Block::Text))
            .collect(),
        ..Section::default()
    });
    let heads: Vec<Head> = study.runs.iter().map(|run| Head::from_results(&run.results)).collect();
    let place = heads.first().and_then(|head| head.title.split_once(" — "));
    let place = place.map_or(String::new(), |(_, place)| format!(" — {place}"));
    let when = summary.as_ref().map(|summary| local_time(&summary.started));
    let is_when = |line: &str| when.as_ref().is_some_and(|when| line.starts_with(&when[..10]));
    let common = common_lines(&heads);
    // The first run is one of A, the second one of B.
    let side = |number: usize, name: &str, spec: &str| {
        let lines = heads.get(number).map_or(&[][..], |head| &head.about[..]);
        let own_line = lines.iter().find(|line| !common.contains(line) && !is_when(line));
        format!(
            "{name}: {spec}{}",
            own_line.map_or(String::new(), |own_line| format!(" ({own_line})"))
        )
    };
    let mut page = Page {
        title: report::html::page::mark_title(
            heads.iter().find_map(|head| head.simulation),
            &format!("{} against {}{place}", report.b, report.a),
        ),
        about: [
            side(0, "A", &report.a),
            side(1, "B", &report.b),
            format!("{} alternating runs, half of them of A", study.runs.len()),
        ]
        .into_iter()
        .chain(common.iter().filter(|line| !is_when(line)).cloned())
        .chain(when.clone())
        .collect(),
        verdict: report.found.as_ref().map_or_else(Verdict::default, |comparison| {
            judgement_verdict((comparison.word, &comparison.changes), "B", "A", "chance")
        }),
        lead: [Lead {
            topic: "What this means".into(),
            sentence: means.join(" "),
            advice: Vec::new(),
        }]
        .into_iter()
        .chain(advise_next_step(report, heads.first()))
        .collect(),
        findings: report.warnings.clone(),
        sections,
        downloads: vec![figures_download("ab", report)],
        provenance: summary.as_ref().map_or_else(String::new, provenance),
        ..Page::default()
    };
    page.promote_charts(&["effects", "latencies"]);
    page
}

/// Advises what to do after a comparison, with the command that does it.
fn advise_next_step(report: &Report, head: Option<&Head>) -> Option<Lead> {
    let comparison = report.found.as_ref()?;
    let arguments = head.map_or(&[][..], |head| &head.arguments[..]);
    let is_contrary = compare::describe_contrary(comparison.word, &comparison.changes).is_some();
    let (sentence, pairs) = match comparison.word {
        _ if is_contrary => (
            "Choose by the figure that matters to your programs: the rate if many operations run at \
            the same time, the latency if each waits for the previous one.",
            None,
        ),
        Judgement::Undecided => (
            "Four times as many pairs halve the interval.",
            Some(4 * comparison.pairs),
        ),
        Judgement::Better => ("Use B, and repeat the comparison after changes of the storage.", None),
        Judgement::Worse => ("Keep A, and repeat the comparison after changes of the storage.", None),
        Judgement::Same => ("Use either; other reasons may decide.", None),
        Judgement::DifferentLoad => ("Compare loads with the same requested rate.", None),
        Judgement::Doubtful => ("Correct what the warnings report, then repeat the comparison.", None),
    };
    let options: Vec<(String, String)> = pairs
        .map(|pairs| ("--pairs".to_owned(), pairs.to_string()))
        .into_iter()
        .collect();
    let takes_options = arguments.get(1).is_some_and(|word| word == "ab");
    Some(Lead {
        topic: "What next".into(),
        sentence: sentence.into(),
        advice: takes_options
            .then(|| format!("`{}`", repeat_command(arguments, &options)))
            .into_iter()
            .collect(),
    })
}

/// Builds the chart of the rate of each run, pair by pair.
fn build_pair_chart(study: &Study) -> Chart {
    let series_of_side = |side: &str| {
        let runs = study.runs.iter().filter(|run| run.role == RunRole::Measured);
        let points = runs.filter_map(|run| {
            let is = run
                .settings
                .iter()
                .any(|setting| setting.name == "side" && setting.value == side);
            let pair = run.settings.iter().find(|setting| setting.name == "pair")?.number?;
            let iops = Observation::from_results(&run.results, 0, 0)?.total.iops?;
            is.then_some((pair, iops))
        });
        Series::new(side, Form::Points, points)
    };
    Chart {
        id: "pairs".into(),
        title: "Rate of each run".into(),
        about: "If both lines rise and fall together, something else drifted; only the difference \
            within each pair counts."
            .into(),
        x: Axis::linear("pair", ""),
        y: Axis::linear("IOPS", "IOPS"),
        series: vec![series_of_side("A"), series_of_side("B")],
        ..Chart::default()
    }
}
