//! `fathom advise`.

use analysis::policies::{Advice, Need, PolicyKind, advise};
use analysis::requirement::{self, Metric};
use clap::ValueHint;
use model::{Bytes, Nanos};
use report::numbers::pluralize;
use serde_json::json;

use super::results;
use crate::catalogue::{CatalogueArgs, load_catalogue};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::options::{parse_read_percent, parse_value, wrong_value};
use crate::screen;
use crate::session::Session;

/// Help heading of the flags that state needs.
const NEEDS_HEADING: &str = "Needs";
/// Help for a size that cannot be parsed.
const SIZE_HELP: &str = "for example 500GiB";

/// Find the disks and machines that meet a requirement
#[derive(clap::Args)]
#[command(
    long_about = "Finds the disks, machines and contracts in the catalogue that meet your needs, with the smallest size and the rates to order, \
        and says why the others do not. State the needs in flags, or take them from a result or a report that `fathom explain` \
        reads: its IOPS, throughput and mean latency, unless a flag replaces them. Exit code 1 means that nothing fits. The figures are the catalogue's; test what you get with `fathom verify`.",
    after_help = "Examples:\n  fathom advise --iops 6000 --mbps 300 --latency 10ms --size 500GiB\n  \
        fathom advise --from result.fathom"
)]
pub struct Args {
    /// Operations per second
    #[arg(long, value_name = "NUMBER", help_heading = NEEDS_HEADING)]
    iops: Option<String>,
    /// Throughput in MB/s (10⁶ bytes), or with a unit: 200MiB/s
    #[arg(long, value_name = "NUMBER", help_heading = NEEDS_HEADING)]
    mbps: Option<String>,
    /// Mean latency, such as 2ms
    #[arg(long, value_name = "TIME", help_heading = NEEDS_HEADING)]
    latency: Option<String>,
    /// Size of the disk
    #[arg(long, value_name = "SIZE", help_heading = NEEDS_HEADING)]
    size: Option<String>,
    /// Block size of the operations [default: 4KiB]
    #[arg(long, value_name = "SIZE", help_heading = NEEDS_HEADING)]
    block: Option<String>,
    /// Percentage of reads
    #[arg(long, value_name = "PERCENT", help_heading = NEEDS_HEADING)]
    read: Option<String>,
    /// Take the other needs from this saved result, or report of another tool
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = NEEDS_HEADING)]
    from: Option<String>,
    /// One JSON document for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    catalogue: CatalogueArgs,
}

/// Lists the catalogue entries that meet the requirement.
pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    let catalogue = load_catalogue(&args.catalogue, None)?;
    let need = parse_need(args)?;
    let advice_list = advise(&catalogue, &need);
    match args.json {
        true => screen::put_json(&json!({ "need": need, "advice": advice_list }))?,
        false => screen::put(&format_text(&need, &advice_list))?,
    };
    match advice_list.iter().any(|advice| advice.fits) {
        true => Ok(Exit::Done),
        false => Ok(Exit::Failed),
    }
}

fn parse_need(args: &Args) -> Result<Need, Faults> {
    let measured = match &args.from {
        Some(file) => need_from_result(file)?,
        None => Need::default(),
    };
    let need = Need {
        iops: parse_clause("iops", &args.iops, "iops>=")?.or(measured.iops),
        bytes_per_sec: parse_clause("mbps", &args.mbps, "mbps>=")?.or(measured.bytes_per_sec),
        latency_ns: parse_clause("latency", &args.latency, "mean<=")?.or(measured.latency_ns),
        block: parse_value("block", &args.block, SIZE_HELP)?.or(measured.block),
        read_percent: parse_read_percent(args.read.as_deref())?.or(measured.read_percent),
        size: parse_value("size", &args.size, SIZE_HELP)?,
    };
    let has_need =
        need.iops.is_some() || need.bytes_per_sec.is_some() || need.latency_ns.is_some() || need.size.is_some();
    match has_need {
        true => Ok(need),
        false => {
            Err(Fault::new("no requirement specified")
                .into_usage("specify one: fathom advise --iops 6000 --latency 2ms"))
        }
    }
}

/// Parses the value of a flag as in a requirement.
fn parse_clause(name: &str, text: &Option<String>, start: &str) -> Result<Option<f64>, Faults> {
    let Some(text) = text else { return Ok(None) };
    match requirement::parse(&format!("{start}{text}")) {
        Ok(clauses) => Ok(clauses.first().map(|clause| clause.target)),
        Err(errors) => Err(wrong_value(
            name,
            text,
            errors.first().map_or("", |error| &error.why),
            errors.first().map_or("", |error| &error.help),
        )),
    }
}

/// Takes the needs from the first load of a result.
fn need_from_result(file: &str) -> Result<Need, Faults> {
    let loads = results::read(file)?.loads;
    if let [first, _, ..] = &loads[..] {
        screen::note(&format!(
            "of the {} loads of {file}, only the first ({}) is considered: for their sum, state --iops, --mbps and --block",
            loads.len(),
            first.name
        ));
    }
    let Some(observation) = loads.into_iter().next().filter(|load| load.total.iops != Some(0.0)) else {
        return Err(
            Fault::new(format!("{file} contains no measured figures")).into_usage("specify a result with figures")
        );
    };
    let total = &observation.total;
    Ok(Need {
        iops: total.iops.map(f64::ceil),
        bytes_per_sec: total.bytes_per_sec.map(f64::ceil),
        latency_ns: total.user_latency().and_then(|waited| waited.mean_ns),
        size: None,
        block: observation.load.block,
        read_percent: observation.read_percent().map(f64::round),
    })
}

/// Maximum number of machines to show per catalogue entry.
const MAX_MACHINES: usize = 4;

fn format_text(need: &Need, advice_list: &[Advice]) -> String {
    let mut needs: Vec<String> = Vec::new();
    needs.extend(need.iops.map(|iops| {
        format!(
            "{} IOPS of {}",
            Metric::Iops.show(iops),
            need.block.unwrap_or(Bytes::kib(4))
        )
    }));
    needs.extend(need.bytes_per_sec.map(|bytes| Metric::Throughput.show(bytes)));
    needs.extend(
        need.latency_ns
            .map(|ns| format!("{} or less on average", Nanos(ns as u64))),
    );
    needs.extend(need.size.map(|size| size.to_string()));
    let mut text = format!("Needed: {}\n", needs.join(", "));
    let is_machine = |advice: &Advice| advice.kind == PolicyKind::Machine;
    let mut is_shortened = false;
    for (fits, machines, heading) in [
        (true, false, "Enough, by the catalogue"),
        (true, true, "Machines that allow enough"),
        (false, false, "Does not meet the requirement"),
        (false, true, "Machines that do not allow enough"),
    ] {
        let matching = advice_list
            .iter()
            .filter(|advice| advice.fits == fits && is_machine(advice) == machines);
        let matching: Vec<&Advice> = matching.collect();
        if matching.is_empty() {
            continue;
        }
        let common = fits.then(|| find_common_reason(&matching)).flatten();
        text += &format!(
            "\n{heading}{}\n",
            common.map_or_else(String::new, |reason| format!(" ({reason})"))
        );
        for policy_advice in matching.chunk_by(|a, b| a.policy == b.policy) {
            for advice in policy_advice.iter().take(MAX_MACHINES) {
                text += &format_advice(advice, common);
            }
            if let Some(rest) = policy_advice.len().checked_sub(MAX_MACHINES + 1) {
                let name = &policy_advice[0].policy;
                let more = pluralize(rest as u64 + 1, "more machine");
                text += &format!("  {name:<34} {more}\n");
                is_shortened = true;
            }
        }
    }
    if is_shortened {
        text += "\n--json lists all machines.\n";
    }
    let suggested_disk = advice_list.iter().find(|advice| advice.fits && !is_machine(advice));
    if let Some(suggested_disk) = suggested_disk {
        let tier = suggested_disk.tier.iter().map(|tier| ("tier", tier));
        let inputs = { suggested_disk.inputs.iter() }.map(|(name, value)| (name.as_str(), value));
        // A tier implies its size.
        let flags = tier
            .chain(inputs)
            .filter(|(name, _)| *name != "size" || suggested_disk.tier.is_none());
        let flags: String = flags
            .map(|(name, value)| format!(" --{name} {}", value.replace(' ', "")))
            .collect();
        text += &format!(
            "\nTest everything that this disk promises: fathom verify --policy {}{flags} TARGET\n",
            suggested_disk.policy
        );
        text += &verify_command(need);
    }
    text
}

/// Builds the command that tests only the needed rate: the disk may promise more.
fn verify_command(need: &Need) -> String {
    // With a fixed block size, a throughput would require a second, different IOPS.
    let throughput = need.bytes_per_sec.filter(|_| need.iops.is_none());
    let clauses = [
        need.iops.map(|iops| format!("iops>={iops}")),
        throughput.map(|bytes| format!("mbps>={}", bytes / 1e6)),
        need.latency_ns
            .map(|ns| format!("mean<={}", Nanos(ns as u64).to_string().replace(' ', ""))),
    ];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    if need.iops.or(throughput).is_none() {
        return String::new();
    }
    let block = need
        .block
        .map(|block| format!(" --block {}", block.to_string().replace(' ', "")));
    let read = need.read_percent.map(|percent| format!(" --read {percent}"));
    let options: String = [block, read].into_iter().flatten().collect();
    format!(
        "Test the rate that you need: fathom verify --require '{}'{options} TARGET\n",
        clauses.join(",")
    )
}

/// The reason that all entries of a list state, if there are several entries.
fn find_common_reason<'a>(advice_list: &[&'a Advice]) -> Option<&'a str> {
    let (first, others) = advice_list.split_first()?;
    let is_common = |reason: &&String| others.iter().all(|advice| advice.reasons.contains(*reason));
    first
        .reasons
        .iter()
        .find(|reason| !others.is_empty() && is_common(reason))
        .map(String::as_str)
}

/// Formats an entry, without the reason that its list states.
fn format_advice(advice: &Advice, common: Option<&str>) -> String {
    let tier = advice.tier.as_ref().map(|tier| format!(" {tier}")).unwrap_or_default();
    let name = format!("{}{tier}", advice.policy);
    let mut parts: Vec<String> = Vec::new();
    if advice.fits {
        parts.extend(advice.inputs.iter().map(|(name, value)| format!("{name} {value}")));
        let limits = [
            advice.iops.map(|iops| format!("{} IOPS", Metric::Iops.show(iops))),
            advice.bytes_per_sec.map(|bytes| Metric::Throughput.show(bytes)),
        ];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        parts.push(format!("allows {}", limits.join(", ")));
    }
    let reasons = advice.reasons.iter().filter(|reason| Some(reason.as_str()) != common);
    parts.extend(reasons.cloned());
    format!("  {name:<34} {}\n", parts.join("; "))
}
