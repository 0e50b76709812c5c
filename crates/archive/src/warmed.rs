//! What was read to warm a cache, remembered with the boot in which that was: a restart empties
//! caches, and no clock tells of it.

use analysis::lint::Warmed;
use model::Bytes;
use serde::{Deserialize, Serialize};

use crate::{ArchiveError, DocumentStore};

/// Version of the form.
const FORMAT_VERSION: u32 = 1;

/// What is remembered of one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmMarker {
    /// Version of this form.
    pub format_version: u32,
    /// Always `warmed`.
    pub kind: String,
    /// The path by which it was named last.
    pub target: String,
    /// What it is, whatever its path.
    pub identity: String,
    /// The boot in which it was read; absent where the system tells none.
    pub boot_id: Option<String>,
    /// What was read of it in that boot, in order.
    pub ranges: Vec<WarmRange>,
}

/// A part of a target that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmRange {
    /// First byte.
    pub from: Bytes,
    /// First byte beyond it.
    pub to: Bytes,
    /// Through the page cache.
    pub buffered: bool,
    /// When that ended, in seconds of Unix time.
    pub ended_unix_s: u64,
}

impl WarmMarker {
    /// What is remembered of a target; `None` if nothing is, or nothing that can be read.
    pub fn load(store: &DocumentStore, identity: &str) -> Option<WarmMarker> {
        let marker: WarmMarker = store.get(&name(identity)).ok()?;
        (marker.format_version == FORMAT_VERSION && marker.identity == identity).then_some(marker)
    }

    /// Remembers a range beside those of the same boot; those of an earlier one are forgotten.
    ///
    /// # Errors
    /// [`ArchiveError::System`] if it cannot be kept.
    pub fn add(
        store: &DocumentStore,
        target: &str,
        identity: &str,
        boot_id: Option<&str>,
        range: WarmRange,
    ) -> Result<WarmMarker, ArchiveError> {
        let known = WarmMarker::load(store, identity)
            .filter(|marker| boot_id.is_some() && marker.boot_id.as_deref() == boot_id);
        let mut ranges = known.map(|marker| marker.ranges).unwrap_or_default();
        // What was read again is remembered once, as it was read last.
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
        store.put(&name(identity), &marker)?;
        Ok(marker)
    }

    /// The same for the rules that ask for it.
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

/// A name for a file, of a text that may be anything.
fn name(identity: &str) -> String {
    let letter = |letter: char| {
        if letter.is_ascii_alphanumeric() || letter == '.' {
            letter
        } else {
            '-'
        }
    };
    identity.chars().map(letter).take(96).collect()
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
    fn ranges_of_a_boot_add_up_and_those_of_another_are_forgotten() {
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
        // A boot without a name may be another one.
        add(None, range(0, 1, false));
        assert_eq!(add(None, range(1, 2, false)).ranges, [(1, 2, false)]);
        // Another target of the same name is another target.
        assert_eq!(WarmMarker::load(&store, "device S4EW-01-23"), None);
        std::fs::write(store.path("device-S4EW-01-23"), "{").expect("written");
        assert_eq!(
            WarmMarker::load(&store, identity),
            None,
            "what cannot be read is not known"
        );
    }
}
