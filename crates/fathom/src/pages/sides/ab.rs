//! Builds the page of alternating runs of A and B.

use analysis::compare::Judgement;
use model::finding::Finding;
use model::observation::Observation;
use model::study::{RunRole, Study};
use report::Summary;
use report::html::chart::{Axis, Chart, Form, Series};
use report::html::page::{Block, Lead, Page, Section, Verdict};
use report::html::run::{Head, locate_commands, provenance, repeat_command, repeat_section, settings_section};
use report::numbers::local_time;
use study::ab::{Report, Topic};

use super::advice::{describe_disturbed, has_short_run, with_time};
use super::judgement::{Changes, judge_pair, reword_open_verdict, weaken_if_disturbed};
use super::{build_change_charts, common_lines, figures_download, latencies};
use crate::pages::{format_other_programs, lengthen_warm_up, list_other_programs, merge_warnings};

/// The length of each run of a repetition whose runs were too short.
const LONGER_TIME: &str = "60s";

/// Merges the warnings of A and B: each rule once, with its sides.
pub fn warnings(report: &Report) -> Vec<Finding> {
    let of_side = |side: &str| -> Vec<Finding> {
        let findings = report.warnings.iter();
        findings
            .filter(|finding| finding.at.as_deref() == Some(side))
            .cloned()
            .collect()
    };
    let (a, b) = (of_side("A"), of_side("B"));
    merge_warnings([("A", &a[..]), ("B", &b[..])])
}

/// Builds the page of a comparison of A and B in alternating runs.
pub fn ab(report: &Report, study: &Study) -> Page {
    let summary = study.runs.first().map(|run| Summary::from_results(&run.results));
    let heads: Vec<Head> = study.runs.iter().map(|run| Head::from_results(&run.results)).collect();
    let specs = own_words(&report.a, &report.b);
    let when = summary.as_ref().map(|summary| local_time(&summary.started));
    let is_when = |line: &str| when.as_ref().is_some_and(|when| line.starts_with(&when[..10]));
    let common = common_lines(&heads);
    // With the machine.
    let mut first_lines = heads.iter().take(1).flat_map(|head| &head.about);
    let when_line = first_lines.find(|line| is_when(line)).or(when.as_ref());
    // The first run is one of A, the second one of B.
    let side = |number: usize, name: &str| {
        let is_hidden = |line: &String| common.contains(line) || is_when(line);
        describe_side(name, &specs[number], heads.get(number), &heads, &is_hidden)
    };
    let meaning: Vec<String> = sentences(report, Topic::Meaning).collect();
    let mut page = Page {
        title: report::html::page::mark_title(
            heads.iter().find_map(|head| head.simulation),
            &build_title(&heads, &specs),
        ),
        about: [
            side(0, "A"),
            side(1, "B"),
            format!("{} alternating runs, half of them of A", study.runs.len()),
        ]
        .into_iter()
        .chain(common.iter().filter(|line| !is_when(line)).cloned())
        .chain(find_shared_target(&heads, &common))
        .chain(when_line.cloned())
        .collect(),
        verdict: report.found.as_ref().map_or_else(Verdict::default, |comparison| {
            let changes = Changes::new(comparison.primary, &comparison.changes);
            weaken_if_disturbed(judge_pair(changes, "B", "A", "chance"), &heads)
        }),
        lead: std::iter::once(Lead::new("What this means", meaning.join(" "), Vec::new()))
            .chain(advise_next_step(report, study, &heads))
            .collect(),
        findings: warnings(report),
        sections: build_sections(report, study),
        downloads: vec![figures_download("ab", report)],
        provenance: summary.map_or_else(String::new, |mut summary| {
            // The default name of its runs.
            if summary.name == "run" {
                summary.name = "ab".into();
            }
            provenance(&summary)
        }),
        ..Page::default()
    };
    reword_open_verdict(&mut page);
    page.promote_charts(&["effects", "latencies"]);
    if let Some(first) = study.runs.first() {
        locate_commands(&mut page, &first.results);
    }
    page
}

/// The line about the target of all runs, unless it is already common to them: the first run may
/// prepare the file, so the last one describes it.
fn find_shared_target(heads: &[Head], common: &[String]) -> Option<String> {
    let last = heads.last()?;
    let is_shared = !last.targets.is_empty() && heads.iter().all(|head| head.targets == last.targets);
    let mut lines = last.about.iter();
    let line = lines.find(|line| is_shared && describes_target(line, &last.targets))?;
    (!common.contains(line)).then(|| line.clone())
}

/// True for the line about a target: a file that the user named, or a test file in a directory.
fn describes_target(line: &str, target: &str) -> bool {
    line.starts_with(target) || line.starts_with("test file of ") && line.contains(&format!(" in {target}"))
}

fn sentences(report: &Report, topic: Topic) -> impl Iterator<Item = String> {
    let of_topic = report.sentences.iter().filter(move |sentence| sentence.topic == topic);
    of_topic.map(|sentence| sentence.text.clone())
}

/// Builds the sections below the first screen.
fn build_sections(report: &Report, study: &Study) -> Vec<Section> {
    let changes = report
        .found
        .as_ref()
        .map(|comparison| comparison.changes.as_slice())
        .unwrap_or_default();
    let names = ["A".to_owned(), "B".to_owned()];
    let latency_chart = Block::chart_block(latencies("", &names, &[changes], &[0, 1]));
    let change_charts = build_change_charts("", &names, &[changes], &[0, 1], report.margin);
    let blocks = latency_chart.into_iter().chain(change_charts).collect();
    let mut sections = vec![Section::new("B against A", blocks)];
    sections.push(Section {
        title: "Pair by pair".into(),
        about: "Drift affects both sides equally, because each pair was measured in succession.".into(),
        blocks: Block::chart_block(Some(build_pair_chart(study)))
            .into_iter()
            .chain(sentences(report, Topic::Tests).map(Block::Text))
            .collect(),
        ..Section::default()
    });
    let results = |number: usize| study.runs.get(number).map(|run| &run.results);
    sections.extend(results(0).and_then(repeat_section));
    let plans = ["plan of A", "plan of B"].into_iter().enumerate();
    let plans = plans.filter_map(|(number, name)| Some((name.to_owned(), results(number)?)));
    sections.extend(settings_section(&plans.collect::<Vec<_>>()));
    sections
}

/// A side: its name, its own words, and the first line of its head that is not hidden.
fn describe_side(
    name: &str,
    spec: &str,
    head: Option<&Head>,
    heads: &[Head],
    is_hidden: &dyn Fn(&String) -> bool,
) -> String {
    // The first run may prepare a file that both sides use.
    let is_shared = |line: &str| {
        let target = heads.first().map_or("", |head| &head.targets);
        !target.is_empty() && heads.iter().all(|head| head.targets == target) && describes_target(line, target)
    };
    let mut lines = head.iter().flat_map(|head| &head.about);
    match lines.find(|line| !is_hidden(line) && !is_shared(line)) {
        Some(line) => format!("{name}: {spec} ({line})"),
        None => format!("{name}: {spec}"),
    }
}

/// The words of each side that the other one does not have; all words if that leaves none.
fn own_words(a: &str, b: &str) -> [String; 2] {
    // An option and its value belong together.
    let split = |spec: &str| -> Vec<String> {
        let mut parts: Vec<String> = Vec::new();
        for word in spec.split(' ') {
            match parts.last_mut() {
                Some(option) if option.starts_with('-') && !option.contains([' ', '=']) && !word.starts_with('-') => {
                    option.push(' ');
                    option.push_str(word);
                }
                _ => parts.push(word.to_owned()),
            }
        }
        parts
    };
    let (a_parts, b_parts) = (split(a), split(b));
    let own = |spec: &str, parts: &[String], others: &[String]| {
        let parts = parts.iter().filter(|part| !others.contains(part));
        let parts: Vec<&str> = parts.map(String::as_str).collect();
        match parts.is_empty() {
            true => spec.to_owned(),
            false => parts.join(" "),
        }
    };
    [own(a, &a_parts, &b_parts), own(b, &b_parts, &a_parts)]
}

/// Builds the title from the load and the target: `8 KiB random reads: QD 8 (B) against QD 4 (A) —
/// /data on vda`. `specs` are the words in which the sides differ.
fn build_title(heads: &[Head], specs: &[String; 2]) -> String {
    // The first run is one of A, the second one of B.
    let (a, b) = match heads {
        [a, b, ..] => (a.title.as_str(), b.title.as_str()),
        _ => ("", ""),
    };
    let split = |title: &str| -> (Vec<String>, String) {
        let (load, place) = title.split_once(" — ").unwrap_or((title, ""));
        // The parts of several loads belong together.
        let parts = match load.contains("; ") {
            true => vec![load.to_owned()],
            false => load.split(", ").map(str::to_owned).collect(),
        };
        (parts, place.to_owned())
    };
    let ((a_load, a_place), (b_load, b_place)) = (split(a), split(b));
    let is_common = |part: &&String| !part.is_empty() && b_load.contains(part);
    let common: Vec<&str> = a_load.iter().filter(is_common).map(String::as_str).collect();
    let own = |load: &[String]| -> String {
        let parts: Vec<&str> = load
            .iter()
            .map(String::as_str)
            .filter(|part| !common.contains(part))
            .collect();
        parts.join(", ")
    };
    let (mut own_a, mut own_b) = (own(&a_load), own(&b_load));
    if own_a.is_empty() || own_b.is_empty() {
        (own_a, own_b) = match a_place == b_place {
            true => (specs[0].clone(), specs[1].clone()),
            false => (a_place.clone(), b_place.clone()),
        };
    }
    let load = match common.join(", ") {
        load if load.is_empty() => String::new(),
        load => format!("{load}: "),
    };
    let place = match a_place == b_place && !a_place.is_empty() {
        true => format!(" — {a_place}"),
        false => String::new(),
    };
    format!("{load}{own_b} (B) against {own_a} (A){place}")
}

/// Advises what to do after a comparison, with the command that does it.
fn advise_next_step(report: &Report, study: &Study, heads: &[Head]) -> Option<Lead> {
    let comparison = report.found.as_ref()?;
    let mut arguments = heads.first().map_or(Vec::new(), |head| head.arguments.clone());
    let takes_options = arguments.get(1).is_some_and(|word| word == "ab");
    let mut options = Vec::new();
    let sentence = match Changes::new(comparison.primary, &comparison.changes).judge() {
        Some(Judgement::DifferentLoad) => "Compare loads with the same requested rate.".to_owned(),
        Some(Judgement::Doubtful) => "Correct what the warnings report, then repeat the comparison.".to_owned(),
        _ if describe_disturbed(heads).is_some() => {
            let others = format_other_programs(&list_other_programs(study.runs.iter().map(|run| &run.results)));
            let longer = heads.iter().any(has_short_run);
            if longer {
                arguments = lengthen_sides(&arguments);
                options.push(("--time".to_owned(), LONGER_TIME.to_owned()));
                options.extend(lengthen_warm_up(&arguments));
            }
            let how = if longer { " with longer runs" } else { "" };
            format!("Stop {others}, then repeat{how}.")
        }
        None => "Choose by the figure that matters to your programs: the rate if many operations run at the same \
                 time, the latency if each waits for the previous one."
            .to_owned(),
        Some(Judgement::Undecided) => {
            options.push(("--pairs".to_owned(), (4 * comparison.pairs).to_string()));
            "Four times as many pairs halve the interval.".to_owned()
        }
        Some(Judgement::Better) => "Use B, and repeat the comparison after changes of the storage.".to_owned(),
        Some(Judgement::Worse) => "Keep A, and repeat the comparison after changes of the storage.".to_owned(),
        Some(Judgement::Same) => "Use either; other reasons may decide.".to_owned(),
    };
    Some(Lead {
        topic: "What next".into(),
        sentence,
        advice: takes_options
            .then(|| format!("`{}`", repeat_command(&arguments, &options)))
            .into_iter()
            .collect(),
    })
}

/// Replaces the lengths within the flags of a side, which override that of the command.
fn lengthen_sides(arguments: &[String]) -> Vec<String> {
    let lengthen = |side: &String| {
        let words: Vec<String> = side.split(' ').map(str::to_owned).collect();
        let has_time = words.len() > 1 && words.iter().any(|word| word == "--time" || word.starts_with("--time="));
        match has_time {
            true => with_time(&words, LONGER_TIME).join(" "),
            false => side.clone(),
        }
    };
    arguments.iter().map(lengthen).collect()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// The title once was the command line.
    #[test]
    fn a_title_names_load_and_target_and_what_differs() {
        let title = |a: &str, b: &str, specs: [&str; 2]| {
            let heads = [a, b].map(|title| Head {
                title: title.to_owned(),
                ..Head::default()
            });
            build_title(&heads, &own_words(specs[0], specs[1]))
        };
        assert_eq!(
            title(
                "8 KiB random reads, QD 4 — /o on vda",
                "8 KiB random reads, QD 8 — /o on vda",
                ["--target /o --depth 4", "--target /o --depth 8"]
            ),
            "8 KiB random reads: QD 8 (B) against QD 4 (A) — /o on vda"
        );
        let same_load = "4 KiB random reads, QD 4 — /o on vda";
        assert_eq!(
            title(
                same_load,
                same_load,
                ["--target /o --engine sync", "--target /o --engine aio"]
            ),
            "4 KiB random reads, QD 4: --engine aio (B) against --engine sync (A) — /o on vda"
        );
        assert_eq!(
            title("4 KiB reads — /a", "4 KiB reads — /b", ["/a", "/b"]),
            "4 KiB reads: /b (B) against /a (A)"
        );
        assert_eq!(
            title(
                "2 jobs: 4 KiB reads, QD 4; 8 KiB writes, QD 1 — /o",
                "2 jobs: 4 KiB reads, QD 8; 8 KiB writes, QD 1 — /o",
                ["a.toml", "b.toml"]
            ),
            "2 jobs: 4 KiB reads, QD 8; 8 KiB writes, QD 1 (B) against 2 jobs: 4 KiB reads, QD 4; 8 KiB writes, QD 1 (A) \
             — /o"
        );
        assert_eq!(title("", "", ["a.toml", "b.toml"]), "b.toml (B) against a.toml (A)");
    }

    #[test]
    fn the_target_of_all_runs_is_described_as_both_sides_use_it() {
        let head = |line: &str| Head {
            targets: "/o".into(),
            about: vec!["4 KiB reads".into(), line.to_owned()],
            ..Head::default()
        };
        let heads = [
            head("/o: file of 1 GiB, 1 GiB written for this run"),
            head("/o: file of 1 GiB on vda"),
        ];
        assert_eq!(
            find_shared_target(&heads, &[]).as_deref(),
            Some("/o: file of 1 GiB on vda")
        );
        assert_eq!(find_shared_target(&heads, &heads[1].about), None);
        let temporary = "test file of 1 GiB in /o on ext4, prepared earlier";
        assert!(describes_target(temporary, "/o"));
    }

    #[test]
    fn the_length_within_a_side_is_replaced() {
        let words = ["fathom", "ab", "--time 5s --depth 4", "--depth 8", "--pairs", "6"].map(str::to_owned);
        assert_eq!(
            lengthen_sides(&words),
            ["fathom", "ab", "--time 60s --depth 4", "--depth 8", "--pairs", "6"]
        );
    }
}
