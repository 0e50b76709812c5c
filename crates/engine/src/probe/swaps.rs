//! Swap space in use, from `/proc/swaps`.

use super::System;
use super::mounts::unescape;
use crate::identity::Identity;

/// A swap device or file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swap {
    /// Path, as the kernel shows it.
    pub path: String,
    /// Identity of the file at that path; `None` if it does not exist, as in a container.
    pub identity: Option<Identity>,
}

pub(super) fn read_swaps(system: &System) -> Vec<Swap> {
    let text = system.read_text("/proc/swaps").unwrap_or_default();
    let paths = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split_ascii_whitespace().next());
    paths
        .map(|path| {
            let path = unescape(path);
            Swap {
                identity: system.identity(&path),
                path,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::system::tree;
    use super::*;
    use crate::identity::DeviceNumber;

    #[test]
    fn files_and_devices() {
        let text = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
                    /dev/dm-1                               partition\t999420\t\t0\t\t-2\n\
                    /swap\\040file                           file\t\t1048572\t\t0\t\t-3\n";
        let (_root, system) = tree(&[("proc/swaps", text), ("stat", "block 253:1 /dev/dm-1\n")]);
        let swaps = read_swaps(&system);
        assert_eq!(
            swaps[0].identity,
            Some(Identity::BlockDevice(DeviceNumber::new(253, 1)))
        );
        assert_eq!(swaps[1].path, "/swap file");
        assert_eq!(swaps[1].identity, None);
    }
}
