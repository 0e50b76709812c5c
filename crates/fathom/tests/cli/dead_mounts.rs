//! File systems that never answer: a FUSE mount whose daemon reads no request.

use std::io::Read;
use std::process::Child;

use crate::prelude::*;
use crate::support::faulty_fs;

/// A mount on which every access waits for ever.
struct DeadMount {
    folder: tempfile::TempDir,
    /// Keeps the connection to the kernel open.
    daemon: Child,
}

impl DeadMount {
    fn new() -> DeadMount {
        let folder = tempfile::tempdir().unwrap();
        let script = "exec 5<>/dev/fuse; mount -i -t fuse -o fd=5,rootmode=40000,user_id=0,group_id=0 dead \"$0\"; \
                      echo; exec sleep 100";
        let mut shell = Command::new("sh");
        shell.args(["-c", script, text(folder.path())]).stdout(Stdio::piped());
        let mut daemon = shell.spawn().unwrap();
        // The line follows the mount.
        daemon.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        DeadMount { folder, daemon }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("x")
    }
}

impl Drop for DeadMount {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", text(self.folder.path())]).status();
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

#[test]
fn a_wait_for_a_dead_file_system_is_named_and_ends_with_the_first_signal() {
    need!(faulty_fs());
    let dead = DeadMount::new();
    let file = dead.file();
    for line in [
        "run --time 1s -q --target FILE",
        "run --target null --time 1s -q --save FILE",
        "explain FILE",
    ] {
        let child = spawn(&mut command(&split_words(&line.replace("FILE", text(&file)))));
        std::thread::sleep(Duration::from_millis(3500));
        signal(&child, "INT");
        let named = format!("waiting for {}: its file system does not answer", file.display());
        end(child).expect(130, &[&named]);
    }
}

/// The report was printed, so only the record is lost.
#[test]
fn a_history_that_does_not_answer_delays_no_command() {
    need!(faulty_fs());
    let dead = DeadMount::new();
    for (stops, seconds) in [(false, 12), (true, 5)] {
        let run = split_words("run --target null --operations 1 -q");
        let child = spawn(command(&run).env("FATHOM_HISTORY", dead.file()));
        let begun = Instant::now();
        if stops {
            std::thread::sleep(Duration::from_secs(2));
            signal(&child, "INT");
        }
        let ran = end(child);
        ran.exits(0)
            .prints(&["IOPS", "this result is not in the history", "did not answer within"]);
        assert!(begun.elapsed() < Duration::from_secs(seconds), "{ran:#?}");
    }
}
