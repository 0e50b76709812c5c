//! Sends messages over pairs of byte streams. These are the pipes of `ssh HOST fathom agent`, or
//! authenticated connections.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::comm::{Comm, Incoming, MAX_QUEUED, queue_full_reason};
use super::frames::{MessageReader, MessageWriter, Seal};
use super::handshake::Session;

/// The reason when a process is lost because its stream ended.
pub const PROCESS_ENDED: &str = "its process has ended";
/// How long [`Comm::close`] waits for queued messages.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Messages to and from one process.
pub struct Duplex {
    reader: MessageReader,
    writer: MessageWriter,
}

impl Duplex {
    /// Streams that need no seal: the pipes of ssh, or of a local process.
    pub fn unsealed(reader: Box<dyn Read + Send>, writer: Box<dyn Write + Send>) -> Duplex {
        Duplex {
            reader: MessageReader::new(reader, None),
            writer: MessageWriter::new(writer, None),
        }
    }

    /// The streams of a connection, after its handshake.
    pub fn sealed(reader: Box<dyn Read + Send>, writer: Box<dyn Write + Send>, Session(keys): Session) -> Duplex {
        Duplex {
            reader: MessageReader::new(reader, Some(Seal::new(keys.receiving))),
            writer: MessageWriter::new(writer, Some(Seal::new(keys.sending))),
        }
    }
}

impl std::fmt::Debug for Duplex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Duplex")
    }
}

/// Processes connected by streams: a star with the coordinator at its centre.
#[derive(Debug)]
pub struct StreamComm {
    process_number: u32,
    size: u32,
    description: String,
    queues: Vec<Option<SyncSender<Vec<u8>>>>,
    /// Reports processes whose queue is full, each once.
    full: Mutex<(Sender<Incoming>, BTreeSet<u32>)>,
    /// The writer threads, each with its process.
    writers: Mutex<Vec<(u32, JoinHandle<()>)>>,
    incoming: Mutex<Receiver<Incoming>>,
}

impl StreamComm {
    /// The coordinator (process 0) has one stream per other process, in order; every other process
    /// has one stream, to the coordinator.
    pub fn new(process_number: u32, size: u32, streams: Vec<Duplex>, description: &str) -> StreamComm {
        let (incoming_tx, incoming) = channel();
        let mut queues: Vec<Option<SyncSender<Vec<u8>>>> = (0..size).map(|_| None).collect();
        let mut writers = Vec::new();
        for (number, stream) in streams.into_iter().enumerate() {
            let from = if process_number == 0 { number as u32 + 1 } else { 0 };
            let Duplex { mut reader, mut writer } = stream;
            let to_owner = incoming_tx.clone();
            // Never joined: the thread exits when its stream ends or this process exits.
            let reads = thread::Builder::new().spawn(move || {
                loop {
                    let next = match reader.read() {
                        Ok(bytes) => Incoming::Message { from, bytes },
                        Err(error) => {
                            let why = match error.kind() {
                                io::ErrorKind::UnexpectedEof => PROCESS_ENDED.to_owned(),
                                io::ErrorKind::InvalidData => error.to_string(),
                                _ => format!("the connection broke: {error}"),
                            };
                            let _ = to_owner.send(Incoming::Lost { process: from, why });
                            return;
                        }
                    };
                    if to_owner.send(next).is_err() {
                        return;
                    }
                }
            });
            let (queue, waiting) = sync_channel::<Vec<u8>>(MAX_QUEUED);
            let to_owner = incoming_tx.clone();
            let writes = thread::Builder::new().spawn(move || {
                for message in waiting {
                    // An empty message is the last one.
                    if message.is_empty() {
                        let _ = writer.finish();
                        return;
                    }
                    if let Err(error) = writer.write(&message) {
                        let why = format!("the connection broke: {error}");
                        let _ = to_owner.send(Incoming::Lost { process: from, why });
                        return;
                    }
                }
            });
            match reads.and(writes) {
                Ok(writes) => writers.push((from, writes)),
                Err(error) => {
                    let why = format!("cannot start a thread for its connection: {error}");
                    let _ = incoming_tx.send(Incoming::Lost { process: from, why });
                }
            }
            if let Some(place) = queues.get_mut(from as usize) {
                *place = Some(queue);
            }
        }
        StreamComm {
            process_number,
            size,
            description: description.to_owned(),
            queues,
            full: Mutex::new((incoming_tx, BTreeSet::new())),
            writers: Mutex::new(writers),
            incoming: Mutex::new(incoming),
        }
    }
}

impl Comm for StreamComm {
    fn process_number(&self) -> u32 {
        self.process_number
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn describe(&self) -> String {
        self.description.clone()
    }

    fn send(&self, to: u32, message: &[u8]) {
        let Some(Some(queue)) = self.queues.get(to as usize) else {
            return;
        };
        if let Err(TrySendError::Full(_)) = queue.try_send(message.to_vec()) {
            let mut full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
            if full.1.insert(to) {
                let why = queue_full_reason();
                let _ = full.0.send(Incoming::Lost { process: to, why });
            }
        }
    }

    fn receive(&self, timeout: Duration) -> Option<Incoming> {
        let incoming = self.incoming.lock().unwrap_or_else(PoisonError::into_inner);
        match incoming.recv_timeout(timeout) {
            Ok(incoming) => Some(incoming),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                thread::sleep(timeout);
                None
            }
        }
    }

    fn mark_lost(&self, process: u32) {
        let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        writers.retain(|(to, _)| *to != process);
    }

    fn close(&self) {
        let start = Instant::now();
        let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        // An empty message is the last one.
        for queue in self.queues.iter().flatten() {
            let _ = queue.try_send(Vec::new());
        }
        while start.elapsed() < CLOSE_TIMEOUT && writers.iter().any(|(_, writer)| !writer.is_finished()) {
            thread::sleep(Duration::from_millis(1));
        }
        writers.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_stops_reading_is_lost() {
        let ((_held, writer), (reader, _open)) = (io::pipe().unwrap(), io::pipe().unwrap());
        let stream = Duplex::unsealed(Box::new(reader), Box::new(writer));
        let comm = StreamComm::new(0, 2, vec![stream], "pipes");
        // In addition to the queued messages, some are in the pipe, which holds 64 KiB, and one is
        // being written.
        for _ in 0..MAX_QUEUED + 80 {
            comm.send(1, &[1; 1024]);
        }
        let Some(Incoming::Lost { process: 1, why }) = comm.receive(Duration::from_secs(10)) else {
            panic!("no loss was reported");
        };
        assert!(why.contains("are waiting"), "{why}");
        assert_eq!(
            comm.receive(Duration::from_millis(1)),
            None,
            "the loss is reported once"
        );
    }
}
