//! DiskSpd profiles: compared with DiskSpd 2.2's output, with small cases for every rule, and with
//! themselves after a round trip.

mod arbitrary;
mod read;
mod round_trip;
mod text;

use std::fs;
use std::path::{Path, PathBuf};

/// The folders of recorded profiles or runs, in order.
fn cases(group: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/diskspd")
        .join(group);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut cases: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    cases.sort();
    assert!(cases.len() > 5, "{} holds only {} cases", folder.display(), cases.len());
    cases
}

fn file(case: &Path, name: &str) -> String {
    let path = case.join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
