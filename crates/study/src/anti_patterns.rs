//! Common "storage tests" that do not test storage, with what they really measure and better tests.

use serde::Serialize;

/// A common mistake in testing storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AntiPattern {
    /// Name on the command line.
    pub name: &'static str,
    /// A description of the mistake.
    pub what: &'static str,
    /// The figure that it measures, and why that is not the storage.
    pub why: &'static str,
    /// A better test.
    pub instead: &'static str,
}

/// All anti-patterns, the most common first.
pub const ANTI_PATTERNS: [AntiPattern; 9] = [
    AntiPattern {
        name: "file-copy",
        what: "Copying large files and measuring the time.",
        why: "A copy is as slow as the slower of two disks. The copy program chooses the queue depth: Explorer \
            copies with one thread, Robocopy with many, and more if the other side is remote. Caches on both sides \
            serve part of the I/O.",
        instead: "To test copying, copy. To test the storage: `fathom run --target DIR --size 10g --block 1m \
            --access sequential --depth 8 --time 1m`, reads and writes separately.",
    },
    AntiPattern {
        name: "drag-and-drop",
        what: "Dragging files in a file manager and watching the displayed rate.",
        why: "This is a copy with one thread, with metadata operations for each file, previews, virus scanners and \
            an estimated display. At first the displayed rate is that of the cache.",
        instead: "See file-copy. For many small files, test with the load of the program that will use them.",
    },
    AntiPattern {
        name: "dd",
        what: "`dd if=/dev/zero of=FILE bs=1M` or similar.",
        why: "One sequential operation at a time, without percentiles. Arrays and file systems compress or skip \
            zeros. Without oflag=direct and conv=fsync, dd measures memory; with /dev/urandom, it measures the \
            random number generator.",
        instead: "`fathom run --target FILE --size 10g --block 1m --access sequential --write 100 --depth 8 --time \
            1m`: real data, direct I/O, and latencies.",
    },
    AntiPattern {
        name: "unzip",
        what: "Extracting, compressing or deleting an archive.",
        why: "One thread computes most of the time; the rest is metadata of small files. A faster processor looks \
            like a faster disk.",
        instead: "Measure the storage with the block sizes and the mix of your program: `fathom run --block 8k \
            --read 70 --depth 32 …`.",
    },
    AntiPattern {
        name: "mkfile",
        what: "`mkfile`, `fallocate`, `fsutil file createnew`: creating a large file.",
        why: "Most create only metadata; the others write zeros with one thread.",
        instead: "`fathom run` prepares a file with real data before it measures.",
    },
    AntiPattern {
        name: "rlarge-wlarge",
        what: "`rlarge` and `wlarge`: reading or writing one large file from one client.",
        why: "One stream shows only what one stream can reach. Arrays and cloud disks are designed for many parallel \
            streams.",
        instead: "Use as many workers and targets as there will be clients: `fathom run --workers 16 --depth 4 …`. \
            Use one stream only if your application does.",
    },
    AntiPattern {
        name: "backup",
        what: "Backing up one file system to disk.",
        why: "It measures the source file system, the backup program and the target together, with the queue depth \
            that the program chooses.",
        instead: "Test source and target separately, with the block size and the number of streams of the backup \
            program.",
    },
    AntiPattern {
        name: "crystaldiskmark",
        what: "CrystalDiskMark as proof that an SLA is met.",
        why: "CrystalDiskMark is a graphical interface for DiskSpd that cannot issue the load of an SLA: its mix \
            (70/30), its rate, five minutes. Without a rate limit it exceeds the limit of the policy, so it shows \
            the latency of its own queue. In a few seconds on 1 GiB, caches serve the I/O.",
        instead: "`fathom verify --policy NAME TARGET` keeps the promised rate and mix and judges with confidence \
            intervals. fio and DiskSpd also work if every parameter is set.",
    },
    AntiPattern {
        name: "single-thread",
        what: "One thread, one operation at a time, writes only.",
        why: "The rate is 1 / latency: at 1 ms it is 1,000 per second, regardless of the device. Reads, which \
            prevail in most applications, are missing.",
        instead: "Sweep the depth (`fathom sweep`) with your mix of reads and writes. This test is right only for a \
            log that waits for each write.",
    },
];

/// Finds an anti-pattern by name.
pub fn find(name: &str) -> Option<&'static AntiPattern> {
    ANTI_PATTERNS
        .iter()
        .find(|pattern| pattern.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        assert_eq!(find("DD").map(|pattern| pattern.name), Some("dd"));
        assert_eq!(find("fio"), None);
        for (index, pattern) in ANTI_PATTERNS.iter().enumerate() {
            assert!(ANTI_PATTERNS[..index].iter().all(|other| other.name != pattern.name));
            assert!(
                pattern.what.ends_with('.') && pattern.why.ends_with('.') && pattern.instead.ends_with('.'),
                "{}",
                pattern.name
            );
        }
    }
}
