//! Resolves an entry for a disk: limits, workload and clauses.

use std::collections::BTreeMap;
use std::fmt;

use model::Bytes;
use model::plan::CachePath;

use super::file::{BurstForm, ClauseForm, Formula, Input, InputKind, LayerForm, PatternForm, Range, Tier};
use super::stack::{Reach, compute_reach};
use super::{
    Burst, BurstUnit, DEFAULT_LATENCY_SECS, InputValue, Inputs, Policy, ResolvedPolicy, Workload, derive_figures,
    nearest_three, open_loop_slots,
};
use crate::caps::{Limit, LimitLayer};
use crate::requirement::{self, Clause, Metric};

/// Maximum number of table rows that an error lists.
const MAX_LISTED_ROWS: usize = 20;
/// The default block size: vendors quote IOPS for blocks of at most this size.
const DEFAULT_BLOCK: Bytes = Bytes::kib(16);
/// The default percentage of reads.
const DEFAULT_READS: f64 = 70.0;
/// The default duration of a verification in seconds, as in the methods of providers.
const DEFAULT_DURATION: f64 = 300.0;
/// The default warm-up in seconds.
const DEFAULT_WARM_UP: f64 = 30.0;

/// User settings that replace the policy's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overrides {
    /// Bytes per operation.
    pub block: Option<Bytes>,
    /// Percent of the operations that read.
    pub read_percent: Option<f64>,
    /// Positions are random.
    pub random: Option<bool>,
}

/// The size and rates for which inputs are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InputGoals {
    pub(super) size: Option<f64>,
    pub(super) iops: Option<f64>,
    pub(super) bytes_per_sec: Option<f64>,
}

/// The reason why a policy cannot be resolved for a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyError {
    /// It has no such input.
    UnknownInput {
        /// The unknown name.
        name: String,
        /// The known inputs.
        known: Vec<String>,
    },
    /// It needs an input.
    Missing {
        /// Name of the missing input.
        name: String,
        /// What the input means, and how to set it.
        help: String,
    },
    /// The value of an input cannot be read.
    Unreadable {
        /// Name of the input.
        name: String,
        /// The value, as written.
        value: String,
        /// The expected syntax.
        help: &'static str,
    },
    /// The value of an input is out of its bounds.
    OutOfBounds {
        /// Name of the input.
        name: String,
        /// The value, as written.
        value: String,
        /// The lower bound.
        low: String,
        /// The upper bound.
        high: String,
    },
    /// No row of the table has this name or is large enough.
    NoTier {
        /// The name or size.
        wanted: String,
        /// The known rows.
        known: Vec<String>,
    },
    /// A formula has no value, or a clause cannot be read.
    Formula {
        /// The file, line and column, as `file:line:column`; empty for a built-in policy.
        at: String,
        /// The part of the policy.
        place: String,
        /// Why the formula has no value.
        why: String,
    },
}

impl fmt::Display for PolicyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyError::UnknownInput { name, known } if known.is_empty() => {
                write!(out, "unknown input `{name}`; this policy has no inputs")
            }
            PolicyError::UnknownInput { name, known } => {
                write!(out, "unknown input `{name}`; known inputs: {}", known.join(", "))
            }
            PolicyError::Missing { name, help } => write!(out, "the policy needs `{name}`: {help}"),
            PolicyError::Unreadable { name, value, help } => write!(out, "invalid value `{value}` of `{name}`: {help}"),
            PolicyError::OutOfBounds { name, value, low, high } => {
                write!(out, "`{name}` is {value}, but must be between {low} and {high}")
            }
            PolicyError::NoTier { wanted, known } if known.len() > MAX_LISTED_ROWS => {
                let names = known.iter().map(|name| (name.to_ascii_lowercase(), name.as_str()));
                let near = nearest_three(&wanted.to_ascii_lowercase(), names);
                write!(
                    out,
                    "no row for `{wanted}`; the nearest of {} rows are {near}",
                    known.len()
                )
            }
            PolicyError::NoTier { wanted, known } => {
                write!(out, "no row for `{wanted}`; known rows: {}", known.join(", "))
            }
            PolicyError::Formula { at, place, why } if at.is_empty() => write!(out, "{place}: {why}"),
            PolicyError::Formula { at, place, why } => write!(out, "{at}: {place}: {why}"),
        }
    }
}

impl std::error::Error for PolicyError {}

/// Named values for formulas.
struct Values<'p> {
    /// The policy with the formulas.
    policy: &'p Policy,
    known: BTreeMap<String, f64>,
    /// The columns of the table. A value that a row omits is 0.
    columns: Vec<String>,
}

impl<'p> Values<'p> {
    fn new(policy: &'p Policy) -> Values<'p> {
        Values {
            policy,
            known: BTreeMap::new(),
            columns: Vec::new(),
        }
    }

    fn evaluate(&self, place: &str, formula: &Formula) -> Result<f64, PolicyError> {
        let find = |name: &str| {
            let absent = || self.columns.iter().any(|column| column == name).then_some(0.0);
            self.known.get(name).copied().or_else(absent)
        };
        formula.expression.value(&find).map_err(|error| PolicyError::Formula {
            at: self.policy.position(formula.offset),
            place: place.to_owned(),
            why: error.to_string(),
        })
    }

    /// The value of a formula, if it is within the bounds. `name` is its key in the file.
    fn evaluate_within(&self, bounds: &Bounds, place: &str, name: &str, formula: &Formula) -> Result<f64, PolicyError> {
        let value = self.evaluate(place, formula)?;
        bounds.check(name, value).map_err(|why| PolicyError::Formula {
            at: self.policy.position(formula.offset),
            place: place.to_owned(),
            why,
        })
    }

    fn evaluate_optional(&self, place: &str, formula: Option<&Formula>) -> Result<Option<f64>, PolicyError> {
        formula.map(|formula| self.evaluate(place, formula)).transpose()
    }

    fn insert(&mut self, name: &str, value: f64) {
        self.known.insert(name.to_owned(), value);
    }

    /// Inserts an input under all its names in formulas.
    fn insert_input(&mut self, name: &str, kind: InputKind, value: f64) {
        self.insert(name, value);
        if kind == InputKind::Size {
            self.insert(&format!("{name}_gb"), value / 1e9);
            self.insert(&format!("{name}_gib"), value / Bytes::gib(1).0 as f64);
            self.insert(&format!("{name}_tib"), value / Bytes::gib(1024).0 as f64);
        }
    }
}

/// The values that a formula may have.
struct Bounds {
    min: f64,
    /// `min` itself is too low.
    above: bool,
    max: f64,
}

/// Figures above zero. No storage reaches the maximum, and no run lasts as many seconds.
const POSITIVE: Bounds = Bounds {
    min: 0.0,
    above: true,
    max: 1e15,
};
/// Seconds of a run: at most 100 years, which fit into 64 bits of nanoseconds.
const SECONDS: Bounds = Bounds {
    max: 3_155_760_000.0,
    ..POSITIVE
};

impl Bounds {
    fn check(&self, name: &str, value: f64) -> Result<f64, String> {
        let is_low = value < self.min || self.above && value == self.min;
        if !is_low && value <= self.max {
            return Ok(value);
        }
        let from = if self.above { "above" } else { "at least" };
        Err(format!(
            "`{name}` is {value}, but must be {from} {} and at most {}; correct its formula in the policy file",
            self.min, self.max
        ))
    }
}

impl Policy {
    /// Resolves the policy for a disk.
    ///
    /// # Errors
    /// [`PolicyError`] if an input is missing, unknown or out of bounds, or a formula of the file
    /// has no value.
    pub fn resolve(&self, inputs: &Inputs) -> Result<ResolvedPolicy, PolicyError> {
        self.resolve_with(inputs, &Overrides::default())
    }

    /// Like [`Policy::resolve`], with settings that replace the policy's workload.
    ///
    /// # Errors
    /// As [`Policy::resolve`].
    pub fn resolve_with(&self, inputs: &Inputs, overrides: &Overrides) -> Result<ResolvedPolicy, PolicyError> {
        self.reject_unknown_inputs(inputs)?;
        let mut values = Values::new(self);
        let named = inputs.get("tier").map(|name| self.find_tier(name)).transpose()?;
        let shown = self.read_inputs(inputs, named, &mut values)?;
        let tier = self.select_tier(named, &mut values)?;
        let tier_name = tier.and_then(|tier| tier.name.as_deref()).unwrap_or_default();
        let (layers, cached) = self.layers(tier_name, &values)?;
        let latency = values.evaluate_optional("latency", self.file.policy.latency.as_ref())?;
        if let Some(latency) = latency {
            values.insert("latency", latency);
        }
        let mut workload = self.workload(overrides, &values)?;
        let reached = compute_reach(&layers, workload.block, workload.read_percent, 1);
        if let Some(reached) = &reached {
            values.insert("limits.iops", reached.iops.low);
            values.insert("limits.bytes_per_sec", reached.bytes_per_sec.low);
        }
        self.resolve_rate(&mut workload, latency, reached.as_ref(), &values)?;
        let bursts = self.bursts(&values)?;
        let clauses = self.clauses(&values)?;
        Ok(ResolvedPolicy {
            id: self.id().to_owned(),
            title: self.title().to_owned(),
            kind: self.kind(),
            as_of: self.as_of(),
            source: self.source().to_owned(),
            confidence: self.confidence(),
            wording: self.wording().map(str::to_owned),
            size: values.known.get("size").map(|bytes| Bytes(*bytes as u64)),
            inputs: shown,
            tier: tier.and_then(|tier| tier.name.clone()),
            latency_ns: latency.map(|seconds| seconds * 1e9),
            derived: derive_figures(&layers, latency, &bursts, &workload),
            layers,
            cached,
            workload,
            reach: reached,
            clauses,
            bursts,
            notes: self.notes().to_vec(),
        })
    }

    /// The inputs that come closest to the goals within their bounds.
    pub(super) fn inputs_for(&self, wanted: &InputGoals) -> Result<Inputs, PolicyError> {
        let mut values = Values::new(self);
        let mut inputs = Inputs::new();
        for input in &self.file.input {
            let place = format!("input `{}`", input.name);
            let low = values.evaluate_optional(&place, input.min.as_ref())?.unwrap_or(0.0);
            let high = values
                .evaluate_optional(&place, input.max.as_ref())?
                .unwrap_or(f64::INFINITY);
            let scale = values.evaluate_optional(&place, input.scale.as_ref())?.unwrap_or(1.0);
            let default = values.evaluate_optional(&place, input.default.as_ref())?;
            let goal_value = match input.name.as_str() {
                "size" => wanted.size,
                "iops" => wanted.iops,
                "mbps" => wanted.bytes_per_sec.map(|bytes| (bytes / scale).ceil()),
                _ => None,
            };
            // Providers sell only whole units.
            let goal = [goal_value, default].into_iter().flatten().max_by(f64::total_cmp);
            let value = goal.unwrap_or(low).clamp(low, high.max(low)).ceil().min(high.max(low));
            values.insert_input(&input.name, input.kind, value);
            inputs.insert(input.name.clone(), format!("{value}"));
        }
        Ok(inputs)
    }

    /// The maximum size in bytes; `None` without a maximum.
    pub(super) fn largest_size(&self) -> Option<f64> {
        let values = Values::new(self);
        let input = self.file.input.iter().find(|input| input.name == "size")?;
        let largest_tier = self.file.tier.last().and_then(|tier| tier.size.as_ref());
        let formula = input.max.as_ref().or(largest_tier)?;
        values.evaluate("size", formula).ok()
    }

    fn reject_unknown_inputs(&self, inputs: &Inputs) -> Result<(), PolicyError> {
        let has_tiers = self.tiers().next().is_some();
        let list_known = || {
            let names = self.file.input.iter().map(|input| input.name.clone());
            names
                .chain(has_tiers.then(|| "tier".to_owned()))
                .collect::<Vec<String>>()
        };
        match inputs.keys().find(|name| !list_known().contains(name)) {
            Some(name) => Err(PolicyError::UnknownInput {
                name: name.clone(),
                known: list_known(),
            }),
            None => Ok(()),
        }
    }

    fn find_tier(&self, name: &str) -> Result<&Tier, PolicyError> {
        let has_name = |tier: &&Tier| tier.name.as_ref().is_some_and(|label| label.eq_ignore_ascii_case(name));
        self.file.tier.iter().find(has_name).ok_or_else(|| PolicyError::NoTier {
            wanted: name.to_owned(),
            known: self.tiers().map(str::to_owned).collect(),
        })
    }

    /// Reads the inputs in file order, because bounds and defaults may depend on earlier inputs.
    fn read_inputs(
        &self,
        inputs: &Inputs,
        tier: Option<&Tier>,
        values: &mut Values<'_>,
    ) -> Result<Vec<InputValue>, PolicyError> {
        let mut shown = Vec::new();
        for input in &self.file.input {
            let place = format!("input `{}`", input.name);
            let tier_size = match input.name.as_str() {
                "size" => tier.and_then(|tier| tier.size.as_ref()),
                _ => None,
            };
            let stated = inputs.get(&input.name);
            let value = match stated {
                Some(text) => read_input(input, text)?,
                None => match tier_size.or(input.default.as_ref()) {
                    Some(formula) => values.evaluate(&place, formula)?,
                    None => {
                        return Err(PolicyError::Missing {
                            name: input.name.clone(),
                            help: input.help.clone(),
                        });
                    }
                },
            };
            let low = values.evaluate_optional(&place, input.min.as_ref())?.unwrap_or(0.0);
            let high = values
                .evaluate_optional(&place, input.max.as_ref())?
                .unwrap_or(f64::INFINITY);
            // Tolerates floating-point error in formulas such as 0.25 × p.
            let slack = 1e-9 * value.abs();
            if value < low - slack || value > high + slack {
                return Err(PolicyError::OutOfBounds {
                    name: input.name.clone(),
                    value: show_input(input.kind, value),
                    low: show_input(input.kind, low),
                    high: show_input(input.kind, high),
                });
            }
            values.insert_input(&input.name, input.kind, value);
            shown.push(InputValue {
                name: input.name.clone(),
                value,
                kind: input.kind,
                said: stated.is_some(),
            });
        }
        Ok(shown)
    }

    /// The named row, or else the first row that is large enough.
    fn select_tier<'a>(
        &'a self,
        named: Option<&'a Tier>,
        values: &mut Values<'_>,
    ) -> Result<Option<&'a Tier>, PolicyError> {
        if self.file.tier.is_empty() {
            return Ok(None);
        }
        let table_columns = self.file.table.iter().flat_map(|table| &table.columns);
        let columns = self
            .file
            .tier
            .iter()
            .flat_map(|tier| tier.values.keys())
            .chain(table_columns);
        values.columns = columns.map(|column| format!("tier.{column}")).collect();
        let tier = match named {
            Some(tier) => tier,
            None => {
                let size = values.known.get("size").copied();
                let mut selected = None;
                for tier in &self.file.tier {
                    let largest = values.evaluate_optional("tier", tier.size.as_ref())?;
                    if size.zip(largest).is_some_and(|(size, largest)| size <= largest) {
                        selected = Some(tier);
                        break;
                    }
                }
                let list_known = || self.tiers().map(str::to_owned).collect();
                selected.ok_or_else(|| match size {
                    None => PolicyError::Missing {
                        name: "tier".into(),
                        help: match self.file.tier.len() > MAX_LISTED_ROWS {
                            true => format!("run `fathom policies {}` to list the names", self.id()),
                            false => format!("one of {}", self.tiers().collect::<Vec<_>>().join(", ")),
                        },
                    },
                    Some(size) => PolicyError::NoTier {
                        wanted: Bytes(size as u64).to_string(),
                        known: list_known(),
                    },
                })?
            }
        };
        for (column, value) in &tier.values {
            values.insert(&format!("tier.{column}"), *value);
        }
        Ok(Some(tier))
    }

    fn layers(&self, tier: &str, values: &Values<'_>) -> Result<(Vec<LimitLayer>, Vec<LimitLayer>), PolicyError> {
        let (mut layers, mut cached) = (Vec::new(), Vec::new());
        for form in &self.file.layer {
            let layer = self.layer(form, tier, values)?;
            // A row without figures has no limit.
            if layer.iops.is_none() && layer.bytes_per_sec.is_none() {
                continue;
            }
            match form.cached {
                true => cached.push(layer),
                false => layers.push(layer),
            }
        }
        Ok((layers, cached))
    }

    /// One limit. `{tier}` in its name is replaced by the table row.
    fn layer(&self, form: &LayerForm, tier: &str, values: &Values<'_>) -> Result<LimitLayer, PolicyError> {
        let place = format!("layer `{}`", form.name);
        // A value that a row of the table omits is 0: this row has no such limit.
        let bounds = Bounds {
            above: values.columns.is_empty(),
            ..POSITIVE
        };
        let evaluate = |name: &str, formula: &Formula| values.evaluate_within(&bounds, &place, name, formula);
        let positive = |limit: Limit| (limit.low > 0.0).then_some(limit);
        let iops = form
            .iops
            .as_ref()
            .map(|formula| evaluate("iops", formula))
            .transpose()?;
        let bytes = match &form.bytes_per_sec {
            None => None,
            Some(Range::Exact(formula)) => Some(Limit::exactly(evaluate("bytes_per_sec", formula)?)),
            Some(Range::Between([low, high])) => {
                let (low, high) = (evaluate("bytes_per_sec", low)?, evaluate("bytes_per_sec", high)?);
                Some(Limit {
                    low: low.min(high),
                    high: low.max(high),
                })
            }
        };
        let unit = form
            .unit
            .as_ref()
            .map(|formula| evaluate("unit", formula))
            .transpose()?;
        Ok(LimitLayer {
            name: form.name.replace("{tier}", tier).trim().to_owned(),
            kind: form.kind,
            iops: iops.map(Limit::exactly).and_then(positive),
            bytes_per_sec: bytes.and_then(positive),
            unit: unit.map(|bytes| Bytes(bytes as u64)).filter(|unit| unit.0 > 0),
            applies: form.applies,
            path: self.cache_path(form),
            source: format!("{}, {} ({})", self.id(), self.as_of(), self.source()),
            ..LimitLayer::default()
        })
    }

    /// The path that a layer limits: if an entry has host-cache limits, its other limits are for
    /// uncached I/O.
    fn cache_path(&self, form: &LayerForm) -> Option<CachePath> {
        let has_cache = self.file.layer.iter().any(|layer| layer.cached);
        match form.cached {
            true => Some(CachePath::Cached),
            false => has_cache.then_some(CachePath::Uncached),
        }
    }

    fn workload(&self, overrides: &Overrides, values: &Values<'_>) -> Result<Workload, PolicyError> {
        let form = &self.file.workload;
        let evaluate_or = |name: &str, formula: Option<&Formula>, default: f64, bounds: Bounds| {
            let value = formula.map(|formula| values.evaluate_within(&bounds, "workload", name, formula));
            value.unwrap_or(Ok(default))
        };
        let percent = Bounds {
            min: 0.0,
            above: false,
            max: 100.0,
        };
        let not_negative = Bounds {
            above: false,
            ..SECONDS
        };
        let block = evaluate_or("block", form.block.as_ref(), DEFAULT_BLOCK.0 as f64, POSITIVE)?;
        let reads = evaluate_or("read_percent", form.read_percent.as_ref(), DEFAULT_READS, percent)?;
        let random = form.pattern.unwrap_or(PatternForm::Random) == PatternForm::Random;
        Ok(Workload {
            block: overrides.block.unwrap_or(Bytes(block as u64)),
            random: overrides.random.unwrap_or(random),
            read_percent: overrides.read_percent.unwrap_or(reads),
            rate_iops: None,
            concurrency: None,
            duration_secs: evaluate_or("duration", form.duration.as_ref(), DEFAULT_DURATION, SECONDS)?,
            warm_up_secs: evaluate_or("warm_up", form.warm_up.as_ref(), DEFAULT_WARM_UP, not_negative)?,
        })
    }

    /// Sets the total rate, and the concurrency that it needs by Little's law.
    fn resolve_rate(
        &self,
        workload: &mut Workload,
        latency: Option<f64>,
        reached: Option<&Reach>,
        values: &Values<'_>,
    ) -> Result<(), PolicyError> {
        let form = &self.file.workload;
        let evaluate = |name: &str, formula: &Formula| values.evaluate_within(&POSITIVE, "workload", name, formula);
        workload.rate_iops = match &form.rate {
            Some(rate) => Some(evaluate("rate", rate)?),
            None => reached.map(|reached| reached.iops.low),
        };
        let concurrency = form.concurrency.as_ref();
        let formula_value = concurrency
            .map(|formula| evaluate("concurrency", formula))
            .transpose()?;
        workload.concurrency = match (formula_value, workload.rate_iops) {
            (Some(operations), _) => Some(ceil_to_count(operations)),
            (None, Some(rate)) => Some(u64::from(open_loop_slots(
                rate * latency.unwrap_or(DEFAULT_LATENCY_SECS),
            ))),
            (None, None) => None,
        };
        Ok(())
    }

    fn clauses(&self, values: &Values<'_>) -> Result<Vec<Clause>, PolicyError> {
        self.file.clause.iter().map(|form| build_clause(form, values)).collect()
    }

    fn bursts(&self, values: &Values<'_>) -> Result<Vec<Burst>, PolicyError> {
        let mut bursts = Vec::new();
        for BurstForm {
            unit,
            ceiling,
            refill,
            bucket,
            full_after,
        } in &self.file.burst
        {
            let burst = Burst {
                unit: *unit,
                ceiling: values.evaluate("burst.ceiling", ceiling)?,
                refill: values.evaluate("burst.refill", refill)?,
                bucket: values.evaluate("burst.bucket", bucket)?,
                full_after_secs: values.evaluate_optional("burst.full_after", full_after.as_ref())?,
            };
            // Larger disks have no credits, because their baseline is above the ceiling.
            if burst.ceiling > burst.refill && burst.bucket > 0.0 {
                bursts.push(burst);
            }
        }
        Ok(bursts)
    }
}

fn build_clause(form: &ClauseForm, values: &Values<'_>) -> Result<Clause, PolicyError> {
    let place = format!("clause `{}`", form.metric);
    let (metric, direction) = requirement::parse_metric(&form.metric).map_err(|(why, help)| PolicyError::Formula {
        at: values.policy.position(form.target.offset),
        place: place.clone(),
        why: format!("{why}; {help}"),
    })?;
    let bounds = match metric {
        Metric::Availability => Bounds { max: 1.0, ..POSITIVE },
        Metric::Iops | Metric::Throughput | Metric::Mean | Metric::Quantile { .. } => POSITIVE,
    };
    let value = values.evaluate_within(&bounds, &place, "target", &form.target)?;
    let target = match metric {
        Metric::Mean | Metric::Quantile { .. } => value * 1e9,
        Metric::Iops | Metric::Throughput | Metric::Availability => value,
    };
    let mut clause = Clause {
        of_policy: true,
        text: String::new(),
        metric,
        direction,
        side: metric.side(),
        target,
        tolerance: form
            .tolerance
            .as_ref()
            .map_or(requirement::default_tolerance(metric), |tolerance| *tolerance.get_ref()),
    };
    clause.text = clause.to_string();
    Ok(clause)
}

fn read_input(input: &Input, text: &str) -> Result<f64, PolicyError> {
    let (value, help) = match input.kind {
        InputKind::Size => {
            let bytes = text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64);
            (bytes, "expected a size with a unit, for example 500GiB or 500GB")
        }
        InputKind::Number => {
            let compact = text.trim().replace('_', "");
            let (digits, factor) = match compact.strip_suffix(['k', 'K']) {
                Some(digits) => (digits, 1000.0),
                None => (compact.as_str(), 1.0),
            };
            let value = digits.parse::<f64>().ok().map(|value| value * factor);
            (value, "expected a number, for example 6000")
        }
    };
    value
        .filter(|value| value.is_finite() && *value >= 0.0)
        .ok_or_else(|| PolicyError::Unreadable {
            name: input.name.clone(),
            value: text.to_owned(),
            help,
        })
}

/// An input's value as text.
pub(super) fn show_input(kind: InputKind, value: f64) -> String {
    match kind {
        _ if value.is_infinite() => "any".into(),
        // Disks are ordered in GiB, so 4097 GiB must not become 4.00 TiB.
        InputKind::Size if value % Bytes::gib(1).0 as f64 == 0.0 && value % Bytes::gib(1024).0 as f64 != 0.0 => {
            format!("{:.0} GiB", value / Bytes::gib(1).0 as f64)
        }
        InputKind::Size => Bytes(value.round() as u64).to_string(),
        InputKind::Number if value.fract() == 0.0 => format!("{value:.0}"),
        InputKind::Number => format!("{value:.2}"),
    }
}

/// Rounds up to a whole number of at least 1, tolerating float error: 4000 × 0.003 × 1.25 is 15.
pub(super) fn ceil_to_count(value: f64) -> u64 {
    let rounded = value.round();
    let snapped = if (value - rounded).abs() < 1e-9 * value.abs().max(1.0) {
        rounded
    } else {
        value
    };
    (snapped.ceil() as u64).max(1)
}

impl Burst {
    /// The unit, as text.
    pub fn unit(&self) -> &'static str {
        match self.unit {
            BurstUnit::Iops => "IOPS",
            BurstUnit::Bytes => "bytes/s",
        }
    }
}
