//! Rules about files and devices: free space, holes, size, choice of the device.

use model::Bytes;
use model::environment::TargetFacts;
use model::finding::Severity;
use model::plan::{AllocateMode, Prepare};

use super::{Intent, Rule, TargetUse, Warmed};

/// Maximum fill of a file system; a fuller one behaves differently.
const MAX_FILL_SHARE: f64 = 0.80;
/// A test that needs at most this share of the file system is small.
const SMALL_TEST_SHARE: f64 = 0.01;
/// Above this share, even a small test must search for free space.
const MAX_FILL_SHARE_OF_SMALL_TEST: f64 = 0.95;
/// A file system below this share is nearly empty.
const EMPTY_BELOW: f64 = 0.10;
/// An assumed rate at which files are written before a test.
const LAYOUT_BYTES_PER_SEC: u64 = 200_000_000;
/// Minimum share of a rotating disk to test, so that the arm moves.
const MIN_COVERED_SHARE: f64 = 0.05;
/// Minimum number of volumes to test an array with.
const MIN_ARRAY_VOLUMES: usize = 16;

/// File systems that store nothing on a disk, and the page cache.
const MEMORY_STORES: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "the page cache"];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "TARGET-IS-DIR",
        severity: Severity::Error,
        about: "A target is a directory, but the test needs a file name.",
        why: "operations need a file, and this kind of test does not create one",
        fix: "name a file in that directory",
        detect: |rule, test, findings| {
            for (usage, facts) in test.known_targets() {
                let creates_file = matches!(usage.target.prepare, Prepare::Filled { .. });
                if facts.kind == "directory" && !creates_file {
                    let example = format!("{}/test.dat", facts.path.trim_end_matches('/'));
                    let finding = rule.finding("the target is a directory", &facts.path);
                    findings.push(finding.help(format!("name a file in it, such as {example}")));
                }
            }
        },
    },
    Rule {
        name: "IN-MEMORY",
        severity: Severity::Warning,
        about: "A target is in memory: on a file system such as tmpfs or on a RAM disk, also below an overlay or \
        a loop device. A loop device without direct I/O uses the page cache.",
        why: "the figures are those of memory and processors, not of a disk",
        fix: "choose a target on the storage that you want to judge; attach a loop device with `losetup \
            --direct-io=on`",
        detect: |rule, test, findings| {
            for (_, facts) in test.known_targets() {
                let file_system = facts.file_system.as_ref().map(|file_system| file_system.kind.as_str());
                let file_system = file_system.filter(|kind| MEMORY_STORES.contains(kind));
                let disk = facts
                    .devices
                    .iter()
                    .map(|device| device.name.as_str())
                    .find(|name| is_ram_disk(name));
                if let Some(kind) = file_system.or(disk) {
                    findings.push(rule.finding(format!("{kind} is memory"), &facts.path));
                } else if let Some(store) = facts
                    .stored_in
                    .iter()
                    .find(|store| MEMORY_STORES.contains(&store.as_str()))
                {
                    let message = format!("{store} holds the data of its overlay or loop device");
                    findings.push(rule.finding(message, &facts.path));
                }
            }
        },
    },
    Rule {
        name: "SPACE",
        severity: Severity::Error,
        about: "The files that the test creates do not fit on their file system.",
        why: "the test would fail while creating them",
        fix: "use smaller files, fewer of them, or another file system",
        detect: |rule, test, findings| {
            for space in spaces(test) {
                if space.needed > space.available {
                    let message = format!(
                        "the test creates {} of files, and {} are available",
                        Bytes(space.needed),
                        Bytes(space.available)
                    );
                    findings.push(rule.finding(message, &space.mount_point));
                }
            }
        },
    },
    Rule {
        name: "FILL-80",
        severity: Severity::Error,
        about: "The file system would be more than 80 % full, or 95 % for a test that needs at most 1 % of it.",
        why: "nearly full file systems and thin volumes search for space with every write, so the figures are not \
            those \
        of the storage",
        fix: "use smaller files or free some space; use `--silence FILL-80` to test a full file system",
        detect: |rule, test, findings| {
            for space in spaces(test).into_iter().filter(|_| !test.purpose.allow_full) {
                let used = space.size - space.available.min(space.size) + space.needed;
                let share = used as f64 / space.size.max(1) as f64;
                if share > MAX_FILL_SHARE && space.needed <= space.available {
                    // A small test finds space even on a fairly full file system.
                    let severity = match space.needed as f64 > SMALL_TEST_SHARE * space.size as f64 {
                        true => rule.severity,
                        false if share > MAX_FILL_SHARE_OF_SMALL_TEST => Severity::Warning,
                        false => continue,
                    };
                    let message = format!(
                        "{:.0} % of the file system will be in use, including reserved blocks",
                        100.0 * share
                    );
                    findings.push(rule.finding_with_severity(severity, message, &space.mount_point));
                }
            }
        },
    },
    Rule {
        name: "LAYOUT-TIME",
        severity: Severity::Note,
        about: "The test first writes files, which takes more than a minute at 200 MB/s.",
        why: "measuring starts only then, and the writes may use up burst credits or the fast part of an SSD",
        fix: "allow for this time, or use smaller files; later tests reuse files that stay",
        detect: |rule, test, findings| {
            let written = |(usage, facts): (TargetUse<'_>, &TargetFacts)| match &usage.target.prepare {
                Prepare::Existing | Prepare::LayOut { content: None, .. } => 0,
                _ if facts.kind == "block device" => 0,
                Prepare::Recreate { size, .. } => size.0,
                Prepare::LayOut {
                    size, extend: false, ..
                } if facts.size < *size => size.0,
                _ => missing_bytes(usage, facts),
            };
            let bytes: u64 = test.known_targets().map(written).sum();
            let seconds = bytes / LAYOUT_BYTES_PER_SEC;
            if seconds >= 60 {
                let message = format!(
                    "{} of files are written first, which takes {} min at 200 MB/s",
                    Bytes(bytes),
                    seconds.div_ceil(60)
                );
                findings.push(rule.finding(message, &test.plan.name));
            }
        },
    },
    Rule {
        name: "FS-EMPTY",
        severity: Severity::Note,
        about: "The file system is less than 10 % full, including the test's files.",
        why: "an empty file system or volume is faster than a used one: its space is contiguous, and thin or flash \
        storage has nothing to erase",
        fix: "first fill it to a realistic degree, or use a larger file",
        detect: |rule, test, findings| {
            for space in spaces(test) {
                let used = space.size - space.available.min(space.size) + space.needed;
                let share = used as f64 / space.size.max(1) as f64;
                if space.size > 0 && share < EMPTY_BELOW {
                    let message = format!("{:.1} % of the file system will be in use", 100.0 * share);
                    findings.push(rule.finding(message, &space.mount_point));
                }
            }
        },
    },
    Rule {
        name: "SPARSE",
        severity: Severity::Warning,
        about: "A file that the test reads has holes or unwritten space.",
        why: "the file system returns zeros for such reads without I/O, so the figures are too good",
        fix: "set a size and a new file name, or remove the file; the test then creates and fills it",
        detect: |rule, test, findings| {
            for (usage, facts) in test.known_targets().filter(|(usage, _)| usage.reads()) {
                // A file that fathom filled has no holes, but `Filled` does not refill an existing
                // file with holes.
                let is_made_anew = matches!(usage.target.prepare, Prepare::Recreate { .. });
                let Some(space) = facts.allocation.filter(|_| !is_made_anew) else {
                    continue;
                };
                let never_written = space.holes.0 + space.unwritten.0;
                if never_written > 0 {
                    let share = 100.0 * never_written as f64 / facts.size.0.max(1) as f64;
                    findings.push(rule.finding(format!("{share:.1} % of the file was never written"), &facts.path));
                }
            }
        },
    },
    Rule {
        name: "NOT-PREALLOC",
        severity: Severity::Warning,
        about: "The test writes into unallocated space.",
        why: "the file system allocates it during the writes, which adds latency that later writes do not have",
        fix: "write the whole file once beforehand, or let the test fill it",
        detect: |rule, test, findings| {
            for (usage, facts) in test.known_targets().filter(|(usage, _)| usage.writes()) {
                let holes = facts.allocation.map_or(0, |space| space.holes.0);
                let is_unallocated = matches!(
                    &usage.target.prepare,
                    Prepare::LayOut {
                        content: None,
                        allocate: AllocateMode::None | AllocateMode::Truncate,
                        ..
                    }
                );
                if is_unallocated && facts.size.0 == 0 {
                    findings.push(rule.finding("the file will be created without allocated space", &facts.path));
                } else if holes > 0 && !is_rewritten(&usage.target.prepare) {
                    findings.push(rule.finding(format!("{} of the file are not allocated", Bytes(holes)), &facts.path));
                }
            }
        },
    },
    Rule {
        name: "FILE-LT-2xRAM",
        severity: Severity::Warning,
        about: "A file is used through the page cache and is smaller than twice the memory.",
        why: "most of the file stays in memory, so the test measures memory",
        fix: "bypass the cache, or use files of at least twice the memory",
        detect: |rule, test, findings| {
            let memory = test.environment.memory;
            for usage in test
                .targets()
                .filter(|_| memory.0 > 0 && !test.has_intent(Intent::Buffered))
            {
                let buffered = usage.streams.iter().any(|stream| !stream.cache.direct);
                let Some(size) = usage.size().filter(|size| buffered && size.0 < 2 * memory.0) else {
                    continue;
                };
                let message = format!("the file has {size} and the machine {memory} of memory");
                findings.push(rule.finding(message, &usage.target.path));
            }
        },
    },
    Rule {
        name: "FILE-GT-HOSTCACHE",
        severity: Severity::Warning,
        about: "The test measures cached reads, but the file does not fit into the cache.",
        why: "the rest is read from the disks, so the figure mixes both",
        fix: "use a file no larger than the cache",
        detect: |rule, test, findings| {
            let Some(cache) = test.purpose.host_cache.filter(|_| test.has_intent(Intent::CachedReads)) else {
                return;
            };
            for usage in test.targets() {
                if let Some(size) = usage.size().filter(|size| *size > cache) {
                    findings.push(rule.finding(
                        format!("{size} does not fit into a cache of {cache}"),
                        &usage.target.path,
                    ));
                }
            }
        },
    },
    Rule {
        name: "SHORT-STROKE",
        severity: Severity::Warning,
        about: "The test covers less than 5 % of a rotating or virtual disk.",
        why: "seeks are short, so the disk looks much faster than in real use",
        fix: "use a file that covers a large part of the disk",
        detect: |rule, test, findings| {
            for (usage, facts) in test.known_targets() {
                let is_virtual = facts.devices.iter().any(|device| device.virtual_kind.is_some());
                let Some(device) = facts.devices.first().filter(|device| device.size.0 > 0) else {
                    continue;
                };
                let Some(size) = usage.size().filter(|_| usage.is_rotational() || is_virtual) else {
                    continue;
                };
                let share = size.0 as f64 / device.size.0 as f64;
                if share >= MIN_COVERED_SHARE {
                    continue;
                }
                if usage.is_rotational() {
                    let message = format!("{size} is {} of {} ({})", percent(share, 1), device.name, device.size);
                    findings.push(rule.finding(message, &facts.path));
                    continue;
                }
                // The media under a virtual disk are unknown.
                let message = format!(
                    "the file covers {} of the disk ({}, {}); results describe that region only",
                    percent(share, 2),
                    device.name,
                    device.size
                );
                let finding = rule.finding_with_severity(Severity::Note, message, &facts.path);
                findings.push(
                    finding.why("the host may store other regions of a virtual disk on other media, or not cache them"),
                );
            }
        },
    },
    Rule {
        name: "SNAPSHOT-RESTORED-COLD",
        severity: Severity::Note,
        about: "The target is on a cloud volume that may have been created from a snapshot.",
        why: "the first read of each block of a restored volume is slow, because it is fetched from remote storage",
        fix: "read the whole volume once before measuring, unless it was created empty",
        detect: |rule, test, findings| {
            // The blocks of a file that the test creates are not cold.
            let exists = |facts: &TargetFacts| !matches!(&*facts.kind, "" | "directory");
            let targets = test.known_targets();
            for (_, facts) in targets.filter(|(usage, facts)| usage.reads() && exists(facts)) {
                let model = |device: &model::environment::Device| device.model.clone().unwrap_or_default();
                let ebs_volume = facts
                    .devices
                    .iter()
                    .find(|device| model(device).contains("Elastic Block Store"));
                if let Some(device) = ebs_volume {
                    let message = format!(
                        "{} is {}; fathom cannot see whether it was restored from a snapshot",
                        device.name,
                        model(device)
                    );
                    findings.push(rule.finding(message, &facts.path));
                }
            }
        },
    },
    Rule {
        name: "CACHE-COLD",
        severity: Severity::Warning,
        about: "The test measures cached reads, but the data was not warmed up since the machine started.",
        why: "the first reads come from the disks, and a restart empties the cache",
        fix: "run `fathom warm-up TARGET`, which records the warm-up; repeat it after every restart",
        detect: |rule, test, findings| {
            if !test.has_intent(Intent::CachedReads) {
                return;
            }
            let boot = test.environment.host.boot_id.as_ref();
            for usage in test.targets().filter(TargetUse::reads) {
                let warmed = test.purpose.warmed.get(usage.number).and_then(Option::as_ref);
                let message = match warmed.map(|warmed| (warmed, warmed.boot.as_ref(), boot)) {
                    None => Some("no warm-up of the cache is recorded".to_owned()),
                    Some((warmed, Some(then), Some(now))) if then == now => describe_cold_range(&usage, warmed),
                    Some((_, Some(_), Some(_))) => {
                        Some("the cache was warmed before the last start of the machine".to_owned())
                    }
                    Some((_, _, _)) => Some(
                        "the cache was warmed, but it is unknown whether the machine was restarted since then"
                            .to_owned(),
                    ),
                };
                if let Some(message) = message {
                    findings.push(rule.finding(message, &usage.target.path));
                }
            }
        },
    },
    Rule {
        name: "NOT-COORDINATOR",
        severity: Severity::Warning,
        about: "The target is on a cluster volume that another node owns.",
        why: "every write and some reads need an additional network hop",
        fix: "run on the owner, or move the volume: Get-ClusterSharedVolume | Move-ClusterSharedVolume -Node THIS-NODE",
        detect: |rule, test, findings| {
            let host_name = &test.environment.host.name;
            for (_, facts) in test.known_targets() {
                let Some(owner) = facts
                    .owner
                    .as_ref()
                    .filter(|owner| !owner.eq_ignore_ascii_case(host_name))
                else {
                    continue;
                };
                let finding = rule.finding(
                    format!("the volume belongs to {owner}, but this node is {host_name}"),
                    &facts.path,
                );
                findings.push(match &facts.cluster_volume {
                Some(name) => finding.help(format!(
                    "run on {owner}, or move the volume: Move-ClusterSharedVolume -Name \"{name}\" -Node {host_name}"
                )),
                None => finding,
            });
            }
        },
    },
    Rule {
        name: "TARGET-NOT-ON-POOL",
        severity: Severity::Note,
        about: "The target is a local disk of a cluster node, but other targets or the system use cluster volumes.",
        why: "the result shows one disk of one node, not the pool",
        fix: "put the file under the cluster's namespace, such as C:\\ClusterStorage",
        detect: |rule, test, findings| {
            let clustered = test.known_targets().any(|(_, facts)| facts.owner.is_some());
            for (_, facts) in test.known_targets().filter(|_| clustered) {
                if facts.owner.is_none() {
                    findings.push(rule.finding("the target is not on a cluster volume, but others are", &facts.path));
                }
            }
        },
    },
    Rule {
        name: "FEW-TARGETS",
        severity: Severity::Note,
        about: "An array (SAN, iSCSI, Fibre Channel, multipath) is tested on fewer than 16 volumes.",
        why: "arrays distribute work over volumes, so a few volumes do not reach the array's maximum",
        fix: "test as many volumes as the hosts will use, for example sixteen",
        detect: |rule, test, findings| {
            let on_array: Vec<_> = test.known_targets().filter(|(_, facts)| is_on_array(facts)).collect();
            if (1..MIN_ARRAY_VOLUMES).contains(&on_array.len()) && test.has_intent(Intent::MaxIops) {
                let path = &on_array[0].1.path;
                findings.push(rule.finding(format!("the test uses {} volumes of an array", on_array.len()), path));
            }
        },
    },
];

/// A share in percent, with this many decimals.
fn percent(share: f64, decimals: usize) -> String {
    let least = 0.1_f64.powi(decimals as i32);
    match 100.0 * share < least {
        true => format!("less than {least:.decimals$} %"),
        false => format!("{:.decimals$} %", 100.0 * share),
    }
}

/// True for names such as `zram0` and `ram0`.
fn is_ram_disk(name: &str) -> bool {
    let number = name.strip_prefix('z').unwrap_or(name).strip_prefix("ram");
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// A file system with the space that the test needs.
struct Space {
    mount_point: String,
    size: u64,
    available: u64,
    /// Bytes that the files need in addition to their current size.
    needed: u64,
}

/// The bytes by which the files of a target will grow.
fn missing_bytes(usage: TargetUse<'_>, facts: &TargetFacts) -> u64 {
    let current_size = if facts.kind == "directory" { 0 } else { facts.size.0 };
    usage
        .planned_size()
        .map_or(0, |size| size.0.saturating_sub(current_size))
}

fn spaces(test: &super::Test<'_>) -> Vec<Space> {
    let mut spaces: Vec<Space> = Vec::new();
    for (usage, facts) in test.known_targets() {
        let Some(system) = &facts.file_system else { continue };
        if facts.kind == "block device" {
            continue;
        }
        let needed = missing_bytes(usage, facts);
        match spaces.iter_mut().find(|space| space.mount_point == system.mount_point) {
            Some(space) => space.needed += needed,
            None => spaces.push(Space {
                mount_point: system.mount_point.clone(),
                size: system.size.0,
                available: system.available.0,
                needed,
            }),
        }
    }
    spaces
}

/// True if the test will rewrite the whole file.
fn is_rewritten(prepare: &Prepare) -> bool {
    match prepare {
        Prepare::Filled { .. } | Prepare::Recreate { .. } => true,
        Prepare::Existing | Prepare::LayOut { .. } => false,
    }
}

/// Describes a range that the test reads and that no warm-up covered.
fn describe_cold_range(usage: &TargetUse<'_>, warmed: &Warmed) -> Option<String> {
    let Some(size) = usage.size() else {
        return Some(
            "it is unknown how much of the target the test reads, and therefore whether the warm-up covered it".into(),
        );
    };
    let reading = usage
        .streams
        .iter()
        .filter(|stream| stream.mix.includes(model::Direction::Read));
    reading.into_iter().find_map(|stream| {
        let (from, length) = stream.region.resolve(size.0);
        let to = from + length;
        // A read that bypassed the page cache did not warm the page cache; a read through it warmed
        // the host's cache too.
        let counts = |buffered: bool| buffered || stream.cache.direct;
        let first = warmed.first_cold(from, to, counts)?;
        let is_warm_in_cache_only = warmed.first_cold(from, to, |_| true).is_none();
        Some(match is_warm_in_cache_only {
            true => "the warm-up bypassed the page cache, but the test reads through it".to_owned(),
            false => format!(
                "the test reads {} from byte {from} on, but the warm-up ends or has a gap at byte {first}",
                Bytes(length)
            ),
        })
    })
}

/// True if the device of the target is a volume of an array.
pub fn is_on_array(facts: &TargetFacts) -> bool {
    let devices = &facts.devices;
    devices
        .iter()
        .any(|device| device.kind == "multipath" || is_array(device.model.as_deref()))
}

/// Vendors whose block devices are volumes of arrays.
fn is_array(model: Option<&str>) -> bool {
    const VENDORS: [&str; 8] = [
        "DGC", "DellEMC", "EMC", "NETAPP", "3PARdata", "PURE", "HITACHI", "IBM 2145",
    ];
    model.is_some_and(|model| VENDORS.iter().any(|vendor| model.contains(vendor)))
}
