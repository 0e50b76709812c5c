//! Detects whether a device or file is in use. Nothing in use may be changed, even with permission.
//! A device is in use if it, or anything that shares its blocks, is in use: its partitions and all
//! devices built on them, its disk, and the devices below it. Devices that share a disk but no
//! block, such as another partition or another volume of the same group, do not count.

use engine::probe::{BlockDevice, Inventory, UseKind};
use engine::{FileKind, Identity};

use super::reason::{Relation, describe_holder};
use super::{Candidate, Contents, Reason};

/// Every reason why the subject is in use.
pub(super) fn reasons(inventory: &Inventory, subject: &Candidate) -> Vec<Reason> {
    let mut reasons = match subject.identity {
        Some(Identity::BlockDevice(number)) => match inventory.device(number) {
            Some(device) => device_reasons(inventory, device),
            None => unlisted_device(inventory),
        },
        Some(identity @ Identity::File { .. }) => file_reasons(inventory, identity),
        None if subject.kind == FileKind::BlockDevice => unlisted_device(inventory),
        Some(Identity::CharacterDevice(_)) | None => Vec::new(),
    };
    if let Contents::Known(signatures) = &subject.contents {
        let pools = signatures.iter().filter(|signature| signature.name == "ZFS");
        let imported = pools
            .filter_map(|signature| signature.label.as_ref())
            .filter(|pool| inventory.zfs_pools.contains(pool));
        reasons.extend(imported.map(|pool| Reason::ZfsPool { pool: pool.clone() }));
    }
    // The claiming process is usually among the reasons already.
    if subject.claimed && reasons.is_empty() {
        reasons.push(Reason::Claimed);
    }
    reasons
}

/// The reason for a device that the system does not list.
fn unlisted_device(inventory: &Inventory) -> Vec<Reason> {
    let why = "the system lists it neither as a disk or partition nor as a volume on one".to_owned();
    let in_doubt = Reason::InDoubt {
        what: Relation::Itself,
        why,
    };
    inventory.is_complete.then_some(in_doubt).into_iter().collect()
}

/// Which uses of a related device count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// The device itself, the devices built on it, and its disk. Every use of these uses its
    /// blocks.
    All,
    /// A device below it. Others built on that device may share no block with the target, so only
    /// uses of the whole device count.
    WholeOnly,
}

fn device_reasons(inventory: &Inventory, device: &BlockDevice) -> Vec<Reason> {
    let mut related = vec![(device, Relation::Itself, Reach::All)];
    add_above(inventory, device, device, &mut related);
    if let Some(disk) = device
        .partition_of
        .as_deref()
        .and_then(|name| inventory.device_by_name(name))
    {
        related.push((disk, Relation::DiskOf(disk.name.clone()), Reach::All));
        // A holder of the whole disk holds this partition too.
        for name in &disk.part_of {
            if let Some(holder) = inventory.device_by_name(name) {
                let relation = Relation::MadeOfIt(holder.name.clone());
                related.push((holder, relation, Reach::All));
                add_above(inventory, holder, device, &mut related);
            }
        }
        add_beneath(inventory, disk, &mut related);
        add_twins(inventory, disk, &mut related);
    }
    add_beneath(inventory, device, &mut related);
    add_twins(inventory, device, &mut related);
    let mut reasons = Vec::new();
    let mut visited: Vec<&str> = Vec::new();
    for (other, relation, reach) in &related {
        if visited.contains(&other.name.as_str()) {
            continue;
        }
        visited.push(&other.name);
        add_uses(inventory, other, relation, *reach, &mut reasons);
    }
    // An uncertain use of an unknown device may concern this one.
    let uncertain = inventory
        .other_uses(None)
        .map(|kind| use_reason(kind, Relation::Itself));
    reasons.extend(uncertain);
    reasons
}

type Related<'a> = Vec<(&'a BlockDevice, Relation, Reach)>;

/// Adds the devices built on a device, recursively.
fn add_above<'a>(inventory: &'a Inventory, device: &'a BlockDevice, target: &BlockDevice, related: &mut Related<'a>) {
    for above in inventory.directly_above(device) {
        if related.iter().any(|(known, ..)| known.name == above.name) {
            continue;
        }
        let relation = if above.partition_of.as_deref() == Some(&target.name) {
            Relation::Partition(above.name.clone())
        } else {
            Relation::MadeOfIt(above.name.clone())
        };
        related.push((above, relation, Reach::All));
        add_above(inventory, above, target, related);
    }
}

/// Adds the devices below a device, recursively.
fn add_beneath<'a>(inventory: &'a Inventory, device: &'a BlockDevice, related: &mut Related<'a>) {
    for beneath in inventory.directly_beneath(device) {
        if related.iter().any(|(known, ..)| known.name == beneath.name) {
            continue;
        }
        related.push((beneath, Relation::Beneath(beneath.name.clone()), Reach::WholeOnly));
        add_beneath(inventory, beneath, related);
    }
}

/// Adds other loop devices with the same backing file or device, which share the blocks.
fn add_twins<'a>(inventory: &'a Inventory, device: &'a BlockDevice, related: &mut Related<'a>) {
    let Some(identity) = device.backing().and_then(|backing| backing.identity) else {
        return;
    };
    for twin in inventory.loops_over(identity).filter(|twin| twin.name != device.name) {
        related.push((twin, Relation::SameFile(twin.name.clone()), Reach::All));
        add_above(inventory, twin, device, related);
    }
}

fn add_uses(inventory: &Inventory, device: &BlockDevice, what: &Relation, reach: Reach, reasons: &mut Vec<Reason>) {
    let identity = Identity::BlockDevice(device.number);
    let what = || what.clone();
    let mut mount_points: Vec<String> = Vec::new();
    let mut kind = None;
    for mount in inventory.mounts_on(device) {
        if !mount_points.contains(&mount.at) {
            mount_points.push(mount.at.clone());
        }
        kind.get_or_insert(&mount.kind);
    }
    if let Some(kind) = kind {
        let kind = kind.clone();
        reasons.push(Reason::Mounted {
            what: what(),
            kind,
            at: mount_points,
        });
    }
    if inventory.swaps_on(identity).next().is_some() {
        reasons.push(Reason::Swap { what: what() });
    }
    for process in inventory.guests_using(identity) {
        let process = process.clone();
        reasons.push(Reason::VirtualMachine { what: what(), process });
    }
    // The backing file of a loop device may be in use, too.
    if let Some(shown) = device.backing().and_then(|backing| backing.identity) {
        if inventory.swaps_on(shown).next().is_some() {
            reasons.push(Reason::Swap { what: what() });
        }
        for process in inventory.guests_using(shown) {
            let process = process.clone();
            reasons.push(Reason::VirtualMachine { what: what(), process });
        }
    }
    let others = inventory.other_uses(Some(device.number));
    reasons.extend(others.map(|kind| use_reason(kind, what())));
    if reach == Reach::WholeOnly {
        return;
    }
    for name in &device.part_of {
        let user = inventory
            .device_by_name(name)
            .map_or_else(|| format!("the device {name}"), describe_holder);
        reasons.push(Reason::Held { what: what(), by: user });
    }
    if device.is_bcache_member && device.part_of.is_empty() {
        let user = "a bcache set".into();
        reasons.push(Reason::Held { what: what(), by: user });
    }
    for loop_device in inventory.loops_over(identity) {
        let loop_device = loop_device.path();
        reasons.push(Reason::LoopDevice {
            what: what(),
            by: loop_device,
        });
    }
}

fn use_reason(kind: &UseKind, what: Relation) -> Reason {
    match kind {
        UseKind::MemberOf(by) => Reason::Held { what, by: by.clone() },
        UseKind::System(how) => Reason::System { what, how },
        UseKind::MayBeInUse(why) => Reason::InDoubt { what, why: why.clone() },
    }
}

fn file_reasons(inventory: &Inventory, identity: Identity) -> Vec<Reason> {
    let what = Relation::Itself;
    let mut reasons = Vec::new();
    if inventory.swaps_on(identity).next().is_some() {
        reasons.push(Reason::Swap { what: what.clone() });
    }
    for device in inventory.loops_over(identity) {
        let (what, user) = (what.clone(), device.path());
        reasons.push(Reason::LoopDevice { what, by: user });
    }
    for process in inventory.guests_using(identity) {
        let (what, process) = (what.clone(), process.clone());
        reasons.push(Reason::VirtualMachine { what, process });
    }
    reasons
}
