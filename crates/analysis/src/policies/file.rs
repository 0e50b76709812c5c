//! The format of a policy file: TOML with limits, targets and times as formulas over named inputs.
//! Parsing checks the structure; resolving evaluates the formulas.

use std::collections::BTreeMap;

use model::JsonSchema;
use model::visible::excerpt;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::date::Date;
use super::expression::{Expression, ExpressionError};
use super::{Confidence, PolicyKind};
use crate::caps::{Applies, LayerKind};
use crate::requirement::{self, Metric};

/// A mistake in a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFileError {
    /// The file; where known, with line, column and text, as `file:line:column  text`.
    pub at: String,
    /// The mistake.
    pub what: String,
}

impl PolicyFileError {
    fn from_toml(name: &str, text: &str, error: &toml::de::Error) -> PolicyFileError {
        let what = error.message().lines().collect::<Vec<_>>().join("; ");
        match error.span() {
            None => PolicyFileError { at: name.into(), what },
            Some(span) => PolicyFileError::at_offset(name, text, span.start, what),
        }
    }

    /// The mistake begins at this byte of the text.
    fn at_offset(name: &str, text: &str, offset: usize, what: String) -> PolicyFileError {
        let start = text[..text.floor_char_boundary(offset)]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        PolicyFileError {
            at: format!("{}  {}", format_position(name, text, offset), excerpt(line.trim())),
            what,
        }
    }
}

/// The position of a byte of the text, as `file:line:column`.
pub(super) fn format_position(name: &str, text: &str, offset: usize) -> String {
    let before = &text[..text.floor_char_boundary(offset)];
    let column = before.lines().last().filter(|_| !before.ends_with('\n'));
    let column = column.map_or(0, |line| line.chars().count()) + 1;
    format!("{name}:{}:{column}", before.matches('\n').count() + 1)
}

/// The version of the format.
const SCHEMA: u32 = 1;

/// A parsed policy file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) schema: u32,
    pub(super) policy: Header,
    #[serde(default)]
    pub(super) input: Vec<Input>,
    #[serde(default)]
    pub(super) tier: Vec<Tier>,
    /// More rows of the size table in compact format, after the rows of `tier`.
    pub(super) table: Option<Table>,
    #[serde(default)]
    pub(super) layer: Vec<LayerForm>,
    #[serde(default)]
    pub(super) workload: WorkloadForm,
    #[serde(default)]
    pub(super) clause: Vec<ClauseForm>,
    #[serde(default)]
    pub(super) burst: Vec<BurstForm>,
}

/// Name, kind and source of the policy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) kind: PolicyKind,
    pub(super) as_of: Date,
    pub(super) source: String,
    pub(super) confidence: Confidence,
    /// The promised latency, as a formula in seconds.
    pub(super) latency: Option<Formula>,
    /// The wording of that promise.
    pub(super) wording: Option<String>,
    /// The provider's site to which it applies.
    pub(super) site: Option<String>,
    #[serde(default)]
    pub(super) notes: Vec<String>,
    /// All disks of this kind on a machine share one limit, which depends on their total size.
    #[serde(default)]
    pub(super) pooled: bool,
    /// For a machine: the disks that its figures apply to, as catalogue ids. Empty: any.
    #[serde(default)]
    pub(super) disks: Vec<String>,
}

/// A property of the disk that the user states.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: InputKind,
    pub(super) help: String,
    pub(super) min: Option<Formula>,
    pub(super) max: Option<Formula>,
    pub(super) default: Option<Formula>,
    /// Bytes per second of one unit of throughput: vendors define MB differently.
    pub(super) scale: Option<Formula>,
}

/// The unit of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputKind {
    /// Bytes. Formulas use it as `NAME` (bytes), `NAME_gb`, `NAME_gib` and `NAME_tib`.
    Size,
    /// A plain number.
    Number,
}

/// A row of the size table, selected by name, or as the first with a sufficient `size`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Tier {
    pub(super) name: Option<String>,
    pub(super) size: Option<Formula>,
    /// Formulas use them as `tier.NAME`; values that a row omits are 0.
    #[serde(flatten)]
    pub(super) values: BTreeMap<String, f64>,
}

/// Rows of the size table, one line per row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// Names of the values after the first field.
    pub(super) columns: Vec<String>,
    /// A line per row: the name, then the values, separated by commas. `A|B` gives both names the
    /// same values. Empty and missing values are omitted.
    rows: String,
}

impl Table {
    /// Reads the tiers of the table, in order.
    ///
    /// # Errors
    /// The invalid line, and the reason.
    fn tiers(&self) -> Result<Vec<Tier>, String> {
        let mut tiers = Vec::new();
        for line in self.rows.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let mut fields = line.split(',').map(str::trim);
            let names = fields.next().unwrap_or_default();
            let mut values = BTreeMap::new();
            let mut columns = self.columns.iter();
            for field in fields {
                let column = columns
                    .next()
                    .ok_or_else(|| format!("`{line}` has more values than the table has columns"))?;
                if field.is_empty() {
                    continue;
                }
                match field.parse::<f64>() {
                    Ok(value) if value > 0.0 && value.is_finite() => values.insert(column.clone(), value),
                    _ => return Err(format!("`{field}` in `{line}` is not a number above 0")),
                };
            }
            if values.is_empty() || names.split('|').any(str::is_empty) {
                return Err(format!("`{line}` is not a name with values"));
            }
            tiers.extend(names.split('|').map(|name| Tier {
                name: Some(name.to_owned()),
                size: None,
                values: values.clone(),
            }));
        }
        Ok(tiers)
    }
}

/// A limit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LayerForm {
    pub(super) name: String,
    #[serde(default)]
    pub(super) kind: LayerKind,
    pub(super) iops: Option<Formula>,
    pub(super) bytes_per_sec: Option<Range>,
    pub(super) unit: Option<Formula>,
    #[serde(default)]
    pub(super) applies: Applies,
    /// It limits only operations that the host's cache serves.
    #[serde(default)]
    pub(super) cached: bool,
}

/// One formula, or the lowest and the highest interpretation of a source.
#[derive(Clone, Debug)]
pub(super) enum Range {
    Exact(Formula),
    Between([Formula; 2]),
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Range, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum WrittenRange {
            Exact(Written),
            Between([Written; 2]),
        }
        let written = Spanned::<WrittenRange>::deserialize(from)?;
        let offset = written.span().start;
        let formula = |written: Written| written.parse(offset).map_err(serde::de::Error::custom);
        match written.into_inner() {
            WrittenRange::Exact(text) => formula(text).map(Range::Exact),
            WrittenRange::Between([low, high]) => Ok(Range::Between([formula(low)?, formula(high)?])),
        }
    }
}

/// The workload that verifies the policy.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkloadForm {
    pub(super) block: Option<Formula>,
    pub(super) pattern: Option<PatternForm>,
    pub(super) read_percent: Option<Formula>,
    pub(super) rate: Option<Formula>,
    pub(super) concurrency: Option<Formula>,
    pub(super) duration: Option<Formula>,
    pub(super) warm_up: Option<Formula>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PatternForm {
    Random,
    Sequential,
}

/// A promise.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClauseForm {
    /// As in a requirement: `iops`, `read.mean`, `p99`, `availability`.
    pub(super) metric: String,
    /// Operations, bytes per second, seconds, or a share.
    pub(super) target: Formula,
    /// Allowed shortfall, as a share of the target.
    pub(super) tolerance: Option<Spanned<f64>>,
}

impl ClauseForm {
    /// Refuses a tolerance with which storage would pass that does not keep the promise.
    /// An error has the offset of the tolerance in the file.
    fn check_tolerance(&self) -> Result<(), (usize, String)> {
        let Some(tolerance) = &self.tolerance else {
            return Ok(());
        };
        let value = *tolerance.get_ref();
        let is_rate = match requirement::parse_metric(&self.metric) {
            Ok((Metric::Iops | Metric::Throughput, _)) => true,
            Ok((Metric::Mean | Metric::Quantile { .. } | Metric::Availability, _)) => false,
            // Resolving the policy reports the metric.
            Err(_) => return Ok(()),
        };
        let why = match is_rate {
            true if (0.0..1.0).contains(&value) => return Ok(()),
            true => format!("it is {value}, but must be at least 0 and below 1; 5 % is 0.05"),
            false if value == 0.0 => return Ok(()),
            false => "only rates have one; change the target instead, and remove `tolerance`".to_owned(),
        };
        Err((
            tolerance.span().start,
            format!("tolerance of clause `{}`: {why}", self.metric),
        ))
    }
}

/// Burst credits.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BurstForm {
    #[serde(rename = "of")]
    pub(super) unit: super::BurstUnit,
    pub(super) ceiling: Formula,
    pub(super) refill: Formula,
    pub(super) bucket: Formula,
    /// Seconds from empty to full without load, if the vendor states that instead of a refill rate.
    pub(super) full_after: Option<Formula>,
}

/// A formula, or a plain number.
#[derive(Clone, Debug)]
pub(super) struct Formula {
    pub(super) expression: Expression,
    /// Where it begins in the text of the file, in bytes.
    pub(super) offset: usize,
}

/// A formula as the file has it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Text(String),
}

impl Written {
    fn parse(self, offset: usize) -> Result<Formula, ExpressionError> {
        let text = match self {
            Written::Number(value) => value.to_string(),
            Written::Text(text) => text,
        };
        Expression::parse(&text).map(|expression| Formula { expression, offset })
    }
}

impl<'de> Deserialize<'de> for Formula {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Formula, D::Error> {
        let written = Spanned::<Written>::deserialize(from)?;
        let offset = written.span().start;
        written.into_inner().parse(offset).map_err(serde::de::Error::custom)
    }
}

impl File {
    /// Parses a file.
    pub(super) fn parse(name: &str, text: &str) -> Result<File, PolicyFileError> {
        let mut file: File = toml::from_str(text).map_err(|error| PolicyFileError::from_toml(name, text, &error))?;
        file.check().map_err(|what| PolicyFileError { at: name.into(), what })?;
        for clause in &file.clause {
            let checked = clause.check_tolerance();
            checked.map_err(|(offset, what)| PolicyFileError::at_offset(name, text, offset, what))?;
        }
        Ok(file)
    }

    /// Adds the rows of the table, and checks what the format cannot express.
    fn check(&mut self) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!(
                "schema {} is not supported; this version reads schema {SCHEMA}",
                self.schema
            ));
        }
        if let Some(table) = &self.table {
            self.tier.extend(table.tiers()?);
        }
        let mut tiers = std::collections::BTreeSet::new();
        for tier in self.tier.iter().filter_map(|tier| tier.name.as_deref()) {
            if !tiers.insert(tier.to_ascii_lowercase()) {
                return Err(format!("duplicate row `{tier}`"));
            }
        }
        let mut seen: Vec<&str> = Vec::new();
        for input in &self.input {
            if seen.contains(&input.name.as_str()) {
                return Err(format!("duplicate input `{}`", input.name));
            }
            seen.push(&input.name);
        }
        match self.layer.is_empty() {
            true => Err("the policy has no limit; add a [[layer]] with `iops` or `bytes_per_sec`".into()),
            false => Ok(()),
        }
    }
}
