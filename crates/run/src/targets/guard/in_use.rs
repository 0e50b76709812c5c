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
            None => unlisted_device_reasons(inventory),
        },
        Some(identity @ Identity::File { .. }) => file_reasons(inventory, identity),
        None if subject.kind == FileKind::BlockDevice => unlisted_device_reasons(inventory),
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
fn unlisted_device_reasons(inventory: &Inventory) -> Vec<Reason> {
    let why = "the system does not list it as a disk, a partition or a volume".to_owned();
    let in_doubt = Reason::InDoubt {
        what: Relation::Itself,
        why,
    };
    inventory.is_complete.then_some(in_doubt).into_iter().collect()
}

/// Which uses of a related device count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CountedUses {
    /// The device itself, the devices built on it, and its disk. Any use of one of these also uses
    /// the target's blocks.
    All,
    /// A device below it. Others built on that device may share no block with the target, so only
    /// uses of the whole device count.
    WholeOnly,
}

fn device_reasons(inventory: &Inventory, device: &BlockDevice) -> Vec<Reason> {
    let mut related = vec![(device, Relation::Itself, CountedUses::All)];
    add_above(inventory, device, device, &mut related);
    if let Some(disk) = device
        .partition_of
        .as_deref()
        .and_then(|name| inventory.device_by_name(name))
    {
        related.push((disk, Relation::Disk(disk.name.clone()), CountedUses::All));
        // A holder of the whole disk holds this partition too.
        for name in &disk.part_of {
            if let Some(holder) = inventory.device_by_name(name) {
                let relation = Relation::BuiltOn(holder.name.clone());
                related.push((holder, relation, CountedUses::All));
                add_above(inventory, holder, device, &mut related);
            }
        }
        add_beneath(inventory, disk, &mut related);
        add_loops_with_same_backing(inventory, disk, &mut related);
    }
    add_beneath(inventory, device, &mut related);
    add_loops_with_same_backing(inventory, device, &mut related);
    let mut reasons = Vec::new();
    let mut visited: Vec<&str> = Vec::new();
    for (related_device, relation, reach) in &related {
        if visited.contains(&related_device.name.as_str()) {
            continue;
        }
        visited.push(&related_device.name);
        add_uses(inventory, related_device, relation, *reach, &mut reasons);
    }
    // An uncertain use of an unknown device may concern this one.
    let uncertain = inventory
        .other_uses(None)
        .map(|kind| use_reason(kind, Relation::Itself));
    reasons.extend(uncertain);
    reasons
}

type RelatedDevices<'a> = Vec<(&'a BlockDevice, Relation, CountedUses)>;

/// Adds the devices built on a device, recursively.
fn add_above<'a>(
    inventory: &'a Inventory,
    device: &'a BlockDevice,
    target: &BlockDevice,
    related: &mut RelatedDevices<'a>,
) {
    for upper in inventory.directly_above(device) {
        if related.iter().any(|(listed, ..)| listed.name == upper.name) {
            continue;
        }
        let relation = if upper.partition_of.as_deref() == Some(&target.name) {
            Relation::Partition(upper.name.clone())
        } else {
            Relation::BuiltOn(upper.name.clone())
        };
        related.push((upper, relation, CountedUses::All));
        add_above(inventory, upper, target, related);
    }
}

/// Adds the devices below a device, recursively.
fn add_beneath<'a>(inventory: &'a Inventory, device: &'a BlockDevice, related: &mut RelatedDevices<'a>) {
    for lower in inventory.directly_beneath(device) {
        if related.iter().any(|(listed, ..)| listed.name == lower.name) {
            continue;
        }
        related.push((lower, Relation::Beneath(lower.name.clone()), CountedUses::WholeOnly));
        add_beneath(inventory, lower, related);
    }
}

/// Adds other loop devices with the same backing file or device, which share the blocks.
fn add_loops_with_same_backing<'a>(
    inventory: &'a Inventory,
    device: &'a BlockDevice,
    related: &mut RelatedDevices<'a>,
) {
    let Some(identity) = device.backing().and_then(|backing| backing.identity) else {
        return;
    };
    for other_loop in inventory
        .loops_over(identity)
        .filter(|other_loop| other_loop.name != device.name)
    {
        related.push((
            other_loop,
            Relation::SameFile(other_loop.name.clone()),
            CountedUses::All,
        ));
        add_above(inventory, other_loop, device, related);
    }
}

fn add_uses(
    inventory: &Inventory,
    device: &BlockDevice,
    relation: &Relation,
    reach: CountedUses,
    reasons: &mut Vec<Reason>,
) {
    let identity = Identity::BlockDevice(device.number);
    let what = || relation.clone();
    let mut mount_points: Vec<String> = Vec::new();
    let mut kind = None;
    for mount in inventory.mounts_on(device) {
        if !mount_points.contains(&mount.mount_point) {
            mount_points.push(mount.mount_point.clone());
        }
        kind.get_or_insert(&mount.fs_type);
    }
    if let Some(kind) = kind {
        let kind = kind.clone();
        reasons.push(Reason::Mounted {
            what: what(),
            kind,
            at: mount_points,
        });
    }
    // The backing file of a loop device may be in use, too.
    let backing = device.backing().and_then(|backing| backing.identity);
    for identity in std::iter::once(identity).chain(backing) {
        if inventory.swaps_on(identity).next().is_some() {
            reasons.push(Reason::Swap { what: what() });
        }
        for process in inventory.guests_using(identity) {
            let process = process.clone();
            reasons.push(Reason::VirtualMachine { what: what(), process });
        }
    }
    let other_uses = inventory.other_uses(Some(device.number));
    reasons.extend(other_uses.map(|kind| use_reason(kind, what())));
    if reach == CountedUses::WholeOnly {
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

fn use_reason(kind: &UseKind, relation: Relation) -> Reason {
    match kind {
        UseKind::MemberOf(by) => Reason::Held {
            what: relation,
            by: by.clone(),
        },
        UseKind::System(how) => Reason::System { what: relation, how },
        UseKind::MayBeInUse(why) => Reason::InDoubt {
            what: relation,
            why: why.clone(),
        },
    }
}

fn file_reasons(inventory: &Inventory, identity: Identity) -> Vec<Reason> {
    let relation = Relation::Itself;
    let mut reasons = Vec::new();
    if inventory.swaps_on(identity).next().is_some() {
        reasons.push(Reason::Swap { what: relation.clone() });
    }
    for device in inventory.loops_over(identity) {
        let (what, user) = (relation.clone(), device.path());
        reasons.push(Reason::LoopDevice { what, by: user });
    }
    for process in inventory.guests_using(identity) {
        let (what, process) = (relation.clone(), process.clone());
        reasons.push(Reason::VirtualMachine { what, process });
    }
    reasons
}
