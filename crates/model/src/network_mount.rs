//! The counters of a network file system client for a mount (`/proc/self/mountstats` of Linux,
//! NFS since 2.6.17).

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Nanos};

/// The counters of a mount: since it was mounted, or between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkMount {
    /// The mounted server and path.
    pub source: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// `nfs` (versions 2 and 3) or `nfs4`.
    pub kind: String,
    /// Options in force.
    pub options: String,
    /// Time that the counters cover.
    pub covers_ns: Nanos,
    /// Bytes.
    pub bytes: NetworkBytes,
    /// Operations on the wire, with the kernel's names and in its order. A difference omits those
    /// that did not occur.
    pub operations: Vec<RpcCounts>,
    /// Connections to the server.
    pub connections: Vec<ConnectionCounts>,
}

/// Bytes by kind of transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkBytes {
    /// Read by programs through the page cache.
    pub read: Bytes,
    /// Written by programs through the page cache.
    pub written: Bytes,
    /// Read with direct I/O.
    pub read_direct: Bytes,
    /// Written with direct I/O.
    pub written_direct: Bytes,
    /// Data that came from the server.
    pub from_server: Bytes,
    /// Data that went to the server.
    pub to_server: Bytes,
}

/// One kind of operation on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RpcCounts {
    /// The kernel's name, such as `READ`.
    pub name: String,
    /// Operations.
    pub calls: u64,
    /// Requests sent, including retransmissions.
    pub transmissions: u64,
    /// Requests without a response within the mount's timeout.
    pub timeouts: u64,
    /// Sent, headers included.
    pub sent: Bytes,
    /// Received, headers included.
    pub received: Bytes,
    /// Σ of the time before a request was sent.
    pub queue_ns: Nanos,
    /// Σ of the time from sending to the response: network and server.
    pub rtt_ns: Nanos,
    /// Σ of the total time in the client: the two above, plus processing of the response.
    pub execute_ns: Nanos,
    /// Operations that failed; 0 before Linux 5.3.
    pub errors: u64,
}

/// A connection to the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionCounts {
    /// `tcp`, `udp` or `rdma`.
    pub protocol: String,
    /// The number of connects.
    pub connects: u64,
    /// Requests sent.
    pub sends: u64,
    /// Responses that match no request.
    pub bad_answers: u64,
    /// Σ over sent requests of the requests in flight.
    pub in_flight_sum: u64,
    /// Σ over sent requests of the requests that waited to be sent.
    pub backlog_sum: u64,
}

/// The value of a mount option (`rsize`), or an empty text for one without a value (`noac`). `None`
/// if it is not in effect.
pub fn mount_option<'a>(options: &'a str, name: &str) -> Option<&'a str> {
    options.split(',').find_map(|option| match option.split_once('=') {
        Some((key, value)) => (key == name).then_some(value),
        None => (option == name).then_some(""),
    })
}

impl NetworkMount {
    /// The difference from an earlier reading of the same mount. `None` if it was remounted in
    /// between, or if the mounts differ.
    pub fn since(&self, before: &NetworkMount) -> Option<NetworkMount> {
        let is_same = self.source == before.source && self.mount_point == before.mount_point;
        if !is_same || self.covers_ns < before.covers_ns {
            return None;
        }
        let bytes = |counter: fn(&NetworkBytes) -> Bytes| {
            Some(Bytes(counter(&self.bytes).0.checked_sub(counter(&before.bytes).0)?))
        };
        let mut operations = Vec::new();
        for after in &self.operations {
            let before = before.operations.iter().find(|before| before.name == after.name);
            let counted = before.map_or_else(|| Some(after.clone()), |before| after.since(before))?;
            operations.extend(Some(counted).filter(|counted| counted.calls > 0));
        }
        let connections = self.connections.iter().enumerate();
        let connections = connections.map(|(index, after)| match before.connections.get(index) {
            Some(before) => after.since(before),
            None => Some(after.clone()),
        });
        Some(NetworkMount {
            covers_ns: self.covers_ns.since(before.covers_ns),
            bytes: NetworkBytes {
                read: bytes(|bytes| bytes.read)?,
                written: bytes(|bytes| bytes.written)?,
                read_direct: bytes(|bytes| bytes.read_direct)?,
                written_direct: bytes(|bytes| bytes.written_direct)?,
                from_server: bytes(|bytes| bytes.from_server)?,
                to_server: bytes(|bytes| bytes.to_server)?,
            },
            operations,
            connections: connections.collect::<Option<_>>()?,
            ..self.clone()
        })
    }

    /// The operations, sorted by total time, the longest first.
    pub fn by_time(&self) -> Vec<&RpcCounts> {
        let mut operations: Vec<&RpcCounts> = self.operations.iter().filter(|operation| operation.calls > 0).collect();
        operations.sort_by_key(|operation| std::cmp::Reverse((operation.execute_ns, operation.calls)));
        operations
    }

    /// The share of the bytes read by programs that the client's cache served; `None` if nothing
    /// was read.
    pub fn answered_by_cache(&self) -> Option<f64> {
        let read = self.bytes.read.0.saturating_add(self.bytes.read_direct.0);
        let missing = read.saturating_sub(self.bytes.from_server.0);
        (read > 0).then(|| missing as f64 / read as f64)
    }
}

impl RpcCounts {
    fn since(&self, before: &RpcCounts) -> Option<RpcCounts> {
        let time = |after: Nanos, before: Nanos| Some(Nanos(after.0.checked_sub(before.0)?));
        Some(RpcCounts {
            name: self.name.clone(),
            calls: self.calls.checked_sub(before.calls)?,
            transmissions: self.transmissions.checked_sub(before.transmissions)?,
            timeouts: self.timeouts.checked_sub(before.timeouts)?,
            sent: Bytes(self.sent.0.checked_sub(before.sent.0)?),
            received: Bytes(self.received.0.checked_sub(before.received.0)?),
            queue_ns: time(self.queue_ns, before.queue_ns)?,
            rtt_ns: time(self.rtt_ns, before.rtt_ns)?,
            execute_ns: time(self.execute_ns, before.execute_ns)?,
            errors: self.errors.checked_sub(before.errors)?,
        })
    }

    /// Retransmitted requests.
    pub fn retransmissions(&self) -> u64 {
        self.transmissions.saturating_sub(self.calls)
    }
}

impl ConnectionCounts {
    fn since(&self, before: &ConnectionCounts) -> Option<ConnectionCounts> {
        Some(ConnectionCounts {
            protocol: self.protocol.clone(),
            connects: self.connects.checked_sub(before.connects)?,
            sends: self.sends.checked_sub(before.sends)?,
            bad_answers: self.bad_answers.checked_sub(before.bad_answers)?,
            in_flight_sum: self.in_flight_sum.checked_sub(before.in_flight_sum)?,
            backlog_sum: self.backlog_sum.checked_sub(before.backlog_sum)?,
        })
    }
}
