//! The `fathom convert` command.

use std::io::IsTerminal;

use clap::builder::{PossibleValue, PossibleValuesParser};
use dialects::convert::{self, Conversion, Lost};
use model::plan::Dialect;

use super::source::{self, SourceArgs};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::screen;
use crate::session::Session;

/// Translate a test to fio, DiskSpd, Vdbench, Iometer or fathom
#[derive(clap::Args)]
#[command(
    long_about = "Translates a test to fio, DiskSpd, Vdbench, Iometer or fathom. Nothing is run, and no target is opened. \
        The text goes to standard output. Standard error lists what the other dialect cannot express, one item per line: \
        `lost: …` where the test changes, `differs: …` where the other tool does the same in its own way.\n\nSOURCE \
        is flags of `fathom run`, the name of a dialect and its arguments (`diskspd -b8K …`, `fio …`), a \
        job file (FILE.toml, FILE.fio), a DiskSpd profile (FILE.xml), a parameter file of Vdbench (FILE.parm), a \
        configuration of Iometer (FILE.icf), or a saved result, which contains its plan.",
    after_help = "Examples:\n  fathom convert --to native diskspd -b8K -d60 -t4 -o32 -r -w30 -Sh -c10G test.dat\n  \
        fathom convert --to fio --target /data/f.dat --size 10g --read 70 --block 8k --depth 32\n  fathom convert \
        --to diskspd nightly.toml"
)]
pub struct Args {
    /// The dialect to translate to [default: fio, diskspd and native, except the source's own]
    #[arg(long, value_name = "DIALECT", value_parser = dialect_value_parser())]
    to: Option<String>,
    #[command(flatten)]
    source: SourceArgs,
}

fn dialect_value_parser() -> PossibleValuesParser {
    let native = PossibleValue::new("native").alias("fathom");
    PossibleValuesParser::new([
        PossibleValue::new("fio"),
        PossibleValue::new("diskspd"),
        native,
        PossibleValue::new("vdbench"),
        PossibleValue::new("iometer"),
    ])
}

/// Prints the test in the requested dialect, or else its equivalents, and what is lost or differs.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    let mut source_args = args.source.source.clone();
    let trailing = take_dialect(&mut source_args);
    let wanted = args.to.clone().or(trailing);
    let wanted = wanted.map(|name| parse_dialect(&name)).transpose()?;
    let source = source::read(session, &source_args)?;
    let conversions = match wanted {
        Some(dialect) => vec![convert::convert_to(dialect, &source.plan)],
        None => convert::equivalents(&source.plan),
    };
    let with_heading = conversions.len() > 1;
    let texts: Vec<String> = conversions
        .iter()
        .map(|conversion| format_conversion(conversion, with_heading))
        .collect();
    print_job(&texts.join("\n"))?;
    let print_all = |kind: &str, in_source: &[String], in_conversion: fn(&Conversion) -> &[Lost]| {
        let converted = conversions.iter().flat_map(in_conversion).map(ToString::to_string);
        let all = in_source.iter().cloned().chain(converted);
        all.for_each(|what| screen::note(&format!("{kind}: {what}")));
    };
    print_all("lost", &source.lost, |conversion| &conversion.lost);
    print_all("differs", &source.differs, |conversion| &conversion.differs);
    let complete = source.lost.is_empty() && conversions.iter().all(|conversion| conversion.lost.is_empty());
    Ok(if complete { Exit::Done } else { Exit::Partial })
}

/// Prints a job. On a terminal, control characters are escaped; a file or pipe gets it unchanged.
fn print_job(text: &str) -> Result<(), Faults> {
    match std::io::stdout().is_terminal() {
        true => screen::put_document(text).map(drop),
        false => screen::put_bytes(text),
    }
}

/// Removes `--to DIALECT` from the arguments of the source and returns DIALECT. The option may
/// follow the source, because no dialect has an option of that name.
fn take_dialect(args: &mut Vec<String>) -> Option<String> {
    if let Some(index) = args.iter().position(|arg| arg.starts_with("--to=")) {
        return args.remove(index).strip_prefix("--to=").map(str::to_owned);
    }
    let index = args.iter().position(|arg| arg == "--to")?;
    // The first argument is always the source, even if it is `--to`.
    let is_complete = index > 0 && index + 1 < args.len();
    is_complete.then(|| args.drain(index..=index + 1).next_back()).flatten()
}

fn parse_dialect(name: &str) -> Result<Dialect, Faults> {
    match name {
        "fio" => Ok(Dialect::Fio),
        "diskspd" => Ok(Dialect::Diskspd),
        "vdbench" => Ok(Dialect::Vdbench),
        "iometer" => Ok(Dialect::Iometer),
        "native" | "fathom" => Ok(Dialect::Native),
        _ => {
            let fault = Fault::new(format!("unknown dialect `{name}`")).at(format!("--to {name}"));
            Err(fault.into_usage("use fio, diskspd, native, vdbench or iometer"))
        }
    }
}

/// Formats a conversion. Its one-line form comes first, as a comment, below a heading if there are
/// several conversions.
fn format_conversion(conversion: &Conversion, with_heading: bool) -> String {
    let mut text = String::new();
    if with_heading {
        let name = match conversion.dialect {
            Dialect::Native => "native",
            other => report::html::run::tool_name(other),
        };
        text += &format!("# {name}\n");
    }
    if let Some(line) = &conversion.one_line {
        text += &format!("# {line}\n");
    }
    text + &conversion.text
}
