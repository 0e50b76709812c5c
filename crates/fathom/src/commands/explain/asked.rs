//! What a result is held against: limits from the catalogue or from the command line, requirements, policies.

use std::path::Path;

use analysis::caps::{Layer, LayerKind, Limit};
use analysis::policies::{Catalogue, Disks, Inputs, Origin, Policy, stack};
use analysis::requirement;
use analysis::verdict::Outcome;
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use model::Bytes;
use study::explain::Asked;

use crate::exit::Exit;
use crate::fault::{Fault, Faults};

/// Options that several commands have.
pub(super) fn options() -> Vec<Arg> {
    let against = |name: &'static str| Arg::new(name).long(name).help_heading("Held against");
    vec![
        against("require")
            .value_name("CLAUSES")
            .action(ArgAction::Append)
            .help("What is asked for, such as 'iops>=4000,p99<=20ms,read.mean<=3ms,mbps>=200'"),
        against("policy").value_name("NAME[:KEY=VALUE,…]").help(
            "What a policy of the catalogue, or of a file, promises: ru/ssd-ultra:size=400GB, aws/gp3:size=500GiB",
        ),
        against("vm")
            .value_name("NAME")
            .help("Size of the virtual machine, such as Standard_B2ms: its limits"),
        against("disk")
            .value_name("NAME[:KEY=VALUE,…]")
            .action(ArgAction::Append)
            .help("Kind of disk, such as P30 or aws/gp3:size=500GiB: its limits"),
        against("disks")
            .value_name("NUMBER")
            .value_parser(value_parser!(u32).range(1..))
            .help("How many there are of each kind, with the load spread over them [default: 1]"),
        against("host-cache")
            .action(ArgAction::SetTrue)
            .help("The host's cache served the reads: its limits count, not those of the disks"),
        against("cap")
            .value_name("[NAME:]iops=N|bytes=N")
            .action(ArgAction::Append)
            .help("A limit that you know: iops=1920, or array:bytes=200MB (bytes per second)"),
    ]
}

/// Reads all of them.
pub(super) fn read(given: &ArgMatches) -> Result<Asked, Faults> {
    let catalogue = Catalogue::built_in();
    let texts = |name: &str| {
        given
            .get_many::<String>(name)
            .into_iter()
            .flatten()
            .cloned()
            .collect::<Vec<String>>()
    };
    let mut asked = Asked::default();
    if let Some(text) = given.get_one::<String>("policy") {
        take_policy(&mut asked, &catalogue, text)?;
    }
    let wanted = Disks {
        machine: given.get_one::<String>("vm").cloned(),
        disks: texts("disk"),
        count: given.get_one::<u32>("disks").copied().unwrap_or(1),
        cached: given.get_flag("host-cache"),
    };
    if given.contains_id("disks") && wanted.disks.is_empty() {
        let fault = Fault::new("--disks counts disks, and no kind of disk is named");
        return Err(Faults::usage(fault.help("add --disk NAME, for example --disk P30")));
    }
    let layers = stack(&catalogue, &wanted).map_err(|why| {
        Faults::usage(Fault::new(why).help("`fathom explain --cap iops=N` takes a limit that you know"))
    })?;
    asked.layers.extend(layers);
    for text in texts("cap") {
        asked.layers.push(cap(&text).map_err(Faults::usage)?);
    }
    for text in texts("require") {
        let clauses = requirement::parse(&text).map_err(|errors| {
            let fault =
                |error: requirement::RequirementError| Fault::new(error.to_string()).at(format!("--require {text}"));
            Faults::many(errors.into_iter().map(fault).collect(), Exit::Usage)
        })?;
        asked.clauses.extend(clauses);
    }
    Ok(asked)
}

/// A policy's limits, load and promises.
fn take_policy(asked: &mut Asked, catalogue: &Catalogue, text: &str) -> Result<(), Faults> {
    let wrong = |why: String| Faults::usage(Fault::new(why).at(format!("--policy {text}")));
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let mut inputs = Inputs::new();
    for pair in rest.split(',').filter(|pair| !pair.is_empty()) {
        let example = || wrong(format!("`{pair}` is no KEY=VALUE, such as size=400GB"));
        let (key, value) = pair.split_once('=').ok_or_else(example)?;
        inputs.insert(key.trim().to_owned(), value.trim().to_owned());
    }
    let own;
    let policy = if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        let path = Path::new(name);
        let content = std::fs::read_to_string(path)
            .map_err(|error| Faults::one(Fault::of_file("read", path, &error), Exit::Refused))?;
        own = Policy::parse(name, &content, Origin::User(name.to_owned())).map_err(wrong)?;
        &own
    } else {
        catalogue.find(name).map_err(wrong)?
    };
    let resolved = policy
        .resolve(&inputs)
        .map_err(|error| wrong(format!("{name}: {error}")))?;
    asked.layers.extend(resolved.layers);
    asked.clauses.extend(resolved.clauses);
    asked.bursts.extend(resolved.bursts);
    asked.latency_ns = resolved.latency_ns;
    asked.workload = Some(resolved.workload);
    Ok(())
}

/// `iops=1920`, `array:bytes=200MB`.
fn cap(text: &str) -> Result<Layer, Fault> {
    let (name, limit) = text.split_once(':').unwrap_or(("the limit given", text));
    let layer = Layer {
        name: name.to_owned(),
        kind: LayerKind::Machine,
        source: "the command line".into(),
        ..Layer::default()
    };
    let wrong = || {
        let fault = Fault::new("a limit is iops=NUMBER or bytes=SIZE (per second)").at(format!("--cap {text}"));
        fault.help("for example --cap iops=1920, or --cap array:bytes=200MB")
    };
    let (key, value) = limit.split_once('=').ok_or_else(wrong)?;
    match key {
        "iops" => {
            let iops: f64 = value
                .parse()
                .ok()
                .filter(|iops: &f64| iops.is_finite() && *iops > 0.0)
                .ok_or_else(wrong)?;
            Ok(Layer {
                iops: Some(Limit::exactly(iops)),
                ..layer
            })
        }
        "bytes" => {
            let bytes: Bytes = value
                .parse()
                .ok()
                .filter(|bytes: &Bytes| bytes.0 > 0)
                .ok_or_else(wrong)?;
            Ok(Layer {
                bytes_per_sec: Some(Limit::exactly(bytes.0 as f64)),
                ..layer
            })
        }
        _ => Err(wrong()),
    }
}

/// The exit code of verdicts: one that is not kept outweighs one that cannot be told. `None` without verdicts.
pub(super) fn exit(verdicts: &[Outcome]) -> Option<Exit> {
    if verdicts.is_empty() {
        None
    } else if verdicts.contains(&Outcome::Fail) {
        Some(Exit::Failed)
    } else if verdicts.contains(&Outcome::Inconclusive) {
        Some(Exit::Inconclusive)
    } else {
        Some(Exit::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_the_command_line_are_read() {
        let array = cap("array:bytes=200MB").expect("sound");
        assert_eq!(
            (array.name.as_str(), array.bytes_per_sec),
            ("array", Some(Limit::exactly(200e6)))
        );
        assert_eq!(cap("iops=1920").expect("sound").iops, Some(Limit::exactly(1920.0)));
        for text in [
            "iops",
            "iops=",
            "iops=-1",
            "iops=inf",
            "mbps=3",
            "bytes=x",
            "a:b:iops=1",
        ] {
            assert!(cap(text).is_err(), "{text}");
        }
    }
}
