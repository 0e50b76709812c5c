//! Client counters of a network file system, as tables and sentences.

use std::io::{self, Write};

use model::network_mount::{NetworkMount, RpcCounts, mount_option};
use model::{Bytes, Nanos, visible};

use crate::numbers::{count, duration, pluralize, rate};

/// Means are omitted below this total time, because the kernel counts whole milliseconds.
const MIN_TOTAL_TIME: Nanos = Nanos::millis(20);
/// A part of a call is named as the cause if it takes at least this share of the time.
const DECISIVE_SHARE: f64 = 0.6;

/// Titles of the columns of [`mount_rows`].
pub const HEADERS: [&str; 11] = [
    "operation", "calls", "calls/s", "kB sent", "kB received", "queue ms", "RTT ms", "total ms", "retransmitted",
    "timeouts", "errors",
];
/// Mount options that bear on the figures.
const OPTIONS: [&str; 3] = ["rsize", "wsize", "nconnect"];

/// A row for each operation that occurred, those with the most total time first. Sizes and times
/// are means per call.
pub fn mount_rows(mount: &NetworkMount) -> Vec<[String; 11]> {
    let row = |counts: &&RpcCounts| {
        let calls = counts.calls as f64;
        let mean_ms = |time: Nanos| format!("{:.3}", time.0 as f64 / 1e6 / calls);
        let mean_kb = |bytes: Bytes| format!("{:.1}", bytes.0 as f64 / 1e3 / calls);
        [
            counts.name.clone(),
            count(counts.calls),
            match mount.covers_ns {
                Nanos(0) => "-".into(),
                length => rate(calls / length.as_secs()),
            },
            mean_kb(counts.sent),
            mean_kb(counts.received),
            mean_ms(counts.queue_ns),
            mean_ms(counts.rtt_ns),
            mean_ms(counts.execute_ns),
            count(counts.retransmissions()),
            count(counts.timeouts),
            count(counts.errors),
        ]
    };
    mount.by_time().iter().map(row).collect()
}

/// Adds counters. A damaged file can have counters whose sum exceeds 64 bits.
fn sum(counters: impl Iterator<Item = u64>) -> u64 {
    counters.fold(0, u64::saturating_add)
}

/// Sentences that explain the figures.
pub fn mount_sentences(mount: &NetworkMount) -> Vec<String> {
    let bytes = &mount.bytes;
    let mut sentences: Vec<String> = describe_mount(mount).into_iter().collect();
    sentences.push(format!(
        "programs read {} and wrote {}; {} came from the server and {} went to it",
        Bytes(bytes.read.0.saturating_add(bytes.read_direct.0)),
        Bytes(bytes.written.0.saturating_add(bytes.written_direct.0)),
        bytes.from_server,
        bytes.to_server
    ));
    if let Some(cached_share) = mount.answered_by_cache().filter(|cached_share| *cached_share >= 0.01) {
        sentences.push(format!(
            "{:.0} % of the data read came from the page cache of this client instead of the server",
            cached_share * 100.0
        ));
    }
    if let Some(slowest) = mount.by_time().first() {
        sentences.extend(describe_time(slowest));
    }
    let retransmitted: u64 = sum(mount.operations.iter().map(RpcCounts::retransmissions));
    if retransmitted > 0 {
        let sent: u64 = sum(mount.operations.iter().map(|operation| operation.transmissions));
        let share = retransmitted as f64 / sent as f64 * 100.0;
        sentences.push(format!(
            "{} retransmitted ({share:.2} %): the network loses packets, or the server answers too slowly",
            pluralize(retransmitted, "request")
        ));
    }
    sentences.extend(describe_connections(mount));
    let bad: u64 = mount.connections.iter().map(|connection| connection.bad_answers).sum();
    if bad > 0 {
        sentences.push(format!(
            "{} to no known request (bad XIDs): the server answered requests that the client had given up or repeated",
            match bad {
                1 => "1 reply".into(),
                _ => format!("{} replies", count(bad)),
            }
        ));
    }
    sentences
}

/// The version and the options of a mount that bear on the figures.
fn describe_mount(mount: &NetworkMount) -> Option<String> {
    let value = |name: &str| mount_option(&mount.options, name).map(visible);
    let version = value("vers").map(|version| format!("NFS version {version}"));
    let options = OPTIONS
        .iter()
        .filter_map(|name| Some(format!("{name}={}", value(name)?)));
    let words: Vec<String> = version.into_iter().chain(options).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Names the part of a call that took most of its time: the client's queue, network and server, or
/// the client's own work.
fn describe_time(counts: &RpcCounts) -> Option<String> {
    let name = &counts.name;
    if counts.execute_ns < MIN_TOTAL_TIME {
        return Some(format!(
            "all {name} calls together took only {}, too little for a mean: the kernel counts whole milliseconds",
            counts.execute_ns
        ));
    }
    let share = |time: Nanos| time.0 as f64 / counts.execute_ns.0 as f64;
    let percent = |time: Nanos| format!("{:.0} %", share(time) * 100.0);
    Some(match (share(counts.rtt_ns), share(counts.queue_ns)) {
        (rtt, _) if rtt >= DECISIVE_SHARE => format!(
            "{name} calls spent {} of their time between request and reply: in the network and the server",
            percent(counts.rtt_ns)
        ),
        (_, queue) if queue >= DECISIVE_SHARE => format!(
            "{name} calls spent {} of their time queued in this client: more connections (nconnect) or slots would help, \
             a faster server would not",
            percent(counts.queue_ns)
        ),
        _ => format!(
            "{name} calls spent {} of their time queued in this client, {} between request and reply, and the rest in \
             the client's own work",
            percent(counts.queue_ns),
            percent(counts.rtt_ns)
        ),
    })
}

fn describe_connections(mount: &NetworkMount) -> Option<String> {
    let sends: u64 = sum(mount.connections.iter().map(|connection| connection.sends));
    if sends == 0 {
        return None;
    }
    let mean_per_send = |count: fn(&model::network_mount::ConnectionCounts) -> u64| {
        sum(mount.connections.iter().map(count)) as f64 / sends as f64
    };
    let mut words = format!(
        "{}: on average {:.1} requests in flight when one was sent",
        pluralize(mount.connections.len() as u64, "connection"),
        mean_per_send(|connection| connection.in_flight_sum)
    );
    let backlog = mean_per_send(|connection| connection.backlog_sum);
    if backlog >= 0.1 {
        words += &format!(", and {backlog:.1} waiting for a slot");
    }
    let max_sends = mount
        .connections
        .iter()
        .map(|connection| connection.sends)
        .max()
        .unwrap_or_default();
    if mount.connections.len() > 1 {
        words += &format!(
            "; the busiest connection carried {:.0} % of the requests",
            max_sends as f64 / sends as f64 * 100.0
        );
    }
    let made: u64 = sum(mount.connections.iter().map(|connection| connection.connects));
    if made > 0 {
        words += &format!("; connected {} during this time", pluralize(made, "time"));
    }
    Some(words)
}

/// Writes a mount with its table, each line after `indent`.
///
/// # Errors
/// `out` cannot be written to.
pub fn write(mount: &NetworkMount, indent: &str, out: &mut dyn Write) -> io::Result<()> {
    let (source, place) = (visible(&mount.source), visible(&mount.mount_point));
    let length = match mount.covers_ns {
        Nanos(0) => "less than a second".into(),
        length => duration(length),
    };
    writeln!(out, "{indent}{} {source} on {place}, over {length}:", mount.kind)?;
    for sentence in mount_sentences(mount) {
        writeln!(out, "{indent}  {sentence}")?;
    }
    let mut table = vec![HEADERS.map(str::to_owned)];
    table.extend(mount_rows(mount));
    if table.len() == 1 {
        return Ok(());
    }
    let widths: [usize; 11] =
        std::array::from_fn(|column| table.iter().map(|row| row[column].len()).max().unwrap_or(0));
    for row in &table {
        write!(out, "{indent}  {:<1$}", row[0], widths[0])?;
        for (cell, width) in row.iter().zip(widths).skip(1) {
            write!(out, "  {cell:>width$}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use model::network_mount::{ConnectionCounts, NetworkBytes};
    use testbed::With;

    use super::*;

    fn mount(queue: u64, rtt: u64, execute: u64) -> NetworkMount {
        let read = RpcCounts {
            name: "READ".into(),
            calls: 1000,
            transmissions: 1010,
            timeouts: 3,
            queue_ns: Nanos::millis(queue),
            rtt_ns: Nanos::millis(rtt),
            execute_ns: Nanos::millis(execute),
            ..RpcCounts::default()
        };
        let connection = |sends, in_flight_sum, backlog_sum| ConnectionCounts {
            sends,
            in_flight_sum,
            backlog_sum,
            connects: 1,
            bad_answers: 2,
            ..ConnectionCounts::default()
        };
        NetworkMount {
            options: "rw,vers=4.2,rsize=1048576,wsize=65536,hard,nconnect=2".into(),
            covers_ns: Nanos::secs(10),
            bytes: NetworkBytes::default()
                .with(|network_bytes| (network_bytes.read, network_bytes.from_server) = (Bytes(1000), Bytes(250))),
            operations: vec![
                RpcCounts::default().with(|rpc_counts| (rpc_counts.name, rpc_counts.calls) = ("GETATTR".into(), 9)),
                read,
            ],
            connections: vec![connection(750, 7500, 0), connection(250, 2500, 5000)],
            ..NetworkMount::default()
        }
    }

    #[track_caller]
    fn assert_sentence(mount: &NetworkMount, part: &str) {
        let joined = mount_sentences(mount).join("\n");
        assert!(joined.contains(part), "`{part}` is missing in {joined}");
    }

    #[test]
    fn the_longest_part_of_a_call_is_named() {
        assert_sentence(
            &mount(100, 800, 1000),
            "READ calls spent 80 % of their time between request and reply",
        );
        assert_sentence(
            &mount(700, 200, 1000),
            "READ calls spent 70 % of their time queued in this client",
        );
        assert_sentence(&mount(100, 300, 1000), "the rest in the client's own work");
        assert_sentence(&mount(0, 3, 4), "too little for a mean");
    }

    #[test]
    fn caches_retransmissions_and_connections_are_reported() {
        let mount = mount(100, 800, 1000);
        assert_sentence(&mount, "75 % of the data read came from the page cache");
        assert_sentence(&mount, "10 requests retransmitted (0.99 %)");
        assert_sentence(
            &mount,
            "2 connections: on average 10.0 requests in flight when one was sent, and 5.0 waiting for a slot",
        );
        assert_sentence(&mount, "the busiest connection carried 75 % of the requests");
        assert_sentence(&mount, "connected 2 times during this time");
        assert_sentence(&mount, "4 replies to no known request (bad XIDs)");
        assert_sentence(&mount, "NFS version 4.2, rsize=1048576, wsize=65536, nconnect=2");
        let rows = mount_rows(&mount);
        assert_eq!(rows[0][8..], ["10", "3", "0"].map(str::to_owned));
        assert_eq!(rows[0][..3], ["READ", "1,000", "100"].map(str::to_owned));
        assert_eq!(rows[0][5..8], ["0.100", "0.800", "1.000"].map(str::to_owned));
        assert_eq!(rows[1][0], "GETATTR");
    }

    #[test]
    fn counters_of_a_damaged_file_do_not_overflow() {
        let mut mount = mount(100, 800, 1000);
        mount.bytes.read = Bytes(u64::MAX);
        mount.bytes.read_direct = Bytes(u64::MAX);
        mount.connections[0].sends = u64::MAX;
        mount.operations[0].transmissions = u64::MAX;
        assert_sentence(&mount, "programs read 16777216.00 TiB");
    }
}
