//! The interface for messages between the processes of a fleet, independent of the transport.

use std::time::Duration;

/// An incoming message or event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A complete message.
    Message {
        /// Process number of the sender.
        from: u32,
        /// Bytes of the message.
        bytes: Vec<u8>,
    },
    /// The connection to a process is lost.
    Lost {
        /// The lost process.
        process: u32,
        /// Why, in a sentence.
        why: String,
    },
}

/// Maximum number of unsent messages to one process.
pub(super) const MAX_QUEUED: usize = 4096;

/// The reason when a process is lost because too many messages wait for it.
pub(super) fn queue_full_reason() -> String {
    format!("the host stopped receiving messages: {MAX_QUEUED} are waiting")
}

/// Sends and receives messages between the coordinator (process 0) and the others. Messages from
/// one sender to one receiver arrive complete and in order.
pub trait Comm: Send + Sync {
    /// The number of this process; 0 is the coordinator.
    fn process_number(&self) -> u32;

    /// How many processes take part.
    fn size(&self) -> u32;

    /// Describes the transport.
    fn describe(&self) -> String;

    /// Queues a message without waiting for its arrival.
    fn send(&self, to: u32, message: &[u8]);

    /// Receives the next message or event; `None` after the timeout.
    fn receive(&self, timeout: Duration) -> Option<Incoming>;

    /// While enabled, minimizes the latency of messages. This costs a CPU if the transport must be
    /// polled.
    fn set_low_latency(&self, _enabled: bool) {}

    /// Time from a stop request until the launcher kills this process. `None` if the launcher never
    /// does.
    fn grace_period(&self) -> Option<Duration> {
        None
    }

    /// Marks a process as lost, so that [`Comm::close`] does not wait for it.
    fn mark_lost(&self, process: u32);

    /// Sends all queued messages and closes the connections, or gives up after a timeout.
    fn close(&self);
}
