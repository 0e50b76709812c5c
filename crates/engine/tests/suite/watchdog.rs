//! Ends the process if a test hangs, and names the test.

use std::sync::{Mutex, Once};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

static WATCHED: Mutex<Vec<(u64, Instant, String)>> = Mutex::new(Vec::new());

/// While this exists, a test is expected to end soon.
pub struct Watched(u64);

/// Ends the process if the guard is not dropped in time: a call that hangs in the kernel cannot be
/// ended otherwise.
pub fn watch(what: &str) -> Watched {
    static BARK: Once = Once::new();
    BARK.call_once(|| {
        thread::spawn(bark);
    });
    let mut watched = WATCHED.lock().unwrap();
    let id = watched.last().map_or(0, |last| last.0 + 1);
    let test = thread::current().name().unwrap_or_default().to_owned();
    watched.push((id, Instant::now() + PATIENCE, format!("{test}: {what}")));
    Watched(id)
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Ok(mut watched) = WATCHED.lock() {
            watched.retain(|(id, ..)| *id != self.0);
        }
    }
}

fn bark() {
    loop {
        thread::sleep(Duration::from_millis(500));
        let late = |entry: &&(u64, Instant, String)| entry.1 < Instant::now();
        if let Some((_, _, what)) = WATCHED.lock().unwrap().iter().find(late) {
            eprintln!("hangs: {what}");
            std::process::abort();
        }
    }
}
