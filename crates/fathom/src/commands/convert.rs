//! `fathom convert`.

use std::io::IsTerminal;

use clap::builder::{PossibleValue, PossibleValuesParser};
use dialects::convert::{self, Conversion};
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
        is flags of `fathom run`, a command line of another dialect after its name (`diskspd -b8K …`, `fio …`), a \
        job file (FILE.toml, FILE.fio), a DiskSpd profile (FILE.xml), a parameter file of Vdbench (FILE.parm), a \
        configuration of Iometer (FILE.icf), or a saved result, which holds its plan.",
    after_help = "Examples:\n  fathom convert --to native diskspd -b8K -d60 -t4 -o32 -r -w30 -Sh -c10G test.dat\n  \
        fathom convert --to fio --target /data/f.dat --size 10g --read 70 --block 8k --depth 32\n  fathom convert \
        --to diskspd nightly.toml"
)]
pub struct Args {
    /// The dialect to translate to [default: the others of fio, diskspd, native]
    #[arg(long, value_name = "DIALECT", value_parser = dialects())]
    to: Option<String>,
    #[command(flatten)]
    source: SourceArgs,
}

fn dialects() -> PossibleValuesParser {
    let native = PossibleValue::new("native").alias("fathom");
    PossibleValuesParser::new([
        PossibleValue::new("fio"),
        PossibleValue::new("diskspd"),
        native,
        PossibleValue::new("vdbench"),
        PossibleValue::new("iometer"),
    ])
}

/// Translates a test.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    let mut words = args.source.source.clone();
    let behind = take_dialect(&mut words);
    let wanted = args.to.clone().or(behind);
    let wanted = wanted.map(|name| dialect(&name)).transpose()?;
    let source = source::read(session, &words)?;
    let conversions = match wanted {
        Some(dialect) => vec![convert::to(dialect, &source.plan)],
        None => convert::equivalents(&source.plan),
    };
    let headed = conversions.len() > 1;
    let texts: Vec<String> = conversions.iter().map(|conversion| text(conversion, headed)).collect();
    print(&texts.join("\n"))?;
    let print_difference = |kind: &str, what: &str| screen::note(&format!("{kind}: {what}"));
    source.lost.iter().for_each(|of| print_difference("lost", of));
    for conversion in &conversions {
        conversion
            .lost
            .iter()
            .for_each(|of| print_difference("lost", &of.to_string()));
    }
    source.differs.iter().for_each(|of| print_difference("differs", of));
    for conversion in &conversions {
        conversion
            .differs
            .iter()
            .for_each(|of| print_difference("differs", &of.to_string()));
    }
    let complete = source.lost.is_empty() && conversions.iter().all(|conversion| conversion.lost.is_empty());
    Ok(if complete { Exit::Done } else { Exit::Partial })
}

/// Prints a job: unchanged to a file or pipe, with escapes on a terminal.
fn print(text: &str) -> Result<(), Faults> {
    match std::io::stdout().is_terminal() {
        true => screen::put(text).map(drop),
        false => screen::put_bytes(text),
    }
}

/// Removes `--to DIALECT` from the arguments of the source, which it may follow: no dialect has
/// such an option.
fn take_dialect(words: &mut Vec<String>) -> Option<String> {
    if let Some(index) = words.iter().position(|word| word.starts_with("--to=")) {
        return words.remove(index).strip_prefix("--to=").map(str::to_owned);
    }
    let index = words.iter().position(|word| word == "--to")?;
    // Keeps the first argument, which is the source.
    let is_whole = index > 0 && index + 1 < words.len();
    is_whole.then(|| words.drain(index..=index + 1).next_back()).flatten()
}

fn dialect(name: &str) -> Result<Dialect, Faults> {
    match name {
        "fio" => Ok(Dialect::Fio),
        "diskspd" => Ok(Dialect::Diskspd),
        "vdbench" => Ok(Dialect::Vdbench),
        "iometer" => Ok(Dialect::Iometer),
        "native" | "fathom" => Ok(Dialect::Native),
        _ => {
            let fault = Fault::new(format!("unknown dialect `{name}`")).at(format!("--to {name}"));
            Err(Faults::usage(
                fault.help("use fio, diskspd, native, vdbench or iometer"),
            ))
        }
    }
}

/// The text of a conversion, with its one-line form, and a heading if there are several
/// conversions.
fn text(conversion: &Conversion, headed: bool) -> String {
    let mut text = String::new();
    if headed {
        let name = match conversion.dialect {
            Dialect::Native => "native",
            Dialect::Fio => "fio",
            Dialect::Diskspd => "DiskSpd",
            Dialect::Iometer => "Iometer",
            Dialect::Vdbench => "Vdbench",
        };
        text += &format!("# {name}\n");
    }
    if let Some(line) = &conversion.one_line {
        text += &format!("# {line}\n");
    }
    text + &conversion.text
}
