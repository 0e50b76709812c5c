//! CPU time of all processes, to report the busiest.

use std::collections::HashMap;

use model::Nanos;
use model::seconds::BusyProcess;

use super::System;

/// Length of a tick in `/proc/PID/stat`: `USER_HZ` is 100 on every supported architecture.
const TICK: Nanos = Nanos::millis(10);

/// CPU time of each process at one moment.
#[derive(Clone, Debug, Default)]
pub struct ProcessTimes(HashMap<u32, (String, Nanos)>);

impl ProcessTimes {
    /// Reads one file for each process. Empty if the system has no such file.
    pub fn read(system: &System) -> ProcessTimes {
        let pids = system
            .list_names("/proc")
            .into_iter()
            .filter_map(|name| name.parse().ok());
        let read_process = |pid: u32| Some((pid, parse(&system.read_text(&format!("/proc/{pid}/stat"))?)?));
        ProcessTimes(pids.filter_map(read_process).collect())
    }

    /// Up to three processes that used the most CPU time since `earlier`, without `own`, busiest
    /// first.
    pub fn busiest_since(&self, earlier: &ProcessTimes, own: u32) -> Vec<BusyProcess> {
        let others = self.0.iter().filter(|(pid, _)| **pid != own);
        let used = others.filter_map(|(pid, (name, cpu))| {
            let before = earlier.0.get(pid).map_or(Nanos(0), |(_, before)| *before);
            let cpu_ns = cpu.since(before);
            (cpu_ns > Nanos(0)).then(|| BusyProcess {
                name: name.clone(),
                pid: *pid,
                cpu_ns,
            })
        });
        let mut used: Vec<BusyProcess> = used.collect();
        used.sort_by_key(|process| (std::cmp::Reverse(process.cpu_ns), process.pid));
        used.truncate(3);
        used
    }
}

/// Parses name and CPU time in `/proc/PID/stat`. The name may contain spaces and parentheses.
fn parse(text: &str) -> Option<(String, Nanos)> {
    let (open, close) = (text.find('(')?, text.rfind(')')?);
    let name = text.get(open + 1..close)?.to_owned();
    let mut fields = text.get(close + 1..)?.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let (user, system) = (ticks()?, ticks()?);
    Some((name, Nanos((user + system) * TICK.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_names_may_contain_anything() {
        let line = "42 (a) b (c) R 1 42 42 0 -1 4194304 90 0 0 0 150 50 0 0 20 0 1 0 100 0 0";
        assert_eq!(parse(line), Some(("a) b (c".into(), Nanos::secs(2))));
        assert_eq!(parse("42 (x"), None);
    }

    #[test]
    fn the_busiest_come_first_without_this_process() {
        let times = |list: &[(u32, u64)]| {
            let process = |(pid, secs): &(u32, u64)| (*pid, (format!("p{pid}"), Nanos::secs(*secs)));
            ProcessTimes(list.iter().map(process).collect())
        };
        let before = times(&[(1, 10), (2, 0), (3, 5)]);
        let after = times(&[(1, 10), (2, 3), (3, 6), (4, 2), (9, 50)]);
        let busiest = after.busiest_since(&before, 9);
        let names: Vec<&str> = busiest.iter().map(|process| process.name.as_str()).collect();
        assert_eq!(names, ["p2", "p4", "p3"]);
    }
}
