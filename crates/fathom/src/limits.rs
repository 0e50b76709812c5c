//! What the user says about the limits between the program and the disks: `--cap`, `--vm`, `--disk`, `--disks`.

use std::path::{Path, PathBuf};

use analysis::caps::{Applies, Layer, LayerKind, Limit};
use analysis::diagnosis::{Counts, KnownBurst};
use analysis::policies::{Burst, BurstOf, Catalogue, Disks, credits, has_machine, stack};
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use dialects::nearest;
use engine::probe::{self, Cloud, System};
use model::Bytes;
use model::plan::{Plan, TargetKind};
use study::diagnosis::Known;

use crate::fault::{Fault, Faults};
use crate::metadata;

/// Words for kinds of layers.
const KINDS: [(&str, LayerKind); 4] = [
    ("vm", LayerKind::Machine),
    ("disk", LayerKind::Disk),
    ("cgroup", LayerKind::ControlGroup),
    ("link", LayerKind::Link),
];

/// Words for what a layer limits.
const DIRECTIONS: [(&str, Applies); 3] = [
    ("all", Applies::All),
    ("reads", Applies::Reads),
    ("writes", Applies::Writes),
];

/// The flags, for commands that diagnose.
pub fn arguments() -> Vec<Arg> {
    let arg = |name: &'static str| Arg::new(name).long(name).help_heading("Diagnosis");
    vec![
        arg("cap")
            .value_name("[NAME:]iops=N,mbps=N,…")
            .action(ArgAction::Append)
            .help("A limit between the program and the data; the report says which one binds")
            .long_help(
                "A limit between the program and the data. The report says which of them binds, how much of each is used and \
                 what nobody can reach. Repeat it for several.\n\
                 iops=N operations per second; mbps=N millions of bytes, mibps=N 2^20 bytes per second; unit=256KiB longer \
                 operations count as several; for=reads or for=writes; kind=vm, disk, cgroup or link.\n\
                 Example: --cap 'VM:iops=1920,mbps=22.5,kind=vm' --cap '4 disks:iops=20000,mbps=800'",
            ),
        arg("vm")
            .value_name("NAME")
            .help("The virtual machine's size, such as Standard_B2ms: its limits are looked up"),
        arg("disk")
            .value_name("NAME")
            .action(ArgAction::Append)
            .help("A disk under the target, such as P30: its limits are looked up"),
        arg("disks")
            .value_name("N")
            .value_parser(value_parser!(u32).range(1..=1024))
            .requires("disk")
            .help("How many there are of each [default: 1]"),
        metadata_argument().help_heading("Diagnosis"),
        arg("confirm")
            .action(ArgAction::SetTrue)
            .help("Run each step again for 10 s at twice the depth: tells a limit from a latency"),
    ]
}

/// `--metadata`.
pub fn metadata_argument() -> Arg {
    Arg::new("metadata")
        .long("metadata")
        .action(ArgAction::SetTrue)
        .conflicts_with("vm")
        .help("Ask the cloud's metadata service for the machine's size, for 1 s at most")
        .long_help(
            "Ask the cloud's metadata service (EC2, Azure, Google) for the machine's size, for 1 s at most; its limits are \
             looked up as with --vm. FATHOM_METADATA=ADDRESS:PORT names another address than 169.254.169.254:80. \
             An EC2 instance also has its type in its firmware.",
        )
}

/// Whether a diagnosis is asked for.
pub fn asks(given: &ArgMatches) -> bool {
    ["confirm", "metadata"].iter().any(|name| given.get_flag(name))
        || ["cap", "vm", "disk"].iter().any(|name| given.contains_id(name))
}

/// What the flags say, and without `--vm` what this machine says of itself, for a test on the targets of a plan.
///
/// # Errors
/// As [`known`].
pub fn known_here(given: &ArgMatches, plan: &Plan) -> Result<Known, Faults> {
    let is_path = |kind: &TargetKind| matches!(kind, TargetKind::Path);
    let real = plan.targets.iter().filter(|target| is_path(&target.kind));
    let paths: Vec<&str> = real.map(|target| target.path.as_str()).collect();
    known_with(given, machine(given, &Catalogue::built_in(), &paths))
}

/// What the flags say.
///
/// # Errors
/// [`Faults`] with what cannot be understood.
pub fn known(given: &ArgMatches) -> Result<Known, Faults> {
    known_with(given, given.get_one::<String>("vm").cloned())
}

fn known_with(given: &ArgMatches, machine: Option<String>) -> Result<Known, Faults> {
    let list = |name: &str| given.get_many::<String>(name).into_iter().flatten();
    let mut known = match (machine, list("disk").cloned().collect::<Vec<_>>()) {
        (None, disks) if disks.is_empty() => Known::default(),
        (machine, disks) => {
            let count = given.get_one::<u32>("disks").copied().unwrap_or(1);
            of_catalogue(machine.as_deref(), &disks, count).map_err(Faults::usage)?
        }
    };
    for text in list("cap") {
        let fault = |why: String| {
            let fault = Fault::new(format!("--cap: {why}")).at(format!("--cap {text}"));
            Faults::usage(fault.help("for example --cap 'VM:iops=1920,mbps=22.5,kind=vm'"))
        };
        known.layers.push(layer(text).map_err(fault)?);
    }
    Ok(known)
}

/// The machine whose limits count: that of `--vm`, or what the firmware or, with `--metadata`, the cloud calls this machine.
/// A machine that was detected is reported on stderr with the source, and so is, with `--metadata`, why it does not count.
pub fn machine(given: &ArgMatches, catalogue: &Catalogue, targets: &[&str]) -> Option<String> {
    if let Some(name) = given.get_one::<String>("vm") {
        return Some(name.clone());
    }
    let disks: Vec<String> = given.get_many("disk").into_iter().flatten().cloned().collect();
    let system = System::live();
    let asked = given.get_flag("metadata");
    let detected = match asked {
        true => {
            metadata::machine_type(probe::cloud(&system)).map(|(cloud, name)| (cloud, name, "the metadata service"))
        }
        false => {
            let by_firmware = probe::cloud(&system).zip(probe::machine_type(&system));
            by_firmware
                .map(|(cloud, name)| (cloud, name, "DMI"))
                .ok_or_else(String::new)
        }
    };
    let is_on_cloud_disk =
        |cloud: Cloud| !targets.is_empty() && targets.iter().all(|path| is_on_disk_of(&system, cloud, path));
    let usable = detected.and_then(|(cloud, name, source)| {
        let described = format!("machine type {name}, from {source}");
        if !has_machine(catalogue, &name, &disks) {
            return Err(match disks.is_empty() {
                true => format!(
                    "{described}: the catalogue has no limits of it that hold for every disk; name the disk: --disk"
                ),
                false => format!("{described}: the catalogue has no limits of it with the disks of --disk"),
            });
        }
        match disks.is_empty() && !is_on_cloud_disk(cloud) {
            true => Err(format!(
                "{described}: its limits are not used, since a target is not on a disk of {}",
                cloud.name()
            )),
            false => Ok((name, described)),
        }
    });
    let notify = |text: &str| {
        if !matches!(given.try_get_one::<bool>("quiet"), Ok(Some(true))) {
            eprintln!("{text}");
        }
    };
    match usable {
        Ok((name, described)) => {
            notify(&format!("{described}: its limits are used; --vm names another machine"));
            Some(name)
        }
        Err(why) => {
            if asked {
                notify(&why);
            }
            None
        }
    }
}

/// Every virtual disk under a path, or under the folder that it is to be made in, is a network disk of a cloud. Disks inside
/// the machine, such as an instance store, have limits of their own.
fn is_on_disk_of(system: &System, cloud: Cloud, path: &str) -> bool {
    let path = PathBuf::from(path);
    let existing = path.ancestors().find(|part| part.exists()).unwrap_or(Path::new("."));
    let devices = probe::devices_under(system, existing).unwrap_or_default();
    let kinds: &[&str] = match cloud {
        Cloud::Amazon => &["Amazon EBS volume"],
        Cloud::Azure => &["Azure managed disk", "Hyper-V virtual disk"],
        Cloud::Google => &["Google Persistent Disk", "Google Persistent Disk or Hyperdisk"],
    };
    let mut found = devices
        .iter()
        .filter_map(|device| device.virtual_kind.as_deref())
        .peekable();
    found.peek().is_some() && found.all(|kind| kinds.contains(&kind))
}

/// What the catalogue knows of a machine and its disks.
fn of_catalogue(machine: Option<&str>, disks: &[String], count: u32) -> Result<Known, Fault> {
    let catalogue = Catalogue::built_in();
    let wanted = Disks {
        machine: machine.map(str::to_owned),
        disks: disks.to_vec(),
        count,
        cached: false,
    };
    let unknown = |why: String| {
        Fault::new(why)
            .help("a limit that is not in the catalogue can be named: --cap 'VM:iops=1920,mbps=22.5,kind=vm'")
    };
    Ok(Known {
        layers: stack(&catalogue, &wanted).map_err(unknown)?,
        bursts: credits(&catalogue, &wanted)
            .map_err(unknown)?
            .into_iter()
            .map(|(layer, credits)| burst(layer, credits))
            .collect(),
    })
}

/// Credits of the catalogue in the words of a diagnosis.
pub fn burst(layer: String, burst: Burst) -> KnownBurst {
    KnownBurst {
        layer,
        counts: match burst.of {
            BurstOf::Iops => Counts::Operations,
            BurstOf::Bytes => Counts::Bytes,
        },
        ceiling: burst.ceiling,
        refill: burst.refill,
        bucket: burst.bucket,
    }
}

/// One limit as the user writes it.
fn layer(text: &str) -> Result<Layer, String> {
    let (name, figures) = match text.split_once(':') {
        Some((name, figures)) if !name.contains('=') => (name.trim(), figures),
        _ => (text, text),
    };
    let mut layer = Layer {
        name: name.to_owned(),
        source: "--cap".into(),
        ..Layer::default()
    };
    for part in figures.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| format!("`{part}` is not written as KEY=VALUE"))?;
        let (key, value) = (key.trim(), value.trim());
        match key {
            "iops" => layer.iops = Some(Limit::exactly(number(value, 1.0)?)),
            "mbps" => layer.bytes_per_sec = Some(Limit::exactly(number(value, 1e6)?)),
            "mibps" => layer.bytes_per_sec = Some(Limit::exactly(number(value, f64::from(1 << 20))?)),
            "unit" => layer.unit = Some(unit(value)?),
            "for" => layer.applies = word(value, &DIRECTIONS)?,
            "kind" => layer.kind = word(value, &KINDS)?,
            other => return Err(unknown(other, &["iops", "mbps", "mibps", "unit", "for", "kind"])),
        }
    }
    match layer.iops.is_none() && layer.bytes_per_sec.is_none() {
        true => Err("it has neither iops= nor mbps= nor mibps=".into()),
        false => Ok(layer),
    }
}

fn number(text: &str, factor: f64) -> Result<f64, String> {
    match text.replace('_', "").parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value * factor),
        _ => Err(format!("`{text}` is no number above 0")),
    }
}

fn unit(text: &str) -> Result<Bytes, String> {
    let unit: Bytes = text
        .parse()
        .map_err(|error: model::units::UnitError| error.to_string())?;
    (unit.0 > 0)
        .then_some(unit)
        .ok_or_else(|| "a unit is above 0 bytes".into())
}

fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text);
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    found.map(|(_, value)| *value).ok_or_else(|| unknown(text, &names))
}

fn unknown(text: &str, names: &[&str]) -> String {
    let known = names.join(", ");
    match nearest(text, names.iter().copied()) {
        Some(near) => format!("`{text}` is none of {known}; did you mean `{near}`?"),
        None => format!("`{text}` is none of {known}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let vm = layer("VM: iops=1920, mbps=22.5, kind=vm").unwrap();
        assert_eq!((vm.name.as_str(), vm.kind), ("VM", LayerKind::Machine));
        assert_eq!(
            (vm.iops, vm.bytes_per_sec),
            (Some(Limit::exactly(1920.0)), Some(Limit::exactly(22.5e6)))
        );
        let plain = layer("iops=4000,unit=256KiB,for=writes").unwrap();
        assert_eq!(plain.name, "iops=4000,unit=256KiB,for=writes");
        assert_eq!((plain.unit, plain.applies), (Some(Bytes::kib(256)), Applies::Writes));
        let binary = layer("mibps=100").unwrap();
        assert_eq!(binary.bytes_per_sec, Some(Limit::exactly(104_857_600.0)));
    }

    /// The case that the diagnosis was made for: a small machine with four large disks.
    #[test]
    fn names_are_looked_up() {
        let known = of_catalogue(Some("Standard_B2ms"), &["P30".to_owned()], 4).unwrap();
        let iops: Vec<f64> = known.layers.iter().filter_map(|layer| Some(layer.iops?.low)).collect();
        assert_eq!(iops, [1920.0, 20_000.0]);
        assert_eq!(known.layers[0].kind, LayerKind::Machine);
        let credits = of_catalogue(None, &["P10".to_owned()], 2).unwrap().bursts;
        assert!(
            credits
                .iter()
                .any(|burst| burst.counts == Counts::Operations && burst.ceiling == 7000.0)
        );
        assert!(of_catalogue(Some("no such thing"), &[], 1).is_err());
    }

    #[test]
    fn mistakes_are_told() {
        for text in [
            "",
            "VM:",
            "1920",
            "iops=many",
            "iops=0",
            "iosp=5",
            "iops=5,for=both",
            "iops=5,unit=0",
            "kind=vm",
        ] {
            assert!(layer(text).is_err(), "{text}");
        }
        assert!(layer("iosp=5").unwrap_err().contains("did you mean `iops`"));
    }
}
