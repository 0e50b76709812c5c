//! Common "storage tests" that do not test storage: what they really measure, and what to do
//! instead.

use serde::Serialize;

/// A common mistake in testing storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AntiPattern {
    /// Its name on the command line.
    pub name: &'static str,
    /// What people do.
    pub what: &'static str,
    /// What it measures, and why that is not the storage.
    pub why: &'static str,
    /// What to do instead.
    pub instead: &'static str,
}

/// All anti-patterns, the most common first.
pub const ANTI_PATTERNS: [AntiPattern; 9] = [
    AntiPattern {
        name: "file-copy",
        what: "Copying one or several large files and taking the time.",
        why: "A copy has two sides, and the slower disk sets its pace. How much is in flight is the copy engine's choice: Explorer copies \
              with one thread, Robocopy with many, and the engine parallelises by itself where the other side is remote. Caches of both \
              sides answer part of it.",
        instead: "If copying is what you do, it is a test of copying. For the storage: `fathom run --target DIR --size 10g --block 1m \
                  --access sequential --depth 8 --time 1m`, reads and writes by themselves.",
    },
    AntiPattern {
        name: "drag-and-drop",
        what: "Dragging files in a file manager and watching its rate.",
        why: "It is a copy by one thread, with small operations for each file, previews, virus scanners and a display that guesses. The \
              rate it shows is that of the cache at first.",
        instead: "See file-copy; for many small files test the load of the program that will use them.",
    },
    AntiPattern {
        name: "dd",
        what: "`dd if=/dev/zero of=FILE bs=1M` or the like.",
        why: "One operation at a time, sequential, without percentiles. Zeros compress and are left out by arrays and file systems; \
              without oflag=direct and conv=fsync the memory takes them; /dev/urandom measures the generator of random numbers.",
        instead: "`fathom run --target FILE --size 10g --block 1m --access sequential --write 100 --depth 8 --time 1m`: real data, past the \
                  cache, with the latency of each operation.",
    },
    AntiPattern {
        name: "unzip",
        what: "Extracting, compressing or deleting an archive.",
        why: "One thread computes most of the time; the rest is metadata of small files. A faster processor gives a better \"disk\".",
        instead: "Measure the storage with the sizes and the mix of your program: `fathom run --block 8k --read 70 --depth 32 …`.",
    },
    AntiPattern {
        name: "mkfile",
        what: "`mkfile`, `fallocate`, `fsutil file createnew`: making a large file.",
        why: "Most make an entry and no data; what writes data writes zeros with one thread.",
        instead: "`fathom run` prepares a file with real data before it measures.",
    },
    AntiPattern {
        name: "rlarge-wlarge",
        what: "`rlarge` and `wlarge`: reading or writing one large file from one client.",
        why: "One stream shows what one stream can do. Arrays and cloud disks are made for many at once.",
        instead: "As many workers and targets as there will be clients: `fathom run --workers 16 --depth 4 …`. One stream is right only \
                  where one stream is what you will run.",
    },
    AntiPattern {
        name: "backup",
        what: "Backing up one file system to disk.",
        why: "It measures the reading of a file system, the work of the backup program and the target, all in one, with the depth that the \
              program chooses.",
        instead: "Test source and target by themselves, with the block size and the streams of the backup program.",
    },
    AntiPattern {
        name: "crystaldiskmark",
        what: "CrystalDiskMark as the proof of a promise.",
        why: "It is a window over DiskSpd that cannot issue the load of an SLA: the mix (70/30), the rate to hold, five minutes. \
              Without a limit of the rate it pushes through the ceiling of a policy, and the latency it shows is that of its own queue. A \
              few seconds on 1 GiB are answered by caches.",
        instead: "`fathom verify --policy NAME TARGET` holds the promised rate and mix and judges with intervals; or fio and DiskSpd with \
                  every parameter given.",
    },
    AntiPattern {
        name: "single-thread",
        what: "One thread, one operation at a time, writes only.",
        why: "The rate is one divided by the latency: 1 ms makes 1,000 per second whatever the device could do. Reads, which dominate in \
              most places, are missing.",
        instead: "Sweep the depth (`fathom sweep`), with reads and writes in your mix. It is right for a log that waits for each write.",
    },
];

/// Finds an anti-pattern by name.
pub fn find(name: &str) -> Option<&'static AntiPattern> {
    ANTI_PATTERNS.iter().find(|one| one.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_unlike() {
        assert_eq!(find("DD").map(|one| one.name), Some("dd"));
        assert_eq!(find("fio"), None);
        for (index, one) in ANTI_PATTERNS.iter().enumerate() {
            assert!(ANTI_PATTERNS[..index].iter().all(|other| other.name != one.name));
            assert!(
                one.what.ends_with('.') && one.why.ends_with('.') && one.instead.ends_with('.'),
                "{}",
                one.name
            );
        }
    }
}
