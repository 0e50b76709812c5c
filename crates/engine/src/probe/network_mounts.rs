//! NFS client statistics, from `/proc/self/mountstats`. An entry is `device SOURCE mounted on PLACE
//! with fstype TYPE`, and for NFS ` statvers=1.1` and lines of the form `key: values`. Newer
//! kernels add keys and trailing numbers, which are skipped. Times are whole milliseconds, summed.

use model::network_mount::{ConnectionCounts, NetworkBytes, NetworkMount, RpcCounts};
use model::{Bytes, Nanos};

use super::System;

/// The contents of `/proc/self/mountstats`.
#[derive(Clone, Debug, Default)]
pub struct MountStats {
    /// The NFS mounts, with their counts since mounting.
    pub mounts: Vec<NetworkMount>,
    /// Lines of known keys that cannot be read.
    pub malformed: Vec<MalformedLine>,
}

/// A line whose counters are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedLine {
    /// Its number, from 1.
    pub line: usize,
    /// Its key: an operation, or a kind of counters.
    pub key: String,
    /// The mount point.
    pub mount_point: String,
}

/// Reads the NFS statistics of this process.
pub fn read_mountstats(system: &System) -> MountStats {
    parse_mountstats(&system.read_text("/proc/self/mountstats").unwrap_or_default())
}

/// Parses the NFS mounts of `/proc/self/mountstats`.
pub fn parse_mountstats(text: &str) -> MountStats {
    let mut stats = MountStats::default();
    let mut is_open = false;
    for (line, number) in text.lines().zip(1..) {
        if let Some(entry) = line.strip_prefix("device ") {
            let mount = parse_heading(entry);
            is_open = mount.is_some();
            stats.mounts.extend(mount);
        } else if let Some(mount) = stats.mounts.last_mut().filter(|_| is_open)
            && let Some((key, values)) = line.trim().split_once(':')
            && parse_line(mount, key, values.trim()).is_none()
        {
            stats.malformed.push(MalformedLine {
                line: number,
                key: key.to_owned(),
                mount_point: mount.mount_point.clone(),
            });
        }
    }
    stats
}

/// Parses `SOURCE mounted on PLACE with fstype nfs statvers=1.1`. An entry without `statvers` has
/// no statistics.
fn parse_heading(entry: &str) -> Option<NetworkMount> {
    let (source, rest) = entry.split_once(" mounted on ")?;
    let (mount_point, kind) = rest.rsplit_once(" with fstype ")?;
    let (kind, _) = kind.split_once(" statvers=")?;
    matches!(kind, "nfs" | "nfs4").then(|| NetworkMount {
        source: super::mounts::unescape(source),
        mount_point: super::mounts::unescape(mount_point),
        kind: kind.to_owned(),
        ..NetworkMount::default()
    })
}

/// Parses a line into the mount. `None` if the key is known and its values are malformed.
fn parse_line(mount: &mut NetworkMount, key: &str, values: &str) -> Option<()> {
    let numbers = || -> Vec<u64> { values.split_whitespace().map_while(|word| word.parse().ok()).collect() };
    match key {
        "opts" => values.clone_into(&mut mount.options),
        "age" => mount.covers_ns = Nanos::secs(values.parse().ok()?),
        "bytes" => {
            let [read, written, read_direct, written_direct, from_server, to_server, ..] = numbers()[..] else {
                return None;
            };
            mount.bytes = NetworkBytes {
                read: Bytes(read),
                written: Bytes(written),
                read_direct: Bytes(read_direct),
                written_direct: Bytes(written_direct),
                from_server: Bytes(from_server),
                to_server: Bytes(to_server),
            };
        }
        "xprt" => mount.connections.push(parse_connection(values)?),
        // Operations are in capitals, all other keys in lower case.
        name if name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_') => {
            mount.operations.push(parse_operation(name, &numbers())?);
        }
        _ => {}
    }
    Some(())
}

fn parse_operation(name: &str, numbers: &[u64]) -> Option<RpcCounts> {
    let [
        calls,
        transmissions,
        timeouts,
        sent,
        received,
        queue,
        rtt,
        execute,
        rest @ ..,
    ] = numbers
    else {
        return None;
    };
    Some(RpcCounts {
        name: name.to_owned(),
        calls: *calls,
        transmissions: *transmissions,
        timeouts: *timeouts,
        sent: Bytes(*sent),
        received: Bytes(*received),
        queue_ns: Nanos::millis(*queue),
        rtt_ns: Nanos::millis(*rtt),
        execute_ns: Nanos::millis(*execute),
        errors: rest.first().copied().unwrap_or_default(),
    })
}

/// Parses the fields of the client's `rpc_xprt`. Only tcp and rdma have connect and idle times;
/// local sockets have neither port nor binds.
fn parse_connection(values: &str) -> Option<ConnectionCounts> {
    let mut words = values.split_whitespace();
    let protocol = words.next()?;
    let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    let (connects, counts) = match protocol {
        "tcp" | "rdma" => (numbers.get(2)?, numbers.get(5..)?),
        "udp" => (&0, numbers.get(2..)?),
        "local" => (numbers.first()?, numbers.get(3..)?),
        _ => return None,
    };
    let [sends, _receives, bad_answers, in_flight_sum, backlog_sum, ..] = counts else {
        return None;
    };
    Some(ConnectionCounts {
        protocol: protocol.to_owned(),
        connects: *connects,
        sends: *sends,
        bad_answers: *bad_answers,
        in_flight_sum: *in_flight_sum,
        backlog_sum: *backlog_sum,
    })
}

#[cfg(test)]
mod tests {
    use model::network_mount::mount_option;

    use super::*;

    /// Two readings of a Linux 6.1 that mounted its own NFS server twice. Between the readings, the
    /// first mount received 200 direct writes of 64 KiB and 1000 reads of 4 KiB, and the second 100
    /// writes of 64 KiB and an fsync.
    fn readings() -> [Vec<NetworkMount>; 2] {
        [
            include_str!("../../../../tests/data/nfs/before.txt"),
            include_str!("../../../../tests/data/nfs/after.txt"),
        ]
        .map(|text| parse_mountstats(text).mounts)
    }

    #[test]
    fn the_difference_of_two_readings() {
        let [before, after] = readings();
        let differences: Vec<_> = after
            .iter()
            .zip(&before)
            .map(|(after, before)| after.since(before).unwrap())
            .collect();
        let [a, b] = &differences[..] else {
            panic!("{differences:#?}")
        };
        assert_eq!(
            (a.source.as_str(), a.mount_point.as_str(), a.kind.as_str()),
            ("127.0.0.1:/", "/media/a", "nfs4")
        );
        let option = |name| mount_option(&a.options, name);
        assert_eq!(
            (option("vers"), option("nconnect"), option("noac")),
            (Some("4.2"), Some("2"), None)
        );
        assert_eq!(a.connections.len(), 2);
        let calls = |mount: &NetworkMount, name: &str| {
            mount
                .operations
                .iter()
                .find(|operation| operation.name == name)
                .map_or(0, |operation| operation.calls)
        };
        assert_eq!((a.bytes.written_direct, calls(a, "WRITE")), (Bytes(200 << 16), 200));
        assert_eq!((a.bytes.read, a.bytes.read_direct), (Bytes(4_096_000), Bytes(0)));
        assert_eq!(
            (b.bytes.written, b.bytes.to_server),
            (Bytes(100 << 16), Bytes(100 << 16))
        );
        assert_eq!(calls(b, "COMMIT"), 1);
        assert!(
            a.operations.iter().all(|operation| operation.calls > 0),
            "operations that did not occur are left out"
        );
    }

    #[test]
    fn a_remounted_file_system_has_no_difference() {
        let [before, after] = readings();
        assert_eq!(before[0].since(&after[0]), None);
        assert_eq!(after[0].since(&before[1]), None);
    }

    #[test]
    fn unknown_numbers_and_lines_are_skipped_and_malformed_ones_listed() {
        let text = "device a\\040b:/x mounted on /m\\011n with fstype nfs statvers=1.9\n\tage:\t7\n\tnews:\t1 2\n\
                    \tbytes:\t1 2 3 4 5 6 7 8 9\n\txprt:\tudp 1 2 10 9 1 20 3 4 5\n\txprt:\tquic 1 2 3\n\
                    \tper-op statistics\n\t        READ: 1 2 3 4 5 6 7 8 9 10\n\t       WRITE: 1 2\n\
                    \ndevice tmpfs mounted on /run with fstype tmpfs\n\tage:\t9\n";
        let MountStats { mounts, malformed } = parse_mountstats(text);
        let [mount] = &mounts[..] else { panic!("{mounts:#?}") };
        let malformed: Vec<_> = malformed.iter().map(|line| (line.line, &*line.key)).collect();
        assert_eq!(malformed, [(6, "xprt"), (9, "WRITE")]);
        assert_eq!((mount.source.as_str(), mount.mount_point.as_str()), ("a b:/x", "/m\tn"));
        assert_eq!((mount.covers_ns, mount.bytes.to_server), (Nanos::secs(7), Bytes(6)));
        assert_eq!(mount.operations.len(), 1);
        assert_eq!(
            (mount.operations[0].retransmissions(), mount.operations[0].errors),
            (1, 9)
        );
        assert_eq!(mount.connections.len(), 1);
        assert_eq!((mount.connections[0].sends, mount.connections[0].backlog_sum), (10, 3));
    }
}
