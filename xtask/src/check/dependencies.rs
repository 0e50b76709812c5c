//! Checks dependencies by the rules of `deny.toml`.

use std::fs;
use std::process::Command;

use serde::Deserialize;

use crate::command::{cargo, metadata, root, run};

/// The rules of `deny.toml` that this check uses.
#[derive(Deserialize)]
struct Rules {
    graph: Graph,
    licenses: Licences,
    bans: Bans,
}

#[derive(Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// Absent for our own packages.
    source: Option<String>,
}

/// The only registry.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks licences, bans and sources of all dependencies; with cargo-deny, advisories as well.
///
/// # Errors
/// Lists every dependency that is not allowed.
pub(super) fn check() -> Result<(), String> {
    let text = fs::read_to_string(root().join("deny.toml")).map_err(|error| format!("deny.toml: {error}"))?;
    let rules: Rules = toml::from_str(&text).map_err(|error| format!("deny.toml: {error}"))?;
    let mut faults = Vec::new();
    for target in &rules.graph.targets {
        for package in metadata::<Metadata>(target)?.packages {
            if let Some(fault) = fault(&package, &rules)
                && !faults.contains(&fault)
            {
                faults.push(fault);
            }
        }
    }
    if !faults.is_empty() {
        return Err(faults.join("\n"));
    }
    let has_deny = Command::new("cargo-deny").arg("--version").output();
    match has_deny.is_ok_and(|output| output.status.success()) {
        true => run(cargo().args(["deny", "check"])),
        false => Ok(()),
    }
}

fn fault(package: &Package, rules: &Rules) -> Option<String> {
    let source = package.source.as_deref()?;
    let Package {
        name, version, license, ..
    } = package;
    let licence = license.as_deref().unwrap_or("no licence");
    if source != CRATES_IO {
        return Some(format!("{name} {version} comes from {source}"));
    }
    if rules.bans.deny.contains(name) {
        return Some(format!("{name} {version} is banned"));
    }
    let allowed = |license: &str| rules.licenses.allow.iter().any(|known| known == license);
    (!permits(licence, &allowed)).then(|| format!("{name} {version} has the licence {licence}"))
}

/// True if an SPDX expression (version 2.3, annex D) permits use under allowed licences. Old Cargo
/// manifests have a slash for `OR`.
fn permits(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let permitted = any(&mut words, allowed);
    permitted && words.next().is_none()
}

type Words<'t> = std::iter::Peekable<std::str::SplitWhitespace<'t>>;

fn any(words: &mut Words<'_>, allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut permitted = all(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        permitted |= all(words, allowed);
    }
    permitted
}

fn all(words: &mut Words<'_>, allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut permitted = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        permitted &= one(words, allowed);
    }
    permitted
}

fn one(words: &mut Words<'_>, allowed: &dyn Fn(&str) -> bool) -> bool {
    match words.next() {
        Some("(") => {
            let permitted = any(words, allowed);
            permitted & words.next_if_eq(&")").is_some()
        }
        Some(licence) => {
            // An exception only adds permissions.
            if words.next_if_eq(&"WITH").is_some() {
                words.next();
            }
            allowed(licence)
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spdx_expressions_are_evaluated() {
        let allowed = |licence: &str| ["MIT", "Apache-2.0", "Unicode-3.0"].contains(&licence);
        for (expression, permitted) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-2.0 OR MIT", true),
            ("MIT AND GPL-2.0", false),
            ("MIT AND GPL-2.0 OR Apache-2.0", true),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("(MIT OR Apache-2.0) AND BSD-3-Clause", false),
            ("Unlicense/MIT", true),
            ("Apache-2.0 WITH LLVM-exception OR GPL-2.0", true),
            ("no licence", false),
            ("(MIT", false),
            ("", false),
        ] {
            assert_eq!(permits(expression, &allowed), permitted, "{expression}");
        }
    }

    #[test]
    fn violations_are_named() {
        let rules = Rules {
            graph: Graph { targets: Vec::new() },
            licenses: Licences {
                allow: vec!["MIT".into()],
            },
            bans: Bans {
                deny: vec!["openssl-sys".into()],
            },
        };
        let package_with = |name: &str, license: Option<&str>, source: &str| {
            let package = Package {
                name: name.into(),
                version: "1.0.0".into(),
                license: license.map(str::to_owned),
                source: Some(source.into()),
            };
            fault(&package, &rules)
        };
        assert_eq!(package_with("good", Some("MIT"), CRATES_IO), None);
        assert_eq!(
            package_with("bad", Some("GPL-3.0"), CRATES_IO).unwrap(),
            "bad 1.0.0 has the licence GPL-3.0"
        );
        assert_eq!(
            package_with("none", None, CRATES_IO).unwrap(),
            "none 1.0.0 has the licence no licence"
        );
        assert_eq!(
            package_with("openssl-sys", Some("MIT"), CRATES_IO).unwrap(),
            "openssl-sys 1.0.0 is banned"
        );
        assert_eq!(
            package_with("far", Some("MIT"), "git+https://a.b/c").unwrap(),
            "far 1.0.0 comes from git+https://a.b/c"
        );
    }
}
