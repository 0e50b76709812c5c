//! Names the file that a command waits for before the measurement, if its file system does not
//! answer: a dead server or FUSE daemon blocks every access, and the command would wait in silence.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, sleep};
use std::time::Duration;

use engine::sys;

use crate::screen;

/// Waits that end within this time are not reported.
const NOTICE_DELAY: Duration = Duration::from_secs(2);
/// A file system that takes longer for one access does not answer.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// Starts a thread that names the argument that the command still waits for after two seconds.
pub fn watch(arguments: &[String]) {
    let words = arguments.iter().skip(1);
    // `--save FILE`, `--save=FILE`, `--out json=FILE`
    let paths = words.flat_map(|word| [Some(word.as_str()), word.rsplit_once('=').map(|(_, value)| value)]);
    let paths: Vec<PathBuf> = paths.flatten().map(PathBuf::from).collect();
    let report = move || {
        sleep(NOTICE_DELAY);
        if sys::signals::is_examining()
            && let Some(path) = find_unanswered(paths)
        {
            let path = path.display();
            screen::note(&format!(
                "waiting for {path}: its file system does not answer; Ctrl-C ends the command"
            ));
        }
    };
    // Without the thread, the wait has no name.
    let _ = Builder::new().name("slow-paths".into()).spawn(report);
}

/// Accesses the paths in a thread of its own, and returns the one at which it is stuck.
fn find_unanswered(paths: Vec<PathBuf>) -> Option<PathBuf> {
    let (paths, answered) = (Arc::new(paths), Arc::new(AtomicUsize::new(0)));
    let access_all = {
        let (paths, answered) = (Arc::clone(&paths), Arc::clone(&answered));
        move || {
            for path in &*paths {
                access(path);
                answered.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    Builder::new().name("access".into()).spawn(access_all).ok()?;
    let mut before = 0;
    loop {
        sleep(ANSWER_TIMEOUT);
        let now = answered.load(Ordering::Relaxed);
        match paths.get(now) {
            Some(path) if now == before => return Some(path.clone()),
            Some(_) => before = now,
            None => return None,
        }
    }
}

/// Asks for the attributes of a path. Only the time counts, not the outcome. Reads nothing: a
/// thread that waits for data of a FUSE daemon cannot be killed, and would keep the process alive.
fn access(path: &Path) {
    if fs::metadata(path).is_err() {
        // The directory of a new file.
        drop(path.parent().map(fs::metadata));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_answer_are_not_named() {
        let folder = std::env::temp_dir();
        let paths = [
            folder.clone(),
            folder.join("fathom-none"),
            "null".into(),
            PathBuf::new(),
        ];
        assert_eq!(find_unanswered(paths.to_vec()), None);
    }
}
