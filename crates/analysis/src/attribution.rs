//! Attributes each missed second of a paced load to the storage, the generator or other programs.
//! The schedule of a paced load gives the operations due in each second. If fewer completed, the
//! facts of that second decide: slots in use, I/O of other programs on the device, and the time for
//! which our threads waited for a processor. An average over the window could not distinguish a
//! disk whose credits ran out halfway from a generator that was always slow.

use model::environment::{BusyProgram, is_kernel_thread};
use model::observation::{Observation, Second};
use model::{Bytes, Nanos};

use crate::requirement::Metric;

/// A second is missed if less than this share of the due operations completed.
const MISSED_BELOW: f64 = 0.99;
/// From this share on, all slots count as in use.
const MIN_SHARE_IN_USE: f64 = 0.95;
/// Minimum share of missing operations due without a free slot for the storage to be at fault.
const MIN_BLOCKED_SHARE: f64 = 0.9;
/// Any other cause must explain at least this share of the missing operations.
const MIN_EXPLAINED_SHARE: f64 = 0.5;
/// Minimum share of a thread's time spent waiting for a processor. A shorter wait is not a
/// disturbance.
const MIN_WAITED_SHARE: f64 = 0.02;
/// A longer interval means that the loop was paused at the end of the interval.
const MIN_PAUSE_SECS: f64 = 1.5;
/// Minimum share of the latency spent waiting for a processor. With a smaller share, the latency is
/// not disturbed.
const MIN_WAITED_SHARE_OF_LATENCY: f64 = 0.1;
/// From this share of all processor time on, other programs keep the processors busy.
const MIN_OTHERS_CPU_SHARE: f64 = 0.5;
/// If the storage caused at least this share of the missing operations ...
const MIN_CLEAR_SHARE: f64 = 0.5;
/// ... and it missed more than this share of all due operations, the promise is broken. Other
/// disturbances then do not matter.
const MIN_CLEAR_SHORTFALL: f64 = 0.05;
/// Minimum share of the device's bytes from others before a latency counts as disturbed.
const MIN_OTHERS_BYTES_SHARE: f64 = 0.1;

/// The cause of a missed second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Issued operations did not complete in time, filled every slot, or exceeded the latency
    /// limit.
    Storage,
    /// Slots were free and operations were issued late.
    Generator,
    /// Other programs used the device.
    OtherIo,
    /// Other programs, or other virtual machines, used the processors.
    OtherCpu,
}

/// A second in which fewer operations completed than were due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MissedSecond {
    /// Seconds from the start of the measured window.
    pub at: f64,
    /// Operations that were due and did not complete.
    pub operations: f64,
    /// What delayed these operations.
    pub fault: Fault,
}

/// All missed seconds of a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attribution {
    /// The missed seconds, in time order.
    pub missed: Vec<MissedSecond>,
    /// Operations due in all seconds.
    pub due: f64,
    /// Operations in excess of those due, in seconds that caught up.
    pub caught_up: f64,
    /// Operations issued.
    pub issued: u64,
    /// Operations that were due when every slot was taken.
    pub blocked: u64,
    /// Longest wait for a slot in seconds.
    pub blocked_secs_max: f64,
}

impl Attribution {
    /// Finds the cause of each missed second; `None` if the load was not paced or its seconds were
    /// not recorded. Service times above `limit_ns` are the storage's fault.
    pub fn new(observation: &Observation, limit_ns: Option<f64>) -> Option<Attribution> {
        let rate = observation.load.rate_iops?;
        let seconds = &observation.seconds;
        if seconds.iter().all(|second| second.facts.queue.queues_ns.0 == 0) {
            return None;
        }
        let others = other_bytes_in_window(seconds);
        let missed = seconds.iter().filter_map(|second| {
            let facts = SecondView::new(second, observation, others);
            let due = rate * second.facts.length_ns.as_secs();
            let operations = due - second.facts.operations as f64;
            (operations > (1.0 - MISSED_BELOW) * due && operations > 1.0).then(|| MissedSecond {
                at: second.facts.start_ns.as_secs(),
                operations,
                fault: facts.fault(due, operations, limit_ns),
            })
        });
        let due = |second: &Second| rate * second.facts.length_ns.as_secs();
        let surplus = |second: &Second| (second.facts.operations as f64 - due(second)).max(0.0);
        Some(Attribution {
            missed: missed.collect(),
            due: seconds.iter().map(due).sum(),
            caught_up: seconds.iter().map(surplus).sum(),
            issued: seconds.iter().map(|second| second.facts.queue.issued).sum(),
            blocked: seconds.iter().map(|second| second.facts.queue.blocked).sum(),
            blocked_secs_max: seconds
                .iter()
                .map(|second| second.facts.queue.blocked_ns_max.as_secs())
                .fold(0.0, f64::max),
        })
    }

    /// Operations missing in seconds of this fault.
    pub fn missing_operations(&self, fault: Fault) -> f64 {
        let with_fault = self.missed.iter().filter(|missed| missed.fault == fault);
        with_fault.map(|missed| missed.operations).sum()
    }

    /// The share of missing operations in seconds of this fault; 0 if none is missing.
    pub fn share(&self, fault: Fault) -> f64 {
        let all: f64 = self.missed.iter().map(|missed| missed.operations).sum();
        if all > 0.0 {
            self.missing_operations(fault) / all
        } else {
            0.0
        }
    }

    /// True if the storage alone missed clearly more than `tolerance`, a share of the due
    /// operations. Even if every other second had been perfect, the promise would be broken.
    pub fn storage_alone_fails(&self, tolerance: f64) -> bool {
        let missed = self.missing_operations(Fault::Storage) - self.caught_up;
        self.share(Fault::Storage) >= MIN_CLEAR_SHARE && missed > tolerance.max(MIN_CLEAR_SHORTFALL) * self.due
    }

    /// Number of seconds of this fault.
    pub fn seconds(&self, fault: Fault) -> usize {
        self.missed.iter().filter(|missed| missed.fault == fault).count()
    }

    /// The cause with the most missing operations, apart from the storage.
    pub fn main_other_fault(&self) -> Option<Fault> {
        let others = [Fault::Generator, Fault::OtherIo, Fault::OtherCpu];
        let present = others.into_iter().filter(|fault| self.missing_operations(*fault) > 0.0);
        present.max_by(|a, b| self.missing_operations(*a).total_cmp(&self.missing_operations(*b)))
    }

    /// The share of operations that were due when every slot was taken.
    pub fn blocked_share(&self) -> f64 {
        self.blocked as f64 / self.issued.max(1) as f64
    }
}

/// A period in which a paced load catches up. The storage then serves more than the promised rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backlog {
    /// Time of the first missed operations, in seconds.
    pub from: f64,
    /// Time when the load had caught up, in seconds.
    pub until: f64,
    /// Cause of the missed operations.
    pub fault: Fault,
}

/// Periods in which a paced load fell behind and caught up, without fault of the storage.
pub fn backlogs(observation: &Observation) -> Vec<Backlog> {
    let attribution = Attribution::new(observation, None);
    let (Some(attribution), Some(rate)) = (attribution, observation.load.rate_iops) else {
        return Vec::new();
    };
    let mut backlogs: Vec<Backlog> = Vec::new();
    let mut is_behind = false;
    for facts in observation.seconds.iter().map(|second| &second.facts) {
        let (at, length) = (facts.start_ns.as_secs(), facts.length_ns.as_secs());
        let missed = attribution.missed.iter().find(|missed| missed.at == at);
        let catches_up = facts.operations as f64 > (2.0 - MISSED_BELOW) * rate * length;
        match missed {
            Some(missed) if missed.fault == Fault::Storage => is_behind = false,
            Some(missed) => {
                backlogs.push(Backlog {
                    from: at,
                    until: at + length,
                    fault: missed.fault,
                });
                is_behind = true;
            }
            None if is_behind && catches_up => {
                if let Some(last) = backlogs.last_mut() {
                    last.until = at + length;
                }
            }
            None => is_behind = false,
        }
    }
    backlogs
}

/// True if a target is a simulated device.
pub(crate) fn is_simulated(observation: &Observation) -> bool {
    let targets = &observation.load.targets;
    targets.iter().any(|target| target.starts_with("simulated:"))
}

/// Begins the list of programs with I/O, after a sentence.
pub(crate) const PROGRAMS: &str = "; programs with I/O on any device during that time: ";

/// Programs that used a smaller share of a processor are not named.
const MIN_NAMED_SHARE: f64 = 0.05;

/// Activity of other programs and machines, for a sentence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OtherActivity {
    /// CPU time of other programs as a share of all processors.
    pub cpu_share: f64,
    /// Number of processors, over all hosts.
    pub processors: f64,
    /// Share of the processor time that the hypervisor gave to other machines.
    pub stolen_share: f64,
    /// The busiest other programs with their shares of one processor.
    pub busiest: Vec<(String, f64)>,
    /// Bytes per second that others moved on the device.
    pub bytes_per_sec: f64,
    /// CPU time of this program as a share of all processors.
    pub own_share: f64,
    /// The longest time, in seconds, for which this program was stopped.
    pub paused_secs: f64,
}

/// Sums the activity of others over all hosts, in the seconds that `within` accepts.
pub fn other_activity(observation: &Observation, within: impl Fn(f64) -> bool) -> OtherActivity {
    let others_in_window = other_bytes_in_window(&observation.seconds);
    let chosen = observation.seconds.iter();
    let chosen = chosen.filter(|second| within(second.facts.start_ns.as_secs()));
    let (mut cpus, mut cpu, mut own_cpu, mut stolen, mut bytes, mut length) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    let (mut programs, mut sampled): (Vec<(String, f64)>, f64) = (Vec::new(), 0.0);
    let mut paused_secs = 0.0_f64;
    for second in chosen {
        length += second.facts.length_ns.as_secs();
        bytes += SecondView::new(second, observation, others_in_window)
            .other_bytes()
            .unwrap_or(0.0);
        // A sample of a machine may cover more time than the operations of its second.
        let covered = second.hosts.iter().map(|host| host.length_ns.as_secs());
        sampled += covered.fold(0.0, f64::max);
        for host in &second.hosts {
            cpus += host.cpus_ns.as_secs();
            cpu += host.others_ns().as_secs();
            own_cpu += host.own_ns.as_secs();
            stolen += host.stolen_ns.as_secs();
            paused_secs = paused_secs.max(host.paused_ns.map_or(0.0, Nanos::as_secs));
            for process in &host.busiest_others {
                let used = process.cpu_ns.as_secs();
                match programs.iter_mut().find(|(name, _)| *name == process.name) {
                    // Programs of the same name count as one, because programs such as `stress`
                    // fork.
                    Some(entry) => entry.1 += used,
                    None => programs.push((process.name.clone(), used)),
                }
            }
        }
    }
    programs.sort_by(|a, b| b.1.total_cmp(&a.1));
    programs.truncate(3);
    let share = |time: f64| if cpus > 0.0 { time / cpus } else { 0.0 };
    // The samples of a short window cover less than a second.
    let sampled = if sampled > 0.0 { sampled } else { 1.0 };
    OtherActivity {
        cpu_share: share(cpu),
        processors: cpus / sampled,
        own_share: share(own_cpu),
        stolen_share: share(stolen),
        paused_secs,
        bytes_per_sec: if length > 0.0 { bytes / length } else { 0.0 },
        busiest: programs
            .into_iter()
            .map(|(name, used)| match &*name {
                "fathom" => ("another fathom".into(), used / sampled),
                _ => (name, used / sampled),
            })
            .collect(),
    }
}

/// True if other programs used at least half of all processor time.
pub(crate) fn others_keep_processors_busy(observation: &Observation) -> bool {
    other_activity(observation, |_| true).cpu_share >= MIN_OTHERS_CPU_SHARE
}

/// Describes what happened in the seconds of a fault.
pub fn describe_fault(fault: Fault, others: &OtherActivity) -> String {
    match fault {
        Fault::Storage => "every slot was in use".into(),
        Fault::Generator if others.paused_secs > 0.0 => format!(
            "fathom or its machine was stopped for up to {:.1} s",
            others.paused_secs
        ),
        Fault::Generator => "slots were free and fathom issued operations late".into(),
        Fault::OtherIo => format!(
            "other programs moved {} on the device",
            Metric::Throughput.show(others.bytes_per_sec)
        ),
        Fault::OtherCpu if others.stolen_share > others.cpu_share => format!(
            "the hypervisor gave {:.0} % of the processors to other machines",
            100.0 * others.stolen_share
        ),
        Fault::OtherCpu => describe_busy_processors(others),
    }
}

/// Describes the processors that others used: `1.9 of 2 processors (rustc 0.4, others 1.5)`.
fn describe_busy_processors(others: &OtherActivity) -> String {
    let used = others.cpu_share * others.processors;
    let mut named = others.busiest.clone();
    named.retain(|(_, share)| *share >= MIN_NAMED_SHARE);
    // The rest of the printed figures, so that their sum is the printed total.
    let round = |share: f64| (10.0 * share).round() / 10.0;
    let rest = round(used) - named.iter().map(|(_, share)| round(*share)).sum::<f64>();
    if !named.is_empty() && rest >= MIN_NAMED_SHARE {
        named.push(("others".into(), rest));
    }
    let named: Vec<String> = named.iter().map(|(name, share)| format!("{name} {share:.1}")).collect();
    let list = match named.is_empty() {
        true => String::new(),
        false => format!(" ({})", named.join(", ")),
    };
    format!(
        "other programs used {used:.1} of {:.0} processors{list}",
        others.processors
    )
}

/// Appends the programs that did at least a tenth of that much I/O. The kernel counts a program's
/// bytes over all devices, so this does not prove that they used this one. Kernel threads have no
/// names here, because a user cannot stop them.
pub(crate) fn name_programs(programs: &[BusyProgram], moved: Bytes) -> String {
    let mut large: Vec<&BusyProgram> = programs.iter().collect();
    large.retain(|program| 10 * program.bytes.0 >= moved.0);
    let stoppable = large.iter().filter(|program| !is_kernel_thread(&program.name));
    let name = |program: &&BusyProgram| format!("{} (pid {})", program.name, program.process);
    let names: Vec<String> = stoppable.take(3).map(name).collect();
    match (names.is_empty(), large.is_empty()) {
        (true, true) => String::new(),
        (true, false) => format!("{PROGRAMS}kernel threads of other I/O"),
        (false, _) => format!("{PROGRAMS}{}", names.join(", ")),
    }
}

/// Bytes that the device moved in addition to ours; `None` if it was not sampled.
fn device_excess(second: &Second) -> Option<f64> {
    let devices = || second.hosts.iter().filter_map(|host| host.device);
    devices().next()?;
    let moved: u64 = devices().map(|device| device.bytes.0).sum();
    Some(moved as f64 - second.bytes_transferred.0 as f64)
}

/// Bytes that others moved on the device in the whole window.
fn other_bytes_in_window(seconds: &[Second]) -> f64 {
    seconds.iter().filter_map(device_excess).sum::<f64>().max(0.0)
}

struct SecondView<'a> {
    second: &'a Second,
    workers: f64,
    /// [`other_bytes_in_window`].
    others_in_window: f64,
}

impl<'a> SecondView<'a> {
    fn new(second: &'a Second, observation: &Observation, others_in_window: f64) -> SecondView<'a> {
        SecondView {
            second,
            workers: f64::from(observation.load.workers.unwrap_or(1).max(1)),
            others_in_window,
        }
    }

    /// Bytes that others moved on the device; `None` if it was not sampled. A sample begins a
    /// little earlier or later than its second, which shifts our own bytes between seconds. So the
    /// result is at most the share of the whole window.
    fn other_bytes(&self) -> Option<f64> {
        let edges = 0.02 * self.second.bytes_transferred.0 as f64;
        let excess = (device_excess(self.second)? - edges).max(0.0);
        Some(excess.min(self.others_in_window))
    }
}

impl SecondView<'_> {
    fn fault(&self, due: f64, missing: f64, limit_ns: Option<f64>) -> Fault {
        if self.paused_secs() * due / self.second.facts.length_ns.as_secs() >= MIN_EXPLAINED_SHARE * missing {
            return Fault::Generator;
        }
        let queue = &self.second.facts.queue;
        let share = |time: Nanos, total: Nanos| time.0 as f64 / total.0.max(1) as f64;
        let waited = self.waited_share();
        let is_queue_full = share(queue.in_use_ns, queue.slots_ns) >= MIN_SHARE_IN_USE;
        if waited * due >= MIN_EXPLAINED_SHARE * missing && !(is_queue_full && self.storage_never_idles()) {
            return if self.others_are_busy() {
                Fault::OtherCpu
            } else {
                Fault::Generator
            };
        }
        let facts = &self.second.facts;
        let size = self.second.bytes_transferred.0 as f64 / facts.operations.max(1) as f64;
        if size > 0.0
            && self
                .other_bytes()
                .is_some_and(|bytes| bytes / size >= MIN_EXPLAINED_SHARE * missing)
        {
            return Fault::OtherIo;
        }
        let blocked = due * share(queue.full_ns, queue.queues_ns);
        // A paused loop reaps nothing, so its service times include the pause.
        let was_paused = facts.length_ns.as_secs() > MIN_PAUSE_SECS;
        let service = facts.service_ns.0 as f64 / facts.operations.max(1) as f64;
        let slow = !was_paused && limit_ns.is_some_and(|limit| service > limit);
        // Operations that were issued but did not complete are in the storage.
        let not_issued = due - queue.issued as f64;
        let was_issued = not_issued < MIN_EXPLAINED_SHARE * missing;
        if was_issued || is_queue_full || blocked >= MIN_BLOCKED_SHARE * missing || slow {
            return Fault::Storage;
        }
        if self.others_are_busy() && waited > MIN_WAITED_SHARE {
            Fault::OtherCpu
        } else {
            Fault::Generator
        }
    }

    /// The time for which this program was stopped, in or around this second. If others keep the
    /// processors busy, it may only have waited for one.
    fn paused_secs(&self) -> f64 {
        if self.others_are_busy() {
            return 0.0;
        }
        let pauses = self.second.hosts.iter().filter_map(|host| host.paused_ns);
        pauses.map(Nanos::as_secs).fold(0.0, f64::max)
    }

    /// True if operations take longer than all waits for a processor in this second. The storage
    /// then has work even while the threads wait.
    fn storage_never_idles(&self) -> bool {
        let facts = &self.second.facts;
        let service = facts.service_ns.as_secs() / facts.operations.max(1) as f64;
        service > self.waited_share() * facts.length_ns.as_secs()
    }

    /// The share of its time for which a runnable thread waited for a processor.
    fn waited_share(&self) -> f64 {
        let facts = &self.second.facts;
        facts.threads.run_delay_ns.0 as f64 / (self.workers * facts.length_ns.0.max(1) as f64)
    }

    fn others_are_busy(&self) -> bool {
        let (mut cpus, mut busy) = (0.0, 0.0);
        for host in &self.second.hosts {
            cpus += host.cpus_ns.0 as f64;
            busy += (host.others_ns() + host.stolen_ns).0 as f64;
        }
        busy > MIN_OTHERS_CPU_SHARE * cpus
    }

    /// True if the mean service time exceeds a limit even without waits for a processor. A waiting
    /// thread delays everything in flight.
    fn exceeds_without_delay(&self, limit_ns: f64) -> bool {
        let facts = &self.second.facts;
        let service = facts.service_ns.0 as f64;
        let in_flight = service / facts.length_ns.0.max(1) as f64;
        let stolen: u64 = self.second.hosts.iter().map(|host| host.stolen_ns.0).sum();
        let delay = (facts.threads.run_delay_ns.0 + stolen) as f64 * in_flight.max(1.0);
        (service - delay) / facts.operations.max(1) as f64 > limit_ns
    }

    /// Finds the cause, other than the storage, that raised the latencies of this second.
    fn disturbance(&self, limit_ns: Option<f64>) -> Option<Fault> {
        let facts = &self.second.facts;
        if self.paused_secs() > 0.0 {
            return Some(Fault::Generator);
        }
        if !limit_ns.is_some_and(|limit| self.exceeds_without_delay(limit)) {
            if self.others_are_busy() && self.waited_share() > MIN_WAITED_SHARE {
                return Some(Fault::OtherCpu);
            }
            if facts.threads.run_delay_ns.0 as f64 > MIN_WAITED_SHARE_OF_LATENCY * facts.service_ns.0 as f64 {
                return Some(Fault::Generator);
            }
        }
        let others = self.other_bytes()?;
        (others > MIN_OTHERS_BYTES_SHARE * self.second.bytes_transferred.0 as f64).then_some(Fault::OtherIo)
    }
}

/// Finds the cause, other than the storage, that raised the latencies of the second `at`. `None` if
/// nothing is known, or if waiting for processors does not explain latencies above `limit_ns`.
pub fn disturbance(observation: &Observation, at: f64, limit_ns: Option<f64>) -> Option<Fault> {
    let seconds = &observation.seconds;
    let next = seconds.partition_point(|second| second.facts.start_ns.as_secs() <= at + 1e-9);
    let second = seconds.get(next.checked_sub(1)?)?;
    SecondView::new(second, observation, other_bytes_in_window(seconds)).disturbance(limit_ns)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use model::observation::Load;
    use model::seconds::{DeviceSample, HostSample, IntervalFacts, QueueUse, ThreadUse};

    const DUE: f64 = 1000.0;

    /// A second of 4 KiB operations with 32 slots in one queue.
    pub(crate) fn second(number: u64, operations: u64, in_use: f64, full: f64) -> Second {
        let part = |share: f64, total: u64| Nanos((share * total as f64) as u64);
        Second {
            facts: IntervalFacts {
                start_ns: Nanos::secs(number),
                length_ns: Nanos::secs(1),
                operations,
                service_ns: Nanos::millis(operations),
                queue: QueueUse {
                    slots_ns: Nanos::secs(32),
                    in_use_ns: part(in_use, 32_000_000_000),
                    queues_ns: Nanos::secs(1),
                    full_ns: part(full, 1_000_000_000),
                    issued: operations,
                    ..QueueUse::default()
                },
                threads: ThreadUse::default(),
            },
            hosts: vec![HostSample {
                cpus_ns: Nanos::secs(2),
                length_ns: Nanos::secs(1),
                device: device_sample(operations),
                ..HostSample::default()
            }],
            bytes_transferred: Bytes(operations * 4096),
        }
    }

    fn device_sample(operations: u64) -> Option<DeviceSample> {
        Some(DeviceSample {
            operations,
            bytes: Bytes(operations * 4096),
        })
    }

    /// A load of one worker that should complete `DUE` operations in each of these seconds.
    fn paced(seconds: Vec<Second>) -> Observation {
        Observation {
            load: Load {
                rate_iops: Some(DUE),
                workers: Some(1),
                ..Load::default()
            },
            seconds,
            ..Observation::default()
        }
    }

    fn faults(seconds: Vec<Second>, limit_ns: Option<f64>) -> Vec<Fault> {
        let missed = Attribution::new(&paced(seconds), limit_ns).unwrap().missed;
        missed.iter().map(|missed| missed.fault).collect()
    }

    #[test]
    fn full_slots_are_the_storages_fault() {
        assert_eq!(faults(vec![second(0, 500, 0.99, 0.99)], None), [Fault::Storage]);
        // A stall of 0.3 s: the slots are full only then, which explains the missing operations.
        assert_eq!(faults(vec![second(0, 710, 0.35, 0.3)], None), [Fault::Storage]);
        assert_eq!(faults(vec![second(0, 995, 0.2, 0.0)], None), []);
    }

    #[test]
    fn a_wait_for_processors_does_not_excuse_a_service_time_above_the_limit() {
        let mut waited = second(0, 1000, 0.5, 0.0);
        waited.facts.threads.run_delay_ns = Nanos::millis(500);
        let observation = Observation {
            seconds: vec![waited],
            ..Observation::default()
        };
        // One operation takes 1 ms, half of which is waiting for a processor.
        for (limit_ms, fault) in [
            (None, Some(Fault::Generator)),
            (Some(0.6), Some(Fault::Generator)),
            (Some(0.4), None),
        ] {
            let limit_ns = limit_ms.map(|limit| limit * 1e6);
            assert_eq!(disturbance(&observation, 0.0, limit_ns), fault, "{limit_ms:?}");
        }
    }

    #[test]
    fn a_service_time_above_the_limit_is_the_storages_fault() {
        let slow = second(0, 500, 0.5, 0.0);
        assert_eq!(faults(vec![slow.clone()], Some(0.9e6)), [Fault::Storage]);
        assert_eq!(faults(vec![slow], Some(1.1e6)), [Fault::Generator]);
    }

    /// Other programs disturb one of four seconds. In the others, the storage serves half of the
    /// due operations.
    #[test]
    fn a_disturbed_second_does_not_excuse_the_others() {
        let mut disturbed = second(0, 500, 0.99, 0.99);
        disturbed.facts.threads.run_delay_ns = Nanos::millis(600);
        let fails = |capped: u64, seconds: u64, tolerance: f64| {
            let slow = (1..seconds).map(|number| second(number, capped, 0.99, 0.99));
            let observation = paced(std::iter::once(disturbed.clone()).chain(slow).collect());
            let found = Attribution::new(&observation, None).unwrap();
            found.storage_alone_fails(tolerance)
        };
        assert!(fails(500, 4, 0.01));
        assert!(!fails(500, 4, 0.5), "the tolerance allows as much");
        // Close to the promise, or if most is missing in the disturbed second, the fault is not
        // clear.
        assert!(!fails(960, 4, 0.01));
        assert!(!fails(800, 3, 0.01));
    }

    /// A backlog that grows although slots are free is in the storage.
    #[test]
    fn issued_operations_are_in_the_storage() {
        let mut growing = second(0, 980, 0.3, 0.0);
        growing.facts.queue.issued = 1000;
        assert_eq!(faults(vec![growing], None), [Fault::Storage]);
    }

    #[test]
    fn waiting_for_a_processor_is_not_the_storages_fault() {
        let mut waiting = second(0, 500, 0.99, 0.99);
        waiting.facts.threads.run_delay_ns = Nanos::millis(600);
        assert_eq!(faults(vec![waiting.clone()], None), [Fault::Generator]);
        waiting.hosts[0].busy_ns = Nanos::millis(1950);
        waiting.hosts[0].own_ns = Nanos::millis(100);
        assert_eq!(faults(vec![waiting], None), [Fault::OtherCpu]);
    }

    /// Everything in flight completes while the program is stopped, and nothing new is issued.
    #[test]
    fn a_stopped_program_is_not_the_storages_fault() {
        let mut stopped = second(0, 0, 0.99, 0.99);
        assert_eq!(faults(vec![stopped.clone()], None), [Fault::Storage]);
        stopped.hosts[0].paused_ns = Some(Nanos::secs(3));
        assert_eq!(faults(vec![stopped.clone()], Some(0.1e6)), [Fault::Generator]);
        let observation = Observation {
            seconds: vec![stopped],
            ..Observation::default()
        };
        assert_eq!(
            describe_fault(Fault::Generator, &other_activity(&observation, |_| true)),
            "fathom or its machine was stopped for up to 3.0 s"
        );
    }

    #[test]
    fn io_of_others_is_their_fault() {
        let mut shared = second(0, 600, 0.99, 0.99);
        shared.hosts[0].device = device_sample(1000);
        assert_eq!(faults(vec![shared.clone()], None), [Fault::OtherIo]);
        // A little I/O of others does not excuse large shortfalls.
        shared.hosts[0].device = device_sample(650);
        assert_eq!(faults(vec![shared], None), [Fault::Storage]);
    }

    /// Samples that do not begin exactly with their second shift our own bytes between seconds.
    #[test]
    fn shifted_samples_are_not_io_of_others() {
        let shifted = |number: u64, counted: u64| {
            let mut second = second(number, 960, 0.99, 0.99);
            second.hosts[0].device = device_sample(counted);
            second
        };
        let seconds: Vec<Second> = (0..10)
            .map(|number| shifted(number, [1010, 910][number as usize % 2]))
            .collect();
        assert_eq!(faults(seconds, None), [Fault::Storage; 10]);
    }

    /// With enough operations in flight, the storage stays busy while a thread waits.
    #[test]
    fn a_wait_that_the_queue_covers_is_not_the_cause() {
        let mut covered = second(0, 960, 0.99, 0.99);
        covered.facts.threads.run_delay_ns = Nanos::millis(30);
        assert_eq!(faults(vec![covered.clone()], None), [Fault::Generator]);
        covered.facts.service_ns = Nanos::millis(128 * 960);
        assert_eq!(faults(vec![covered], None), [Fault::Storage]);
    }

    #[test]
    fn a_load_without_rate_or_facts_has_no_attribution() {
        assert_eq!(Attribution::new(&Observation::default(), None), None);
        let mut paced = Observation::default();
        paced.load.rate_iops = Some(DUE);
        assert_eq!(Attribution::new(&paced, None), None);
    }
}
