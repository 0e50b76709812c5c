//! Parses and formats limits (`--cap`, `cap` in job files); parses the cache path and the role of a
//! job.

use model::Bytes;
use model::caps::{Applies, LayerKind, Limit, LimitLayer};
use model::plan::CachePath;

use super::values::{parse_keyword, unknown_word_error};

/// Keys of a limit.
const CAP_KEYS: [&str; 9] = ["iops", "mbps", "mibps", "unit", "for", "kind", "path", "role", "job"];

/// Names of layer kinds.
const KINDS: [(&str, LayerKind); 4] = [
    ("vm", LayerKind::Machine),
    ("disk", LayerKind::Disk),
    ("cgroup", LayerKind::ControlGroup),
    ("link", LayerKind::Link),
];

/// Names of the limited directions.
const DIRECTIONS: [(&str, Applies); 3] = [
    ("all", Applies::All),
    ("reads", Applies::Reads),
    ("writes", Applies::Writes),
];

/// Names of the paths through a virtual machine's host.
const PATHS: [(&str, CachePath); 2] = [("cached", CachePath::Cached), ("uncached", CachePath::Uncached)];

/// Reads a limit, such as `VM:iops=1920,mbps=22.5,kind=vm`. The name is optional.
///
/// # Errors
/// The first mistake.
pub fn parse_cap(text: &str) -> Result<LimitLayer, String> {
    let (name, figures) = match text.split_once(':') {
        Some((name, figures)) if !name.contains('=') => (name.trim(), figures),
        _ => (text, text),
    };
    let mut layer = LimitLayer {
        name: name.to_owned(),
        ..LimitLayer::default()
    };
    let mut keys: Vec<&str> = Vec::new();
    for figure in figures.split(',').map(str::trim).filter(|figure| !figure.is_empty()) {
        let (key, value) = figure
            .split_once('=')
            .ok_or_else(|| format!("`{figure}` is not written as KEY=VALUE"))?;
        let (key, value) = (key.trim(), value.trim());
        // Both units set the same limit.
        let quantity = if key == "mibps" { "mbps" } else { key };
        if keys.contains(&quantity) {
            return Err(format!("`{key}` sets a value that an earlier key already set"));
        }
        keys.push(quantity);
        match key {
            "iops" => layer.iops = Some(Limit::exactly(parse_number(value, 1.0)?)),
            "mbps" => layer.bytes_per_sec = Some(Limit::exactly(parse_number(value, 1e6)?)),
            "mibps" => layer.bytes_per_sec = Some(Limit::exactly(parse_number(value, f64::from(1 << 20))?)),
            "unit" => layer.unit = Some(parse_unit(value)?),
            "for" => layer.applies = parse_keyword(value, &DIRECTIONS)?,
            "kind" => layer.kind = parse_keyword(value, &KINDS)?,
            "path" => layer.path = Some(parse_path(value)?),
            "role" => layer.role = Some(parse_name(value)?),
            "job" => layer.job = Some(parse_name(value)?),
            other => return Err(unknown_word_error(other, &CAP_KEYS)),
        }
    }
    match layer.iops.is_none() && layer.bytes_per_sec.is_none() {
        true => Err("the limit has no rate: it needs iops=, mbps= or mibps=".into()),
        false => Ok(layer),
    }
}

fn parse_number(text: &str, factor: f64) -> Result<f64, String> {
    match text.replace('_', "").parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value * factor),
        _ => Err(format!("`{text}` is not a number above 0")),
    }
}

fn parse_unit(text: &str) -> Result<Bytes, String> {
    let unit: Bytes = text
        .parse()
        .map_err(|error: model::units::UnitError| error.to_string())?;
    (unit.0 > 0)
        .then_some(unit)
        .ok_or_else(|| "a unit must be above 0 bytes".into())
}

/// Reads `cached` or `uncached`.
///
/// # Errors
/// Any other word.
pub fn parse_path(text: &str) -> Result<CachePath, String> {
    parse_keyword(text, &PATHS)
}

/// Reads the name of a role or a job.
///
/// # Errors
/// An empty name.
pub fn parse_name(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("the name is empty".into()),
        name => Ok(name.to_owned()),
    }
}

/// Formats a limit in the syntax of [`parse_cap`].
pub(crate) fn cap_text(layer: &LimitLayer) -> String {
    let word_of = |words: &[(&str, LayerKind)]| {
        let entry = words.iter().find(|(_, kind)| *kind == layer.kind);
        entry.map(|(word, _)| (*word).to_owned())
    };
    let mut parts = Vec::new();
    let mut add = |key: &str, value: Option<String>| parts.extend(value.map(|value| format!("{key}={value}")));
    add("iops", layer.iops.map(|limit| limit.low.to_string()));
    add("mbps", layer.bytes_per_sec.map(|limit| (limit.low / 1e6).to_string()));
    add("unit", layer.unit.map(|unit| format!("{}B", unit.0)));
    let direction = DIRECTIONS.iter().find(|(_, applies)| *applies == layer.applies);
    add(
        "for",
        direction
            .filter(|_| layer.applies != Applies::All)
            .map(|(word, _)| (*word).to_owned()),
    );
    add("kind", word_of(&KINDS).filter(|_| layer.kind != LayerKind::Disk));
    add("path", layer.path.map(|path| path.word().to_owned()));
    add("role", layer.role.clone());
    add("job", layer.job.clone());
    format!("{}:{}", layer.name, parts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let vm = parse_cap("VM: iops=1920, mbps=22.5, kind=vm").unwrap();
        assert_eq!((vm.name.as_str(), vm.kind), ("VM", LayerKind::Machine));
        assert_eq!(
            (vm.iops, vm.bytes_per_sec),
            (Some(Limit::exactly(1920.0)), Some(Limit::exactly(22.5e6)))
        );
        let parsed = parse_cap("iops=4000,unit=256KiB,for=writes").unwrap();
        assert_eq!(parsed.name, "iops=4000,unit=256KiB,for=writes");
        assert_eq!((parsed.unit, parsed.applies), (Some(Bytes::kib(256)), Applies::Writes));
        let binary = parse_cap("mibps=100").unwrap();
        assert_eq!(binary.bytes_per_sec, Some(Limit::exactly(104_857_600.0)));
    }

    #[test]
    fn mistakes_are_reported() {
        for text in [
            "", "VM:", "1920", "iops=many", "iops=0", "iosp=5", "iops=5,for=both", "iops=5,unit=0", "kind=vm",
            "iops=5,iops=6", "mbps=5,mibps=6",
        ] {
            assert!(parse_cap(text).is_err(), "{text}");
        }
        assert!(parse_cap("iosp=5").unwrap_err().contains("did you mean `iops`"));
    }
}
