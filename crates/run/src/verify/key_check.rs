//! Compares a key block with the contents of its last write.

use model::content::Filler;
use model::mismatch::{BlockFault, HeaderField};

use super::header::read_write_number;
use super::key_map::{Key, KeyMap, KeyState};
use super::{Block, Checker, Fault};

/// Minimum size of the sectors that a disk writes as a whole.
const SECTOR: u64 = 512;

/// The result of the check of a key block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KeyCheck {
    /// The updated key of the block.
    pub(crate) key: Key,
    /// True if the contents were compared.
    pub(crate) compared: bool,
    pub(crate) fault: Option<Fault>,
}

/// Compares the data of a read with the map. A write that was in flight may have taken effect
/// completely, not at all, or only in some sectors.
pub(crate) fn check_key(map: &KeyMap, index: usize, checker: &Checker, filler: &Filler, data: &mut [u8]) -> KeyCheck {
    let key = map.key(index);
    let (new, old) = (
        map.block(index, key.generation()),
        map.block(index, key.previous_generation()),
    );
    let without_fault = |key: Key, compared: bool| KeyCheck {
        key,
        compared,
        fault: None,
    };
    if key.state() == KeyState::Unknown {
        return without_fault(key, false);
    }
    let Some(fault) = find_fault(map, index, checker, &new, data) else {
        return without_fault(Key::new(key.generation(), KeyState::Written), true);
    };
    let unknown = Key::new(key.generation(), KeyState::Unknown);
    match key.state() {
        KeyState::Writing => return without_fault(unknown, false),
        KeyState::Overwriting if checker.check(data, &old).is_empty() => {
            return without_fault(Key::new(key.previous_generation(), KeyState::Written), true);
        }
        KeyState::Overwriting if is_mixture(checker, filler, data, [new, old]) => return without_fault(unknown, true),
        KeyState::Unknown | KeyState::Written | KeyState::Overwriting => {}
    }
    KeyCheck {
        key: unknown,
        compared: true,
        fault: Some(fault),
    }
}

/// Finds a mismatch. Reports the contents of another write of the same block as such.
fn find_fault(map: &KeyMap, index: usize, checker: &Checker, block: &Block, data: &mut [u8]) -> Option<Fault> {
    let (offset, length, fault) = checker.check(data, block).pop()?;
    let is_seed_fault = matches!(
        fault,
        BlockFault::Header {
            field: HeaderField::Seed,
            ..
        }
    );
    let stored_number = read_write_number(data).and_then(|number| u32::try_from(number).ok());
    let other_write =
        stored_number.filter(|other| is_seed_fault && checker.check(data, &map.block(index, *other)).is_empty());
    let fault = match other_write {
        Some(other_write) => BlockFault::Header {
            field: HeaderField::Number,
            found: u64::from(other_write),
            expected: block.number.unwrap_or(0),
        },
        None => fault,
    };
    Some((offset, length, fault))
}

/// True if each sector matches one of the blocks.
fn is_mixture(checker: &Checker, filler: &Filler, data: &[u8], blocks: [Block; 2]) -> bool {
    let contents = blocks.map(|mut block| {
        let mut expected = vec![0; data.len()];
        checker.fill(&mut expected, &mut block, 0, filler);
        expected
    });
    let mut at = 0;
    while at < data.len() {
        let place = blocks[0].offset + at as u64;
        let end = data.len().min(at + (SECTOR - place % SECTOR) as usize);
        if contents.iter().all(|expected| expected[at..end] != data[at..end]) {
            return false;
        }
        at = end;
    }
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "all of this is test code")]
mod tests {
    use model::content::Content;
    use model::plan::{KeyBlocks, KeyJournal, Verify, VerifyMethod};

    use super::super::key_map::KeyMapFile;
    use super::*;

    const LENGTH: usize = 2048;

    /// A map with four key blocks, of which the tests use the second.
    struct Fixture {
        map: KeyMap,
        checker: Checker,
        filler: Filler,
        _folder: tempfile::TempDir,
        plan: KeyBlocks,
    }

    impl Fixture {
        fn new() -> Fixture {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("map");
            KeyMapFile::create(&path, LENGTH as u64, 4, 1.0).unwrap();
            let plan = KeyBlocks {
                length: LENGTH as u32,
                map: path.display().to_string(),
                journal: KeyJournal::EachWrite,
                ..KeyBlocks::default()
            };
            Fixture {
                map: KeyMap::open_part(&plan, 0..4 * LENGTH as u64).unwrap(),
                checker: Checker::new(&Verify::new(VerifyMethod::Xxhash), 0),
                filler: Filler::new(&Content::Fresh, 0, engine::fill::random_fill(), Default::default(), 1),
                _folder: folder,
                plan,
            }
        }

        fn contents(&self, generation: u32) -> Vec<u8> {
            let mut data = vec![0; LENGTH];
            let mut block = self.map.block(1, generation);
            self.checker.fill(&mut data, &mut block, 0, &self.filler);
            data
        }

        fn check(&self, data: &[u8]) -> (KeyState, u32, bool, Option<BlockFault>) {
            let check = check_key(&self.map, 1, &self.checker, &self.filler, &mut data.to_vec());
            let fault = check.fault.map(|(_, _, fault)| fault);
            (check.key.state(), check.key.generation(), check.compared, fault)
        }

        fn write(&mut self) {
            self.map.begin_write(1..2).unwrap();
            self.map.end_write(1..2).unwrap();
        }
    }

    #[test]
    fn a_written_block_must_match_its_last_write() {
        let mut fixture = Fixture::new();
        assert_eq!(fixture.check(&[7; LENGTH]), (KeyState::Unknown, 0, false, None));
        (0..3).for_each(|_| fixture.write());
        assert_eq!(fixture.check(&fixture.contents(3)), (KeyState::Written, 3, true, None));
        let lost_write = BlockFault::Header {
            field: HeaderField::Number,
            found: 2,
            expected: 3,
        };
        assert_eq!(fixture.check(&fixture.contents(2)).3, Some(lost_write));
        let mut changed = fixture.contents(3);
        changed[LENGTH - 1] ^= 1;
        assert!(matches!(fixture.check(&changed).3, Some(BlockFault::Checksum { .. })));
        assert!(matches!(fixture.check(&[0; LENGTH]).3, Some(BlockFault::Magic { .. })));
        // The same write has different contents in another map.
        let other = Fixture::new();
        assert!(fixture.check(&other.contents(3)).3.is_some());
    }

    #[test]
    fn a_write_in_flight_may_have_changed_some_sectors() {
        let mut fixture = Fixture::new();
        fixture.write();
        fixture.map.begin_write(1..2).unwrap();
        // Reopen the map, as after a kill of the process.
        fixture.map = KeyMap::open_part(&fixture.plan, 0..4 * LENGTH as u64).unwrap();
        let (old, new) = (fixture.contents(1), fixture.contents(2));
        assert_eq!(fixture.check(&old), (KeyState::Written, 1, true, None));
        assert_eq!(fixture.check(&new), (KeyState::Written, 2, true, None));
        let mut torn = [&new[..512], &old[512..1024], &new[1024..]].concat();
        assert_eq!(fixture.check(&torn), (KeyState::Unknown, 2, true, None));
        torn[700] ^= 1;
        assert!(fixture.check(&torn).3.is_some());
        // After a failed write, the block may have the contents of any of three writes.
        fixture.write();
        fixture.map.begin_write(1..2).unwrap();
        fixture.map.begin_write(1..2).unwrap();
        assert_eq!(fixture.check(&torn), (KeyState::Unknown, 5, false, None));
        assert_eq!(fixture.check(&fixture.contents(5)), (KeyState::Written, 5, true, None));
    }
}
