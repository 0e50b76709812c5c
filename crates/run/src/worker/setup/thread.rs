//! The thread of a worker: memory, processors, names, priorities, control group, user.

use engine::sys;
use model::plan::{Priority, Worker as WorkerPlan};

use crate::control_groups::ControlGroups;
use crate::setup_error::SetupError;
use crate::worker::features::priorities;

/// Pins memory while the worker runs.
pub(super) fn pin_memory(plan: &WorkerPlan) -> Result<Option<engine::PinnedMemory>, SetupError> {
    let bytes = plan.memory.pinned;
    if bytes.0 == 0 {
        return Ok(None);
    }
    let pinned = engine::PinnedMemory::new(bytes.0).map_err(|source| SetupError::Placement {
        what: format!("cannot pin {bytes} of memory"),
        source,
    })?;
    Ok(Some(pinned))
}

/// Binds the thread, and gives it its name, priorities, control group and user.
pub(super) fn place(plan: &WorkerPlan, control_groups: &ControlGroups) -> Result<(), SetupError> {
    let failed = |what: String| move |source| SetupError::Placement { what, source };
    let placement = &plan.placement;
    let mut cpus = placement.cpus.clone();
    for node in &placement.cpu_nodes {
        cpus.extend(sys::thread::cpus_of_node(*node).map_err(failed(format!("NUMA node {node} does not exist")))?);
    }
    if !cpus.is_empty() {
        sys::thread::pin_to(&cpus).map_err(failed(format!("cannot bind a worker to the CPUs {cpus:?}")))?;
    }
    if let Some(nodes) = &placement.memory_nodes {
        sys::thread::set_memory_nodes(nodes).map_err(failed(format!(
            "cannot set the NUMA memory policy of a worker ({nodes:?})"
        )))?;
    }
    if let Some(name) = &placement.name {
        sys::thread::set_name(name);
    }
    if let Some(nice) = placement.nice {
        sys::thread::set_nice(nice).map_err(failed(format!("cannot set the nice value of a worker to {nice}")))?;
    }
    let set_priority = |priority: Priority| {
        sys::thread::set_io_priority(priorities::class_number(priority.class), priority.level, priority.hint)
            .map_err(failed("cannot set the I/O priority of a worker".to_owned()))
    };
    // Check now, so that the first operation does not fail.
    let own: Vec<Priority> = all_priorities(plan).collect();
    if has_own_priorities(plan) && sys::thread::SUPPORTS_IO_PRIORITY {
        own.iter().try_for_each(|priority| set_priority(*priority))?;
    }
    match common_priority(plan) {
        Some(priority) => set_priority(priority)?,
        None if own.is_empty() => {}
        None => sys::thread::set_io_priority(0, 0, 0).map_err(failed("cannot reset the I/O priority".into()))?,
    }
    sys::thread::request_precise_timers();
    if let Some(group) = &placement.control_group {
        control_groups.enter(group)?;
    }
    // Last, because the steps before may need root.
    if placement.user.is_some() || placement.group.is_some() {
        let id = |id: Option<u32>| id.map_or("the same".into(), |id| id.to_string());
        sys::thread::switch_user(placement.user, placement.group).map_err(failed(format!(
            "cannot switch a worker to user {} and group {}",
            id(placement.user),
            id(placement.group)
        )))?;
    }
    Ok(())
}

/// The I/O priority of the thread, if all operations share it and threads have one. Otherwise each
/// operation has the priority of its file.
fn common_priority(plan: &WorkerPlan) -> Option<Priority> {
    if !sys::thread::SUPPORTS_IO_PRIORITY {
        return None;
    }
    let first = plan.streams.first()?.priority?;
    let common = first.percent >= 100 && plan.streams.iter().all(|stream| stream.priority == Some(first));
    common.then_some(first)
}

/// True if operations have their own I/O priorities.
pub(super) fn has_own_priorities(plan: &WorkerPlan) -> bool {
    let streams_have_priorities =
        common_priority(plan).is_none() && plan.streams.iter().any(|stream| stream.priority.is_some());
    streams_have_priorities
        || plan
            .streams
            .iter()
            .any(|stream| !priorities::priority_rules(stream).is_empty())
}

/// Every priority that some operation can have.
fn all_priorities(plan: &WorkerPlan) -> impl Iterator<Item = Priority> {
    plan.streams.iter().flat_map(|stream| {
        let rule_priorities = stream.priority_rules.iter().map(|rule| Priority {
            class: rule.class,
            level: rule.level,
            hint: rule.hint,
            percent: rule.percent,
        });
        stream.priority.into_iter().chain(rule_priorities)
    })
}
