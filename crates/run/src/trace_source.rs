//! Reads the entries of a trace in a separate thread. A worker replays them. The entries pass
//! through a bounded ring, which is filled before the worker starts. So a long trace costs neither
//! memory nor the worker's time. A worker that finds the ring empty waits, and the wait is counted.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::sys::file::open_without_waiting;
use model::plan::Replay;
use model::trace::{Entry, Feed, Reader};
use rtrb::{Consumer, Producer, RingBuffer};

/// The size of a worker's ring in entries.
const MAX_ENTRIES: usize = 1 << 16;
/// The total size of a job's rings in entries.
const MAX_ENTRIES_OF_JOB: usize = 1 << 21;
/// How long the reader sleeps when there is no room.
const READER_PAUSE: Duration = Duration::from_micros(200);

/// The worker's end of a trace.
#[derive(Debug)]
pub(crate) struct TraceSource {
    entries: Consumer<Entry>,
    shared: Arc<ReaderState>,
}

#[derive(Debug, Default)]
struct ReaderState {
    /// Everything readable is in the ring.
    ended: AtomicBool,
    error: Mutex<Option<String>>,
}

/// The next entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextEntry {
    /// An entry.
    Entry(Entry),
    /// The reader has not read the next entry yet.
    NotYet,
    /// The trace has ended, or reading has failed.
    End,
}

impl TraceSource {
    /// Starts reading a trace for one of `workers`, and waits until the ring is full.
    ///
    /// # Errors
    /// The system's error, if the trace cannot be opened or read.
    pub(crate) fn open(replay: &Replay, workers: usize) -> std::io::Result<TraceSource> {
        let room = (MAX_ENTRIES_OF_JOB / workers.max(1)).clamp(256, MAX_ENTRIES);
        TraceSource::with_room_for(room, replay)
    }

    fn with_room_for(room: usize, replay: &Replay) -> std::io::Result<TraceSource> {
        let feed = Feed::new(open_without_waiting(Path::new(&replay.trace))?, Reader::new(replay));
        let (producer, entries) = RingBuffer::new(room);
        let shared = Arc::new(ReaderState::default());
        let source = TraceSource {
            entries,
            shared: Arc::clone(&shared),
        };
        std::thread::Builder::new().name("trace".into()).spawn(move || {
            // A reader that fails yields nothing more.
            let _end = EndOnDrop(Arc::clone(&shared));
            if let Err(error) = read_all(feed, producer)
                && let Ok(mut place) = shared.error.lock()
            {
                *place = Some(error.to_string());
            }
        })?;
        while source.entries.slots() < room && !source.shared.ended.load(Ordering::Acquire) {
            std::thread::sleep(READER_PAUSE);
        }
        Ok(source)
    }

    /// The next entry, without removing it.
    #[inline]
    pub(crate) fn peek(&self) -> NextEntry {
        if let Ok(entry) = self.entries.peek() {
            return NextEntry::Entry(*entry);
        }
        self.peek_empty()
    }

    #[cold]
    fn peek_empty(&self) -> NextEntry {
        // Read the flag first, so that entries before the end are seen below.
        let ended = self.shared.ended.load(Ordering::Acquire);
        match (self.entries.peek(), ended) {
            (Ok(entry), _) => NextEntry::Entry(*entry),
            (Err(_), true) => NextEntry::End,
            (Err(_), false) => NextEntry::NotYet,
        }
    }

    /// Removes the next entry after its replay.
    #[inline]
    pub(crate) fn advance(&mut self) {
        let _ = self.entries.pop();
    }

    /// Why reading failed, if it did.
    pub(crate) fn error(&self) -> Option<String> {
        self.shared.error.lock().ok().and_then(|error| error.clone())
    }
}

/// Signals the end of reading, even after a panic.
struct EndOnDrop(Arc<ReaderState>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Release);
    }
}

fn read_all(mut feed: Feed<File>, mut ring: Producer<Entry>) -> Result<(), model::trace::TraceError> {
    // The survey has reported skipped entries.
    let (mut entries, mut notes) = (Vec::new(), Vec::new());
    let mut has_more = true;
    while has_more {
        has_more = feed.next(&mut entries, &mut notes)?;
        notes.clear();
        for mut entry in entries.drain(..) {
            while let Err(rtrb::PushError::Full(rejected)) = ring.push(entry) {
                if ring.is_abandoned() {
                    return Ok(());
                }
                entry = rejected;
                std::thread::sleep(READER_PAUSE);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use model::plan::{TraceForm, TraceSkip};
    use model::trace::EntryAction;

    use super::*;

    fn source(lines: &str, room: usize) -> TraceSource {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(lines.as_bytes()).unwrap();
        let replay = Replay {
            trace: file.path().display().to_string(),
            form: TraceForm::FioText,
            files: vec!["x".into()],
            redirected: false,
            flushes: false,
            without_times: false,
            speed_percent: 100,
            scale: 1,
            align: 0,
            skip: TraceSkip::default(),
        };
        TraceSource::with_room_for(room, &replay).unwrap()
    }

    fn offsets(mut source: TraceSource) -> (Vec<u64>, Option<String>) {
        let mut offsets = Vec::new();
        loop {
            match source.peek() {
                NextEntry::Entry(entry) => {
                    source.advance();
                    if let EntryAction::Move(operation) = entry.what {
                        offsets.push(operation.offset);
                    }
                }
                NextEntry::NotYet => std::thread::yield_now(),
                NextEntry::End => return (offsets, source.error()),
            }
        }
    }

    fn trace(operations: u64) -> String {
        let head = "fio version 3 iolog\n0 x add\n0 x open\n".to_owned();
        (0..operations).fold(head, |text, number| format!("{text}{number} x read {number} 512\n"))
    }

    #[test]
    fn the_memory_of_a_trace_is_bounded() {
        // The ring, the current piece, and the entries of a piece with the shortest possible lines.
        let entry = size_of::<Entry>();
        let of_piece = (256 << 10) / "0 x read 0 1\n".len() * entry;
        assert!(
            MAX_ENTRIES * entry + (256 << 10) + of_piece < 4 << 20,
            "{entry} bytes for an entry"
        );
    }

    #[test]
    fn a_trace_longer_than_the_ring_is_complete_and_in_order() {
        for room in [1, 2, 7, 1000] {
            let (offsets, error) = offsets(source(&trace(500), room));
            assert_eq!(offsets, (0..500).collect::<Vec<u64>>());
            assert_eq!(error, None);
        }
    }

    #[test]
    fn a_broken_trace_reports_an_error_after_its_valid_entries() {
        let broken = format!("{}9999 y read 0 512\n", trace(10));
        let (offsets, error) = offsets(source(&broken, 4));
        // Nothing of an unreadable piece is replayed.
        assert!(offsets.is_empty());
        assert!(error.unwrap().contains("names y"));
    }

    #[test]
    fn a_reader_ends_with_its_worker() {
        let source = source(&trace(500), 4);
        let shared = Arc::clone(&source.shared);
        drop(source);
        while !shared.ended.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    }
}
