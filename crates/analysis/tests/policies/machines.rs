//! Combined limits of machines and disks, and the vendors' figures of machines.

use super::*;
use model::testing::assert_contains;
use testbed::With;

#[test]
fn the_machine_binds_before_its_disks() {
    let catalogue = Catalogue::built_in();
    let wanted = Disks {
        machine: Some("b2ms".into()),
        disks: vec!["P30".into()],
        count: 4,
        cached: false,
    };
    let layers = stack_limits(&catalogue, &wanted).unwrap();
    assert_eq!(layers.len(), 2);
    assert_eq!(layers[0].kind, LayerKind::Machine);
    assert_eq!(layers[0].iops, Some(Limit::exactly(1920.0)));
    assert_eq!(
        layers[0].bytes_per_sec,
        Some(Limit {
            low: 22.5e6,
            high: 22.5 * 1_048_576.0
        })
    );
    assert_eq!(layers[1].name.as_str(), "4 × P30");
    assert_eq!(layers[1].iops, Some(Limit::exactly(20_000.0)));
    let found = compute_reach(&layers, Bytes::kib(4), 100.0, 1).unwrap();
    assert_eq!(found.iops.low, 1920.0);
    assert_eq!(found.layer.as_str(), "VM Standard_B2ms, uncached");
    assert_eq!(found.stranded.len(), 1);
    assert_eq!(found.stranded[0].iops, 18_080.0);
    assert_near(found.stranded[0].share, 0.904);

    let cached = wanted
        .clone()
        .with(|disks| (disks.machine, disks.cached) = (Some("Standard_D8ds_v4".into()), true));
    assert_eq!(
        stack_limits(&catalogue, &cached).unwrap()[0].iops,
        Some(Limit::exactly(77_000.0))
    );

    let google = Disks {
        machine: Some("n2-standard-8".into()),
        disks: vec!["gcp/pd-ssd:size=512GiB".into()],
        count: 2,
        cached: false,
    };
    let layers = stack_limits(&catalogue, &google).unwrap();
    // Two disks of 512 GiB share the limit of one disk of 1 TiB, and the machine allows less than
    // half of that.
    assert_near(layers[1].iops.unwrap().low, 36_720.0);
    assert_eq!(
        compute_reach(&layers, Bytes::kib(4), 100.0, 1).unwrap().iops.low,
        15_000.0
    );
}

/// Figures of the sources that the entries name.
#[test]
fn machines_have_the_limits_of_their_sources() {
    let figures = |policy: &str, tier: &str| {
        let found = resolve(&format!("{policy} tier={tier}"));
        let layer = &found.layers[0];
        let bursts: Vec<f64> = found.bursts.iter().map(|burst| burst.ceiling).collect();
        let bytes = layer.bytes_per_sec.unwrap().low / 1e6;
        (layer.iops.unwrap().low, bytes, bursts)
    };
    // The Lsv4 and Lasv4 size series of the Azure documentation, Premium SSD.
    assert_eq!(
        figures("azure/vm", "Standard_L8s_v4"),
        (12_800.0, 424.0, vec![40_000.0, 1.25e9])
    );
    assert_eq!(
        figures("azure/vm", "Standard_L8as_v4"),
        (15_200.0, 360.0, vec![20_000.0, 1.25e9])
    );
    // A machine with a burst of operations only, and one without bursts.
    assert_eq!(
        figures("azure/vm", "Standard_L32s_v4"),
        (51_200.0, 1696.0, vec![80_000.0])
    );
    assert_eq!(figures("azure/vm", "Standard_L96s_v4"), (153_600.0, 5088.0, vec![]));
    // DescribeInstanceTypes: 3,600 IOPS and 650 Mbps of m6id.large, up to 40,000 and 10,000; 6,250
    // IOPS and 1,562 Mbps of m6in.large and m6idn.large, up to 100,000 and 25,000.
    assert_eq!(figures("aws/vm", "m6id.large"), (3600.0, 81.25, vec![40_000.0, 1.25e9]));
    for tier in ["m6in.large", "m6idn.large"] {
        assert_eq!(figures("aws/vm", tier), (6250.0, 195.25, vec![100_000.0, 3.125e9]));
    }
    assert_eq!(figures("aws/vm", "m6idn.32xlarge"), (400_000.0, 12_500.0, vec![]));
}

/// Baseline and burst of an instance, and an instance without a burst.
#[test]
fn instances_of_ec2_have_a_baseline_and_a_burst() {
    let large = resolve("aws/vm tier=m6i.large");
    let layer = &large.layers[0];
    assert_eq!(layer.name.as_str(), "VM m6i.large, EBS");
    assert_eq!(layer.kind, LayerKind::Machine);
    assert_eq!(layer.iops, Some(Limit::exactly(3600.0)));
    assert_eq!(layer.bytes_per_sec.unwrap().low, 81.25e6);
    let [operations, bytes] = &large.bursts[..] else {
        panic!("{:?}", large.bursts)
    };
    assert_eq!(operations.unit, BurstUnit::Iops);
    assert_eq!(operations.ceiling, 40_000.0);
    assert_eq!(operations.refill, 3600.0);
    assert_eq!(bytes.unit, BurstUnit::Bytes);
    assert_eq!(bytes.ceiling, 1250e6);
    assert_eq!(bytes.refill, 81.25e6);
    for burst in [operations, bytes] {
        assert_eq!((burst.lasts_secs(), burst.refills_secs()), (1800.0, 86_400.0));
    }
    let whole = resolve("aws/vm tier=m6i.32xlarge");
    assert_eq!((iops(&whole), whole.bursts.len()), (160_000.0, 0));
}

/// Sizes with the same figures keep their own names.
#[test]
fn a_machine_keeps_its_requested_name() {
    for (entry, tier) in [
        ("aws/vm", "r7a.large"),
        ("azure/vm", "Standard_E8s_v3"),
        ("gcp/vm", "n2d-highcpu-96"),
    ] {
        let name = resolve(&format!("{entry} tier={tier}")).layers[0].name.clone();
        assert!(name.starts_with(&format!("VM {tier}, ")), "{name}");
    }
}

#[test]
fn machines_of_azure_and_google_have_the_published_limits() {
    let azure = |tier: &str| resolve(&format!("azure/vm tier={tier}"));
    let v5 = azure("Standard_D8ds_v5");
    assert_eq!((iops(&v5), v5.layers[0].bytes_per_sec.unwrap().low), (12_800.0, 290e6));
    assert_eq!(v5.bursts[0].ceiling, 20_000.0);
    assert_eq!(
        azure("Standard_E64s_v3").cached[0].iops,
        Some(Limit::exactly(128_000.0))
    );
    // The source states whole MiB/s, rounded down.
    let v3 = azure("Standard_L8s_v3");
    let bytes = v3.layers[0].bytes_per_sec.unwrap();
    assert_eq!((bytes.low / 1_048_576.0, bytes.high / 1_048_576.0), (276.0, 277.0));
    assert!(v3.bursts.is_empty() && v3.cached.is_empty());

    let stack_with = |machine: &str, disk: &str| {
        let wanted = Disks {
            machine: Some(machine.into()),
            disks: vec![disk.into()],
            count: 1,
            cached: false,
        };
        stack_limits(&Catalogue::built_in(), &wanted)
    };
    for (machine, disk, expected) in [
        ("n2-highmem-64", "gcp/pd-ssd:size=1TiB", 100_000.0),
        ("n2-highmem-64", "gcp/pd-balanced:size=1TiB", 80_000.0),
        ("n2-highmem-64", "gcp/pd-extreme:iops=20000", 120_000.0),
        ("c3-standard-22-lssd", "gcp/pd-ssd:size=1TiB", 25_000.0),
        ("t2d-standard-1", "gcp/pd-ssd:size=1TiB", 15_000.0),
    ] {
        let layers = stack_with(machine, disk).unwrap();
        assert_eq!(layers[0].iops, Some(Limit::exactly(expected)), "{machine} {disk}");
    }
    let catalogue = Catalogue::built_in();
    let has_limits = |name: &str, disks: &[&str]| {
        let disks: Vec<String> = disks.iter().map(|disk| (*disk).to_owned()).collect();
        has_machine(&catalogue, name, &disks)
    };
    assert!(
        has_limits("d8ds_v5", &[])
            && has_limits("m6i.large", &["aws/gp3:size=1TiB"])
            && has_limits("n2-standard-8", &["gcp/pd-ssd"])
    );
    assert!(!has_limits("n2-standard-8", &[]), "its limits depend on the disk");
    assert!(!has_limits("n2-standard-8", &["P30"]) && !has_limits("m99.large", &[]));
    let error = stack_with("n2-standard-8", "P30").unwrap_err();
    assert_contains(&error, "no limits for n2-standard-8 with azure/premium");
}

#[test]
fn credits_of_a_machine_and_its_disks_are_listed_together() {
    let wanted = Disks {
        machine: Some("m6i.large".into()),
        disks: vec!["aws/gp2:size=100GiB".into()],
        count: 1,
        cached: false,
    };
    let found = burst_credits(&Catalogue::built_in(), &wanted).unwrap();
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["VM m6i.large, EBS", "VM m6i.large, EBS", "aws/gp2:size=100GiB"]);
}
