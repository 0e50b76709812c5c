//! Data that a test transferred to and from a device, for comparison with the kernel's counters.

use super::{HostDeviceUse, Results};
use crate::direction::PerDirection;
use crate::event::Counts;

/// Data that this test transferred to and from a device, in all phases of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTraffic {
    /// Operations and bytes for each direction.
    pub counts: PerDirection<Counts>,
    /// True if some operations bypassed the page cache.
    pub direct: PerDirection<bool>,
    /// True if some operations went through the page cache.
    pub buffered: PerDirection<bool>,
}

impl Results {
    /// Data that this test transferred to and from a device directly under its targets. `None` if
    /// it has no target there, or if a stream also used other targets, so that the device's share
    /// is unknown. Devices below another one do not count, because the layer in between may write
    /// twice or compress.
    pub fn moved(&self, step: usize, device: &HostDeviceUse) -> Option<DeviceTraffic> {
        let environment = &self.hosts.get(device.host as usize)?.environment;
        let lies_on = |target: &u32| {
            let first = environment.target(*target).and_then(|facts| facts.devices.first());
            first.is_some_and(|first| first.name == device.counters.name)
        };
        let (mut moved, mut any) = (DeviceTraffic::default(), false);
        let jobs = self.plan.steps.get(step)?.jobs.iter().zip(&self.steps.get(step)?.jobs);
        let workers = jobs.flat_map(|(plan, results)| plan.workers.iter().zip(&results.workers));
        let on_this_host = workers.filter(|(_, results)| results.host == device.host);
        let streams = on_this_host.flat_map(|(plan, results)| plan.streams.iter().zip(&results.streams));
        for (plan, results) in streams.filter(|(_, results)| results.targets.iter().any(lies_on)) {
            if !results.targets.iter().all(lies_on) {
                return None;
            }
            any = true;
            for (direction, counts) in results.lifetime.iter().filter(|(_, counts)| counts.operations > 0) {
                moved.counts[direction].add(*counts);
                moved.direct[direction] |= plan.cache.direct;
                moved.buffered[direction] |= !plan.cache.direct;
            }
        }
        any.then_some(moved)
    }
}
