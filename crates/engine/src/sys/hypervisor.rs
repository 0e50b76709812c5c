//! Detects the hypervisor by CPUID leaf 0x40000000.

/// Signatures and the common names.
const SIGNATURES: [(&str, &str); 8] = [
    ("Microsoft Hv", "Hyper-V"),
    ("VMwareVMware", "VMware"),
    ("KVMKVMKVM", "KVM"),
    ("XenVMMXenVMM", "Xen"),
    ("VBoxVBoxVBox", "VirtualBox"),
    ("TCGTCGTCGTCG", "QEMU"),
    ("prl hyperv", "Parallels"),
    ("bhyve bhyve", "bhyve"),
];

/// The name of a hypervisor, by the 12 bytes of its signature; `None` if unknown.
fn hypervisor_name(signature: [u8; 12]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(&signature);
    let entry = SIGNATURES.iter().find(|(prefix, _)| text.starts_with(prefix));
    entry.map(|(_, name)| *name)
}

/// Selects a name from all signatures found. KVM and Xen can imitate Hyper-V for Windows guests;
/// their own signature then follows.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "only x86 has these leaves"))]
fn name_of_all(signatures: &[[u8; 12]]) -> Option<&'static str> {
    let names = || signatures.iter().filter_map(|signature| hypervisor_name(*signature));
    names().find(|name| *name != "Hyper-V").or_else(|| names().next())
}

/// Detects the hypervisor of this machine. `None` on hardware and in the root partition of Hyper-V,
/// `unknown` for an unlisted signature.
#[cfg(target_arch = "x86_64")]
pub(crate) fn hypervisor() -> Option<&'static str> {
    use std::arch::x86_64::__cpuid;
    /// Leaves of the first and second interface.
    const LEAVES: [u32; 2] = [0x4000_0000, 0x4000_0100];
    /// `CreatePartitions`, among the privileges in leaf 0x40000003 of Hyper-V (Hypervisor Top-Level
    /// Functional Specification).
    const CREATE_PARTITIONS: u32 = 1;
    if __cpuid(1).ecx >> 31 == 0 {
        return None;
    }
    let signature = |leaf: u32| {
        let registers = __cpuid(leaf);
        let mut bytes = [0; 12];
        for (bytes_of_word, word) in bytes
            .chunks_exact_mut(4)
            .zip([registers.ebx, registers.ecx, registers.edx])
        {
            bytes_of_word.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    };
    let name = name_of_all(&LEAVES.map(signature)).unwrap_or("unknown");
    let is_root =
        name == "Hyper-V" && __cpuid(LEAVES[0]).eax >= 0x4000_0003 && __cpuid(0x4000_0003).ebx & CREATE_PARTITIONS != 0;
    (!is_root).then_some(name)
}

/// Returns `None`: other processors have no such leaf.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn hypervisor() -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_have_names() {
        const NONE: [u8; 12] = [0; 12];
        for (signatures, expected) in [
            ([*b"KVMKVMKVM\0\0\0", NONE], Some("KVM")),
            ([*b"XenVMMXenVMM", NONE], Some("Xen")),
            ([*b"Microsoft Hv", NONE], Some("Hyper-V")),
            ([*b"VMwareVMware", NONE], Some("VMware")),
            ([*b"Microsoft Hv", *b"KVMKVMKVM\0\0\0"], Some("KVM")),
            ([*b"Microsoft Hv", *b"XenVMMXenVMM"], Some("Xen")),
            ([*b"SomethingNew", NONE], None),
        ] {
            assert_eq!(name_of_all(&signatures), expected);
        }
    }

    /// The kernel reads the same CPUID bit.
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn the_result_agrees_with_the_kernel() {
        let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let flags = flags.lines().find(|line| line.starts_with("flags")).unwrap();
        let is_virtual = flags.split_ascii_whitespace().any(|flag| flag == "hypervisor");
        assert!(is_virtual || hypervisor().is_none());
    }
}
