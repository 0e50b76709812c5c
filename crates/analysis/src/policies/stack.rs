//! The combined limits of a machine and its disks: the rate that is possible through all of them,
//! and the stranded capacity.

use model::JsonSchema;
use model::plan::{CachePath, StoragePath};
use model::{Bytes, Direction};
use serde::Serialize;

use super::{Burst, Catalogue, Inputs, Policy, PolicyKind, ResolvedPolicy, best_three, edit_distance, nearest_three};
use crate::caps::{Applies, LayerKind, Limit, LimitLayer};

/// The machine and disks that the user names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disks {
    /// Name of the virtual machine's size, such as `Standard_B2ms`.
    pub machine: Option<String>,
    /// Disks: a name such as `P30` or `aws/gp3`, optionally with inputs after a colon
    /// (`aws/gp3:size=500GiB,iops=6000`).
    pub disks: Vec<String>,
    /// Number of disks of each kind.
    pub count: u32,
    /// The host's cache serves the operations: its limits apply instead of the disks'.
    pub cached: bool,
}

/// The maximum rate through several limits.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reach {
    /// Operations per second.
    pub iops: Limit,
    /// Bytes per second at this block size.
    pub bytes_per_sec: Limit,
    /// Name of the limit that binds.
    pub layer: String,
    /// The figure that binds.
    pub bound: Bound,
    /// Stranded capacity of the other limits.
    pub stranded: Vec<StrandedCapacity>,
}

/// The binding figure of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    Bytes,
}

/// The part of a limit that is unreachable because another binds first.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StrandedCapacity {
    /// Name of the limit.
    pub layer: String,
    /// The unusable operations per second.
    pub iops: f64,
    /// The same as a share of the limit.
    pub share: f64,
}

/// The rate that a mix of operations of one size can reach through all layers; `None` if none
/// limits it. Disks write each block `replicas` times.
pub fn compute_reach(layers: &[LimitLayer], block: Bytes, read_percent: f64, replicas: u32) -> Option<Reach> {
    let limits = layers
        .iter()
        .filter_map(|layer| allowed_iops(layer, block, read_percent, replicas));
    let limits: Vec<(&LimitLayer, Limit, Bound)> = limits.collect();
    let (layer, iops, bound) = limits.iter().min_by(|a, b| a.1.low.total_cmp(&b.1.low)).copied()?;
    let others = limits.iter().filter(|(other, ..)| !std::ptr::eq(*other, layer));
    let stranded = others
        .filter(|(_, allowed, _)| allowed.low > iops.low * 1.001)
        .map(|(other, allowed, _)| StrandedCapacity {
            layer: other.name.clone(),
            iops: allowed.low - iops.low,
            share: 1.0 - iops.low / allowed.low,
        });
    let bytes = block.0 as f64;
    Some(Reach {
        iops,
        bytes_per_sec: Limit {
            low: iops.low * bytes,
            high: iops.high * bytes,
        },
        layer: layer.name.clone(),
        bound,
        stranded: stranded.collect(),
    })
}

/// Operations per second of the whole mix that one limit allows.
fn allowed_iops(
    layer: &LimitLayer,
    block: Bytes,
    read_percent: f64,
    replicas: u32,
) -> Option<(&LimitLayer, Limit, Bound)> {
    let storage = StoragePath {
        replicas: Some(replicas),
        ..StoragePath::default()
    };
    let reads = read_percent / 100.0 * layer.copies(Direction::Read, &storage);
    let writes = (1.0 - read_percent / 100.0) * layer.copies(Direction::Write, &storage);
    let share = match layer.applies {
        Applies::All => reads + writes,
        Applies::Reads => reads,
        Applies::Writes => writes,
    };
    if share <= 0.0 {
        return None;
    }
    // A long operation counts as several units, rounded up.
    let units = layer.unit.map_or(1, |unit| block.0.div_ceil(unit.0.max(1)).max(1)) as f64;
    let scaled = |limit: Limit, factor: f64| Limit {
        low: limit.low / factor,
        high: limit.high / factor,
    };
    let by_iops = layer.iops.map(|limit| scaled(limit, units * share));
    let by_bytes = layer
        .bytes_per_sec
        .map(|limit| scaled(limit, block.0.max(1) as f64 * share));
    match (by_iops, by_bytes) {
        (Some(iops), Some(bytes)) if bytes.low < iops.low => Some((layer, bytes, Bound::Bytes)),
        (Some(iops), _) => Some((layer, iops, Bound::Iops)),
        (None, Some(bytes)) => Some((layer, bytes, Bound::Bytes)),
        (None, None) => None,
    }
}

/// The limits of a machine and its disks: the machine's, and the sum over all disks.
///
/// # Errors
/// A name that was not found, with the nearest names.
pub fn stack_limits(catalogue: &Catalogue, wanted: &Disks) -> Result<Vec<LimitLayer>, String> {
    let mut layers = Vec::new();
    if let Some(name) = &wanted.machine {
        let resolved = resolve_machine(catalogue, name, &wanted.disks)?;
        let from_machine_name = match wanted.cached {
            true if resolved.cached.is_empty() => {
                return Err(format!(
                    "the catalogue has no host cache limits for {name}; omit --host-cache"
                ));
            }
            true => resolved.cached,
            false => resolved.layers,
        };
        layers.extend(from_machine_name);
    }
    if wanted.cached {
        // Cached operations never reach a disk.
        return Ok(layers);
    }
    let mut sums: Vec<LimitLayer> = Vec::new();
    for text in &wanted.disks {
        let count = wanted.count.max(1);
        let (resolved, pooled) = resolve_disk(catalogue, text, count)?;
        let times = if pooled { 1 } else { count };
        let uncached = |layer: &LimitLayer| LimitLayer {
            path: Some(CachePath::Uncached),
            ..multiply_limits(layer, times)
        };
        sums.extend(resolved.layers.iter().map(uncached));
    }
    layers.extend(sum_alike_disks(sums));
    Ok(layers)
}

/// The limits of both paths: first those of the machine's host cache, if it has one, then those of
/// uncached I/O. With [`Disks::cached`] a missing host cache is an error.
///
/// # Errors
/// As [`stack_limits`].
pub fn stack_of_paths(catalogue: &Catalogue, wanted: &Disks) -> Result<Vec<LimitLayer>, String> {
    let with_cache = |cached: bool| Disks {
        cached,
        ..wanted.clone()
    };
    let mut layers = match (stack_limits(catalogue, &with_cache(true)), wanted.cached) {
        (Ok(cached), _) => cached,
        (Err(why), true) => return Err(why),
        (Err(_), false) => Vec::new(),
    };
    layers.extend(stack_limits(catalogue, &with_cache(false))?);
    Ok(layers)
}

/// The burst credits of the machine and the disks, each with its owner's name. `count` disks have
/// `count` buckets.
///
/// # Errors
/// A name that was not found, with the nearest names.
pub fn burst_credits(catalogue: &Catalogue, wanted: &Disks) -> Result<Vec<(String, Burst)>, String> {
    let mut credits = Vec::new();
    if let Some(name) = wanted.machine.as_ref().filter(|_| !wanted.cached) {
        let resolved = resolve_machine(catalogue, name, &wanted.disks)?;
        let layer = resolved.layers.first().map_or(name, |layer| &layer.name);
        credits.extend(resolved.bursts.iter().map(|burst| (layer.clone(), *burst)));
    }
    for text in &wanted.disks {
        let count = wanted.count.max(1);
        let (resolved, pooled) = resolve_disk(catalogue, text, count)?;
        let times = if pooled { 1 } else { count };
        let name = match times {
            1 => text.clone(),
            _ => format!("{times} × {text}"),
        };
        let several = |burst: &Burst| Burst {
            ceiling: burst.ceiling * f64::from(times),
            refill: burst.refill * f64::from(times),
            bucket: burst.bucket * f64::from(times),
            ..*burst
        };
        credits.extend(resolved.bursts.iter().map(|burst| (name.clone(), several(burst))));
    }
    Ok(credits)
}

/// True if the catalogue has limits of this machine for these disks. Without disks, the limits may
/// be for any disk.
pub fn has_machine(catalogue: &Catalogue, name: &str, disks: &[String]) -> bool {
    let mut matching = machines(catalogue).filter(|(_, tier)| normalise_name(tier) == normalise_name(name));
    match disks.is_empty() {
        true => matching.any(|(policy, _)| policy.disks().is_empty()),
        false => resolve_machine(catalogue, name, disks).is_ok(),
    }
}

/// The name of a machine for comparison: lower case, without the vendor's prefix.
fn normalise_name(name: &str) -> String {
    name.to_ascii_lowercase()
        .trim_start_matches("standard_")
        .replace('-', "_")
}

/// Every machine, with its entry.
fn machines(catalogue: &Catalogue) -> impl Iterator<Item = (&Policy, &str)> {
    let entries = catalogue
        .entries()
        .filter(|policy| policy.kind() == PolicyKind::Machine);
    entries.flat_map(|policy| policy.tiers().map(move |tier| (policy, tier)))
}

/// Resolves a machine for the named disks; without disks, by the first entry that lists it.
fn resolve_machine(catalogue: &Catalogue, name: &str, disks: &[String]) -> Result<ResolvedPolicy, String> {
    let wanted = normalise_name(name);
    let matching: Vec<(&Policy, &str)> = machines(catalogue)
        .filter(|(_, tier)| normalise_name(tier) == wanted)
        .collect();
    if matching.is_empty() {
        return Err(format!(
            "unknown machine `{name}`; the nearest names are {}",
            nearest_machines(catalogue, name)
        ));
    }
    let named: Vec<&str> = disks
        .iter()
        .filter_map(|text| Some(find_disk(catalogue, text.split(':').next()?).ok()?.0.id()))
        .collect();
    let covers_disks = |policy: &Policy| {
        let disks = policy.disks();
        named.is_empty() || disks.is_empty() || named.iter().all(|id| disks.iter().any(|disk| disk == id))
    };
    let Some((policy, tier)) = matching.iter().find(|(policy, _)| covers_disks(policy)) else {
        let machine_names: Vec<&str> = matching
            .iter()
            .flat_map(|(policy, _)| policy.disks())
            .map(String::as_str)
            .collect();
        return Err(format!(
            "the catalogue has no limits for {name} with {}; known disks: {}",
            named.join(" and "),
            machine_names.join(", ")
        ));
    };
    let inputs = Inputs::from([("tier".to_owned(), (*tier).to_owned())]);
    policy.resolve(&inputs).map_err(|error| error.to_string())
}

/// The three machines with the most similar names: same cloud first, then same series, then edit
/// distance.
fn nearest_machines(catalogue: &Catalogue, name: &str) -> String {
    let wanted = Series::from_machine_name(name);
    let is_series = |other: &Series| other.letters == wanted.letters;
    // The cloud of a bare series such as m8g is known only from machines of that series.
    let cloud = wanted.cloud.or_else(|| {
        let mut known_series = machines(catalogue).map(|(_, tier)| Series::from_machine_name(tier));
        known_series.find(is_series)?.cloud
    });
    let key = |tier: &str| {
        let series = Series::from_machine_name(tier);
        let other_cloud = cloud.is_some() && series.cloud != cloud;
        let other_class = series.letters.chars().next() != wanted.letters.chars().next();
        let without_separators = |name: &str| normalise_name(name).replace('_', "");
        let distance = edit_distance(&without_separators(name), &without_separators(tier));
        (other_cloud, !is_series(&series), other_class, distance)
    };
    best_three(machines(catalogue).map(|(_, tier)| (key(tier), tier)))
}

/// The series of a machine, read from its cloud's naming style.
struct Series {
    cloud: Option<NameStyle>,
    /// `m8g` of m8g.large, `e2` of e2-micro, `dds_v5` of Standard_D8ds_v5.
    letters: String,
}

/// The naming style of a cloud's machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameStyle {
    /// `m8g.large`.
    Amazon,
    /// `Standard_D8ds_v5`.
    Azure,
    /// `e2-micro`.
    Google,
}

impl Series {
    fn from_machine_name(name: &str) -> Series {
        let lower = name.to_ascii_lowercase();
        let bare = lower.trim_start_matches("standard_");
        let series = |cloud: NameStyle, letters: &str| Series {
            cloud: Some(cloud),
            letters: letters.to_owned(),
        };
        if let Some((letters, _)) = bare.split_once('.') {
            return series(NameStyle::Amazon, letters);
        }
        if bare.len() == lower.len()
            && let Some((letters, _)) = bare.split_once('-')
        {
            return series(NameStyle::Google, letters);
        }
        let (size, version) = bare.split_once('_').unwrap_or((bare, ""));
        if bare.len() < lower.len() || version.starts_with('v') {
            let letters: String = size.chars().filter(|letter| !letter.is_ascii_digit()).collect();
            return series(NameStyle::Azure, &format!("{letters}_{version}"));
        }
        Series {
            cloud: None,
            letters: bare.to_owned(),
        }
    }
}

/// Finds the entry of a disk by its name or a table row, and that row.
fn find_disk<'a>(catalogue: &'a Catalogue, name: &str) -> Result<(&'a Policy, Option<&'a str>), String> {
    let disks = || catalogue.entries().filter(|policy| policy.kind() == PolicyKind::Disk);
    let with_tier = disks().find_map(|policy| {
        let tier = policy.tiers().find(|tier| tier.eq_ignore_ascii_case(name))?;
        Some((policy, Some(tier)))
    });
    if let Some(disk) = with_tier {
        return Ok(disk);
    }
    if !catalogue.find_all(name).is_empty() {
        return Ok((catalogue.find(name)?, None));
    }
    let candidates = disks().flat_map(|policy| {
        let last = policy.id().rsplit('/').next().unwrap_or_default();
        let names = [(policy.id(), policy.id()), (last, policy.id())];
        names.into_iter().chain(policy.tiers().map(|tier| (tier, tier)))
    });
    let candidates = candidates.map(|(compared, name)| (compared.to_ascii_lowercase(), name));
    Err(format!(
        "unknown disk `{name}`; the nearest names are {}",
        nearest_three(&name.to_ascii_lowercase(), candidates)
    ))
}

/// Resolves a disk, named by a policy or table row with inputs after a colon. Also returns whether
/// `count` of these disks share one limit of their total size.
fn resolve_disk(catalogue: &Catalogue, text: &str, count: u32) -> Result<(ResolvedPolicy, bool), String> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let mut inputs = Inputs::new();
    for pair in rest.split(',').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("`{pair}` in `{text}`: write KEY=VALUE, for example {name}:size=500GiB"))?;
        inputs.insert(key.trim().to_owned(), value.trim().to_owned());
    }
    let (policy, tier) = find_disk(catalogue, name)?;
    if let Some(tier) = tier {
        inputs.insert("tier".to_owned(), tier.to_owned());
    }
    if policy.is_pooled()
        && let Some(size) = inputs.get("size").and_then(|size| size.parse::<Bytes>().ok())
    {
        inputs.insert("size".to_owned(), size.0.saturating_mul(u64::from(count)).to_string());
    }
    let resolved = policy.resolve(&inputs).map_err(|error| format!("{text}: {error}"))?;
    Ok((resolved, policy.is_pooled()))
}

/// The same limit for several disks that share the load.
fn multiply_limits(layer: &LimitLayer, count: u32) -> LimitLayer {
    let times = |limit: Limit| Limit {
        low: limit.low * f64::from(count),
        high: limit.high * f64::from(count),
    };
    let name = match count {
        1 => layer.name.clone(),
        _ => format!("{count} × {}", layer.name),
    };
    LimitLayer {
        name,
        iops: layer.iops.map(times),
        bytes_per_sec: layer.bytes_per_sec.map(times),
        ..layer.clone()
    }
}

/// Adds up the limits of disks that share the load. The distribution of the load is unknown, so the
/// sum is an upper bound.
fn sum_alike_disks(layers: Vec<LimitLayer>) -> Vec<LimitLayer> {
    let mut sums: Vec<LimitLayer> = Vec::new();
    for layer in layers {
        let is_alike = |sum: &&mut LimitLayer| {
            sum.applies == layer.applies
                && sum.unit == layer.unit
                && layer.kind == LayerKind::Disk
                && sum.kind == layer.kind
        };
        let Some(sum) = sums.iter_mut().find(is_alike) else {
            sums.push(layer);
            continue;
        };
        let add = |a: Option<Limit>, b: Option<Limit>| {
            a.zip(b).map(|(a, b)| Limit {
                low: a.low + b.low,
                high: a.high + b.high,
            })
        };
        sum.iops = add(sum.iops, layer.iops);
        sum.bytes_per_sec = add(sum.bytes_per_sec, layer.bytes_per_sec);
        sum.name = format!("{} + {}", sum.name, layer.name);
        if sum.source != layer.source {
            sum.source = format!("{}; {}", sum.source, layer.source);
        }
    }
    sums
}
