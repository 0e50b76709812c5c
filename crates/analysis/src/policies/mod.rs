//! The catalogue of the limits of disks and virtual machines, and their application to a disk. Each
//! limit has a date and a source. An entry is a TOML file in `policies/` of this crate, or a user's
//! file, which has precedence. Callers pass in the texts and the current day.

mod advise;
mod built_in;
mod date;
mod expression;
mod file;
mod resolve;
mod stack;

use std::collections::BTreeMap;

use model::Bytes;
use model::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caps::{Applies, Limit, LimitLayer};
use crate::requirement::Clause;
use file::File;
use resolve::ceil_to_count;

pub use advise::{Advice, Need, advise};
pub use date::{Date, MAX_AGE_MONTHS};
pub use expression::{Expression, ExpressionError};
pub use file::{InputKind, PolicyFileError};
pub use resolve::{Overrides, PolicyError};
pub use stack::{
    Bound, Disks, Reach, StrandedCapacity, burst_credits, compute_reach, has_machine, stack_limits, stack_of_paths,
};

/// Default latency for sizing concurrency. It follows by Little's law from a guideline of three
/// clouds: one operation in flight per 500 IOPS.
pub const DEFAULT_LATENCY_SECS: f64 = 0.002;
/// A latency that even a busy hard disk does not exceed, for storage of unknown speed.
/// [`SLOW_STORAGE_SLOTS`] is the matching number of operations in flight.
pub const SLOW_LATENCY_SECS: f64 = 0.020;
/// See [`SLOW_LATENCY_SECS`].
pub const SLOW_STORAGE_SLOTS: u32 = 32;
/// Minimum number of slots of an open loop.
const MIN_SLOTS: u32 = 32;

/// The figures that follow from the limits.
fn derive_figures(
    layers: &[LimitLayer],
    latency: Option<f64>,
    bursts: &[Burst],
    workload: &Workload,
) -> DerivedFigures {
    let all = || layers.iter().filter(|layer| layer.applies != Applies::Reads);
    let smallest = |select: fn(&LimitLayer) -> Option<Limit>| {
        all().filter_map(select).map(|limit| limit.low).min_by(f64::total_cmp)
    };
    let iops = smallest(|layer| layer.iops);
    let bytes = smallest(|layer| layer.bytes_per_sec);
    let latency_secs = latency.unwrap_or(DEFAULT_LATENCY_SECS);
    let promised = workload.rate_iops.or(iops);
    DerivedFigures {
        crossover_bytes: bytes.zip(iops).map(|(bytes, iops)| bytes / iops),
        concurrency: promised.map(|iops| ceil_to_count(iops * latency_secs)),
        concurrency_with_headroom: promised.map(|iops| u64::from(open_loop_slots(iops * latency_secs))),
        at_latency_ns: promised.map(|_| latency_secs * 1e9),
        past_burst_secs: bursts.iter().map(Burst::lasts_secs).max_by(f64::total_cmp),
    }
}

/// Queue slots for an open loop with `in_flight` operations in flight on average. A free slot
/// costs nothing, and operations that arrive at random need four deviations of a Poisson
/// distribution beyond the mean.
pub fn open_loop_slots(in_flight: f64) -> u32 {
    // 4000 × 0.003 is 12, not 12.000000000000002.
    let slots = (in_flight + 4.0 * in_flight.sqrt()) * (1.0 - 1e-12);
    (slots.ceil().clamp(1.0, 65_536.0) as u32).max(MIN_SLOTS)
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyKind {
    /// A disk or volume.
    Disk,
    /// A virtual machine or instance.
    Machine,
    /// A machine with its disks, or a contract.
    Whole,
}

/// The reliability of an entry's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// From a contract, or from the report of a measurement.
    Contract,
    /// From the vendor's documentation or software.
    Documented,
    /// From third parties who quote the vendor.
    Secondary,
    /// Not verified at its source: an order of magnitude.
    Unverified,
}

impl Confidence {
    /// A short description.
    pub fn label(self) -> &'static str {
        match self {
            Confidence::Contract => "from a contract or report",
            Confidence::Documented => "from the vendor's documentation",
            Confidence::Secondary => "from third parties who quote the vendor",
            Confidence::Unverified => "not verified: an order of magnitude",
        }
    }
}

/// One entry of the catalogue.
#[derive(Clone, Debug)]
pub struct Policy {
    file: File,
    /// The origin of its text.
    origin: Origin,
    text: String,
}

/// The origin of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Part of the program.
    BuiltIn,
    /// A file of the user.
    User(String),
}

/// All entries, by name.
#[derive(Clone, Debug)]
pub struct Catalogue {
    entries: BTreeMap<String, Policy>,
}

/// Prefixes of earlier names of entries, which scripts may still use.
const FORMER_PREFIXES: [&str; 3] = ["s0/", "s1/", "s4/"];

impl Catalogue {
    /// The built-in entries.
    pub fn built_in() -> Catalogue {
        let read = |(name, text): &(&str, &str)| {
            let policy = Policy::parse(name, text, Origin::BuiltIn).expect("a test reads every file of the catalogue");
            (policy.id().to_owned(), policy)
        };
        Catalogue {
            entries: BTreeMap::from_iter(built_in::FILES.iter().map(read)),
        }
    }

    /// The built-in entries and the user's files (name and text), which replace entries of the same
    /// id.
    ///
    /// # Errors
    /// The errors of the files.
    pub fn with_user_files(files: &[(String, String)]) -> Result<Catalogue, Vec<PolicyFileError>> {
        let mut catalogue = Catalogue::built_in();
        let mut faults = Vec::new();
        for (name, text) in files {
            match Policy::parse(name, text, Origin::User(name.clone())) {
                Ok(policy) => {
                    catalogue.entries.insert(policy.id().to_owned(), policy);
                }
                Err(fault) => faults.push(fault),
            }
        }
        match faults.is_empty() {
            true => Ok(catalogue),
            false => Err(faults),
        }
    }

    /// All entries, by name.
    pub fn entries(&self) -> impl Iterator<Item = &Policy> {
        self.entries.values()
    }

    /// Finds an entry by name, ignoring case; the part before the slash is optional if the rest is
    /// unique.
    ///
    /// # Errors
    /// A sentence with the nearest name.
    pub fn find(&self, name: &str) -> Result<&Policy, String> {
        match &self.find_all(name)[..] {
            [policy] => Ok(policy),
            [] => Err(match (self.nearest(name), self.find_by_provider(name)[..].is_empty()) {
                (Some(near), _) => format!("there is no policy `{name}`; did you mean `{near}`?"),
                (None, true) => format!("there is no policy `{name}`"),
                (None, false) => {
                    let names: Vec<&str> = self.find_by_provider(name).iter().map(|policy| policy.id()).collect();
                    format!("there is no policy `{name}`, but {}", names.join(", "))
                }
            }),
            several => {
                let names: Vec<&str> = several.iter().map(|policy| policy.id()).collect();
                Err(format!("`{name}` is ambiguous: {}", names.join(", ")))
            }
        }
    }

    /// The entries of a provider; `name` is the provider, or the provider and more after a slash.
    pub fn find_by_provider(&self, name: &str) -> Vec<&Policy> {
        let provider = name.split('/').next().unwrap_or_default().to_lowercase() + "/";
        self.entries()
            .filter(|policy| policy.id().starts_with(&provider))
            .collect()
    }

    /// The entry with this id, otherwise all whose part after the slash is `name`.
    fn find_all(&self, name: &str) -> Vec<&Policy> {
        if let Some(policy) = self.entries().find(|policy| policy.id().eq_ignore_ascii_case(name)) {
            return vec![policy];
        }
        let last = match name.split_at_checked(3) {
            Some((prefix, rest)) if FORMER_PREFIXES.contains(&&*prefix.to_ascii_lowercase()) => rest,
            _ => name,
        };
        let short = |policy: &&Policy| {
            policy
                .id()
                .split('/')
                .nth(1)
                .is_some_and(|last_part| last_part.eq_ignore_ascii_case(last))
        };
        self.entries().filter(short).collect()
    }

    /// The entry whose id or last part is within two edits of `name`, for suggestions.
    fn nearest(&self, name: &str) -> Option<&str> {
        let wanted = name.to_ascii_lowercase();
        let distance = |policy: &&Policy| {
            let last = policy.id().rsplit('/').next().unwrap_or_default();
            edit_distance(&wanted, policy.id()).min(edit_distance(&wanted, last))
        };
        let best = self.entries().min_by_key(distance)?;
        (distance(&best) <= 2 && wanted.len() > 2).then(|| best.id())
    }
}

/// The three names nearest to a word, joined by commas. Each candidate has a form to compare and a
/// name to show.
fn nearest_three<'a>(word: &str, candidates: impl Iterator<Item = (String, &'a str)>) -> String {
    best_three(candidates.map(|(compared, name)| (edit_distance(word, &compared), name)))
}

/// The three names with the smallest keys, joined by commas.
fn best_three<'a, K: Ord>(candidates: impl Iterator<Item = (K, &'a str)>) -> String {
    let mut scored: Vec<(K, &str)> = candidates.collect();
    // The sort is stable: equally near names keep the catalogue's order.
    scored.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut names: Vec<&str> = Vec::new();
    for (_, name) in scored {
        if !names.contains(&name) {
            names.push(name);
        }
        if names.len() == 3 {
            break;
        }
    }
    names.join(", ")
}

/// Levenshtein distance (1965).
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, of_a) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, of_b) in b.iter().enumerate() {
            let change = corner + usize::from(of_a != *of_b);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

impl Policy {
    /// The position of a byte of its file, as `file:line:column`; empty if it is built in.
    fn position(&self, offset: usize) -> String {
        match &self.origin {
            Origin::BuiltIn => String::new(),
            Origin::User(name) => file::format_position(name, &self.text, offset),
        }
    }

    /// Parses a policy file.
    ///
    /// # Errors
    /// The mistake and its line.
    pub fn parse(name: &str, text: &str, origin: Origin) -> Result<Policy, PolicyFileError> {
        Ok(Policy {
            file: File::parse(name, text)?,
            origin,
            text: text.to_owned(),
        })
    }

    /// Name, such as `aws/gp3`.
    pub fn id(&self) -> &str {
        &self.file.policy.id
    }

    /// Its display name.
    pub fn title(&self) -> &str {
        &self.file.policy.title
    }

    /// Disk, machine, or a whole contract.
    pub fn kind(&self) -> PolicyKind {
        self.file.policy.kind
    }

    /// The date of its source.
    pub fn as_of(&self) -> Date {
        self.file.policy.as_of
    }

    /// The source of its figures.
    pub fn source(&self) -> &str {
        &self.file.policy.source
    }

    /// The reliability of its figures.
    pub fn confidence(&self) -> Confidence {
        self.file.policy.confidence
    }

    /// The wording of its promise.
    pub fn wording(&self) -> Option<&str> {
        self.file.policy.wording.as_deref()
    }

    /// The provider's site to which its promise applies.
    pub fn site(&self) -> Option<&str> {
        self.file.policy.site.as_deref()
    }

    /// Further notes.
    pub fn notes(&self) -> &[String] {
        &self.file.policy.notes
    }

    /// Where the figures come from, and when they were read.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The text of its file, a template for a user's own policy.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The inputs: name, kind, description, and whether there is a default.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, InputKind, &str, bool)> {
        self.file.input.iter().map(|input| {
            (
                input.name.as_str(),
                input.kind,
                input.help.as_str(),
                input.default.is_some(),
            )
        })
    }

    /// True if the user states a limit instead of the provider.
    fn has_unlimited_input(&self) -> bool {
        { self.file.input.iter() }.any(|input| input.name == "iops" && input.max.is_none())
    }

    /// The tier of a disk of this size; `None` if there is none.
    pub fn tier_of_size(&self, inputs: &Inputs, size: Bytes) -> Option<String> {
        let mut inputs = inputs.clone();
        inputs.remove("tier");
        inputs.insert("size".into(), size.0.to_string());
        self.resolve(&inputs).ok()?.tier
    }

    /// Names of its tiers.
    pub fn tiers(&self) -> impl Iterator<Item = &str> {
        self.file.tier.iter().filter_map(|tier| tier.name.as_deref())
    }

    /// All disks of this kind on a machine share one limit, which depends on their total size.
    pub fn is_pooled(&self) -> bool {
        self.file.policy.pooled
    }

    /// For a machine: the disks that its figures apply to, as catalogue ids. Empty: any.
    pub fn disks(&self) -> &[String] {
        &self.file.policy.disks
    }

    /// A warning, if the entry is outdated on `today`.
    pub fn expiry_warning(&self, today: Date) -> Option<String> {
        self.as_of().is_old_on(today).then(|| {
            format!(
                "the figures of {} are from {}, {} months ago; check whether the vendor has changed them",
                self.id(),
                self.as_of(),
                self.as_of().months_until(today)
            )
        })
    }
}

/// The user's inputs for a disk: values by input name, as written (`500GiB`, `6000`), and the table
/// row (`tier`).
pub type Inputs = BTreeMap<String, String>;

/// A policy for one disk.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ResolvedPolicy {
    /// Name of the policy in the catalogue.
    pub id: String,
    /// Its display name.
    pub title: String,
    /// Disk, machine, or a whole contract.
    pub kind: PolicyKind,
    /// The date of its source.
    pub as_of: Date,
    /// The source of its figures.
    pub source: String,
    /// The reliability of its figures.
    pub confidence: Confidence,
    /// The wording of its promise.
    pub wording: Option<String>,
    /// The stated inputs and the defaults.
    pub inputs: Vec<InputValue>,
    /// The selected tier, for an entry with a table of tiers.
    pub tier: Option<String>,
    /// Size of the disk, if stated.
    pub size: Option<Bytes>,
    /// The promised latency, in nanoseconds.
    pub latency_ns: Option<f64>,
    /// The limits of uncached operations.
    pub layers: Vec<LimitLayer>,
    /// The limits of operations that the host's cache serves.
    pub cached: Vec<LimitLayer>,
    /// The workload that verifies it.
    pub workload: Workload,
    /// The maximum operations and bytes per second of that workload, and the binding limit.
    pub reach: Option<Reach>,
    /// Conditions that a test checks.
    pub clauses: Vec<Clause>,
    /// Burst credits.
    pub bursts: Vec<Burst>,
    /// Derived figures.
    pub derived: DerivedFigures,
    /// Further notes.
    pub notes: Vec<String>,
}

/// One input with its value.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct InputValue {
    /// Name of the input.
    pub name: String,
    /// Bytes or a plain number.
    pub value: f64,
    /// Whether the value is a size or a plain number.
    pub kind: InputKind,
    /// True if the user stated it; false for a default.
    pub said: bool,
}

/// The workload that verifies a policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Workload {
    /// Bytes per operation.
    pub block: Bytes,
    /// Positions are random.
    pub random: bool,
    /// Percent of the operations that read.
    pub read_percent: f64,
    /// Operations per second, over all workers.
    pub rate_iops: Option<f64>,
    /// Operations that may be in flight.
    pub concurrency: Option<u64>,
    /// Length of the measured window in seconds.
    pub duration_secs: f64,
    /// Length of the warm-up before it, in seconds.
    pub warm_up_secs: f64,
}

/// The unit of credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BurstUnit {
    /// Operations.
    Iops,
    /// Bytes.
    Bytes,
}

/// A token bucket: at full speed it is empty after bucket ÷ (ceiling − refill).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Burst {
    /// What the credits count.
    #[serde(rename = "of")]
    pub unit: BurstUnit,
    /// Per second, as long as there are credits.
    pub ceiling: f64,
    /// Per second, sustained.
    pub refill: f64,
    /// Credits of a full bucket.
    pub bucket: f64,
    /// Seconds from empty to full, if the vendor states that instead of a refill rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_after_secs: Option<f64>,
}

impl Burst {
    /// Seconds from full to empty at the ceiling.
    pub fn lasts_secs(&self) -> f64 {
        self.bucket / (self.ceiling - self.refill)
    }

    /// Seconds from empty to full without any load.
    pub fn refills_secs(&self) -> f64 {
        self.full_after_secs.unwrap_or(self.bucket / self.refill)
    }
}

/// Figures that follow from a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DerivedFigures {
    /// The block size, in bytes, at which both limits bind: throughput ÷ IOPS.
    pub crossover_bytes: Option<f64>,
    /// Operations in flight that the promised IOPS need at the promised latency (Little's law).
    pub concurrency: Option<u64>,
    /// Slots of an open loop for that concurrency.
    pub concurrency_with_headroom: Option<u64>,
    /// The latency that both assume, in nanoseconds.
    pub at_latency_ns: Option<f64>,
    /// Length in seconds beyond which a run shows the rate without credits.
    pub past_burst_secs: Option<f64>,
}
