//! Sections on the machine, the settings and the equivalent commands of a run, and its downloads.

use std::borrow::Cow;

use model::environment::Environment;
use model::plan::Dialect;
use model::results::{Equivalent, EquivalentForm, Results};
use model::{Direction, shell_word};

use super::super::page::{Block, Download, Section, Table};
use super::super::to_identifier;
use super::{ChartScope, resources};
use crate::numbers::{count, pluralize};
use crate::summary::Summary;
use crate::{formats, network, words};

/// Maximum number of devices with a chart.
const MAX_DEVICES: usize = 32;
/// Maximum number of hosts whose environment is listed.
const MAX_HOSTS: usize = 16;
/// Maximum number of targets whose facts are listed.
const MAX_TARGETS: usize = 64;

/// Creates the section on processors and devices, by step.
pub(super) fn system_section(results: &Results, summary: &Summary) -> Option<Section> {
    let several = results.steps.len() > 1;
    let mut blocks = Vec::new();
    for (number, step) in results.steps.iter().enumerate() {
        let scope = ChartScope {
            prefix: if several { format!("s{number}-") } else { String::new() },
            name: several.then(|| format!("step {}", number + 1)),
        };
        blocks.extend(Block::chart_block(resources::core_chart(&scope, step, &results.hosts)));
        let devices = summary.devices.iter().filter(|device| device.step as usize == number);
        for device in devices.take(MAX_DEVICES) {
            blocks.extend(Block::chart_block(resources::counter_chart(&scope, device)));
        }
    }
    let rows = summary.devices.iter().map(|device| {
        let ours = |value: fn(&crate::summary::Transfers) -> u64| {
            device
                .ours
                .as_ref()
                .map_or("not distinguished".into(), |ours| count(value(ours)))
        };
        let kernel = |requests: u64, merged: u64| match merged {
            0 => count(requests),
            merged => format!("{} + {} merged", count(requests), count(merged)),
        };
        vec![
            device.full_name(),
            kernel(device.kernel.reads, device.merged[0]),
            ours(|ours| ours.reads),
            kernel(device.kernel.writes, device.merged[1]),
            ours(|ours| ours.writes),
            device.in_device.map_or("-".into(), |value| format!("{value:.2}")),
            device.busy_percent.map_or("-".into(), |value| format!("{value:.1} %")),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if !rows.is_empty() {
        blocks.push(Block::Table(Table::new(
            "Device counters of the kernel and of this program",
            &[
                "device",
                "reads (kernel)",
                "reads (this test)",
                "writes (kernel)",
                "writes (this test)",
                "requests in the device (mean)",
                "busy",
            ],
            rows,
        )));
    }
    for entry in results.steps.iter().flat_map(|step| &step.network_mounts) {
        let mount = &entry.mount;
        blocks.push(Block::Table(Table::new(
            &format!("NFS client counters for {} on {}", mount.source, mount.mount_point),
            &network::HEADERS,
            network::mount_rows(mount).into_iter().map(Vec::from).collect(),
        )));
        blocks.extend(network::mount_sentences(mount).into_iter().map(Block::Text));
    }
    let is_simulated = words::describe_simulation(&results.plan).is_some();
    if blocks.is_empty() && !is_simulated {
        blocks.push(Block::Text(
            "The system provides no counters of processors and devices.".into(),
        ));
    }
    (!blocks.is_empty()).then(|| Section::new("Processors and devices", blocks))
}

/// Creates the section on the settings of each run, by name, and on the environment of the first.
pub fn settings_section(runs: &[(String, &Results)]) -> Option<Section> {
    let (_, first) = runs.first()?;
    let plans = runs.iter().flat_map(|(name, results)| plan_rows(name, results));
    let pairs: Vec<(String, String)> = plans.chain(environment_rows(first)).collect();
    let table = Table::from_pairs("Settings and environment", pairs);
    Some(Section::folded("Settings and environment", vec![Block::Table(table)]))
}

fn plan_rows(name: &str, results: &Results) -> Vec<(String, String)> {
    let lines = words::plan(&results.plan).into_iter().enumerate();
    let label = |index| if index == 0 { name } else { "" };
    let mut pairs: Vec<(String, String)> = lines
        .map(|(index, line)| (label(index).into(), line.trim_start().into()))
        .collect();
    pairs.push(("seed".into(), results.plan.seed.to_string()));
    for job in results.steps.iter().flat_map(|step| &step.jobs) {
        let engine = job
            .workers
            .first()
            .map(|worker| worker.engine.clone())
            .unwrap_or_default();
        let reason = match engine.reason.as_str() {
            "" => String::new(),
            reason => format!(" ({reason})"),
        };
        pairs.push((
            format!("engine of {}", job.name),
            format!("{}{reason}", engine.kind.name()),
        ));
    }
    pairs
}

fn environment_rows(results: &Results) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for host in results.hosts.iter().take(MAX_HOSTS) {
        let environment = &host.environment;
        let cpu = &environment.cpu;
        pairs.push(("host".into(), environment.host.name.clone()));
        pairs.push((
            "system".into(),
            format!("{}, {}", environment.host.system, environment.host.kernel),
        ));
        pairs.extend(
            environment
                .host
                .hypervisor
                .as_ref()
                .map(|hypervisor| ("hypervisor".into(), hypervisor.clone())),
        );
        pairs.push((
            "processors".into(),
            format!(
                "{}, {} logical, {} usable, {}",
                cpu.model,
                cpu.logical,
                cpu.usable,
                pluralize(cpu.numa_nodes.into(), "NUMA node")
            ),
        ));
        pairs.extend(
            cpu.governor
                .as_ref()
                .map(|governor| ("frequency governor".into(), governor.clone())),
        );
        pairs.push(("memory".into(), environment.memory.to_string()));
        let clock = &environment.clock;
        let reason = match clock.reason.as_str() {
            "" => String::new(),
            reason => format!(" ({reason})"),
        };
        pairs.push(("clock".into(), format!("{}{reason}", clock.source)));
        pairs.extend(target_rows(environment));
    }
    if results.hosts.len() > MAX_HOSTS {
        let omitted = results.hosts.len() - MAX_HOSTS;
        pairs.push(("host".into(), format!("and {omitted} more, in the saved result")));
    }
    pairs
}

/// All known facts about the targets.
fn target_rows(environment: &Environment) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for target in environment.targets.iter().take(MAX_TARGETS) {
        pairs.push(("target".into(), words::describe_target(target)));
        if let Some(files) = &target.file_system {
            let words = format!("{} at {} ({})", files.kind, files.mount_point, files.options);
            pairs.push(("file system".into(), words));
        }
        for device in &target.devices {
            let sectors = format!("sectors {}/{}", device.logical_sector, device.physical_sector);
            let mut facts = vec![device.size.to_string(), sectors];
            facts.extend(device.model.clone());
            facts.extend(
                device
                    .scheduler
                    .as_ref()
                    .map(|scheduler| format!("scheduler {scheduler}")),
            );
            facts.extend(device.write_cache.clone());
            if let Some(health) = &device.health {
                let problems = match health.problems.is_empty() {
                    true => "no problems".into(),
                    false => health.problems.join(", "),
                };
                facts.push(format!("health ({}): {problems}", health.source));
            }
            pairs.push((format!("device {}", device.name), facts.join(", ")));
        }
    }
    pairs
}

/// The command line, quoted for a shell.
pub(super) fn format_command_line(results: &Results) -> Option<String> {
    let arguments = &results.plan.origin.arguments;
    let words: Vec<_> = arguments.iter().map(|word| shell_word(word)).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Creates the section with the command line.
pub fn repeat_section(results: &Results) -> Option<Section> {
    let block = Block::Code {
        title: "Command line".into(),
        text: format_command_line(results)?,
        notes: Vec::new(),
    };
    Some(Section::new("How to repeat", vec![block]))
}

/// Creates the section with the same test for other tools.
pub(super) fn equivalents_section(results: &Results) -> Option<Section> {
    let block = |equivalent: &Equivalent| {
        // The converter's name for this program means nothing to readers.
        let name = |note: &String| match note.strip_prefix("native") {
            Some(rest) => format!("fathom{rest}"),
            None => note.replace(" native:", " fathom:"),
        };
        let lost = equivalent.lost.iter().map(name);
        let mut notes: Vec<String> = lost.map(|lost| format!("Not equivalent: {lost}")).collect();
        notes.extend(equivalent.differs.iter().map(name));
        let mut text = equivalent.one_line.clone().unwrap_or_else(|| equivalent.text.clone());
        if let Some(file) = overwritten_file(results, equivalent) {
            text = format!("{} --allow-overwrite {file}", text.trim_end());
            notes.insert(0, format!("This overwrites {file}, whose data are lost."));
        }
        Block::Code {
            title: format!("For {}", tool_name(equivalent.dialect)),
            text,
            notes,
        }
    };
    // Other tools have no simulated device.
    let is_simulated = words::describe_simulation(&results.plan).is_some();
    let shown = results.equivalents.iter();
    let shown = shown.filter(|equivalent| !is_simulated || equivalent.dialect == Dialect::Native);
    let blocks: Vec<Block> = shown.map(block).collect();
    (!blocks.is_empty()).then(|| Section::folded("Equivalent commands", blocks))
}

/// The file that a command of this program refuses to overwrite without permission, quoted for a
/// shell.
fn overwritten_file<'a>(results: &'a Results, equivalent: &Equivalent) -> Option<Cow<'a, str>> {
    let mut targets = results.hosts.iter().flat_map(|host| &host.environment.targets);
    let (Some(target), None) = (targets.next(), targets.next()) else {
        return None;
    };
    let mut streams = results.plan.workers().flat_map(|worker| &worker.streams);
    let is_command = equivalent.dialect == Dialect::Native && equivalent.form == EquivalentForm::CommandLine;
    let changes_data = streams.any(|stream| stream.mix.directions().any(Direction::changes_data));
    (is_command && changes_data && target.kind == "file").then(|| shell_word(&target.path))
}

/// The name of the tool of a dialect.
pub fn tool_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Native => "fathom",
        Dialect::Fio => "fio",
        Dialect::Diskspd => "DiskSpd",
        Dialect::Iometer => "Iometer",
        Dialect::Vdbench => "Vdbench",
    }
}

pub(super) fn list_downloads(results: &Results) -> Vec<Download> {
    let named = |format: &str| {
        let format = formats::find(format)?;
        let mut bytes = Vec::new();
        (format.write)(results, &mut bytes).ok()?;
        String::from_utf8(bytes).ok()
    };
    let name = to_identifier(&results.plan.name);
    let (figures, intervals) = (named("json"), named("csv"));
    let ranks = results.fleet.is_some().then(|| named("csv-ranks")).flatten();
    let plan = serde_json::to_string_pretty(&results.plan).unwrap_or_default();
    let file = |end: &str| format!("{name}{end}");
    let downloads = [
        figures.map(|text| Download::json(file(".json"), "All figures (JSON)", text)),
        intervals.map(|text| Download::csv(file("-intervals.csv"), "Every interval (CSV)", text)),
        ranks.map(|text| Download::csv(file("-ranks.csv"), "Every rank (CSV)", text)),
        Some(Download::json(file("-plan.json"), "Every setting (JSON)", plan)),
    ];
    downloads.into_iter().flatten().collect()
}
