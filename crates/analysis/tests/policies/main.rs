//! Compares the catalogue with the figures of its sources.

#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

mod bounds;
mod machines;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use analysis::caps::{LayerKind, Limit};
use analysis::policies::{
    BurstUnit, Catalogue, Date, Disks, Inputs, Need, Overrides, Policy, PolicyError, PolicyKind, ResolvedPolicy,
    advise, burst_credits, compute_reach, has_machine, stack_limits,
};
use analysis::requirement::Metric;
use model::Bytes;
use testbed::{AssertContains, With};

fn inputs(values: &[(&str, &str)]) -> Inputs {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    values.iter().map(pair).collect()
}

/// Resolves a policy by its name and inputs: `aws/gp3 size=500GiB iops=3000`.
fn try_resolve(text: &str, overrides: &Overrides) -> Result<ResolvedPolicy, PolicyError> {
    let (name, values) = text.split_once(' ').unwrap_or((text, ""));
    let values: Vec<(&str, &str)> = values
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='))
        .collect();
    let catalogue = Catalogue::built_in();
    catalogue.find(name).unwrap().resolve_with(&inputs(&values), overrides)
}

fn resolve(text: &str) -> ResolvedPolicy {
    try_resolve(text, &Overrides::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn resolve_error(text: &str) -> PolicyError {
    try_resolve(text, &Overrides::default()).unwrap_err()
}

#[track_caller]
fn assert_near(value: f64, expected: f64) {
    assert!(
        (value - expected).abs() <= 0.005 * expected.abs(),
        "{value} for {expected}"
    );
}

fn iops(resolved: &ResolvedPolicy) -> f64 {
    resolved.layers[0].iops.unwrap().low
}

fn mib(resolved: &ResolvedPolicy) -> f64 {
    resolved.layers[0].bytes_per_sec.unwrap().low / 1_048_576.0
}

#[test]
fn every_policy_file_is_built_in() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts: BTreeSet<String> = names.map(|path| fs::read_to_string(path).unwrap()).collect();
    let known: BTreeSet<String> = Catalogue::built_in()
        .entries()
        .map(|policy| policy.text().to_owned())
        .collect();
    assert_eq!(texts, known);
}

#[test]
fn the_catalogue_has_the_documented_entries() {
    let catalogue = Catalogue::built_in();
    let names: Vec<&str> = catalogue.entries().map(Policy::id).collect();
    for wanted in [
        "provider-sla/ssd-ultra",
        "azure/b2ms+p30",
        "azure/d8ds_v4-cached",
        "azure/d8ds_v4-uncached",
        "aws/gp2",
        "aws/gp3",
        "aws/io1",
        "aws/io2",
        "aws/st1",
        "aws/sc1",
        "azure/premium",
        "azure/premium-v2",
        "azure/ultra",
        "azure/standard-ssd",
        "azure/standard-hdd",
        "azure/vm",
        "gcp/pd-standard",
        "gcp/pd-balanced",
        "gcp/pd-ssd",
        "gcp/pd-extreme",
        "gcp/hyperdisk-balanced",
        "gcp/hyperdisk-extreme",
        "gcp/hyperdisk-throughput",
        "gcp/hyperdisk-ml",
        "gcp/vm",
        "aws/vm",
        "alibaba/autopl",
        "oci/balanced",
        "generic/nvme",
        "generic/hdd",
    ] {
        assert!(names.contains(&wanted), "{wanted} in {names:?}");
    }
    for policy in catalogue.entries() {
        assert!(
            !policy.source().is_empty() && !policy.title().is_empty(),
            "{}",
            policy.id()
        );
    }
}

/// Resolves every entry, with each row of its table, or with inputs within its bounds.
#[test]
fn every_entry_can_be_resolved_and_has_clauses() {
    let catalogue = Catalogue::built_in();
    for policy in catalogue.entries() {
        let mut cases: Vec<Inputs> = policy.tiers().map(|tier| inputs(&[("tier", tier)])).collect();
        if cases.is_empty() {
            let common = [("size", "4TiB"), ("iops", "4000"), ("mbps", "300")];
            let known: Vec<&str> = policy.inputs().map(|(name, ..)| name).collect();
            let fitting = common.iter().filter(|(name, _)| known.contains(name)).copied();
            cases.push(inputs(&fitting.collect::<Vec<_>>()));
        }
        for given in cases {
            let resolved = policy.resolve(&given);
            let resolved = match resolved {
                Err(PolicyError::OutOfBounds { .. }) => {
                    let wider = inputs(&[("size", "64GiB"), ("iops", "4000"), ("mbps", "200")]);
                    let known: Vec<&str> = policy.inputs().map(|(name, ..)| name).collect();
                    let fitting = wider.into_iter().filter(|(name, _)| known.contains(&name.as_str()));
                    policy.resolve(&fitting.collect())
                }
                other => other,
            };
            let resolved = resolved.unwrap_or_else(|error| panic!("{}: {error}", policy.id()));
            assert!(!resolved.layers.is_empty(), "{}", policy.id());
            assert!(!resolved.clauses.is_empty(), "{}", policy.id());
            assert!(resolved.workload.rate_iops.unwrap() > 0.0, "{}", policy.id());
            for layer in &resolved.layers {
                assert!(!layer.source.is_empty() && !layer.name.contains('{'), "{layer:?}");
            }
        }
    }
}

#[test]
fn ssd_ultra_of_400_gb_has_the_promised_figures() {
    let policy = resolve("provider-sla/ssd-ultra size=400GB");
    assert_eq!(iops(&policy), 4000.0);
    let workload = policy.workload;
    assert_eq!(workload.block, Bytes::kib(32));
    assert_eq!(workload.read_percent, 70.0);
    assert!(workload.random);
    assert_eq!((workload.rate_iops, workload.concurrency), (Some(4000.0), Some(15)));
    assert_eq!(workload.duration_secs, 300.0);
    assert_eq!(policy.derived.concurrency, Some(12));
    assert_eq!(policy.derived.concurrency_with_headroom, Some(32));
    // 4000 × 32 KiB: the provider's figure.
    assert_near(policy.reach.unwrap().bytes_per_sec.low, 131e6);
    let texts: Vec<&str> = policy.clauses.iter().map(|clause| clause.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "iops >= 4000", "mean <= 3 ms", "read.mean <= 3 ms", "write.mean <= 3 ms"
        ],
        "only what the contract promises"
    );
    assert_eq!(policy.clauses[0].tolerance, 0.01);
}

/// The vendor's table of the durations of a full bucket.
#[test]
fn credits_of_gp2_last_for_the_published_time() {
    for (size, seconds) in [
        ("33GiB", 1862.0),
        ("100GiB", 2000.0),
        ("334GiB", 2703.0),
        ("750GiB", 7200.0),
        ("900GiB", 18_000.0),
    ] {
        let policy = resolve(&format!("aws/gp2 size={size}"));
        assert_eq!(policy.bursts.len(), 1, "{size}");
        assert_near(policy.derived.past_burst_secs.unwrap(), seconds);
    }
    assert!(resolve("aws/gp2 size=1000GiB").bursts.is_empty());
    let policy = resolve("aws/gp2 size=100GiB");
    // 128 MiB/s ÷ 300 IOPS = 437 KiB; ÷ 3000 IOPS of a burst = 43.7 KiB.
    assert_near(policy.derived.crossover_bytes.unwrap() / 1024.0, 436.9);
    assert_near(mib(&policy), 128.0);
    assert_near(mib(&resolve("aws/gp2 size=171GiB")), 250.0);
    assert_eq!(iops(&resolve("aws/gp2 size=10TiB")), 16_000.0);
}

#[test]
fn other_credits_last_for_the_published_time() {
    let burst_of = |text: &str, what: BurstUnit| {
        let policy = resolve(text);
        *policy.bursts.iter().find(|burst| burst.unit == what).unwrap()
    };
    let tib = burst_of("aws/st1 size=1TiB", BurstUnit::Bytes);
    assert_near(tib.lasts_secs(), 4993.0);
    assert_near(burst_of("aws/sc1 size=1TiB", BurstUnit::Bytes).lasts_secs(), 15_420.0);
    for (tier, bucket, refill_hours) in [("P4", 6.08e6, 14.1), ("P10", 5.40e6, 3.0), ("P20", 2.16e6, 15.7 / 60.0)] {
        let burst = burst_of(&format!("azure/premium tier={tier}"), BurstUnit::Iops);
        assert_near(burst.bucket, bucket);
        assert_near(burst.lasts_secs(), 1800.0);
        assert_near(burst.refills_secs() / 3600.0, refill_hours);
    }
    assert!(resolve("azure/premium tier=P30").bursts.is_empty());
    assert!(resolve("aws/gp3 size=500GiB").bursts.is_empty());
}

/// Throughput ÷ IOPS, in KiB.
#[test]
fn the_limit_on_bytes_binds_from_the_published_block_size() {
    for (text, expected) in [
        ("azure/premium tier=P30", 39.1),
        ("azure/premium tier=P20", 63.7),
        ("azure/premium tier=P50", 32.6),
        ("azure/premium tier=P80", 44.0),
        ("azure/vm tier=Standard_D8ds_v4", 14.65),
        ("azure/vm tier=Standard_B2ms", 11.44),
        ("azure/d8ds_v4-cached", 6.15),
        ("aws/gp3 size=500GiB", 42.7),
        ("aws/gp3 size=500GiB iops=80000 mbps=2000", 25.6),
        ("aws/io2 size=1TiB iops=256000", 16.0),
        ("azure/premium-v2 size=160GiB", 40.7),
        ("azure/premium-v2 size=160GiB iops=80000 mbps=1200", 14.65),
        ("azure/ultra size=2TiB iops=400000 mbps=10000", 24.4),
        ("gcp/pd-ssd size=1TiB", 20.4),
    ] {
        let policy = resolve(text);
        let found = policy.derived.crossover_bytes.unwrap() / 1024.0;
        assert!((found - expected).abs() <= 0.006 * expected, "{text}: {found}");
    }
}

/// Little's law at the latency that the vendor's wording means, and the slots of an open loop.
#[test]
fn concurrency_follows_from_the_promised_latency() {
    for (text, concurrency, with_headroom) in [
        ("aws/gp3 size=500GiB", 30, 52),
        ("aws/io2 size=1TiB iops=256000", 128, 174),
        ("azure/premium tier=P20", 23, 43),
        ("azure/premium tier=P30", 50, 79),
        ("azure/premium-v2 size=160GiB iops=80000 mbps=1200", 80, 116),
        ("gcp/pd-ssd size=1TiB", 74, 108),
    ] {
        // The blocks are so small that the limit on operations binds.
        let short = Overrides::default().with(|overrides| overrides.block = Some(Bytes::kib(4)));
        let policy = try_resolve(text, &short).unwrap();
        assert_eq!(policy.derived.concurrency, Some(concurrency), "{text}");
        assert_eq!(policy.derived.concurrency_with_headroom, Some(with_headroom), "{text}");
    }
}

#[test]
fn persistent_disks_of_1_tib_have_the_published_limits() {
    for (name, rate, throughput) in [("gcp/pd-ssd", 36_720.0, 731.5), ("gcp/pd-balanced", 9144.0, 426.7)] {
        let policy = resolve(&format!("{name} size=1TiB"));
        assert_near(iops(&policy), rate);
        assert_near(mib(&policy), throughput);
    }
    let standard = resolve("gcp/pd-standard size=1TiB");
    assert_near(standard.layers[0].iops.unwrap().low, 768.0);
    assert_near(standard.layers[1].iops.unwrap().low, 1536.0);
    assert_near(mib(&standard), 123.0);
}

#[test]
fn a_size_selects_the_next_larger_row() {
    assert_eq!(resolve("azure/premium size=600GiB").tier.as_deref(), Some("P30"));
    assert_eq!(resolve("azure/premium size=512GiB").tier.as_deref(), Some("P20"));
    assert_eq!(resolve("azure/premium tier=p30").size, Some(Bytes::gib(1024)));
    assert!(matches!(
        resolve_error("azure/premium size=40TiB"),
        PolicyError::NoTier { .. }
    ));
    let catalogue = Catalogue::built_in();
    let entry = catalogue.find("azure/premium").unwrap();
    let of_size = |gib: u64| entry.tier_of_size(&inputs(&[("tier", "P20")]), Bytes::gib(gib));
    assert_eq!(of_size(252).as_deref(), Some("P15"));
    assert_eq!(of_size(40 << 10), None);
    let plus = resolve("azure/premium tier=P40 plus=1");
    assert_eq!(iops(&plus), 16_000.0);
}

#[test]
fn throughput_of_io1_grows_in_two_slopes() {
    let throughput = |iops: &str| mib(&resolve(&format!("aws/io1 size=2TiB iops={iops}")));
    for (iops, expected) in [("1000", 250.0), ("2000", 500.0), ("32000", 500.0), ("64000", 1000.0)] {
        assert_near(throughput(iops), expected);
    }
}

#[test]
fn inputs_out_of_bounds_are_rejected() {
    for (text, part) in [
        (
            "aws/gp3 size=100GiB iops=60000",
            "`iops` is 60000, but must be between 3000 and 50000",
        ),
        (
            "aws/gp3 size=500GiB iops=3000 mbps=1000",
            "`mbps` is 1000, but must be between 125 and 750",
        ),
        ("aws/gp3 size=500", "between 1 GiB and 64 TiB"),
        ("aws/gp3", "the policy needs `size`"),
        (
            "aws/gp3 size=1TiB speed=9",
            "unknown input `speed`; known inputs: size, iops, mbps",
        ),
        ("aws/gp3 size=big", "expected a size with a unit"),
        ("azure/vm tier=Standard_X", "the nearest of "),
    ] {
        let error = resolve_error(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn entries_are_found_by_partial_names_in_any_case() {
    let catalogue = Catalogue::built_in();
    for (name, id) in [
        ("GP3", "aws/gp3"),
        ("Provider-SLA/SSD-Ultra", "provider-sla/ssd-ultra"),
        // Its former name.
        ("s4/ssd-ultra", "provider-sla/ssd-ultra"),
        ("balanced", "oci/balanced"),
    ] {
        assert_eq!(catalogue.find(name).unwrap().id(), id, "{name}");
    }
    catalogue
        .find("premum-v2")
        .unwrap_err()
        .assert_contains(&["did you mean `azure/premium-v2`"]);
    assert!(
        catalogue.find("vm").unwrap_err().contains("azure/vm"),
        "several entries have this name"
    );
}

#[test]
fn a_large_block_is_limited_by_bytes() {
    let at_64k = Overrides::default().with(|overrides| overrides.block = Some(Bytes::kib(64)));
    let policy = try_resolve("azure/premium tier=P30", &at_64k).unwrap();
    // 200 MB/s in blocks of 64 KiB.
    assert_eq!(policy.reach.as_ref().unwrap().iops.low.round(), 3052.0);
    assert_eq!(policy.clauses[0].target.round(), 3052.0);
}

#[test]
fn long_operations_count_as_several_units() {
    let layers = resolve("aws/gp3 size=500GiB iops=3000 mbps=750").layers;
    // 1 MiB is four units of 256 KiB, so 3000 IOPS allow 750 operations, as do 750 MiB/s.
    assert_eq!(compute_reach(&layers, Bytes::mib(1), 100.0, 1).unwrap().iops.low, 750.0);
    assert_eq!(
        compute_reach(&layers, Bytes::kib(512), 100.0, 1).unwrap().iops.low,
        1500.0
    );
    assert_eq!(
        compute_reach(&layers, Bytes::kib(4), 100.0, 1).unwrap().iops.low,
        3000.0
    );
}

#[test]
fn errors_about_unknown_names_list_the_nearest_names() {
    let catalogue = Catalogue::built_in();
    let error_of = |machine: Option<&str>, disk: &str| {
        let disks = Disks {
            machine: machine.map(str::to_owned),
            disks: vec![disk.to_owned()],
            count: 1,
            cached: false,
        };
        stack_limits(&catalogue, &disks).unwrap_err()
    };
    let error = error_of(Some("D8ds_v9"), "P30");
    let nearest = "the nearest names are Standard_D8ds_v4, Standard_D8ds_v5, Standard_D8ds_v6";
    assert!(error.ends_with(nearest), "{error}");
    error_of(Some("m7i.lagre"), "P30").assert_contains(&["the nearest names are m7i.large, "]);
    // Names of the same cloud and series come first, regardless of edit distance.
    for (unknown, prefix) in [
        ("m8g", "m8g."),
        ("e2-micro", "e2-"),
        ("c3-standard-99", "c3-"),
        ("L12s_v4", "Standard_L"),
        ("Standard_E7ads_v5", "Standard_E"),
    ] {
        let error = error_of(Some(unknown), "P30");
        let (_, names) = error.split_once("the nearest names are ").unwrap();
        let names: Vec<&str> = names.split(", ").collect();
        assert_eq!(names.len(), 3, "{error}");
        assert!(names.iter().all(|name| name.starts_with(prefix)), "{error}");
    }
    let error = error_of(None, "P31");
    assert!(error.ends_with("the nearest names are P1, P3, P30"), "{error}");
    error.assert_contains(&["unknown disk `P31`"]);
    error_of(None, "gcp/pd-sdd").assert_contains(&["the nearest names are gcp/pd-ssd, "]);
    // The only entry with this last part.
    error_of(None, "balanced").assert_contains(&["needs `size`"]);
    error_of(None, "aws/gp3:500GiB").assert_contains(&["write KEY=VALUE"]);
}

#[test]
fn tables_are_checked_line_by_line() {
    let parse_rows = |rows: &str| {
        let text = format!(
            "schema = 1\n[policy]\nid = \"my/vm\"\ntitle = \"x\"\nkind = \"machine\"\nas_of = \"2026-11\"\nsource = \
                \"us\"\nconfidence = \"contract\"\n[[layer]]\nname = \"VM {{tier}}\"\niops = \
                \"tier.iops\"\nbytes_per_sec = \"tier.mbps * 1MB\"\n[table]\ncolumns = [\"iops\", \"mbps\"]\nrows = \
                \"{rows}\"\n"
        );
        Catalogue::with_user_files(&[("mine.toml".into(), text)])
    };
    let catalogue = parse_rows("a|b,100,5\\n c,,7").unwrap();
    let policy = catalogue.find("my/vm").unwrap();
    assert_eq!(policy.tiers().collect::<Vec<_>>(), ["a", "b", "c"]);
    let layer = policy.resolve(&inputs(&[("tier", "c")])).unwrap().layers.remove(0);
    assert_eq!((layer.name.as_str(), layer.iops), ("VM c", None));
    for (rows, part) in [
        ("a,1,2,3", "more values than the table has columns"),
        ("a,many", "`many` in `a,many` is not a number above 0"),
        ("a,0", "is not a number above 0"),
        ("a", "is not a name with values"),
        ("a||b,1", "is not a name with values"),
        ("a,1\\nA,2", "duplicate row `A`"),
    ] {
        let faults = parse_rows(rows).unwrap_err();
        assert!(faults[0].what.contains(part), "{rows}: {faults:?}");
    }
}

#[test]
fn files_of_the_user_replace_built_in_entries() {
    let mine = r#"
        schema = 1
        [policy]
        id = "aws/gp3"
        title = "gp3 as our account has it"
        kind = "disk"
        as_of = "2026-11"
        source = "our contract"
        confidence = "contract"
        [[layer]]
        name = "EBS"
        iops = "5000"
        [[clause]]
        metric = "iops"
        target = "limits.iops"
    "#;
    let catalogue = Catalogue::with_user_files(&[("mine.toml".into(), mine.into())]).unwrap();
    let policy = catalogue.find("aws/gp3").unwrap();
    assert_eq!(policy.title(), "gp3 as our account has it");
    assert_eq!(iops(&policy.resolve(&Inputs::new()).unwrap()), 5000.0);
    for (wrong, part) in [
        ("schema = 2\n", "missing field `policy`"),
        (&mine.replace("schema = 1", "schema = 2"), "reads schema 1"),
        (&mine.replace("5000", "5000 *"), "a value is missing at the end"),
        (&mine.replace("title", "tilte"), "unknown field `tilte`"),
        (&mine.replace("2026-11", "soon"), "is not a date"),
        (&mine[..mine.find("[[layer]]").unwrap()], "the policy has no limit"),
    ] {
        let faults = Catalogue::with_user_files(&[("mine.toml".into(), wrong.to_owned())]).unwrap_err();
        assert!(
            faults[0].at.starts_with("mine.toml") && faults[0].what.contains(part),
            "{part}: {faults:?}"
        );
    }
    let wrong = mine.replace("title", "tilte");
    let faults = Catalogue::with_user_files(&[("mine.toml".into(), wrong)]).unwrap_err();
    assert_eq!(faults[0].at, "mine.toml:5:9  tilte = \"gp3 as our account has it\"");
    assert!(!faults[0].what.contains('\n'), "{faults:?}");
    let unknown = mine.replace("limits.iops", "limits.speed");
    let catalogue = Catalogue::with_user_files(&[("mine.toml".into(), unknown)]).unwrap();
    let error = catalogue
        .find("aws/gp3")
        .unwrap()
        .resolve(&Inputs::new())
        .unwrap_err()
        .to_string();
    error.assert_contains(&["clause `iops`", "unknown value `limits.speed`"]);
}

#[test]
fn old_entries_have_a_warning() {
    let catalogue = Catalogue::built_in();
    let warning = |name: &str, today: Date| catalogue.find(name).unwrap().expiry_warning(today);
    let today = Date::day(2026, 11, 22);
    let gp2 = warning("aws/gp2", today).unwrap();
    assert!(gp2.ends_with("has changed them"), "{gp2}");
    gp2.assert_contains(&["are from 2023"]);
    assert_eq!(warning("provider-sla/ssd-ultra", today), None);
    assert!(warning("provider-sla/ssd-ultra", Date::day(2027, 11, 21)).is_some());
}

#[test]
fn advice_names_the_smallest_disk_and_the_unmet_needs_of_others() {
    let need = Need {
        iops: Some(6000.0),
        bytes_per_sec: Some(300e6),
        latency_ns: Some(10e6),
        size: Some(Bytes::gib(500)),
        ..Need::default()
    };
    let list = advise(&Catalogue::built_in(), &need);
    let advice_on = |name: &str| list.iter().find(|advice| advice.policy == name).unwrap();
    let gp3 = advice_on("aws/gp3");
    assert!(gp3.fits, "{gp3:?}");
    let with: Vec<(&str, &str)> = gp3
        .inputs
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    // 300 MB/s are 286.1 MiB/s.
    assert_eq!(with, [("size", "500 GiB"), ("iops", "6000"), ("mbps", "287")]);
    let gp2 = advice_on("aws/gp2");
    assert!(!gp2.fits && gp2.reasons[0].contains("262.1 MB/s"), "{gp2:?}");
    let premium = advice_on("azure/premium");
    assert_eq!((premium.fits, premium.tier.as_deref()), (true, Some("P60")));
    assert!(
        advice_on("gcp/pd-ssd")
            .reasons
            .iter()
            .any(|reason| reason.contains("no promised latency"))
    );
    let machines: Vec<&str> = list
        .iter()
        .filter(|advice| advice.kind == PolicyKind::Machine && advice.fits)
        .filter_map(|advice| advice.tier.as_deref())
        .collect();
    assert!(
        machines.contains(&"Standard_D8ds_v6") && !machines.contains(&"Standard_B2ms"),
        "{machines:?}"
    );
    let first_refusal = list.iter().position(|advice| !advice.fits).unwrap();
    assert!(
        list[first_refusal..]
            .iter()
            .all(|advice| !advice.fits && !advice.reasons.is_empty())
    );
}

/// 10 IOPS for each GB: 4,000 need 400 GB, which are 373 GiB.
#[test]
fn contracts_are_advised_like_disks() {
    let need = Need {
        iops: Some(4000.0),
        latency_ns: Some(3e6),
        ..Need::default()
    };
    let advice_on = |name: &str, need: &Need| {
        let list = advise(&Catalogue::built_in(), need);
        list.into_iter().find(|advice| advice.policy == name).unwrap()
    };
    let contract = advice_on("provider-sla/ssd-ultra", &need);
    assert_eq!(
        (contract.fits, contract.inputs),
        (true, vec![("size".to_owned(), "373 GiB".to_owned())])
    );
    let faster = Need {
        latency_ns: Some(1e6),
        ..need
    };
    let contract = advice_on("provider-sla/ssd-ultra", &faster);
    assert_eq!(contract.reasons, ["its latency is 3 ms, but 1 ms is needed"]);
    // The sizes of machines with their disks are not known.
    let sized = Need {
        iops: Some(1000.0),
        size: Some(Bytes::gib(500)),
        ..Need::default()
    };
    let machine = advice_on("azure/b2ms+p30", &sized);
    assert_eq!(
        (machine.fits, &machine.reasons[..]),
        (true, &["the catalogue lists no size".to_owned()][..])
    );
}

#[test]
fn advice_for_iops_alone_finds_the_smallest_sufficient_size() {
    let need = Need::default().with(|need| need.iops = Some(9000.0));
    let list = advise(&Catalogue::built_in(), &need);
    let size = |name: &str| {
        list.iter()
            .find(|advice| advice.policy == name && advice.fits)
            .map(|advice| advice.inputs[0].1.clone())
    };
    // 3 IOPS for each GiB; 3000 + 6 for each GiB.
    assert_eq!(size("aws/gp2").as_deref(), Some("3000 GiB"));
    assert_eq!(size("gcp/pd-balanced").as_deref(), Some("1000 GiB"));
    assert_eq!(size("gcp/pd-ssd").as_deref(), Some("100 GiB"));
}

/// Ultra Disk: 20,000 operations of 4 KiB move 81.92 MB/s. Hyperdisk ML: 16 IOPS for each MiB/s.
#[test]
fn advice_orders_no_more_than_needed() {
    let need = Need::default().with(|need| (need.iops, need.size) = (Some(20_000.0), Some(Bytes::gib(500))));
    let list = advise(&Catalogue::built_in(), &need);
    let order = |name: &str| {
        let advice = list.iter().find(|advice| advice.policy == name && advice.fits).unwrap();
        let ordered = advice.inputs.iter().map(|(name, value)| format!("{name} {value}"));
        ordered.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(order("azure/ultra"), "size 500 GiB, iops 20000, mbps 82");
    assert_eq!(order("gcp/hyperdisk-ml"), "mbps 1250");
    assert!(
        order("azure/premium").starts_with("size "),
        "performance plus is not an input to order"
    );
    assert!(
        list.iter().all(|advice| advice.policy != "generic/nvme"),
        "the user states the limits of this entry"
    );
}

#[test]
fn a_throughput_clause_has_its_target_in_bytes() {
    let clauses = resolve("aws/st1 size=2TiB").clauses;
    assert_eq!(clauses[0].metric, Metric::Throughput);
    assert_near(clauses[0].target, 80.0 * 1_048_576.0);
}
