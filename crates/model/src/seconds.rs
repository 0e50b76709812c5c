//! Figures by second, as evidence for the cause of a missed rate. Workers record the use of their
//! queue slots and threads once a second, whenever recorders are exchanged. The coordinator samples
//! the kernel's counters of processors and devices. Apart from starts, lengths and maxima, every
//! field is a sum, so workers and hosts can be added up.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::DeviceLimit;
use crate::units::{Bytes, Nanos};

/// How the workers of a job used one interval of the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalFacts {
    /// Start, from the start of the measured window.
    pub start_ns: Nanos,
    /// Length.
    pub length_ns: Nanos,
    /// Operations completed.
    pub operations: u64,
    /// Sum of the times from queueing to reaping of those operations.
    pub service_ns: Nanos,
    /// Queue use of paced streams.
    #[serde(flatten)]
    pub queue: QueueUse,
    /// The use of the worker threads.
    #[serde(flatten)]
    pub threads: ThreadUse,
}

/// How paced streams used their queue slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueUse {
    /// Slots × time, over all workers.
    pub slots_ns: Nanos,
    /// The part of `slots_ns` in which a slot held an operation.
    pub in_use_ns: Nanos,
    /// Queues × time. A worker has one queue for each stream with a depth of its own.
    pub queues_ns: Nanos,
    /// The part of `queues_ns` in which every slot of the queue was taken.
    pub full_ns: Nanos,
    /// Operations issued.
    pub issued: u64,
    /// Operations that were due when every slot was taken.
    pub blocked: u64,
    /// Total time that these operations waited for a slot.
    pub blocked_ns: Nanos,
    /// Longest of those waits.
    pub blocked_ns_max: Nanos,
    /// Sum of the delays of operations that were issued late although a slot was free.
    pub late_ns: Nanos,
}

/// The use of worker threads, from the kernel's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadUse {
    /// CPU time.
    pub cpu_ns: Nanos,
    /// Time in which a runnable thread waited for a processor.
    pub run_delay_ns: Nanos,
    /// Times a thread was preempted.
    pub involuntary_switches: u64,
}

impl QueueUse {
    /// Adds the use of another worker, or of the same one later.
    pub fn add(&mut self, other: &QueueUse) {
        self.slots_ns += other.slots_ns;
        self.in_use_ns += other.in_use_ns;
        self.queues_ns += other.queues_ns;
        self.full_ns += other.full_ns;
        self.issued += other.issued;
        self.blocked += other.blocked;
        self.blocked_ns += other.blocked_ns;
        self.blocked_ns_max = self.blocked_ns_max.max(other.blocked_ns_max);
        self.late_ns += other.late_ns;
    }
}

impl ThreadUse {
    /// Adds the use of another thread.
    pub fn add(&mut self, other: &ThreadUse) {
        self.cpu_ns += other.cpu_ns;
        self.run_delay_ns += other.run_delay_ns;
        self.involuntary_switches += other.involuntary_switches;
    }

    /// The use between two readings of a thread's counters.
    pub fn since(&self, earlier: &ThreadUse) -> ThreadUse {
        ThreadUse {
            cpu_ns: self.cpu_ns - earlier.cpu_ns,
            run_delay_ns: self.run_delay_ns - earlier.run_delay_ns,
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
        }
    }
}

impl IntervalFacts {
    /// Adds the same interval of other workers.
    pub fn add(&mut self, other: &IntervalFacts) {
        self.length_ns = self.length_ns.max(other.length_ns);
        self.operations += other.operations;
        self.service_ns += other.service_ns;
        self.queue.add(&other.queue);
        self.threads.add(&other.threads);
    }
}

/// The kernel's counters of a host in an interval, for all its processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostSample {
    /// Index of the host.
    #[serde(default)]
    pub host: u32,
    /// Start, from the moment at which every job of the step was measuring.
    pub start_ns: Nanos,
    /// Length.
    pub length_ns: Nanos,
    /// Processors × time.
    pub cpus_ns: Nanos,
    /// CPU time of all processes and the kernel.
    pub busy_ns: Nanos,
    /// CPU time of this process.
    pub own_ns: Nanos,
    /// Time that the hypervisor gave to others while this machine was runnable.
    pub stolen_ns: Nanos,
    /// Operations and bytes that the first device under the targets completed for all processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceSample>,
    /// The other processes that used the most CPU time. Recorded only while other processes use
    /// much of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub busiest_others: Vec<BusyProcess>,
    /// The I/O limits of the control group at its end, if they have changed since the previous
    /// sample; in the first sample, since the start of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_limits: Option<Vec<DeviceLimit>>,
    /// The longest time for which the thread that takes these samples did not run, if that is 0.2 s
    /// or more. This process, or the machine, was stopped then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_ns: Option<Nanos>,
}

/// Operations that a device completed in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceSample {
    /// Requests.
    pub operations: u64,
    /// Bytes.
    pub bytes: Bytes,
}

/// Another process and its CPU time in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BusyProcess {
    /// Program name of the process.
    pub name: String,
    /// Its process ID.
    pub pid: u32,
    /// CPU time.
    pub cpu_ns: Nanos,
}

impl HostSample {
    /// CPU time of everything but this process.
    pub fn others_ns(&self) -> Nanos {
        self.busy_ns - self.own_ns.min(self.busy_ns)
    }
}
