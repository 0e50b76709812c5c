//! Messages over pairs of byte streams: the pipes of `ssh HOST fathom worker`, or TCP with a token that both sides know.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::comm::{Comm, Incoming, MAX_WAITING, too_many_wait};

/// Longest message: results of a large test in full.
const MAX_FRAME: u32 = 1 << 30;
/// Why a process is lost whose stream has ended.
pub const PROCESS_ENDED: &str = "its process has ended";
/// How long [`Comm::close`] waits for what was handed over to go.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Two byte streams to one process, and what it is called.
pub struct Duplex {
    /// What comes from it.
    pub reader: Box<dyn Read + Send>,
    /// What goes to it.
    pub writer: Box<dyn Write + Send>,
}

impl std::fmt::Debug for Duplex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Duplex")
    }
}

/// Processes at the ends of streams: a star with this one in its middle, or at one of its points.
#[derive(Debug)]
pub struct StreamComm {
    rank: u32,
    size: u32,
    words: String,
    queues: Vec<Option<SyncSender<Vec<u8>>>>,
    /// What is told of processes that take nothing any more, once.
    full: Mutex<(Sender<Incoming>, BTreeSet<u32>)>,
    /// With the process to which each writes.
    writers: Mutex<Vec<(u32, JoinHandle<()>)>>,
    incoming: Mutex<Receiver<Incoming>>,
}

impl StreamComm {
    /// The middle, as process 0, of streams to the processes 1, 2, … in their order; or the process `rank` with one stream to
    /// the middle.
    pub fn new(rank: u32, size: u32, streams: Vec<Duplex>, words: &str) -> StreamComm {
        let (tell, incoming) = channel();
        let mut queues: Vec<Option<SyncSender<Vec<u8>>>> = (0..size).map(|_| None).collect();
        let mut writers = Vec::new();
        for (number, stream) in streams.into_iter().enumerate() {
            let from = if rank == 0 { number as u32 + 1 } else { 0 };
            let Duplex { mut reader, mut writer } = stream;
            let told = tell.clone();
            // It ends with its stream, or with the process.
            thread::spawn(move || {
                loop {
                    let next = match read_frame(&mut reader) {
                        Ok(bytes) => Incoming::Message { from, bytes },
                        Err(error) => {
                            let why = match error.kind() {
                                io::ErrorKind::UnexpectedEof => PROCESS_ENDED.to_owned(),
                                _ => format!("the connection broke: {error}"),
                            };
                            let _ = told.send(Incoming::Lost { from, why });
                            return;
                        }
                    };
                    if told.send(next).is_err() {
                        return;
                    }
                }
            });
            let (queue, waiting) = sync_channel::<Vec<u8>>(MAX_WAITING);
            let told = tell.clone();
            let writes = thread::spawn(move || {
                for message in waiting {
                    if let Err(error) = write_frame(&mut writer, &message) {
                        let why = format!("the connection broke: {error}");
                        let _ = told.send(Incoming::Lost { from, why });
                        return;
                    }
                }
            });
            writers.push((from, writes));
            if let Some(place) = queues.get_mut(from as usize) {
                *place = Some(queue);
            }
        }
        StreamComm {
            rank,
            size,
            words: words.to_owned(),
            queues,
            full: Mutex::new((tell, BTreeSet::new())),
            writers: Mutex::new(writers),
            incoming: Mutex::new(incoming),
        }
    }
}

impl Comm for StreamComm {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn describe(&self) -> String {
        self.words.clone()
    }

    fn send(&self, to: u32, message: &[u8]) {
        let Some(Some(queue)) = self.queues.get(to as usize) else {
            return;
        };
        if let Err(TrySendError::Full(_)) = queue.try_send(message.to_vec()) {
            let mut full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
            if full.1.insert(to) {
                let why = too_many_wait();
                let _ = full.0.send(Incoming::Lost { from: to, why });
            }
        }
    }

    fn receive(&self, within: Duration) -> Option<Incoming> {
        let incoming = self.incoming.lock().unwrap_or_else(PoisonError::into_inner);
        match incoming.recv_timeout(within) {
            Ok(one) => Some(one),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                thread::sleep(within);
                None
            }
        }
    }

    fn give_up(&self, on: u32) {
        let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        writers.retain(|(to, _)| *to != on);
    }

    fn close(&self) {
        let begun = Instant::now();
        let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        // An empty message is the last one.
        for queue in self.queues.iter().flatten() {
            let _ = queue.try_send(Vec::new());
        }
        while begun.elapsed() < CLOSE_TIMEOUT && writers.iter().any(|(_, writer)| !writer.is_finished()) {
            thread::sleep(Duration::from_millis(1));
        }
        writers.clear();
    }
}

fn read_frame(reader: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    reader.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length == 0 {
        // The other side has said all.
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if length > MAX_FRAME {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "this is no message of fathom",
        ));
    }
    let mut bytes = Vec::new();
    reader.take(u64::from(length)).read_to_end(&mut bytes)?;
    match bytes.len() == length as usize {
        true => Ok(bytes),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn write_frame(writer: &mut dyn Write, message: &[u8]) -> io::Result<()> {
    let length = u32::try_from(message.len()).map_err(|_| io::ErrorKind::InvalidData)?;
    writer.write_all(&length.to_le_bytes())?;
    writer.write_all(message)?;
    writer.flush()?;
    match message.is_empty() {
        true => Err(io::ErrorKind::WriteZero.into()),
        false => Ok(()),
    }
}

/// Which side of a connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It leads.
    Coordinator,
    /// It carries out what it is told.
    Agent,
}

const NONCE: usize = 32;
const GREETING: &[u8; 8] = b"fathom\x00\x01";

/// Both sides show that they know the token, without telling it: each answers a question that the other has just made up (HMAC,
/// RFC 2104, with SHA-256). What follows is neither secret nor sealed: across a network that is not yours, go through ssh.
///
/// # Errors
/// `PermissionDenied` if the other side does not know the token, `InvalidData` if it is no fathom, and those of the connection.
pub fn introduce(stream: &mut (impl Read + Write), role: Role, token: &str) -> io::Result<()> {
    let mut question = [0; NONCE];
    getrandom::fill(&mut question).map_err(|error| io::Error::other(error.to_string()))?;
    stream.write_all(GREETING)?;
    stream.write_all(&question)?;
    stream.flush()?;
    let mut greeting = [0; GREETING.len()];
    stream.read_exact(&mut greeting).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => io::Error::new(
            io::ErrorKind::TimedOut,
            "it says nothing: it serves another one, or is no fathom",
        ),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => io::Error::new(
            io::ErrorKind::InvalidData,
            "it ends the connection without a greeting: it is no fathom",
        ),
        _ => error,
    })?;
    if greeting != *GREETING {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "what answers there is no fathom of this form",
        ));
    }
    let mut asked = [0; NONCE];
    stream.read_exact(&mut asked)?;
    let other = match role {
        Role::Coordinator => Role::Agent,
        Role::Agent => Role::Coordinator,
    };
    stream.write_all(&answer(token, role, &asked, &question).finalize().into_bytes())?;
    stream.flush()?;
    let mut answered = [0; NONCE];
    let refused = || {
        io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the two sides do not have the same token",
        )
    };
    // Whoever is not answered has given a wrong answer itself.
    stream.read_exact(&mut answered).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => refused(),
        _ => error,
    })?;
    answer(token, other, &question, &asked)
        .verify_slice(&answered)
        .map_err(|_| refused())
}

/// What the side `of` answers to a question, having asked another.
fn answer(token: &str, of: Role, asked: &[u8], own: &[u8]) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(token.as_bytes()).expect("any key will do");
    mac.update(match of {
        Role::Coordinator => b"head",
        Role::Agent => b"rank",
    });
    mac.update(asked);
    mac.update(own);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_takes_nothing_any_more_is_lost() {
        let ((_held, writer), (reader, _open)) = (io::pipe().unwrap(), io::pipe().unwrap());
        let stream = Duplex {
            reader: Box::new(reader),
            writer: Box::new(writer),
        };
        let comm = StreamComm::new(0, 2, vec![stream], "pipes");
        // Besides those that wait, some are in the pipe, which holds 64 KiB, and one with who writes.
        for _ in 0..MAX_WAITING + 80 {
            comm.send(1, &[1; 1024]);
        }
        let Some(Incoming::Lost { from: 1, why }) = comm.receive(Duration::from_secs(10)) else {
            panic!("nobody says so");
        };
        assert!(why.contains("wait for it"), "{why}");
        assert_eq!(comm.receive(Duration::from_millis(1)), None, "it is told once");
    }
}
