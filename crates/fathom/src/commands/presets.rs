//! `fathom presets`.

use dialects::convert::{self, Conversion};
use dialects::native;
use dialects::native::presets::{self, Preset};
use model::Bytes;
use model::plan::{Dialect, Plan};
use serde_json::{Value, json};

use super::run;
use crate::exit::Exit;
use crate::fault::Faults;
use crate::screen;
use crate::session::Session;

/// Size of the example's target, if the preset has none.
const EXAMPLE_SIZE: Bytes = Bytes::gib(10);

/// List ready-made tests, or print one in full
#[derive(clap::Args)]
#[command(
    long_about = "Lists ready-made tests for `fathom run --preset NAME --target PATH`. With a NAME it prints the \
        test in full: its purpose, the source of its values, its job file, and the same test for DiskSpd and fio on \
        an example target.\n\nA version of a preset never changes, so all results of `oltp@1` come from the same \
        test; results record their preset and the flags that changed it.",
    after_help = "Examples:\n  fathom presets\n  fathom presets oltp\n  fathom presets sql-log@1 --toml > mine.toml\n  \
        fathom run --preset oltp --target /data --size 100g"
)]
pub struct Args {
    /// Preset to print, such as oltp
    #[arg(value_name = "NAME[@VERSION]")]
    name: Option<String>,
    /// One JSON document for programs
    #[arg(long)]
    json: bool,
    /// Print only its job file, to save or edit
    #[arg(long, requires = "name", conflicts_with = "json")]
    toml: bool,
}

/// Lists the presets, or prints one.
pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    let Some(name) = &args.name else {
        let all = presets::all();
        let is_newest = |preset: &&Preset| {
            let mut versions = all.iter().filter(|other| other.info.id == preset.info.id);
            versions.all(|other| other.info.version <= preset.info.version)
        };
        let newest: Vec<&Preset> = all.iter().filter(is_newest).collect();
        return match args.json {
            true => screen::put_json(&Value::from_iter(newest.into_iter().map(summary_json))),
            false => screen::put(&format_list(&newest)),
        };
    };
    let preset = presets::find(name)?;
    if args.toml {
        return screen::put_document(preset.text);
    }
    let plan = example_plan(&preset)?;
    match args.json {
        true => screen::put_json(&preset_json(&preset, &plan)),
        false => screen::put(&format_preset(&preset, &plan)),
    }
}

fn summary_json(preset: &Preset) -> Value {
    let info = &preset.info;
    json!({
        "id": info.id,
        "version": info.version,
        "title": info.title,
        "why": info.why,
        "from": info.from,
        "objective": info.objective,
        "judged_by": info.judged_by,
        "targets": info.targets.unwrap_or(1),
    })
}

fn preset_json(preset: &Preset, plan: &Plan) -> Value {
    let mut value = summary_json(preset);
    value["toml"] = preset.text.into();
    for (dialect, name) in [(Dialect::Diskspd, "diskspd"), (Dialect::Fio, "fio")] {
        let Conversion {
            text, lost, differs, ..
        } = convert::convert_to(dialect, plan);
        let words = |list: &[convert::Lost]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        value[name] = json!({ "text": text, "lost": words(&lost), "differs": words(&differs) });
    }
    value
}

fn format_list(all: &[&Preset]) -> String {
    let mut text = String::new();
    for preset in all {
        text += &format!("  {:<32} {}\n", preset.info.name(), preset.info.title);
    }
    text + "\n`fathom presets NAME` prints one in full; `fathom run --preset NAME --target PATH` runs it.\n"
}

fn example_plan(preset: &Preset) -> Result<Plan, Faults> {
    let mut document = preset.document();
    for job in &mut document.jobs {
        job.targets = match preset.info.targets {
            Some(count) => (1..=count)
                .map(|number| format!("/data/volume{number:02}.dat"))
                .collect(),
            None => vec!["/data/test.dat".into()],
        };
        job.size = job.size.or(Some(EXAMPLE_SIZE));
    }
    run::check_target_count(&document)?;
    Ok(native::lower(&document)?)
}

fn format_preset(preset: &Preset, plan: &Plan) -> String {
    let info = &preset.info;
    let mut text = format!("{}: {}\n", info.name(), info.title);
    text += &screen::wrap_paragraph(&info.why);
    text += &screen::wrap_paragraph(&format!("From: {}.", info.from));
    if let Some(objective) = &info.objective {
        text += &screen::wrap_paragraph(&format!("To show: {objective}."));
    }
    if let Some(clauses) = &info.judged_by {
        text += &screen::wrap_paragraph(&format!(
            "Judged by: {clauses}. The exit code states the verdict: 0 PASS, 1 FAIL, 2 INCONCLUSIVE."
        ));
    }
    text += &format!("\nIts job file\n\n{}", indent(preset.text));
    let sizes: Vec<String> = plan.targets.iter().take(1).map(|target| target.path.clone()).collect();
    for (dialect, name) in [(Dialect::Diskspd, "DiskSpd"), (Dialect::Fio, "fio")] {
        let conversion = convert::convert_to(dialect, plan);
        text += &format!("\nFor {name}, on {}\n\n{}", sizes.join(" "), indent(&conversion.text));
        for lost in &conversion.lost {
            text += &screen::wrap_paragraph(&format!("lost: {lost}"));
        }
    }
    text + &format!("\nRun it\n\n  fathom run --preset {} --target PATH\n", info.name())
}

fn indent(text: &str) -> String {
    let line = |line: &str| {
        if line.is_empty() {
            "\n".to_owned()
        } else {
            format!("  {line}\n")
        }
    };
    text.lines().map(line).collect()
}
