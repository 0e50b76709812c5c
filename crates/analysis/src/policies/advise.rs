//! Finds the disks, machines and contracts that meet a need, and the size, IOPS and throughput to
//! order. States why each other entry does not meet it.

use model::{Bytes, Nanos};
use serde::Serialize;

use super::file::InputKind;
use super::resolve::{InputGoals, show_input};
use super::{BurstUnit, Catalogue, InputValue, Inputs, Overrides, Policy, PolicyError, PolicyKind, ResolvedPolicy};
use crate::caps::{Applies, LimitLayer};
use crate::requirement::Metric;

/// Default block size for IOPS: so small that no throughput limit binds first.
const DEFAULT_BLOCK: Bytes = Bytes::kib(4);

/// Upper bound of the search if an entry has no bound: no vendor has larger disks.
const MAX_DISK_SIZE: Bytes = Bytes::gib(64 << 10);

/// The inputs to order; others have defaults.
const ORDERED_INPUTS: [&str; 3] = ["size", "iops", "mbps"];

/// The requirements of a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Need {
    /// Operations per second.
    pub iops: Option<f64>,
    /// Bytes per second.
    pub bytes_per_sec: Option<f64>,
    /// Mean latency in nanoseconds.
    pub latency_ns: Option<f64>,
    /// Bytes of the disk.
    pub size: Option<Bytes>,
    /// Bytes per operation; absent: 4 KiB, for which no throughput limit binds first.
    pub block: Option<Bytes>,
    /// Percent of the operations that read.
    pub read_percent: Option<f64>,
}

/// Advice on one entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Name of the policy.
    pub policy: String,
    /// Disk, machine, or a contract for the whole.
    pub kind: PolicyKind,
    /// The tier, for an entry with a table of tiers.
    pub tier: Option<String>,
    /// Its figures satisfy the need.
    pub fits: bool,
    /// The inputs to order, with their values.
    #[serde(rename = "with")]
    pub inputs: Vec<(String, String)>,
    /// The allowed operations per second at the required block size.
    pub iops: Option<f64>,
    /// Bytes per second with large blocks.
    pub bytes_per_sec: Option<f64>,
    /// The promised latency, in nanoseconds.
    pub latency_ns: Option<f64>,
    /// Unmet needs; if there are none, notes about the entry.
    #[serde(rename = "remarks")]
    pub reasons: Vec<String>,
}

/// Judges every entry of the catalogue: those that satisfy the need come first, by name.
pub fn advise(catalogue: &Catalogue, need: &Need) -> Vec<Advice> {
    let mut list: Vec<Advice> = Vec::new();
    for policy in catalogue.entries() {
        match policy.kind() {
            PolicyKind::Machine => list.extend(advise_machines(policy, need)),
            // Skip entries whose limits the user sets: they would meet any need.
            PolicyKind::Disk | PolicyKind::Whole if policy.has_unlimited_input() => {}
            PolicyKind::Disk | PolicyKind::Whole => list.push(advise_disk(policy, need)),
        }
    }
    list.sort_by_key(|advice| !advice.fits);
    list
}

/// The smallest disk, of an entry or a contract, that satisfies the need, otherwise the largest
/// with its unmet needs.
fn advise_disk(policy: &Policy, need: &Need) -> Advice {
    let smallest = need.size.map_or(Bytes::gib(1).0 as f64, |size| size.0 as f64);
    let largest = policy.largest_size().unwrap_or(MAX_DISK_SIZE.0 as f64);
    if smallest > largest {
        let max = Bytes(largest as u64);
        return advise_against(policy, format!("the largest disk is {max}"));
    }
    let resolve = |size: f64| resolve_disk(policy, need, size);
    let largest_disk = match resolve(largest) {
        Ok(largest_disk) => largest_disk,
        Err(error) => return advise_against(policy, error.to_string()),
    };
    if !unmet_needs(&largest_disk, need).is_empty() {
        return build_advice(policy, &largest_disk, need);
    }
    // Limits never fall as a disk grows, so bisection finds the smallest sufficient size, in whole
    // GiB as vendors sell them.
    let gib = Bytes::gib(1).0 as f64;
    let (mut low, mut high) = ((smallest / gib).ceil() as u64, (largest / gib).floor() as u64);
    let satisfies =
        |count: u64| resolve(count as f64 * gib).is_ok_and(|resolved| unmet_needs(&resolved, need).is_empty());
    while low < high {
        let middle = low + (high - low) / 2;
        match satisfies(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    match resolve(high as f64 * gib) {
        Ok(resolved) if unmet_needs(&resolved, need).is_empty() => build_advice(policy, &resolved, need),
        _ => build_advice(policy, &largest_disk, need),
    }
}

/// Resolves a disk of a size, with the IOPS and throughput to order. If the IOPS limit depends on
/// the ordered throughput, or the reverse, orders the smallest value that suffices.
fn resolve_disk(policy: &Policy, need: &Need, size: f64) -> Result<ResolvedPolicy, PolicyError> {
    let resolve_with = |iops: Option<f64>, bytes_per_sec: Option<f64>| {
        let inputs = policy.inputs_for(&InputGoals {
            size: Some(size),
            iops,
            bytes_per_sec,
        })?;
        resolve(policy, &inputs, need)
    };
    let has_input = |name: &str| policy.inputs().any(|(input, ..)| input == name);
    // The throughput of the required IOPS at this block size.
    let required_throughput = need
        .iops
        .map(|iops| iops * need.block.unwrap_or(DEFAULT_BLOCK).0 as f64);
    let bytes = [need.bytes_per_sec, required_throughput]
        .into_iter()
        .flatten()
        .max_by(f64::total_cmp);
    let first = resolve_with(need.iops, bytes)?;
    let lacks_bytes = |resolved: &ResolvedPolicy| {
        (need.bytes_per_sec.zip(max_throughput(resolved))).is_some_and(|(wanted, max)| max < wanted)
    };
    let lacks_iops = |resolved: &ResolvedPolicy| {
        (need.iops.zip(resolved.reach.as_ref())).is_some_and(|(wanted, reach)| reach.iops.low < wanted)
    };
    let can_order_more_iops = has_input("iops") && lacks_bytes(&first);
    let can_order_more_throughput = has_input("mbps") && lacks_iops(&first);
    if !can_order_more_iops && !can_order_more_throughput {
        return Ok(first);
    }
    let (start_iops, start_bytes) = (need.iops.unwrap_or(100.0), bytes.unwrap_or(1e6));
    let raised = |factor: f64| {
        resolve_with(
            if can_order_more_iops {
                Some(start_iops * factor)
            } else {
                need.iops
            },
            if can_order_more_throughput {
                Some(start_bytes * factor)
            } else {
                bytes
            },
        )
    };
    let mut best = None;
    // Search factors from 1 to 2^20; thirty bisections are more precise than any value that can be
    // ordered.
    let (mut low, mut high) = (1.0, f64::from(1 << 20));
    for _ in 0..30 {
        let middle = f64::sqrt(low * high);
        let larger = raised(middle)?;
        if lacks_bytes(&larger) || lacks_iops(&larger) {
            low = middle;
        } else {
            high = middle;
            best = Some(larger);
        }
    }
    Ok(best.unwrap_or(first))
}

fn resolve(policy: &Policy, inputs: &Inputs, need: &Need) -> Result<ResolvedPolicy, PolicyError> {
    let overrides = Overrides {
        block: Some(need.block.unwrap_or(DEFAULT_BLOCK)),
        read_percent: need.read_percent,
        random: None,
    };
    policy.resolve_with(inputs, &overrides)
}

/// The machines that satisfy the need, those with the lowest IOPS first; if none does, the best one
/// with its unmet needs.
fn advise_machines(policy: &Policy, need: &Need) -> Vec<Advice> {
    let resolve_tier = |tier: &str| {
        let inputs = Inputs::from([("tier".to_owned(), tier.to_owned())]);
        resolve(policy, &inputs, need).map(|resolved| build_advice(policy, &resolved, need))
    };
    let mut all: Vec<Advice> = policy.tiers().filter_map(|tier| resolve_tier(tier).ok()).collect();
    all.sort_by(|a, b| a.iops.unwrap_or(0.0).total_cmp(&b.iops.unwrap_or(0.0)));
    match all.iter().any(|advice| advice.fits) {
        true => all.retain(|advice| advice.fits),
        false => drop(all.drain(..all.len().saturating_sub(1))),
    }
    all
}

fn advise_against(policy: &Policy, why: String) -> Advice {
    Advice {
        policy: policy.id().to_owned(),
        kind: policy.kind(),
        tier: None,
        fits: false,
        inputs: Vec::new(),
        iops: None,
        bytes_per_sec: None,
        latency_ns: None,
        reasons: vec![why],
    }
}

fn build_advice(policy: &Policy, resolved: &ResolvedPolicy, need: &Need) -> Advice {
    let missing = unmet_needs(resolved, need);
    let fits = missing.is_empty();
    let describe_input = |input: &InputValue| {
        let value = match input.kind {
            InputKind::Size => show_input(input.kind, input.value),
            InputKind::Number => format!("{:.0}", input.value),
        };
        (input.name.clone(), value)
    };
    Advice {
        policy: policy.id().to_owned(),
        kind: policy.kind(),
        tier: resolved.tier.clone(),
        fits,
        inputs: { resolved.inputs.iter() }
            .filter(|input| ORDERED_INPUTS.contains(&input.name.as_str()))
            .map(describe_input)
            .collect(),
        iops: resolved.reach.as_ref().map(|reach| reach.iops.low),
        bytes_per_sec: max_throughput(resolved),
        latency_ns: resolved.latency_ns,
        reasons: match fits {
            true => list_notes(resolved, need),
            false => missing,
        },
    }
}

/// Bytes per second with blocks that are long enough.
fn max_throughput(resolved: &ResolvedPolicy) -> Option<f64> {
    let general_limits = resolved.layers.iter().filter(|layer| layer.applies == Applies::All);
    let limit = |layer: &LimitLayer| layer.bytes_per_sec.map(|limit| limit.low);
    general_limits
        .filter_map(limit)
        .chain(
            resolved
                .layers
                .iter()
                .filter(|layer| layer.applies != Applies::All)
                .filter_map(limit),
        )
        .min_by(f64::total_cmp)
}

/// The unmet needs, one sentence each.
fn unmet_needs(resolved: &ResolvedPolicy, need: &Need) -> Vec<String> {
    let mut missing = Vec::new();
    let block = need.block.unwrap_or(DEFAULT_BLOCK);
    if let Some(wanted) = need.iops {
        match &resolved.reach {
            Some(reach) if reach.iops.low < wanted * (1.0 - 1e-9) => missing.push(format!(
                "at most {} IOPS at {block}, but {} are needed",
                Metric::Iops.show(reach.iops.low),
                Metric::Iops.show(wanted)
            )),
            Some(_) => {}
            None => missing.push("the catalogue lists no IOPS limit".into()),
        }
    }
    if let Some(wanted) = need.bytes_per_sec {
        match max_throughput(resolved) {
            Some(max) if max < wanted * (1.0 - 1e-9) => missing.push(format!(
                "at most {}, but {} are needed",
                Metric::Throughput.show(max),
                Metric::Throughput.show(wanted)
            )),
            Some(_) => {}
            None => missing.push("the catalogue lists no throughput limit".into()),
        }
    }
    if let (Some(wanted), PolicyKind::Disk | PolicyKind::Whole) = (need.latency_ns, resolved.kind) {
        let (wanted, time) = (wanted * (1.0 + 1e-9), |ns: f64| Nanos(ns as u64));
        match resolved.latency_ns {
            Some(promised) if promised > wanted => missing.push(format!(
                "its latency is {}, but {} is needed",
                time(promised),
                time(wanted)
            )),
            Some(_) => {}
            None => missing.push("no promised latency".into()),
        }
    }
    missing
}

/// Notes about an entry that satisfies the need.
fn list_notes(resolved: &ResolvedPolicy, need: &Need) -> Vec<String> {
    let mut notes = Vec::new();
    for burst in &resolved.bursts {
        let lasts = Nanos((burst.lasts_secs() * 1e9) as u64);
        if burst.unit == BurstUnit::Iops {
            notes.push(format!("sustained; bursts to {:.0} IOPS for {lasts}", burst.ceiling));
        }
    }
    if need.size.is_some() && resolved.kind == PolicyKind::Whole && resolved.inputs.is_empty() {
        notes.push("the catalogue lists no size".into());
    }
    if let (Some(_), None, PolicyKind::Machine) = (need.latency_ns, resolved.latency_ns, resolved.kind) {
        notes.push("the limits of a machine do not include latency".into());
    }
    notes
}
