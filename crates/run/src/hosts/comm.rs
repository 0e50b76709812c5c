//! What carries messages between the processes of a fleet: an interface with few words, and nothing
//! else here knows what is behind it.

use std::time::Duration;

/// Something that comes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A message, whole.
    Message {
        /// Who sent it.
        from: u32,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// Nothing will come from there any more.
    Lost {
        /// Who.
        from: u32,
        /// Why, in a sentence.
        why: String,
    },
}

/// Messages that may wait for one process.
pub(super) const MAX_WAITING: usize = 4096;

/// Why a process is lost for which more of them wait.
pub(super) fn too_many_wait() -> String {
    format!("it takes nothing any more: {MAX_WAITING} messages wait for it")
}

/// Messages between the process that leads (rank 0, or one beside the ranks) and the others.
/// Messages of one sender to one receiver come whole and in their order.
pub trait Comm: Send + Sync {
    /// The number of this process.
    fn rank(&self) -> u32;

    /// How many processes take part.
    fn size(&self) -> u32;

    /// What carries the messages, in words.
    fn describe(&self) -> String;

    /// Hands a message over, and does not wait for it to arrive.
    fn send(&self, to: u32, message: &[u8]);

    /// What comes next; `None` if nothing does within that time.
    fn receive(&self, within: Duration) -> Option<Incoming>;

    /// Messages are carried as fast as can be until that is taken back, at the cost of a processor
    /// where the carrier has to be looked after.
    fn set_low_latency(&self, _hurry: bool) {}

    /// How long after a request to stop the launcher lets this process live; `None` if it will not
    /// be ended.
    fn grace(&self) -> Option<Duration> {
        None
    }

    /// A process from which nothing is expected any more, nor does it get anything: the end does
    /// not wait for it.
    fn give_up(&self, on: u32);

    /// Nothing more is sent: returns once all that was handed over has gone, or that takes too
    /// long.
    fn close(&self);
}
