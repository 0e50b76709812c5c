//! `fathom advise`.

use std::path::Path;

use analysis::policies::{Advice, PolicyKind, Wish, advise};
use analysis::requirement::{self, Metric};
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use model::observation::Observation;
use model::{Bytes, Nanos};
use serde_json::json;

use crate::catalogue::{catalogue, catalogue_option};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::screen;

/// Its command line.
pub fn command() -> Command {
    let need = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .help(help)
            .help_heading("What is needed")
    };
    Command::new("advise")
        .about("Find the disks and machines that meet a requirement")
        .long_about(
            "Tells which disks and machines of the catalogue satisfy a need, with the smallest size and the rates to order, and why \
             the others do not. The need is said in flags, or taken from a saved result: its rate, its throughput and its mean \
             latency. The figures are those of the catalogue, so what is found is worth testing with `fathom verify`.",
        )
        .after_help(
            "Examples:\n  fathom advise --iops 6000 --mbps 300 --latency 10ms --size 500GiB\n  \
             fathom advise --from result.fathom",
        )
        .arg(need("iops", "NUMBER", "Operations per second"))
        .arg(need("mbps", "NUMBER", "Throughput in MB/s (10⁶ bytes), or with a unit: 200MiB/s"))
        .arg(need("latency", "TIME", "Mean latency, such as 2ms"))
        .arg(need("size", "SIZE", "Size of the disk"))
        .arg(need("block", "SIZE", "Block size of the operations [default: 4KiB]"))
        .arg(need("read", "PERCENT", "Percent of the operations that read"))
        .arg(
            need("from", "RESULT", "A saved result whose load is what is needed")
                .value_hint(ValueHint::FilePath)
                .conflicts_with_all(["iops", "mbps", "latency", "block", "read"]),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("One JSON document for programs"),
        )
        .arg(catalogue_option())
}

/// Goes through the catalogue.
pub fn execute(args: &ArgMatches) -> Result<Exit, Faults> {
    let catalogue = catalogue(args, None)?;
    let wish = wish(args)?;
    let list = advise(&catalogue, &wish);
    if args.get_flag("json") {
        let value = json!({ "need": wish, "advice": list });
        let text = serde_json::to_string_pretty(&value).expect("plain values are valid JSON");
        return screen::put(&format!("{text}\n"));
    }
    screen::put(&text(&wish, &list))
}

fn wish(args: &ArgMatches) -> Result<Wish, Faults> {
    let mut wish = match args.get_one::<String>("from") {
        Some(file) => of_result(Path::new(file))?,
        None => Wish {
            iops: clause(args, "iops", "iops>=")?,
            bytes_per_sec: clause(args, "mbps", "mbps>=")?,
            latency_ns: clause(args, "latency", "mean<=")?,
            block: size(args, "block")?,
            read_percent: percent(args)?,
            size: None,
        },
    };
    wish.size = size(args, "size")?;
    let asks = wish.iops.is_some() || wish.bytes_per_sec.is_some() || wish.latency_ns.is_some() || wish.size.is_some();
    match asks {
        true => Ok(wish),
        false => Err(Faults::usage(
            Fault::new("nothing is needed").help("say what: fathom advise --iops 6000 --latency 2ms"),
        )),
    }
}

/// The value of a flag, by the rules of requirements.
fn clause(args: &ArgMatches, name: &str, start: &str) -> Result<Option<f64>, Faults> {
    let Some(text) = args.get_one::<String>(name) else {
        return Ok(None);
    };
    match requirement::parse(&format!("{start}{text}")) {
        Ok(clauses) => Ok(clauses.first().map(|clause| clause.target)),
        Err(errors) => Err(fault(
            name,
            text,
            errors.first().map_or("", |error| &error.why),
            errors.first().map_or("", |error| &error.help),
        )),
    }
}

fn fault(name: &str, text: &str, why: &str, help: &str) -> Faults {
    Faults::usage(Fault::new(why).at(format!("--{name} {text}")).help(help))
}

fn size(args: &ArgMatches, name: &str) -> Result<Option<Bytes>, Faults> {
    let read = |text: &String| {
        let parsed = text.parse::<Bytes>();
        parsed.map_err(|error| fault(name, text, &error.to_string(), "for example 500GiB"))
    };
    args.get_one::<String>(name).map(read).transpose()
}

fn percent(args: &ArgMatches) -> Result<Option<f64>, Faults> {
    let read = |text: &String| {
        let value = text.trim_end_matches('%').parse::<f64>().ok();
        let value = value.filter(|value| (0.0..=100.0).contains(value));
        value.ok_or_else(|| {
            fault(
                "read",
                text,
                &format!("`{text}` is not a percentage from 0 to 100"),
                "for example --read 70",
            )
        })
    };
    args.get_one::<String>("read").map(read).transpose()
}

/// The load of a saved result: that of its first job.
fn of_result(file: &Path) -> Result<Wish, Faults> {
    let results = archive::load(file)?;
    let Some(observation) = Observation::all(&results).into_iter().next() else {
        return Err(Faults::usage(
            Fault::new(format!("{} has measured nothing", file.display())).help("name a result with figures"),
        ));
    };
    let total = &observation.total;
    Ok(Wish {
        iops: total.iops.map(f64::ceil),
        bytes_per_sec: total.bytes_per_sec.map(f64::ceil),
        latency_ns: total.waited().and_then(|waited| waited.mean_ns),
        size: None,
        block: observation.load.block,
        read_percent: observation.read_percent().map(f64::round),
    })
}

fn text(wish: &Wish, list: &[Advice]) -> String {
    let mut needs: Vec<String> = Vec::new();
    needs.extend(wish.iops.map(|iops| {
        format!(
            "{} IOPS of {}",
            Metric::Iops.show(iops),
            wish.block.unwrap_or(Bytes::kib(4))
        )
    }));
    needs.extend(wish.bytes_per_sec.map(|bytes| Metric::Throughput.show(bytes)));
    needs.extend(
        wish.latency_ns
            .map(|ns| format!("{} or less on average", Nanos(ns as u64))),
    );
    needs.extend(wish.size.map(|size| size.to_string()));
    let mut text = format!("Needed: {}\n", needs.join(", "));
    for (fits, heading) in [
        (true, "Satisfies it, by the figures of the catalogue"),
        (false, "Does not"),
    ] {
        let part: Vec<&Advice> = list.iter().filter(|advice| advice.fits == fits).collect();
        if part.is_empty() {
            continue;
        }
        text += &format!("\n{heading}\n");
        for advice in part {
            text += &one(advice);
        }
    }
    let next = list
        .iter()
        .find(|advice| advice.fits && advice.kind == PolicyKind::Disk);
    if let Some(next) = next {
        text += &format!("\nTest what you get: fathom verify --policy {} … TARGET\n", next.policy);
    }
    text
}

fn one(advice: &Advice) -> String {
    let tier = advice.tier.as_ref().map(|tier| format!(" {tier}")).unwrap_or_default();
    let name = format!("{}{tier}", advice.policy);
    let mut parts: Vec<String> = Vec::new();
    if advice.fits {
        parts.extend(advice.with.iter().map(|(name, value)| format!("{name} {value}")));
        let allows = [
            advice.iops.map(|iops| format!("{} IOPS", Metric::Iops.show(iops))),
            advice.bytes_per_sec.map(|bytes| Metric::Throughput.show(bytes)),
        ];
        let allows: Vec<String> = allows.into_iter().flatten().collect();
        parts.push(format!("allows {}", allows.join(", ")));
    }
    parts.extend(advice.remarks.iter().cloned());
    format!("  {name:<34} {}\n", parts.join("; "))
}
