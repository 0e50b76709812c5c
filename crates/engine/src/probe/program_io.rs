//! Bytes that programs read and write, to report which ones use a device during a test.

use std::collections::HashMap;

use model::Bytes;
use model::environment::{BusyProgram, is_kernel_thread};

use super::System;

/// With more processes than this, reading would delay the run and is skipped.
const MAX_PROCESSES: usize = 2000;
/// Number of programs reported.
const MAX_NAMED: usize = 5;

/// Bytes that each other program has read and written so far, for programs that this user may see.
#[derive(Clone, Debug, Default)]
pub struct ProgramIo(HashMap<u32, (String, u64)>);

impl ProgramIo {
    /// Reads a file for each process, and another for its name if it moved any bytes. Empty if the
    /// system has none.
    pub fn read(system: &System) -> ProgramIo {
        let processes = system.list_names("/proc").into_iter();
        let processes: Vec<u32> = processes.filter_map(|name| name.parse().ok()).collect();
        if processes.len() > MAX_PROCESSES {
            return ProgramIo::default();
        }
        let own_pid = std::process::id();
        let read_process = |process: u32| {
            let bytes = bytes_moved(system, &process.to_string()).filter(|bytes| *bytes > 0)?;
            Some((process, (system.read_trimmed(&format!("/proc/{process}/comm"))?, bytes)))
        };
        let others = processes.into_iter().filter(|process| *process != own_pid);
        ProgramIo(others.filter_map(read_process).collect())
    }

    /// Bytes that this process has read and written so far; `None` if the system does not count
    /// them.
    pub fn own_bytes(system: &System) -> Option<u64> {
        bytes_moved(system, "self")
    }

    /// Bytes that this process has read from devices so far; `None` if the system does not count
    /// them.
    pub fn own_reads(system: &System) -> Option<u64> {
        parse_counter(&system.read_text("/proc/self/io")?, "read_bytes:")
    }

    /// Programs with I/O since an earlier reading, the busiest first.
    pub fn busiest_since(&self, earlier: &ProgramIo) -> Vec<BusyProgram> {
        let moved = self.0.iter().filter_map(|(process, (name, bytes))| {
            let before = earlier.0.get(process).filter(|(known, _)| known == name);
            let bytes = Bytes(bytes.saturating_sub(before.map_or(0, |(_, bytes)| *bytes)));
            (bytes.0 > 0).then(|| BusyProgram {
                process: *process,
                name: name.clone(),
                bytes,
            })
        });
        let mut programs: Vec<BusyProgram> = moved.collect();
        // Kernel workers come last, because they do the I/O of programs, which a user can stop.
        programs.sort_by_key(|program| {
            (
                is_kernel_thread(&program.name),
                std::cmp::Reverse(program.bytes),
                program.process,
            )
        });
        programs.truncate(MAX_NAMED);
        programs
    }
}

/// Bytes that a process transferred from and to devices. Reads from the page cache do not count; a
/// write counts once it is in the page cache.
fn bytes_moved(system: &System, process: &str) -> Option<u64> {
    let text = system.read_text(&format!("/proc/{process}/io"))?;
    Some(parse_counter(&text, "read_bytes:")? + parse_counter(&text, "write_bytes:")?)
}

fn parse_counter(text: &str, key: &str) -> Option<u64> {
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::super::system::tree;
    use super::*;

    fn program_io(programs: &[(u32, &str, u64)]) -> ProgramIo {
        let io = |(process, _, bytes): &(u32, &str, u64)| {
            let text = format!("rchar: 7\nread_bytes: {bytes}\nwrite_bytes: 0\ncancelled_write_bytes: 3\n");
            (format!("proc/{process}/io"), text)
        };
        let comm = |(process, name, _): &(u32, &str, u64)| (format!("proc/{process}/comm"), format!("{name}\n"));
        let files: Vec<(String, String)> = programs
            .iter()
            .flat_map(|program| [io(program), comm(program)])
            .collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
        let (_root, system) = tree(&files);
        ProgramIo::read(&system)
    }

    #[test]
    fn kernel_threads_are_known_by_their_names() {
        for name in ["kworker/u8:2", "jbd2/sda1-8", "loop0", "md127_raid1", "System"] {
            assert!(is_kernel_thread(name), "{name}");
        }
        for name in ["mysqld", "loopback", "mdadm", "md5sum", "nfsd"] {
            assert!(!is_kernel_thread(name), "{name}");
        }
    }

    #[test]
    fn programs_with_the_most_io_come_first() {
        let before = program_io(&[(1, "a", 100), (2, "b", 50), (3, "old", 9000), (5, "woken", 0)]);
        let after = program_io(&[
            (1, "a", 100),
            (2, "b", 90),
            (3, "new", 9500),
            (4, "kworker/1:0", 99_999),
            (5, "woken", 30),
            (6, "idle", 0),
        ]);
        let busiest = after.busiest_since(&before).into_iter();
        let busiest: Vec<(String, u64)> = busiest.map(|program| (program.name, program.bytes.0)).collect();
        let expected = [("new", 9500), ("b", 40), ("woken", 30), ("kworker/1:0", 99_999)];
        assert_eq!(busiest, expected.map(|(name, bytes)| (name.to_owned(), bytes)));
    }
}
