//! The built-in files of the catalogue.

macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../policies/", $name, ".toml")))
    };
}

/// Name and text of each file. A test compares the list with the directory.
pub(super) const FILES: &[(&str, &str)] = &[
    file!("alibaba-autopl"),
    file!("aws-gp2"),
    file!("aws-gp3"),
    file!("aws-io1"),
    file!("aws-io2"),
    file!("aws-sc1"),
    file!("aws-st1"),
    file!("aws-vm"),
    file!("azure-b2ms-p30"),
    file!("azure-d8ds_v4-cached"),
    file!("azure-d8ds_v4-uncached"),
    file!("azure-premium"),
    file!("azure-premium-v2"),
    file!("azure-standard-hdd"),
    file!("azure-standard-ssd"),
    file!("azure-ultra"),
    file!("azure-vm"),
    file!("gcp-hyperdisk-balanced"),
    file!("gcp-hyperdisk-extreme"),
    file!("gcp-hyperdisk-ml"),
    file!("gcp-hyperdisk-throughput"),
    file!("gcp-pd-balanced"),
    file!("gcp-pd-extreme"),
    file!("gcp-pd-ssd"),
    file!("gcp-pd-standard"),
    file!("gcp-vm"),
    file!("gcp-vm-pd-balanced"),
    file!("gcp-vm-pd-extreme"),
    file!("gcp-vm-pd-standard"),
    file!("generic-hdd"),
    file!("generic-nvme"),
    file!("oci-balanced"),
    file!("provider-sla-ssd-ultra"),
];
