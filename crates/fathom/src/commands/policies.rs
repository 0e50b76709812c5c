//! `fathom policies`.

use analysis::caps::LimitLayer;
use analysis::policies::{BurstUnit, InputKind, Inputs, Origin, Policy, PolicyKind, ResolvedPolicy};
use analysis::requirement::Metric;
use model::{Bytes, Nanos};
use serde_json::{Value, json};
use study::verify;

use crate::catalogue::{CatalogueArgs, InputArgs, find_policy, load_catalogue, parse_inputs, policy_file, today};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::screen;
use crate::session::Session;

/// List the documented limits of cloud disks and machines
#[derive(clap::Args)]
#[command(
    long_about = "Lists the catalogue of promised limits of disks and machines. With a NAME it explains the entry: \
        its options, its limits, their consequences, and the source of every figure. With options such as the size \
        of a disk, the figures are those of that disk.",
    after_help = "Examples:\n  fathom policies\n  fathom policies azure\n  fathom policies aws/gp3 --size 500GiB --iops 6000 --mbps 250\n  \
        fathom policies azure/premium --tier P30\n  fathom policies provider-sla/ssd-ultra --toml > mine.toml"
)]
pub struct Args {
    /// Entry or file to explain, such as aws/gp3; or provider whose entries to list
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    catalogue: CatalogueArgs,
    /// One JSON document for programs
    #[arg(long)]
    json: bool,
    /// The entry as TOML, as a template for your own
    #[arg(long, requires = "name", conflicts_with = "json")]
    toml: bool,
}

/// Lists the policies, or explains one.
pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    let file = args.name.as_deref().and_then(policy_file);
    let catalogue = load_catalogue(&args.catalogue, file)?;
    let inputs = parse_inputs(&args.inputs)?;
    let Some(name) = &args.name else {
        if !inputs.is_empty() {
            let fault = Fault::new("cannot describe a disk without a policy name");
            return Err(fault.into_usage("name it: fathom policies aws/gp3 --size 500GiB"));
        }
        return put_list(&catalogue.entries().collect::<Vec<_>>(), args.json);
    };
    let is_provider = file.is_none() && !name.contains('/') && catalogue.find(name).is_err();
    let provider_policies = catalogue.find_by_provider(name);
    if is_provider && !provider_policies.is_empty() && inputs.is_empty() {
        return put_list(&provider_policies, args.json);
    }
    let policy = find_policy(&catalogue, name, "")?;
    if args.toml {
        return screen::put_document(policy.text());
    }
    let resolved = resolve(policy, &inputs)?;
    match args.json {
        true => {
            let mut value = to_json(policy);
            value["resolved"] = serde_json::to_value(&resolved).expect("plain values are valid JSON");
            screen::put_json(&value)
        }
        false => screen::put(&explain(policy, resolved.as_ref())),
    }
}

fn put_list(entries: &[&Policy], json: bool) -> Result<Exit, Faults> {
    match json {
        true => screen::put_json(&Value::from_iter(entries.iter().map(|policy| to_json(policy)))),
        false => screen::put(&format_list(entries)),
    }
}

/// Resolves the policy for the described disk; `None` if it needs a description that is missing.
fn resolve(policy: &Policy, inputs: &Inputs) -> Result<Option<ResolvedPolicy>, Faults> {
    match policy.resolve(inputs) {
        Ok(resolved) => Ok(Some(resolved)),
        Err(_) if inputs.is_empty() => Ok(None),
        Err(error) => Err(Faults::usage(Fault::new(format!("{}: {error}", policy.id())))),
    }
}

fn to_json(policy: &Policy) -> Value {
    let inputs = policy
        .inputs()
        .map(|(name, kind, help, default)| json!({ "name": name, "kind": kind, "help": help, "has_default": default }));
    json!({
        "id": policy.id(),
        "title": policy.title(),
        "kind": policy.kind(),
        "as_of": policy.as_of(),
        "old": policy.expiry_warning(today()).is_some(),
        "source": policy.source(),
        "confidence": policy.confidence(),
        "wording": policy.wording(),
        "site": policy.site(),
        "inputs": inputs.collect::<Vec<_>>(),
        "tiers": policy.tiers().collect::<Vec<_>>(),
        "notes": policy.notes(),
        "origin": policy.origin(),
    })
}

fn format_list(entries: &[&Policy]) -> String {
    let mut text = String::new();
    let parts = [
        (PolicyKind::Whole, "Contracts and whole machines"),
        (PolicyKind::Disk, "Disks"),
        (PolicyKind::Machine, "Machines"),
    ];
    let mut any_old = false;
    for (kind, heading) in parts {
        let policies_of_kind: Vec<&&Policy> = entries.iter().filter(|policy| policy.kind() == kind).collect();
        if policies_of_kind.is_empty() {
            continue;
        }
        text += &format!("{heading}\n");
        for policy in policies_of_kind {
            let old = policy.expiry_warning(today()).is_some();
            any_old |= old;
            let mark = if old { "*" } else { " " };
            let own = match policy.origin() {
                Origin::BuiltIn => String::new(),
                Origin::User(file) => format!(" (from {file})"),
            };
            text += &format!(
                "  {:<26} {:>10}{mark} {}{own}\n",
                policy.id(),
                policy.as_of().to_string(),
                policy.title()
            );
        }
        text += "\n";
    }
    if any_old {
        text += "* older than 12 months: compare with the source before you rely on it\n";
    }
    text + "`fathom policies NAME` explains an entry; `fathom verify --policy NAME TARGET` tests it.\n"
}

fn explain(policy: &Policy, resolved: Option<&ResolvedPolicy>) -> String {
    let mut text = format!("{}: {}\n", policy.id(), policy.title());
    if let Some(wording) = policy.wording() {
        text += &screen::wrap_paragraph(wording);
    }
    if let Some(site) = policy.site() {
        text += &screen::wrap_paragraph(&format!("site: {site}"));
    }
    let (date, words) = (policy.as_of(), policy.confidence().label());
    text += &screen::wrap_paragraph(&format!("as of {date}, {words}: {}", policy.source()));
    if let Origin::User(file) = policy.origin() {
        text += &screen::wrap_paragraph(&format!("from {file}"));
    }
    if let Some(old) = policy.expiry_warning(today()) {
        text += &screen::wrap_paragraph(&format!("Note: {old}."));
    }
    for note in policy.notes() {
        text += &screen::wrap_paragraph(&format!("Note: {note}."));
    }
    let is_tier_chosen = resolved.is_some_and(|resolved| resolved.tier.is_some());
    text += &format_inputs(policy, is_tier_chosen);
    match resolved {
        Some(resolved) => text + &format_figures(resolved),
        None => text + "\nSet these inputs to see the figures of your disk.\n",
    }
}

fn format_inputs(policy: &Policy, is_tier_chosen: bool) -> String {
    let mut text = String::new();
    for (name, kind, help, default) in policy.inputs() {
        let example = match kind {
            InputKind::Size => "SIZE",
            InputKind::Number => "NUMBER",
        };
        let flag = match name {
            "size" | "iops" | "mbps" => format!("--{name} {example}"),
            _ => format!("--set {name}={example}"),
        };
        let default_note = if default { " (has a default)" } else { "" };
        text += &format!("  {flag:<24} {help}{default_note}\n");
    }
    let tiers: Vec<&str> = policy.tiers().collect();
    if !tiers.is_empty() && !is_tier_chosen {
        text += &screen::wrap_paragraph(&format!("--tier: {}", tiers.join(", ")));
    }
    match text.is_empty() {
        true => text,
        false => format!("\nInputs\n{text}"),
    }
}

/// Formats limits, test load, promises and consequences.
fn format_figures(resolved: &ResolvedPolicy) -> String {
    let mut text = String::from("\nLimits");
    let described = resolved.inputs.iter().map(|input| match input.kind {
        InputKind::Size => format!("{} {}", input.name, Bytes(input.value as u64)),
        InputKind::Number => format!("{} {}", input.name, input.value),
    });
    let described: Vec<String> = resolved.tier.iter().cloned().chain(described).collect();
    if !described.is_empty() {
        text += &format!(" (of {})", described.join(", "));
    }
    text += "\n";
    for layer in resolved.layers.iter().chain(&resolved.cached) {
        text += &format!("  {:<32} {}\n", layer.name, format_layer(layer));
    }
    for burst in &resolved.bursts {
        let show = |value: f64| match burst.unit {
            BurstUnit::Iops => format!("{} IOPS", Metric::Iops.show(value)),
            BurstUnit::Bytes => Metric::Throughput.show(value),
        };
        text += &format!(
            "  burst: {} for {}, then {}; the credits refill in {} without load\n",
            show(burst.ceiling),
            format_seconds(burst.lasts_secs()),
            show(burst.refill),
            format_seconds(burst.refills_secs())
        );
    }
    let workload = &resolved.workload;
    let pattern = if workload.random { "random" } else { "sequential" };
    text += &format!(
        "\nTested with\n  {} {pattern}, {} % reads; {} {}\n",
        workload.block,
        workload.read_percent,
        format_seconds(workload.duration_secs),
        match workload.warm_up_secs {
            0.0 => "without warm-up".to_owned(),
            seconds => format!("after {} of warm-up", format_seconds(seconds)),
        }
    );
    if let Some(reach) = &resolved.reach {
        text += &screen::wrap_paragraph(&verify::format_reach(reach));
    }
    text += "\nPromises\n";
    for clause in &resolved.clauses {
        text += &format!("  {clause}\n");
    }
    text + &format_consequences(resolved)
}

fn format_layer(layer: &LimitLayer) -> String {
    let iops = layer.iops.map(|limit| format!("{} IOPS", Metric::Iops.show(limit.low)));
    let bytes = layer.bytes_per_sec.map(|limit| match limit.low == limit.high {
        true => Metric::Throughput.show(limit.low),
        false => format!(
            "{} to {}",
            Metric::Throughput.show(limit.low),
            Metric::Throughput.show(limit.high)
        ),
    });
    let unit = layer.unit.map(|unit| format!("operations count in units of {unit}"));
    [iops, bytes, unit].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn format_consequences(resolved: &ResolvedPolicy) -> String {
    let derived = &resolved.derived;
    let mut text = String::from("\nConsequences\n");
    if let Some(bytes) = derived.crossover_bytes {
        text += &format!(
            "  from blocks of {:.1} KiB on, the throughput limit applies before the IOPS limit (throughput ÷ IOPS)\n",
            bytes / 1024.0
        );
    }
    if let (Some(depth_min), Some(depth_recommended), Some(latency)) = (
        derived.concurrency,
        derived.concurrency_with_headroom,
        derived.at_latency_ns,
    ) {
        let article = if resolved.latency_ns.is_none() {
            "an assumed"
        } else {
            "a"
        };
        text += &format!(
            "  at {article} latency of {}, this rate needs {} in flight (rate × latency); test with a \
             depth of {depth_recommended}\n",
            Nanos(latency as u64),
            report::numbers::pluralize(depth_min, "operation")
        );
    }
    match derived.past_burst_secs {
        Some(seconds) => {
            text += &format!(
                "  a run at full speed uses up the credits after {} and then measures the sustained rate\n",
                format_seconds(seconds)
            );
        }
        None => text += "  no credits: a short run already measures the sustained rate\n",
    }
    text
}

fn format_seconds(seconds: f64) -> String {
    Nanos((seconds * 1e9) as u64).to_string()
}
