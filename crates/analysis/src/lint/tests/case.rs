//! A sound test, to which defects can be added.

use std::collections::BTreeSet;

use model::block_size::BlockSizes;
use model::environment::{
    Allocation, BackgroundIo, Cpu, Device, DeviceLimit, DeviceUse, Environment, FileSystem, Host, TargetFacts,
};
use model::finding::Finding;
use model::mix::Mix;
use model::plan::{Phases, Plan, Prepare, Step, Stop, Target, TargetId, TargetKind, Workload, WorkloadPart};
use model::{Bytes, Nanos};

use super::super::{Purpose, Test, Warmed, lint};
use crate::caps::{Limit, LimitLayer};

pub(super) const GIB: u64 = 1 << 30;

/// A test with its environment, to which defects can be added.
pub(super) struct Case {
    pub(super) workload: Workload,
    pub(super) target: Target,
    pub(super) more_targets: usize,
    pub(super) environment: Environment,
    pub(super) purpose: Purpose,
    /// Changes the plan as a whole.
    pub(super) change: Option<fn(&mut Plan)>,
}

impl Case {
    pub(super) fn plan(&self) -> Plan {
        let mut plan = Plan {
            name: "sound".into(),
            targets: vec![self.target.clone(); 1 + self.more_targets],
            steps: vec![Step {
                jobs: vec![self.workload.build_job(0)],
                ..Step::default()
            }],
            ..Plan::default()
        };
        if let Some(change) = self.change {
            change(&mut plan);
        }
        plan
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        lint(&Test {
            plan: &self.plan(),
            environment: &self.environment,
            purpose: &self.purpose,
        })
    }

    /// The finding of a rule.
    pub(super) fn finding(&self, rule: &str) -> Option<Finding> {
        self.findings().into_iter().find(|finding| finding.rule == rule)
    }

    pub(super) fn rules(&self) -> BTreeSet<String> {
        self.findings().into_iter().map(|finding| finding.rule).collect()
    }

    pub(super) fn part(&mut self) -> &mut WorkloadPart {
        &mut self.workload.parts[0]
    }

    pub(super) fn facts(&mut self) -> &mut TargetFacts {
        &mut self.environment.targets[0]
    }

    pub(super) fn device(&mut self) -> &mut Device {
        &mut self.environment.targets[0].devices[0]
    }

    /// The test creates a file of this size.
    pub(super) fn create_file(&mut self, size: Bytes) {
        self.facts().size = Bytes(0);
        self.target.prepare = Prepare::Filled { size: Some(size) };
    }

    /// Adds 1 GiB of holes to the file.
    pub(super) fn add_holes(&mut self) {
        self.facts().allocation = Some(Allocation {
            holes: Bytes(GIB),
            ..Allocation::default()
        });
    }

    /// Sets a known limit of the I/O path.
    pub(super) fn limit_iops(&mut self, iops: f64) {
        self.purpose.layers = vec![LimitLayer {
            iops: Some(Limit::exactly(iops)),
            ..LimitLayer::default()
        }];
    }

    /// Adds I/O of other programs in the ten seconds before the test.
    pub(super) fn add_background_io(&mut self, operations: [u64; 3]) {
        let device = DeviceUse {
            name: "nvme0n1".into(),
            operations,
            ..DeviceUse::default()
        };
        self.environment.before = Some(BackgroundIo {
            watched_ns: Nanos::secs(10),
            devices: vec![device],
            programs: Vec::new(),
        });
    }

    /// Adds a control group limit on the device of the target.
    pub(super) fn limit_device(&mut self, limit: DeviceLimit) {
        self.device().number = "8:0".into();
        self.environment.limits.devices = vec![DeviceLimit {
            device: "8:0".into(),
            ..limit
        }];
    }

    pub(super) fn file_system(&mut self) -> &mut FileSystem {
        self.facts()
            .file_system
            .as_mut()
            .expect("a sound target has a file system")
    }
}

/// The recorded warm-up of the only target.
pub(super) fn warmed(boot: &str, ranges: &[(u64, u64, bool)]) -> Vec<Option<Warmed>> {
    vec![Some(Warmed {
        boot: Some(boot.into()),
        ranges: ranges.to_vec(),
    })]
}

/// 8 KiB, random, 70/30, 2 workers with 16 operations each, for five minutes. The target is an
/// existing file of 100 GiB.
pub(super) fn sound() -> Case {
    let mut workload = Workload::new("job", vec![TargetId(0)], Stop::after(Nanos::secs(300)));
    workload.workers = 2;
    workload.depth = 16;
    workload.phases = Phases::with_warm_up(Nanos::secs(30));
    workload.parts = vec![WorkloadPart {
        mix: Mix::Exact { write_percent: 30.0 },
        sizes: BlockSizes::Fixed { size: Bytes(8 << 10) },
        ..WorkloadPart::default()
    }];
    Case {
        workload,
        target: Target {
            path: "/data/test.dat".into(),
            kind: TargetKind::Path,
            prepare: Prepare::Filled {
                size: Some(Bytes(100 * GIB)),
            },
            at_end: model::plan::TargetCleanup::default(),
        },
        more_targets: 0,
        environment: environment(),
        purpose: Purpose::default(),
        change: None,
    }
}

fn environment() -> Environment {
    Environment {
        host: Host {
            name: "node1".into(),
            boot_id: Some("boot-1".into()),
            ..Host::default()
        },
        cpu: Cpu {
            logical: 8,
            usable: 8,
            numa_nodes: 1,
            ..Cpu::default()
        },
        memory: Bytes(16 * GIB),
        targets: vec![TargetFacts {
            path: "/data/test.dat".into(),
            kind: "file".into(),
            size: Bytes(100 * GIB),
            file_system: Some(FileSystem {
                mount_point: "/data".into(),
                size: Bytes(500 * GIB),
                available: Bytes(300 * GIB),
                ..FileSystem::default()
            }),
            devices: vec![Device {
                name: "nvme0n1".into(),
                size: Bytes(1000 * GIB),
                queue_requests: Some(1023),
                ..Device::default()
            }],
            ..TargetFacts::default()
        }],
        ..Environment::default()
    }
}
