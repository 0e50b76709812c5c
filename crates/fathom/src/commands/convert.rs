//! `fathom convert`.

use std::io::Write;

use clap::ArgMatches;
use dialects::convert::{self, Conversion};
use model::plan::Dialect;

use super::source;
use crate::exit::Exit;
use crate::fault::Faults;
use crate::screen;
use crate::session::Session;

/// Says a test in other words.
pub fn carry_out(session: &Session, given: &ArgMatches) -> Result<Exit, Faults> {
    let words: Vec<String> = given
        .get_many::<String>("source")
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    let source = source::read(session, &words)?;
    let wanted = given.get_one::<String>("to").map(String::as_str);
    let conversions = match wanted {
        Some("fio") => vec![convert::to(Dialect::Fio, &source.plan)],
        Some("diskspd") => vec![convert::to(Dialect::Diskspd, &source.plan)],
        Some(_) => vec![convert::to(Dialect::Native, &source.plan)],
        None => convert::equivalents(&source.plan),
    };
    let headed = conversions.len() > 1;
    let texts: Vec<String> = conversions.iter().map(|conversion| text(conversion, headed)).collect();
    screen::put(&texts.join("\n"))?;
    let mut list = String::new();
    let mut tell = |kind: &str, of: &str| list += &format!("{kind}: {of}\n");
    source.lost.iter().for_each(|of| tell("lost", of));
    for conversion in &conversions {
        conversion.lost.iter().for_each(|of| tell("lost", &of.to_string()));
    }
    source.differs.iter().for_each(|of| tell("differs", of));
    for conversion in &conversions {
        conversion
            .differs
            .iter()
            .for_each(|of| tell("differs", &of.to_string()));
    }
    // Where stderr is closed there is nobody to tell; the code tells it too.
    let _ = std::io::stderr().write_all(list.as_bytes());
    let complete = source.lost.is_empty() && conversions.iter().all(|conversion| conversion.lost.is_empty());
    Ok(if complete { Exit::Done } else { Exit::Partial })
}

/// The text, with the line that says the same as a job file, and whose words they are where there are several.
fn text(conversion: &Conversion, headed: bool) -> String {
    let mut text = String::new();
    if headed {
        let name = match conversion.dialect {
            Dialect::Native => "native",
            Dialect::Fio => "fio",
            Dialect::Diskspd => "DiskSpd",
        };
        text += &format!("# {name}\n");
    }
    if let Some(line) = &conversion.one_line {
        text += &format!("# {line}\n");
    }
    text + &conversion.text
}
