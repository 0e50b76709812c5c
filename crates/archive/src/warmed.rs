//! Records the ranges that were read to warm a cache, with the boot ID. A restart empties caches,
//! and timestamps do not reveal it.

use analysis::lint::Warmed;
use model::Bytes;
use serde::{Deserialize, Serialize};

use crate::{ArchiveError, DocumentStore};

const FORMAT_VERSION: u32 = 1;

/// Record of the warmed ranges of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmMarker {
    /// Version of this format.
    pub format_version: u32,
    /// Always `warmed`.
    pub kind: String,
    /// The path of the target when it was last warmed.
    pub target: String,
    /// Identity of the target, independent of its path.
    pub identity: String,
    /// Boot ID at the time; absent if the system has no boot ID.
    pub boot_id: Option<String>,
    /// The ranges read since that boot, in order.
    pub ranges: Vec<WarmRange>,
}

/// A range of a target that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmRange {
    /// First byte.
    pub from: Bytes,
    /// First byte beyond it.
    pub to: Bytes,
    /// Through the page cache.
    pub buffered: bool,
    /// End of the reading in Unix seconds.
    pub ended_unix_s: u64,
}

impl WarmMarker {
    /// Loads the record of a target; `None` if there is none or it cannot be read.
    pub fn load(store: &DocumentStore, identity: &str) -> Option<WarmMarker> {
        let marker: WarmMarker = store.get(&document_name(identity)).ok()?;
        (marker.format_version == FORMAT_VERSION && marker.identity == identity).then_some(marker)
    }

    /// Adds a range to the record. Ranges of an earlier boot are dropped.
    ///
    /// # Errors
    /// [`ArchiveError::System`] if it cannot be written.
    pub fn add(
        store: &DocumentStore,
        target: &str,
        identity: &str,
        boot_id: Option<&str>,
        range: WarmRange,
    ) -> Result<WarmMarker, ArchiveError> {
        let marker = WarmMarker::load(store, identity)
            .filter(|marker| boot_id.is_some() && marker.boot_id.as_deref() == boot_id);
        let mut ranges = marker.map(|marker| marker.ranges).unwrap_or_default();
        // A new range replaces those that it contains.
        ranges.retain(|old| old.buffered != range.buffered || old.from < range.from || old.to > range.to);
        ranges.push(range);
        let marker = WarmMarker {
            format_version: FORMAT_VERSION,
            kind: "warmed".into(),
            target: target.to_owned(),
            identity: identity.to_owned(),
            boot_id: boot_id.map(str::to_owned),
            ranges,
        };
        store.put(&document_name(identity), &marker)?;
        Ok(marker)
    }

    /// The record in the form of the lint rules.
    pub fn warmed(&self) -> Warmed {
        Warmed {
            boot: self.boot_id.clone(),
            ranges: self
                .ranges
                .iter()
                .map(|range| (range.from.0, range.to.0, range.buffered))
                .collect(),
        }
    }
}

/// Turns any identity into a valid document name.
fn document_name(identity: &str) -> String {
    let allowed = |letter: char| {
        if letter.is_ascii_alphanumeric() || letter == '.' {
            letter
        } else {
            '-'
        }
    };
    identity.chars().map(allowed).take(96).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: u64, to: u64, buffered: bool) -> WarmRange {
        WarmRange {
            from: Bytes(from),
            to: Bytes(to),
            buffered,
            ended_unix_s: 7,
        }
    }

    #[test]
    fn ranges_of_the_current_boot_accumulate_and_earlier_ones_are_dropped() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = DocumentStore::new(folder.path().join("warmed"));
        let (target, identity) = ("/dev/x", "device S4EW/01 23");
        let add = |boot, range| {
            WarmMarker::add(&store, target, identity, boot, range)
                .expect("kept")
                .warmed()
        };
        assert_eq!(WarmMarker::load(&store, identity), None);
        add(Some("a"), range(0, 10, false));
        assert_eq!(
            add(Some("a"), range(10, 20, false)).ranges,
            [(0, 10, false), (10, 20, false)]
        );
        assert_eq!(add(Some("a"), range(0, 20, false)).ranges, [(0, 20, false)]);
        assert_eq!(add(Some("a"), range(0, 20, true)).ranges.len(), 2);
        let marker = WarmMarker::load(&store, identity).expect("it was kept");
        assert_eq!((marker.boot_id.as_deref(), &*marker.target), (Some("a"), target));
        assert_eq!(add(Some("b"), range(5, 6, false)).ranges, [(5, 6, false)]);
        // A boot without an ID might be a different boot.
        add(None, range(0, 1, false));
        assert_eq!(add(None, range(1, 2, false)).ranges, [(1, 2, false)]);
        // A similar identity is a different target.
        assert_eq!(WarmMarker::load(&store, "device S4EW-01-23"), None);
        std::fs::write(store.path("device-S4EW-01-23"), "{").expect("written");
        assert_eq!(
            WarmMarker::load(&store, identity),
            None,
            "an unreadable record counts as missing"
        );
    }
}
