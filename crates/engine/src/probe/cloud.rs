//! Detects the cloud of this machine by its firmware (DMI), without network requests.

use super::System;

/// A cloud with machine limits in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloud {
    /// Amazon EC2.
    Amazon,
    /// Microsoft Azure.
    Azure,
    /// Google Compute Engine.
    Google,
}

/// Chassis asset tag of every Azure machine; other Hyper-V machines have other tags.
const AZURE_CHASSIS: &str = "7783-7084-3265-9085-8269-3286-77";

impl Cloud {
    /// Display name.
    pub fn name(self) -> &'static str {
        match self {
            Cloud::Amazon => "Amazon EC2",
            Cloud::Azure => "Microsoft Azure",
            Cloud::Google => "Google Compute Engine",
        }
    }
}

/// Reads a text of the firmware; empty if it has none.
pub(super) fn read_dmi(system: &System, file: &str) -> String {
    system
        .read_trimmed(&format!("/sys/class/dmi/id/{file}"))
        .unwrap_or_default()
}

/// Detects the cloud. `None` on other machines, or if the firmware does not name one.
pub fn cloud(system: &System) -> Option<Cloud> {
    // EC2 instances on Xen have the vendor `Xen` and a BIOS version such as `4.11.amazon`.
    if read_dmi(system, "sys_vendor") == "Amazon EC2" || read_dmi(system, "bios_version").ends_with(".amazon") {
        return Some(Cloud::Amazon);
    }
    if read_dmi(system, "chassis_asset_tag") == AZURE_CHASSIS {
        return Some(Cloud::Azure);
    }
    (read_dmi(system, "product_name") == "Google Compute Engine").then_some(Cloud::Google)
}

/// The instance type. Only EC2 instances on Nitro report it in their firmware.
pub fn machine_type(system: &System) -> Option<String> {
    let product = read_dmi(system, "product_name");
    let is_type = product.split_once('.').is_some_and(|(family, size)| {
        let is_identifier =
            |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        is_identifier(family) && is_identifier(size)
    });
    (is_type && read_dmi(system, "sys_vendor") == "Amazon EC2").then_some(product)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{host, system::tree};
    use super::*;

    /// Reads a tree recorded in the repository.
    fn recorded(name: &str) -> System {
        let trees = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/trees");
        System::from_tree(&trees.join(name))
    }

    #[test]
    fn clouds_are_detected_by_firmware() {
        for (name, expected, size, hypervisor) in [
            ("ec2-nitro", Some(Cloud::Amazon), Some("m6i.large"), "Amazon EC2"),
            ("ec2-xen", Some(Cloud::Amazon), None, "Xen"),
            ("azure", Some(Cloud::Azure), None, "Hyper-V"),
            ("hyper-v", None, None, "Hyper-V"),
            ("gce", Some(Cloud::Google), None, "Google Compute Engine"),
        ] {
            let system = recorded(name);
            assert_eq!(cloud(&system), expected, "{name}");
            assert_eq!(machine_type(&system).as_deref(), size, "{name}");
            let host = host(&system);
            assert_eq!(host.hypervisor.as_deref(), Some(hypervisor), "{name}");
            assert_eq!(host.cloud.as_deref(), expected.map(Cloud::name), "{name}");
            assert_eq!(host.machine_type.as_deref(), size, "{name}");
        }
    }

    #[test]
    fn other_product_names_are_not_instance_types() {
        for (vendor, product) in [
            ("Amazon EC2", "HVM domU"),
            ("Amazon EC2", "m6i."),
            ("Dell Inc.", "m6i.large"),
            ("", ""),
        ] {
            let (_root, system) = tree(&[
                ("sys/class/dmi/id/sys_vendor", vendor),
                ("sys/class/dmi/id/product_name", product),
            ]);
            assert_eq!(machine_type(&system), None, "{vendor} {product}");
        }
    }
}
