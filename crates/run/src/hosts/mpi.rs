//! Sends messages over MPI. One thread starts the library and is the only one to call it, so the
//! library needs no thread support. It polls without blocking calls, and less often while idle.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use engine::sys::mpi::{Abi, LoadedMpi, Mpi, Transfer};

use super::comm::{Comm, Incoming, MAX_QUEUED, queue_full_reason};
use super::launch::Launch;
use super::thread_error;

/// A message is sent in two parts: its length, then its bytes.
const TAG_LENGTH: u16 = 71;
const TAG_BYTES: u16 = 72;
/// After activity, the thread polls without a pause for this long,
const BUSY_POLL_TIME: Duration = Duration::from_millis(1);
/// then with growing pauses up to this one.
const MAX_PAUSE: Duration = Duration::from_millis(20);
/// How long closing waits for queued messages and for the others.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The processes that an MPI launcher has started together.
#[derive(Debug)]
pub struct MpiComm {
    rank: u32,
    size: u32,
    description: String,
    outgoing: Mutex<Sender<Outgoing>>,
    incoming: Mutex<Receiver<Incoming>>,
    low_latency: Arc<AtomicBool>,
    has_ended: Arc<AtomicBool>,
    pump: Mutex<Option<JoinHandle<()>>>,
    grace: Option<Duration>,
}

impl MpiComm {
    /// Opens the first available library of a launcher.
    ///
    /// # Errors
    /// A sentence, if no library can be opened, or the opened one belongs to another launcher.
    pub fn open(launch: &Launch) -> Result<MpiComm, String> {
        let launch = launch.clone();
        let grace = launch.grace;
        let (outgoing, to_send) = channel();
        let (incoming_tx, incoming) = channel();
        let (ready, started) = channel();
        let (low_latency, has_ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (pump_low_latency, pump_has_ended) = (Arc::clone(&low_latency), Arc::clone(&has_ended));
        let run = move || {
            let started = open_first(&launch.libraries).and_then(LoadedMpi::start);
            let mpi = match started.and_then(|mpi| check_launcher(mpi, &launch)) {
                Ok(mpi) => mpi,
                Err(why) => return drop(ready.send(Err(why))),
            };
            let abi = match mpi.abi {
                Abi::Standard => ", interface of MPI 5",
                Abi::Mpich | Abi::OpenMpi => "",
            };
            let description = format!("MPI ({}{abi})", mpi.version());
            let (rank, size) = (mpi.rank(), mpi.size());
            let _ = ready.send(Ok((rank, size, description)));
            Pump {
                mpi,
                peers: (0..size).map(|_| Peer::default()).collect(),
                others: if rank == 0 { 1..size } else { 0..1 },
                incoming_tx,
            }
            .run(&to_send, &pump_low_latency, &pump_has_ended);
        };
        let pump = thread::Builder::new()
            .name("mpi".into())
            .spawn(run)
            .map_err(thread_error)?;
        let (rank, size, description) = started
            .recv()
            .map_err(|_| "the library has ended its thread".to_owned())??;
        Ok(MpiComm {
            rank,
            size,
            description,
            outgoing: Mutex::new(outgoing),
            incoming: Mutex::new(incoming),
            low_latency,
            has_ended,
            pump: Mutex::new(Some(pump)),
            grace,
        })
    }
}

fn open_first(libraries: &[String]) -> Result<LoadedMpi, String> {
    let mut reasons = Vec::new();
    for name in libraries {
        match Mpi::open(name) {
            Ok(library) => return Ok(library),
            Err(why) => reasons.push(if why.contains(name) {
                why
            } else {
                format!("{name}: {why}")
            }),
        }
    }
    Err(reasons.join("; "))
}

fn check_launcher(mpi: Mpi, launch: &Launch) -> Result<Mpi, String> {
    let Some(mismatch) = launch.library_mismatch(mpi.size()) else {
        return Ok(mpi);
    };
    let why = format!("{} {mismatch}", mpi.version());
    mpi.finish();
    Err(why)
}

impl Comm for MpiComm {
    fn process_number(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn describe(&self) -> String {
        self.description.clone()
    }

    fn send(&self, to: u32, message: &[u8]) {
        let outgoing = self.outgoing.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = outgoing.send(Outgoing::Message(to, message.to_vec()));
    }

    fn receive(&self, timeout: Duration) -> Option<Incoming> {
        let incoming = self.incoming.lock().unwrap_or_else(PoisonError::into_inner);
        incoming.recv_timeout(timeout).ok()
    }

    fn set_low_latency(&self, enabled: bool) {
        self.low_latency.store(enabled, Ordering::Release);
    }

    fn grace_period(&self) -> Option<Duration> {
        self.grace
    }

    fn mark_lost(&self, process: u32) {
        let outgoing = self.outgoing.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = outgoing.send(Outgoing::GiveUp(process));
    }

    fn close(&self) {
        self.has_ended.store(true, Ordering::Release);
        let pump = self.pump.lock().unwrap_or_else(PoisonError::into_inner).take();
        let start = Instant::now();
        if let Some(pump) = pump {
            while !pump.is_finished() && start.elapsed() < CLOSE_TIMEOUT * 2 {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

/// Requests to the MPI thread.
#[derive(Debug)]
enum Outgoing {
    /// Send a message to a process.
    Message(u32, Vec<u8>),
    /// Mark a process as lost.
    GiveUp(u32),
}

/// Transfers to and from one process.
#[derive(Debug, Default)]
struct Peer {
    sending: VecDeque<Transfer>,
    length: Option<Transfer>,
    bytes: Option<Transfer>,
    lost: bool,
}

struct Pump {
    mpi: Mpi,
    peers: Vec<Peer>,
    others: std::ops::Range<u32>,
    incoming_tx: Sender<Incoming>,
}

impl Pump {
    fn run(mut self, to_send: &Receiver<Outgoing>, low_latency: &AtomicBool, has_ended: &AtomicBool) {
        let (mut last_progress, mut pause, mut closing) = (Instant::now(), Duration::from_micros(50), None);
        loop {
            let mut progressed = false;
            while let Ok(outgoing) = to_send.try_recv() {
                progressed = true;
                match outgoing {
                    Outgoing::Message(to, bytes) => self.send(to, bytes),
                    Outgoing::GiveUp(process) => {
                        if let Some(peer) = self.peers.get_mut(process as usize) {
                            peer.lost = true;
                        }
                    }
                }
            }
            for number in self.others.clone() {
                progressed |= self.advance_transfers(number);
            }
            if has_ended.load(Ordering::Acquire) {
                let since = *closing.get_or_insert_with(Instant::now);
                let idle = self.peers.iter().all(|peer| peer.lost || peer.sending.is_empty());
                if idle && !progressed || since.elapsed() > CLOSE_TIMEOUT {
                    break;
                }
            }
            if progressed {
                (last_progress, pause) = (Instant::now(), Duration::from_micros(50));
            } else if low_latency.load(Ordering::Acquire) || last_progress.elapsed() < BUSY_POLL_TIME {
                thread::yield_now();
            } else {
                thread::sleep(pause);
                pause = (pause * 2).min(MAX_PAUSE);
            }
        }
        // If a rank is lost, MPI_Finalize may wait for it forever.
        if self.peers.iter().all(|peer| !peer.lost) {
            self.mpi.finish();
        }
    }

    fn mark_lost(&mut self, number: u32, why: String) {
        let peer = &mut self.peers[number as usize];
        if !peer.lost {
            peer.lost = true;
            let _ = self.incoming_tx.send(Incoming::Lost { process: number, why });
        }
    }

    fn send(&mut self, to: u32, bytes: Vec<u8>) {
        if self.peers.get(to as usize).is_none_or(|peer| peer.lost) {
            return;
        }
        // Each message has two transfers.
        if self.peers[to as usize].sending.len() >= 2 * MAX_QUEUED {
            return self.mark_lost(to, queue_full_reason());
        }
        let length = (bytes.len() as u64).to_le_bytes().to_vec();
        for (tag, part) in [(TAG_LENGTH, length), (TAG_BYTES, bytes)] {
            match self.mpi.send(to, tag, part) {
                Ok(transfer) => self.peers[to as usize].sending.push_back(transfer),
                Err(why) => return self.mark_lost(to, why),
            }
        }
    }

    /// Advances the transfers to and from a process. True if there was progress.
    fn advance_transfers(&mut self, number: u32) -> bool {
        if self.peers[number as usize].lost {
            return false;
        }
        match self.try_advance_transfers(number) {
            Ok(progressed) => progressed,
            Err(why) => {
                self.mark_lost(number, why);
                true
            }
        }
    }

    fn try_advance_transfers(&mut self, number: u32) -> Result<bool, String> {
        let (mpi, peer) = (&self.mpi, &mut self.peers[number as usize]);
        let mut progressed = false;
        while let Some(first) = peer.sending.front_mut() {
            if !mpi.has_ended(first)? {
                break;
            }
            peer.sending.pop_front();
            progressed = true;
        }
        if peer.length.is_none() && peer.bytes.is_none() && mpi.has_message(number, TAG_LENGTH)? {
            peer.length = Some(mpi.receive(number, TAG_LENGTH, 8)?);
        }
        if let Some(mut transfer) = peer.length.take() {
            if mpi.has_ended(&mut transfer)? {
                let length = transfer.into_bytes().try_into().map(u64::from_le_bytes).unwrap_or(0);
                peer.bytes = Some(mpi.receive(number, TAG_BYTES, length as usize)?);
                progressed = true;
            } else {
                peer.length = Some(transfer);
            }
        }
        if let Some(mut transfer) = peer.bytes.take() {
            if mpi.has_ended(&mut transfer)? {
                let bytes = transfer.into_bytes();
                let _ = self.incoming_tx.send(Incoming::Message { from: number, bytes });
                progressed = true;
            } else {
                peer.bytes = Some(transfer);
            }
        }
        Ok(progressed)
    }
}
