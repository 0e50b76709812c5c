//! Performs handshakes of incoming connections. Each has its own thread, so that a silent peer
//! delays no other.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use run::hosts::{Duplex, HandshakeError, Role};

use super::link::{self, Link, Listener};

/// Maximum concurrent handshakes. A further one cancels the oldest: a real handshake takes
/// milliseconds, a silent peer the whole timeout.
const MAX_HANDSHAKES: usize = 64;
/// Maximum handshake threads, including those that have not yet noticed their cancellation.
const MAX_THREADS: usize = 2 * MAX_HANDSHAKES;
/// How often the listener is polled for new connections.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The origin of a connection, and the result of its handshake.
pub type Outcome = (String, Result<Duplex, HandshakeError>);

/// Accepts connections at a listener until all seats are taken.
#[derive(Debug)]
pub struct Acceptor {
    shared: Arc<Shared>,
    pending: VecDeque<Pending>,
    /// An accepted connection that waits for a free handshake thread.
    next: Option<(Box<dyn Link>, String)>,
    outcome_tx: Sender<Outcome>,
    outcome_rx: Receiver<Outcome>,
}

#[derive(Debug)]
struct Shared {
    role: Role,
    token: String,
    seats: AtomicUsize,
}

/// A handshake in progress.
#[derive(Debug)]
struct Pending {
    thread: JoinHandle<()>,
    cancelled: Arc<AtomicBool>,
}

impl Acceptor {
    /// Accepts connections as `role`, up to a number of peers with the right token.
    pub fn new(role: Role, token: &str, seats: usize) -> Acceptor {
        let (outcome_tx, outcome_rx) = channel();
        Acceptor {
            shared: Arc::new(Shared {
                role,
                token: token.to_owned(),
                seats: AtomicUsize::new(seats),
            }),
            pending: VecDeque::new(),
            next: None,
            outcome_tx,
            outcome_rx,
        }
    }

    /// Accepts waiting connections of a non-blocking listener and returns the next outcome; `None`
    /// if there is none within [`POLL_INTERVAL`].
    ///
    /// # Errors
    /// An error of the listener.
    pub fn poll(&mut self, listener: &Listener) -> io::Result<Option<Outcome>> {
        while self.begin_next(listener)? {}
        Ok(self.outcome_rx.recv_timeout(POLL_INTERVAL).ok())
    }

    /// Starts a handshake if a connection waits and a thread is free. Returns true if it did.
    fn begin_next(&mut self, listener: &Listener) -> io::Result<bool> {
        let next = match self.next.take() {
            Some(next) => next,
            None => match listener.accept() {
                Ok(next) => next,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                // The client left before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => return Ok(true),
                Err(error) => return Err(error),
            },
        };
        self.pending.retain(|pending| !pending.thread.is_finished());
        let surplus = (self.pending.len() + 1).saturating_sub(MAX_HANDSHAKES);
        for oldest in self.pending.iter().take(surplus) {
            oldest.cancelled.store(true, Ordering::Relaxed);
        }
        if self.pending.len() == MAX_THREADS {
            self.next = Some(next);
            return Ok(false);
        }
        self.begin(next)?;
        Ok(true)
    }

    fn begin(&mut self, (mut link, from): (Box<dyn Link>, String)) -> io::Result<()> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let (shared, flag, outcome_tx) = (
            Arc::clone(&self.shared),
            Arc::clone(&cancelled),
            self.outcome_tx.clone(),
        );
        let shake = move || {
            let outcome = shared.handshake(&mut link, &flag);
            // The receiver is dropped once all seats are taken.
            let _ = outcome_tx.send((from, outcome));
        };
        let thread = thread::Builder::new().name("handshake".into()).spawn(shake)?;
        self.pending.push_back(Pending { thread, cancelled });
        Ok(())
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        for pending in &self.pending {
            pending.cancelled.store(true, Ordering::Relaxed);
        }
    }
}

impl Shared {
    fn handshake(&self, link: &mut Box<dyn Link>, cancelled: &AtomicBool) -> Result<Duplex, HandshakeError> {
        let mut claimed = false;
        let claim = || {
            let one_less = |seats: usize| seats.checked_sub(1);
            let taken = self.seats.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
            claimed = taken.is_ok();
            claimed
        };
        let outcome = link::accept_handshake(link, (self.role, &self.token), cancelled, claim);
        if claimed && outcome.is_err() {
            self.seats.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }
}
