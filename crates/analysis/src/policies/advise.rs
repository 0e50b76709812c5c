//! Which entries of the catalogue satisfy a need, with what has to be ordered, and why the others
//! do not.

use model::{Bytes, Nanos};
use serde::Serialize;

use super::file::InputKind;
use super::resolve::{Wanted, show_input};
use super::{BurstOf, Catalogue, InputValue, Inputs, Overrides, Policy, PolicyError, PolicyKind, Resolved};
use crate::caps::{Applies, Layer};
use crate::requirement::Metric;

/// The block size for which IOPS are looked at where none is given: short enough for no limit on
/// bytes to bind first.
const SHORT: Bytes = Bytes::kib(4);

/// No vendor has larger disks: how far is looked where an entry names no bound.
const LARGEST: Bytes = Bytes::gib(64 << 10);

/// Machines of one entry that are shown.
const MAX_MACHINES: usize = 8;

/// What is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Wish {
    /// Operations per second.
    pub iops: Option<f64>,
    /// Bytes per second.
    pub bytes_per_sec: Option<f64>,
    /// Mean latency in nanoseconds.
    pub latency_ns: Option<f64>,
    /// Bytes of the disk.
    pub size: Option<Bytes>,
    /// Bytes of an operation; absent: 4 KiB, for which no limit on bytes binds first.
    pub block: Option<Bytes>,
    /// Percent of the operations that read.
    pub read_percent: Option<f64>,
}

/// What one entry has to offer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The entry.
    pub policy: String,
    /// What it is about.
    pub kind: PolicyKind,
    /// The row of its table.
    pub tier: Option<String>,
    /// It satisfies the need, as far as its figures go.
    pub fits: bool,
    /// What has to be ordered: inputs with their values.
    pub with: Vec<(String, String)>,
    /// What it then allows, in operations per second at the block size of the need.
    pub iops: Option<f64>,
    /// Bytes per second, with blocks that are long enough.
    pub bytes_per_sec: Option<f64>,
    /// The latency that its words promise, in nanoseconds.
    pub latency_ns: Option<f64>,
    /// Why it does not satisfy the need; where it does, what to mind.
    pub remarks: Vec<String>,
}

/// Goes through the catalogue: what satisfies the need comes first, by name.
pub fn advise(catalogue: &Catalogue, wish: &Wish) -> Vec<Advice> {
    let mut list: Vec<Advice> = Vec::new();
    for policy in catalogue.entries() {
        match policy.kind() {
            PolicyKind::Disk => list.push(of_disk(policy, wish)),
            PolicyKind::Machine => list.extend(of_machines(policy, wish)),
            // A contract is for those who have it.
            PolicyKind::Whole => {}
        }
    }
    list.sort_by_key(|advice| !advice.fits);
    list
}

/// The smallest disk of a kind that satisfies the need, or the largest with what it lacks.
fn of_disk(policy: &Policy, wish: &Wish) -> Advice {
    let least = wish.size.map_or(Bytes::gib(1).0 as f64, |size| size.0 as f64);
    let largest = policy.largest_size().unwrap_or(LARGEST.0 as f64);
    if least > largest {
        let most = Bytes(largest as u64);
        return refused(policy, format!("its disks have at most {most}"));
    }
    let found = |size: f64| attempt(policy, wish, size);
    let most = match found(largest) {
        Ok(most) => most,
        Err(error) => return refused(policy, error.to_string()),
    };
    if !lacks(&most, wish).is_empty() {
        return advice(policy, &most, wish);
    }
    // Limits never fall as a disk grows, so the sizes that satisfy lie above one that can be found
    // by halving. Whole GiB: less cannot be ordered.
    let gib = Bytes::gib(1).0 as f64;
    let (mut low, mut high) = ((least / gib).ceil() as u64, (largest / gib).floor() as u64);
    let satisfies = |count: u64| found(count as f64 * gib).is_ok_and(|one| lacks(&one, wish).is_empty());
    while low < high {
        let middle = low + (high - low) / 2;
        match satisfies(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    match found(high as f64 * gib) {
        Ok(one) if lacks(&one, wish).is_empty() => advice(policy, &one, wish),
        _ => advice(policy, &most, wish),
    }
}

/// A disk of a size, with as much ordered beside as the need takes. Where the throughput that can
/// be ordered depends on the operations that are, more operations are ordered; where operations
/// come with the throughput, more throughput.
fn attempt(policy: &Policy, wish: &Wish, size: f64) -> Result<Resolved, PolicyError> {
    let with = |iops: Option<f64>, bytes_per_sec: Option<f64>| {
        let inputs = policy.inputs_for(&Wanted {
            size: Some(size),
            iops,
            bytes_per_sec,
        })?;
        resolve(policy, &inputs, wish)
    };
    let first = with(wish.iops, wish.bytes_per_sec)?;
    let takes = |name: &str| policy.inputs().any(|(known, ..)| known == name);
    let (by_iops, by_bytes) = (takes("iops"), takes("mbps"));
    let is_short = |resolved: &Resolved| {
        let bytes = wish.bytes_per_sec.zip(most_bytes(resolved));
        let iops = wish.iops.zip(resolved.reach.as_ref());
        (by_iops && bytes.is_some_and(|(wanted, most)| most < wanted))
            || (by_bytes && iops.is_some_and(|(wanted, reach)| reach.iops.low < wanted))
    };
    if !is_short(&first) {
        return Ok(first);
    }
    let (mut iops, mut bytes) = (wish.iops.unwrap_or(100.0), wish.bytes_per_sec.unwrap_or(1e6));
    // Doubling reaches the most that any vendor sells.
    for _ in 0..20 {
        (iops, bytes) = (iops * 2.0, bytes * 2.0);
        let more = with(
            if by_iops { Some(iops) } else { wish.iops },
            if by_iops { wish.bytes_per_sec } else { Some(bytes) },
        )?;
        if !is_short(&more) {
            return Ok(more);
        }
    }
    Ok(first)
}

fn resolve(policy: &Policy, inputs: &Inputs, wish: &Wish) -> Result<Resolved, PolicyError> {
    let other = Overrides {
        block: Some(wish.block.unwrap_or(SHORT)),
        read_percent: wish.read_percent,
        random: None,
    };
    policy.resolve_with(inputs, &other)
}

/// The machines of least IOPS that satisfy the need; where none does, the table as one refusal.
fn of_machines(policy: &Policy, wish: &Wish) -> Vec<Advice> {
    let one = |tier: &str| {
        let inputs = Inputs::from([("tier".to_owned(), tier.to_owned())]);
        resolve(policy, &inputs, wish).map(|resolved| advice(policy, &resolved, wish))
    };
    let all: Vec<Advice> = policy.tiers().filter_map(|tier| one(tier).ok()).collect();
    let (mut fit, others): (Vec<Advice>, Vec<Advice>) = all.into_iter().partition(|advice| advice.fits);
    if !fit.is_empty() || others.is_empty() {
        fit.sort_by(|a, b| a.iops.unwrap_or(0.0).total_cmp(&b.iops.unwrap_or(0.0)));
        let rest = fit.len().saturating_sub(MAX_MACHINES);
        fit.truncate(MAX_MACHINES);
        if let Some(last) = fit.last_mut().filter(|_| rest > 0) {
            last.remarks
                .push(format!("{rest} more machines of {} satisfy it too", policy.id()));
        }
        return fit;
    }
    let most = others
        .into_iter()
        .max_by(|a, b| a.iops.unwrap_or(0.0).total_cmp(&b.iops.unwrap_or(0.0)));
    most.into_iter().collect()
}

fn refused(policy: &Policy, why: String) -> Advice {
    Advice {
        policy: policy.id().to_owned(),
        kind: policy.kind(),
        tier: None,
        fits: false,
        with: Vec::new(),
        iops: None,
        bytes_per_sec: None,
        latency_ns: None,
        remarks: vec![why],
    }
}

fn advice(policy: &Policy, resolved: &Resolved, wish: &Wish) -> Advice {
    let missing = lacks(resolved, wish);
    let fits = missing.is_empty();
    let of_input = |input: &InputValue| {
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
        with: resolved.inputs.iter().map(of_input).collect(),
        iops: resolved.reach.as_ref().map(|reach| reach.iops.low),
        bytes_per_sec: most_bytes(resolved),
        latency_ns: resolved.latency_ns,
        remarks: match fits {
            true => remarks(resolved, wish),
            false => missing,
        },
    }
}

/// Bytes per second with blocks that are long enough.
fn most_bytes(resolved: &Resolved) -> Option<f64> {
    let all = resolved.layers.iter().filter(|layer| layer.applies == Applies::All);
    let limit = |layer: &Layer| layer.bytes_per_sec.map(|limit| limit.low);
    all.filter_map(limit)
        .chain(
            resolved
                .layers
                .iter()
                .filter(|layer| layer.applies != Applies::All)
                .filter_map(limit),
        )
        .min_by(f64::total_cmp)
}

/// What of the need is not satisfied, a sentence each.
fn lacks(resolved: &Resolved, wish: &Wish) -> Vec<String> {
    let mut missing = Vec::new();
    let block = wish.block.unwrap_or(SHORT);
    if let Some(wanted) = wish.iops {
        match &resolved.reach {
            Some(reach) if reach.iops.low < wanted * (1.0 - 1e-9) => missing.push(format!(
                "at most {} IOPS at {block}, of {} that are needed",
                Metric::Iops.show(reach.iops.low),
                Metric::Iops.show(wanted)
            )),
            Some(_) => {}
            None => missing.push("its IOPS are not in the catalogue".into()),
        }
    }
    if let Some(wanted) = wish.bytes_per_sec {
        match most_bytes(resolved) {
            Some(most) if most < wanted * (1.0 - 1e-9) => missing.push(format!(
                "at most {}, of {} that are needed",
                Metric::Throughput.show(most),
                Metric::Throughput.show(wanted)
            )),
            Some(_) => {}
            None => missing.push("its throughput is not in the catalogue".into()),
        }
    }
    if let (Some(wanted), PolicyKind::Disk) = (wish.latency_ns, resolved.kind) {
        let (wanted, time) = (wanted * (1.0 + 1e-9), |ns: f64| Nanos(ns as u64));
        match resolved.latency_ns {
            Some(promised) if promised > wanted => missing.push(format!(
                "it is made for {}, and {} are needed",
                time(promised),
                time(wanted)
            )),
            Some(_) => {}
            None => missing.push("it promises no latency".into()),
        }
    }
    missing
}

/// What to mind about an entry that satisfies.
fn remarks(resolved: &Resolved, wish: &Wish) -> Vec<String> {
    let mut remarks = Vec::new();
    for burst in &resolved.bursts {
        let lasts = Nanos((burst.lasts_secs() * 1e9) as u64);
        if burst.of == BurstOf::Iops {
            remarks.push(format!(
                "without end; with credits {:.0} IOPS for {lasts}",
                burst.ceiling
            ));
        }
    }
    if let (Some(_), None, PolicyKind::Machine) = (wish.latency_ns, resolved.latency_ns, resolved.kind) {
        remarks.push("a machine's limits say nothing about latency".into());
    }
    remarks
}
