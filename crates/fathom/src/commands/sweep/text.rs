//! Formats the report of a sweep, for people.

use analysis::knee::{Axis, Bounds, Knee, Scalability};
use model::results::Results;
use model::study::{Parameter, Setting};
use report::numbers::{format_rough, format_time, rate, throughput};
use report::{Summary, formats};
use study::sweep::{Curve, Report, Row, format_settings};

use crate::screen::{wrap_paragraph, write_to_string};

/// Formats the whole report. `first` may be any run: tool, machine and targets are the same in all.
pub(super) fn format_report(report: &Report, first: &Results) -> String {
    let mut text = format_head(report, first);
    if let Some(simulation) = report::words::describe_simulation(&first.plan) {
        text += &format!("{simulation}\n");
    }
    text += &format_table(report);
    text += &format_heat_map(report);
    for curve in &report.curves {
        text += &format_advice(report, curve);
    }
    if !report.skipped.is_empty() {
        text += "\nLeft out\n";
        for skipped in &report.skipped {
            text += &wrap_paragraph(&format!("{}: {}.", format_settings(&skipped.settings), skipped.why));
        }
    }
    if !report.notes.is_empty() {
        text += "\nCaveats\n";
        for note in &report.notes {
            text += &wrap_paragraph(note);
        }
    }
    if report.interrupted {
        text += "\nInterrupted: the figures cover the time until then.\n";
    }
    text
}

fn format_head(report: &Report, first: &Results) -> String {
    let mut summary = Summary::from_results(first);
    summary.name.clone_from(&report.name);
    write_to_string(|out| formats::write_head(&summary, out))
}

fn format_table(report: &Report) -> String {
    let names: Vec<&str> = report.varied.iter().map(|parameter| parameter.name()).collect();
    let width = |index: usize, name: &str| {
        let values = report.rows.iter().filter_map(|row| row.settings.get(index));
        values
            .map(|setting| setting.value.chars().count())
            .max()
            .unwrap_or(0)
            .max(name.len())
            + 2
    };
    let widths: Vec<usize> = names
        .iter()
        .enumerate()
        .map(|(index, name)| width(index, name))
        .collect();
    let mut text = String::from("\n");
    for (name, width) in names.iter().zip(&widths) {
        text += &format!("{name:>width$}");
    }
    text += &format!(
        "{:>11}{:>11}{:>9}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
        "in flight", "IOPS", "+-", "MiB/s", "MB/s", "mean", "median", "p99", "p99.9"
    );
    for row in &report.rows {
        for (setting, width) in row.settings.iter().zip(&widths) {
            text += &format!("{:>width$}", setting.value);
        }
        text += &format_figures(row);
    }
    if report
        .rows
        .iter()
        .any(|row| row.p99_ns.is_none() || row.p999_ns.is_none())
    {
        text += "  -: fewer than ten operations are beyond this percentile\n";
    }
    text
}

fn format_figures(row: &Row) -> String {
    let half_width = row
        .iops_half_width
        .map_or("-".into(), |half| format!("{:.1} %", 100.0 * half / row.iops));
    let or_none = |value: Option<f64>| value.map_or("-".into(), format_time);
    format!(
        "{:>11}{:>11}{:>9}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
        row.format_in_flight(),
        rate(row.iops),
        half_width,
        throughput(row.bytes_per_sec / f64::from(1 << 20)),
        throughput(row.bytes_per_sec / 1e6),
        format_time(row.mean_ns),
        or_none(row.p50_ns),
        or_none(row.p99_ns),
        or_none(row.p999_ns),
    )
}

/// Formats a line about a finished run, for stderr.
pub(super) fn format_run(settings: &[Setting], results: &Results) -> Option<String> {
    let observation = model::observation::Observation::from_results(results, 0, 0)?;
    let latency = observation.total.user_latency()?;
    Some(format!(
        "  {}: {} IOPS, {} mean, {} p99",
        format_settings(settings),
        rate(observation.total.iops?),
        format_time(latency.mean_ns?),
        latency.quantile(0.99).map_or("-".into(), format_time)
    ))
}

/// Formats a table over two parameters with a bar for each rate; empty unless two were varied.
fn format_heat_map(report: &Report) -> String {
    const SHADES: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let [first, second] = report.varied[..] else {
        return String::new();
    };
    let values = |index: usize| {
        let mut values: Vec<&Setting> = report.rows.iter().filter_map(|row| row.settings.get(index)).collect();
        values.sort_by(|a, b| {
            let order = a.number.unwrap_or(0.0).total_cmp(&b.number.unwrap_or(0.0));
            order.then_with(|| a.value.cmp(&b.value))
        });
        values.dedup();
        values
    };
    let (columns, lines) = (values(0), values(1));
    let iops_max = report.rows.iter().map(|row| row.iops).fold(0.0, f64::max);
    let mut text = format!(
        "\nIOPS over {} (across) and {} (down)\n{:>10}",
        first.name(),
        second.name(),
        ""
    );
    for column in &columns {
        text += &format!("{:>12}", column.value);
    }
    text += "\n";
    for line in lines {
        text += &format!("{:>10}", line.value);
        for column in &columns {
            let here = |row: &&Row| row.settings[0] == **column && row.settings[1] == *line;
            let cell = report.rows.iter().find(here).map(|row| {
                let shade = (row.iops / iops_max * (SHADES.len() - 1) as f64).round() as usize;
                format!("{} {}", format_rough(row.iops), SHADES[shade.min(SHADES.len() - 1)])
            });
            text += &format!("{:>12}", cell.unwrap_or_else(|| ".".into()));
        }
        text += "\n";
    }
    text
}

fn format_advice(report: &Report, curve: &Curve) -> String {
    let fixed = if curve.fixed.is_empty() {
        String::new()
    } else {
        format!(" ({})", format_settings(&curve.fixed))
    };
    let mut text = format!("\nRecommendation{fixed}\n");
    let advice = &curve.knee.advice;
    let setting = advice.load.and_then(|load| {
        let setting = curve.setting_at(load)?;
        (setting != load).then(|| format!(" That is {} {setting}.", curve.parameter.name()))
    });
    text += &report
        .describe_disturbance()
        .map_or_else(String::new, |sentence| wrap_paragraph(&sentence));
    text += &wrap_paragraph(&format!("{}{}", advice.sentence, setting.unwrap_or_default()));
    // Bounds and a knee of such points would not describe the device.
    if curve.shows_no_load() {
        return text;
    }
    let axis = match curve.parameter {
        Parameter::Rate => Axis::Rate,
        Parameter::Targets => Axis::Targets,
        _ => Axis::InFlight,
    };
    text + &describe_analyses(&curve.knee, axis, report.limit.is_some())
}

/// Formats the analyses of a curve, one line per method. `has_limit` is true if the sweep has a
/// latency limit.
pub(in crate::commands) fn describe_analyses(knee: &Knee, axis: Axis, has_limit: bool) -> String {
    let mut text = String::new();
    let unit = match axis {
        Axis::Targets => "targets",
        Axis::InFlight | Axis::Rate => "in flight",
    };
    if let Some(bounds) = &knee.bounds {
        text += &wrap_paragraph(&format_bounds(bounds, unit));
    }
    if knee.bounds.is_some() && !has_limit {
        let [at, power] = [knee.kneedle, knee.power].map(|at| at.map_or("none".to_owned(), |at| with_unit(at, unit)));
        text += &wrap_paragraph(&format!(
            "sharpest bend of the curve (Kneedle): {at}; highest rate divided by latency (power): {power}"
        ));
    }
    if let Some(usl) = &knee.usl {
        text += &wrap_paragraph(&format_usl(usl, unit, knee));
    }
    text
}

fn with_unit(load: f64, unit: &str) -> String {
    let unit = if load == 1.0 { unit.trim_end_matches('s') } else { unit };
    format!("{load} {unit}")
}

fn format_bounds(bounds: &Bounds, unit: &str) -> String {
    format!(
        "bounds: {} per operation at {} (R0), at most {} per second, reached at {}; on an ideal device the knee is at \
         {:.1} {unit} (N*)",
        format_time(bounds.alone_ns),
        with_unit(bounds.alone_at, unit),
        rate(bounds.most_iops),
        bounds.most_at,
        bounds.meet_at
    )
}

fn format_usl(usl: &Scalability, unit: &str, knee: &Knee) -> String {
    const LAW: &str = "universal scalability law (USL)";
    let last = knee.points.last().map_or(0.0, |point| point.load);
    let iops_max = knee.points.iter().map(|point| point.iops).fold(0.0, f64::max);
    let is_fitting = knee.fitting_law().is_some();
    let conclusion = match (usl.peak_at, usl.roof_iops) {
        (Some(peak), _) if !is_fitting => {
            return format!(
                "{LAW}: does not fit: it predicts a fall beyond {peak} {unit}, but the rate does not clearly fall up \
                 to {last}"
            );
        }
        (None, Some(roof)) if !is_fitting => {
            let (roof, iops_max) = (rate(roof), rate(iops_max));
            return format!("{LAW}: does not fit: it predicts at most {roof} per second, but {iops_max} were measured");
        }
        (Some(peak), _) if peak > last => format!("peak at {peak} {unit}, which was not measured"),
        (Some(peak), _) if usl.beta_is_significant => format!("peak at {peak} {unit}"),
        (Some(peak), _) => format!("peak at {peak} {unit}, possibly by chance"),
        (None, Some(roof)) => format!("maximum {} per second", rate(roof)),
        (None, None) => "no maximum found".into(),
    };
    format!(
        "{LAW}: contention (alpha) {:.4}, coherence (beta) {}; {conclusion}",
        usl.alpha,
        match usl.beta {
            0.0 => "0".to_owned(),
            beta => format!("{beta:.2e}"),
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_target_is_singular() {
        let found = [(1.0, "targets"), (2.0, "targets"), (1.0, "in flight")].map(|(load, unit)| with_unit(load, unit));
        assert_eq!(found, ["1 target", "2 targets", "1 in flight"]);
    }
}
