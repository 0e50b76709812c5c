//! Checks of file system definitions. They are not run yet; `-s` shows their plan.

use super::definitions::{Block, matches_name};
use super::table::Section;
use crate::Diagnostic;

const OPERATIONS: &[&str] = &[
    "read", "write", "mkdir", "rmdir", "copy", "move", "create", "delete", "getattr", "setattr", "access", "open",
    "close",
];
const FORMATS: &[&str] = &[
    "no", "yes", "restart", "only", "clean", "directories", "once", "limited", "complete",
];

/// Checks definitions of FSDs and FWDs, and what RDs say of them.
pub(super) fn check(blocks: &[Block]) -> Result<(), Diagnostic> {
    let of = |section: Section| {
        blocks
            .iter()
            .filter(move |block| block.section == section && block.name != "default")
    };
    let mut anchors: Vec<(String, String)> = Vec::new();
    for fsd in of(Section::Fsd) {
        if anchors.iter().any(|(name, _)| *name == fsd.name) {
            return Err(fsd.error(format!("Duplicate fsd name: {}", fsd.name)));
        }
        let anchor = fsd.words("anchor").into_iter().next().unwrap_or_default();
        if anchor.is_empty() {
            return Err(fsd.error(format!("Directory name required for fsd={}", fsd.name)));
        }
        anchors.push((fsd.name.clone(), anchor));
    }
    let inside = |outer: &str, inner: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
    if let Some((outer, inner)) = anchors.iter().find_map(|outer| {
        let inner = anchors.iter().find(|inner| inside(&outer.1, &inner.1))?;
        Some((outer, inner))
    }) {
        let what = "Directory (anchor) names used in fsd parameters may not be parents or children of each other: ";
        return Err(Diagnostic::new(what).help(format!("separate fsd={} and fsd={}", outer.0, inner.0)));
    }
    for fwd in of(Section::Fwd).filter(|fwd| fwd.name != "format") {
        if OPERATIONS.contains(&fwd.name.as_str()) {
            return Err(fwd.error(format!("fwd name may not match a valid operation: fwd={}", fwd.name)));
        }
        check_workload(fwd, &anchors)?;
    }
    for rd in of(Section::Rd) {
        for word in rd.words("format") {
            if !FORMATS.iter().any(|known| word.len() >= 2 && known.starts_with(&word)) {
                return Err(rd.error(format!("Invalid contents of 'format=' parameter: {word}")));
            }
        }
        if rd.item("fwd").is_some() && rd.item("fwdrate").is_none() {
            return Err(rd.error(format!("No fwdrate= specified for rd={}", rd.name)));
        }
    }
    Ok(())
}

fn check_workload(fwd: &Block, anchors: &[(String, String)]) -> Result<(), Diagnostic> {
    let fsds = fwd.words("fsd");
    if fsds.is_empty() {
        return Err(fwd.error("fwd parameter requires at least one 'fsd='".into()));
    }
    if let Some(missing) = fsds
        .iter()
        .find(|wanted| !anchors.iter().any(|(name, _)| matches_name(wanted, name)))
    {
        return Err(fwd.error(format!("Could not find fsd={missing} for fwd={}", fwd.name)));
    }
    let operations = fwd.words("operation");
    if operations.len() > 1 {
        return Err(fwd.error(format!("'fwd={},operations=' accepts only ONE parameter.", fwd.name)));
    }
    if let Some(unknown) = operations.iter().find(|word| !OPERATIONS.contains(&word.as_str())) {
        return Err(fwd.error(format!("Unknown operation: {unknown}")));
    }
    let sizes = fwd.numbers("xfersizes")?;
    let sum: f64 = sizes
        .chunks(2)
        .filter_map(|pair| pair.get(1))
        .map(|share| share.abs())
        .sum();
    match sizes.len() > 1 && (sum - 100.0).abs() > 0.0001 {
        true => Err(fwd.error("Xfersize distribution does not add up to 100".into())),
        false => Ok(()),
    }
}
