//! Traces the requests of a block device with the kernel's trace events. Events go to a ring of our
//! own (an *instance* of tracefs), so that other tracers are not disturbed. Dropping the trace
//! removes the instance; the next run removes instances of killed processes. Devices with request
//! queues report requests, after merging; others (zram, device mapper, software RAID) report
//! incoming bios.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use model::Nanos;
use model::block_event::{BlockAction, BlockEvent, BlockRequest};

use super::System;
use super::blocks::block_device;
use super::mounts::own_mounts_containing;
use crate::sys::names::open_nonblocking;

/// Prefix of instance names, followed by the process id.
const PREFIX: &str = "fathom-";
/// Ring size per processor.
const RING_KIB: &str = "4096";
/// Issue and completion events, of devices with request queues and of others.
const REQUEST_EVENTS: [&str; 2] = ["block_rq_issue", "block_rq_complete"];
const BIO_EVENTS: [&str; 2] = ["block_bio_queue", "block_bio_complete"];

/// A running trace of a device.
#[derive(Debug)]
pub struct BlockTrace {
    /// Closed before the directory is removed: the kernel refuses to remove an instance in use.
    pipe: fs::File,
    instance: Instance,
    /// An incomplete last line.
    incomplete: Vec<u8>,
    merged: bool,
}

/// An instance of tracefs, removed on drop.
#[derive(Debug)]
struct Instance(PathBuf);

impl BlockTrace {
    /// Starts tracing a device, by its kernel name.
    ///
    /// # Errors
    /// tracefs is not mounted, access is denied, or the device does not exist.
    pub fn start(system: &System, device: &str) -> io::Result<BlockTrace> {
        let device = block_device(system, device).ok_or_else(|| io::Error::from(ErrorKind::NotFound))?;
        let not_mounted = "tracefs is not mounted; run `mount -t tracefs nodev /sys/kernel/tracing`";
        let mount_point = find_tracefs(system).ok_or_else(|| io::Error::new(ErrorKind::NotFound, not_mounted))?;
        let instances = Path::new(&mount_point).join("instances");
        remove_orphans(system, &instances);
        let instance = Instance::create(&instances)?;
        let disk = device.partition_of.as_deref().unwrap_or(&device.name);
        let merged = system.exists(&format!("/sys/class/block/{disk}/mq"));
        let filter = match (&device.partition_of, merged) {
            (Some(disk), true) => {
                let number = block_device(system, disk).map_or(device.number, |disk| disk.number);
                let read_device_value =
                    |file: &str| system.read_value::<u64>(&format!("/sys/class/block/{}/{file}", device.name));
                let (start, size) = (
                    read_device_value("start").unwrap_or(0),
                    read_device_value("size").unwrap_or(u64::MAX / 2),
                );
                format!(
                    "dev == {} && sector >= {start} && sector < {}",
                    kernel_device_number(number),
                    start + size
                )
            }
            _ => format!("dev == {}", kernel_device_number(device.number)),
        };
        // Enable all events together; otherwise completions of earlier requests would be counted.
        instance.set("tracing_on", "0")?;
        instance.set("trace_clock", "mono")?;
        instance.set("buffer_size_kb", RING_KIB)?;
        for event in if merged { REQUEST_EVENTS } else { BIO_EVENTS } {
            instance.set(&format!("events/block/{event}/filter"), &filter)?;
            instance.set(&format!("events/block/{event}/enable"), "1")?;
        }
        let pipe = open_nonblocking(&instance.0.join("trace_pipe"))?;
        instance.set("tracing_on", "1")?;
        Ok(BlockTrace {
            instance,
            pipe,
            incomplete: Vec::new(),
            merged,
        })
    }

    /// True if the trace shows requests after merging, as the device receives them.
    pub fn sees_merged_requests(&self) -> bool {
        self.merged
    }

    /// Stops tracing; events in the ring can still be read.
    ///
    /// # Errors
    /// The system's error.
    pub fn stop(&mut self) -> io::Result<()> {
        self.instance.set("tracing_on", "0")
    }

    /// Calls `on_event` for every event since the previous read, in order, without blocking.
    ///
    /// # Errors
    /// The system's error.
    pub fn read(&mut self, on_event: &mut dyn FnMut(BlockEvent)) -> io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = match self.pipe.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.incomplete.extend_from_slice(&buffer[..read]);
            let Some(end) = self.incomplete.iter().rposition(|byte| *byte == b'\n') else {
                continue;
            };
            let remainder = self.incomplete.split_off(end + 1);
            let complete_lines = std::mem::replace(&mut self.incomplete, remainder);
            String::from_utf8_lossy(&complete_lines)
                .lines()
                .filter_map(parse)
                .for_each(&mut *on_event);
        }
    }
}

/// The mount point of tracefs: the default one if mounted there.
fn find_tracefs(system: &System) -> Option<String> {
    let mounts = own_mounts_containing(system, " - tracefs ");
    let usual = mounts.iter().find(|mount| mount.mount_point == "/sys/kernel/tracing");
    usual.or(mounts.first()).map(|mount| mount.mount_point.clone())
}

/// The kernel's device number, as used in filters (`MKDEV` in linux/kdev_t.h).
fn kernel_device_number(number: crate::identity::DeviceNumber) -> u64 {
    u64::from(number.major) << 20 | u64::from(number.minor)
}

impl Instance {
    fn create(instances: &Path) -> io::Result<Instance> {
        let folder = instances.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&folder)?;
        Ok(Instance(folder))
    }

    fn set(&self, file: &str, value: &str) -> io::Result<()> {
        let path = self.0.join(file);
        fs::write(&path, value).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        remove_instance(&self.0);
    }
}

/// Removes an instance. The kernel refuses while the instance is being read; the next run then
/// removes it.
fn remove_instance(folder: &Path) {
    let _ = fs::write(folder.join("tracing_on"), "0");
    let _ = fs::write(folder.join("events/enable"), "0");
    let _ = fs::remove_dir(folder);
}

/// Removes the instances of processes that have exited.
fn remove_orphans(system: &System, instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if process.is_some_and(|process| !system.exists(&format!("/proc/{process}"))) {
            remove_instance(&entry.path());
        }
    }
}

/// Parses a line of `trace_pipe`; `None` if it is not a block request. `fio-812 [001] d..1.
/// 4567.123456: block_rq_issue: 253,0 R 4096 () 123 + 8 none,0,0 [fio]`; other events lack the byte
/// count and the command (`include/trace/events/block.h` of the kernel).
pub(super) fn parse(line: &str) -> Option<BlockEvent> {
    if let Some(lost) = line
        .split_once("[LOST ")
        .and_then(|(_, rest)| rest.strip_suffix(" EVENTS]"))
    {
        return lost.trim().parse().ok().map(BlockEvent::Lost);
    }
    let (before, rest) = line.split_once(": block_")?;
    let (name, rest) = rest.split_once(": ")?;
    let at_ns = parse_seconds(before.split_ascii_whitespace().next_back()?)?;
    let action = parse_action(rest.split_ascii_whitespace().nth(1)?);
    let (left, right) = rest.split_once(" + ")?;
    let request = BlockRequest {
        at_ns,
        action,
        sector: left.split_ascii_whitespace().next_back()?.parse().ok()?,
        sectors: right.split_ascii_whitespace().next()?.parse().ok()?,
    };
    match name {
        "rq_issue" | "bio_queue" => Some(BlockEvent::Issued(request)),
        "rq_complete" | "bio_complete" => Some(BlockEvent::Completed(request)),
        _ => None,
    }
}

/// Parses seconds, such as `4567.123456`.
fn parse_seconds(text: &str) -> Option<Nanos> {
    let (integer, fraction) = text.split_once('.')?;
    let digits = u32::try_from(fraction.len()).ok().filter(|digits| *digits <= 9)?;
    let fraction: u64 = fraction.parse().ok()?;
    let integer: u64 = integer.parse().ok()?;
    Some(Nanos(
        integer
            .checked_mul(1_000_000_000)?
            .checked_add(fraction * 10u64.pow(9 - digits))?,
    ))
}

/// The characters of `blk_fill_rwbs`: a leading `F` requests a preflush, the next one is the
/// operation.
fn parse_action(letters: &str) -> BlockAction {
    let operation = match letters.as_bytes() {
        [b'F', operation, ..] if operation.is_ascii_uppercase() && *operation != b'S' => *operation,
        [operation, ..] => *operation,
        [] => return BlockAction::Other,
    };
    match operation {
        b'R' => BlockAction::Read,
        b'W' => BlockAction::Write,
        b'D' => BlockAction::Discard,
        b'F' => BlockAction::Flush,
        _ => BlockAction::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(at_ns: u64, action: BlockAction, sector: u64, sectors: u64) -> BlockRequest {
        BlockRequest {
            at_ns: Nanos(at_ns),
            action,
            sector,
            sectors,
        }
    }

    /// Lines of Linux 6.18. Some program names look like parts of the line.
    #[test]
    fn recorded_lines_are_parsed() {
        use BlockAction::{Discard, Flush, Other, Read, Write};
        let issued = |line: &str| match parse(line) {
            Some(BlockEvent::Issued(request)) => request,
            other => panic!("{other:?} of {line}"),
        };
        let line = "             fio-27093   [001] d..1.  7213.120045: block_rq_issue: 254,0 R 4096 () 123456 + 8 none,0,0 [fio]";
        assert_eq!(issued(line), request(7_213_120_045_000, Read, 123_456, 8));
        let line = " a + b: c-812     [000].....    12.000001: block_rq_issue: 8,16 WS 65536 (2a 00 00 01) 99 + 128 be,0,4 [a + b: c]";
        assert_eq!(issued(line), request(12_000_001_000, Write, 99, 128));
        let line = "          fathom-9       [000]...1.     3.5: block_bio_queue: 252,1 W 2048 + 256 [fathom]";
        assert_eq!(issued(line), request(3_500_000_000, Write, 2048, 256));
        let line = "   kworker/1:1H-81      [001].....     1.000000: block_rq_issue: 254,0 FF 0 () 0 + 0 none,0,0 [kworker/1:1H]";
        assert_eq!(issued(line).action, Flush);
        for (letters, expected) in [
            ("R", Read),
            ("RA", Read),
            ("RSM", Read),
            ("W", Write),
            ("WFS", Write),
            ("FW", Write),
            ("FWFSM", Write),
            ("DS", Discard),
            ("DE", Discard),
            ("F", Flush),
            ("FFS", Flush),
            ("FS", Flush),
            ("N", Other),
            ("", Other),
        ] {
            assert_eq!(parse_action(letters), expected, "{letters}");
        }
        let line =
            "          <idle>-0       [000] d.h1.  7213.120145: block_rq_complete: 254,0 R () 123456 + 8 none,0,0 [0]";
        let Some(BlockEvent::Completed(done)) = parse(line) else {
            panic!("{line}")
        };
        assert_eq!(done, request(7_213_120_145_000, Read, 123_456, 8));
    }

    #[test]
    fn other_lines_are_skipped() {
        assert_eq!(parse("CPU:1 [LOST 1234 EVENTS]"), Some(BlockEvent::Lost(1234)));
        for line in [
            "",
            "# tracer: nop",
            "fio-1 [000] d..1. 1.5: sched_switch: a + b",
            "fio-1 [000] d..1. 1.5: block_rq_issue: 254,0 R",
            "fio-1 [000] d..1. soon: block_rq_issue: 254,0 R 4096 () 1 + 8 none,0,0 [fio]",
            "fio-1 [000] d..1. 1.5: block_rq_insert: 254,0 R 4096 () 1 + 8 none,0,0 [fio]",
            "fio-1 [000] d..1. 99999999999999999999.5: block_rq_issue: 254,0 R 4096 () 1 + 8 none,0,0 [fio]",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
