//! Contents of writes: compression, duplicates, the bytes of a file.

use model::content::{ConstantPart, Content};
use model::plan::{Plan, Prepare};

use super::VdbenchEnv;
use super::blocks::Block;
use crate::Diagnostic;

/// Duplicates in written data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dedup {
    /// Ratio of all data to distinct data, above 1.
    pub ratio: f64,
    /// `dedupunit=`.
    pub unit: u64,
    /// Number of distinct blocks that duplicates repeat; if negative, a percentage of the
    /// duplicates.
    pub sets: f64,
    /// The SDs repeat the same blocks.
    pub across: bool,
}

pub(super) fn parse_dedup(block: &Block) -> Result<Option<Dedup>, Diagnostic> {
    let ratio = block.number("dedupratio")?.unwrap_or(1.0);
    let unit = block.number("dedupunit")?;
    match unit {
        _ if ratio <= 1.0 => Ok(None),
        Some(unit) if unit >= 512.0 && unit % 512.0 == 0.0 => Ok(Some(Dedup {
            ratio,
            unit: unit as u64,
            sets: block.number("dedupsets")?.unwrap_or(-5.0),
            across: block.is_yes("dedupacross"),
        })),
        _ => Err(block
            .error("cannot use `dedupratio=` without the size of a duplicate")
            .help("set `dedupunit=` to a multiple of 512 bytes that divides every transfer size")),
    }
}

/// The bytes of the file named by `pattern=`.
pub(super) fn parse_pattern(block: &Block, env: &mut dyn VdbenchEnv) -> Result<Option<Vec<u8>>, Diagnostic> {
    const MAX_BYTES: usize = 64 << 10;
    let Some(item) = block.item("pattern") else {
        return Ok(None);
    };
    let path = item.single_value();
    let error = |what: String, help: &str| item.error(what).help(help);
    let bytes = env.read_bytes(&path).map_err(|why| {
        error(
            format!("cannot read pattern={path}: {why}"),
            "name a file with the data to write",
        )
    })?;
    match bytes.len() {
        1..=MAX_BYTES => Ok(Some(bytes)),
        length => Err(error(
            format!("cannot use pattern={path}: it has {length} bytes"),
            "use a file of 1 to 65536 bytes, which are repeated",
        )),
    }
}

/// Makes a plan write the bytes of `pattern=`, repeated from the start of each transfer.
pub(super) fn write_pattern(plan: &mut Plan, pattern: Option<&Vec<u8>>) {
    let Some(bytes) = pattern else { return };
    let bytes = || Content::Pattern { bytes: bytes.clone() };
    for target in &mut plan.targets {
        if let Prepare::LayOut { content, .. } = &mut target.prepare {
            *content = Some(bytes());
        }
    }
    let jobs = plan.steps.iter_mut().flat_map(|step| &mut step.jobs);
    for stream in jobs
        .flat_map(|job| &mut job.workers)
        .flat_map(|worker| &mut worker.streams)
    {
        stream.content = bytes();
    }
}

/// Data that can be compressed by this ratio and has this share of duplicates; `None` for neither.
/// `transfers` is the number that the region holds.
pub(super) fn content(compratio: f64, dedup: Option<Dedup>, transfers: u64) -> Option<Content> {
    // 100 % would repeat one block endlessly.
    let percent = (100.0 - 100.0 / compratio.max(1.0)).round().min(99.0) as u8;
    let Some(dedup) = dedup else {
        return (percent > 0).then(|| Content::Compressible {
            percent,
            chunk: 0,
            pattern: Vec::new(),
        });
    };
    let (surplus, transfers) = (1.0 - 1.0 / dedup.ratio, transfers.max(1) as f64);
    let sets = match dedup.sets {
        share if share < 0.0 => -share / 100.0 * surplus * transfers,
        sets => sets,
    };
    // The sets of all SDs add to the data of each SD; otherwise the first transfers of
    // an SD are its sets.
    let unit_share = if dedup.across {
        surplus + sets / transfers
    } else {
        surplus
    };
    Some(Content::Duplicated {
        percent: (100.0 * unit_share).round().min(99.0) as u8,
        working_set: sets.round().max(1.0) as u64,
        shared_working_set: dedup.across,
        constant: (percent > 0).then(|| ConstantPart {
            percent,
            ..ConstantPart::default()
        }),
    })
}
