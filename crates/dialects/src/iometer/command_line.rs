//! The switches of `Iometer.exe`, and the options that Iometer does not have.

use model::Bytes;

/// A layout of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// 80 columns.
    V1_1_0,
    /// 56 columns, without decimal megabytes and latency bins.
    V2006,
}

impl Layout {
    /// The versions that results carry.
    pub const ALL: [(Layout, &'static str); 2] = [(Layout::V1_1_0, "1.1.0"), (Layout::V2006, "2006.07.27")];
}

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The configuration file.
    pub config: String,
    /// Absent: Iometer would open its window.
    pub results: Option<String>,
    /// Targets and managers of the file, mapped to targets of this machine.
    pub maps: Vec<(String, String)>,
    /// Targets of workers for which the file lists none.
    pub targets: Vec<String>,
    /// Size of created files.
    pub size: Option<Bytes>,
    /// The layout of the results, if it differs from the configuration.
    pub layout: Option<Layout>,
}

/// The action that a command line requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseOutcome {
    /// The text of `/?`.
    Help(String),
    /// A configuration to run.
    Run(Arguments),
    /// A message, and what to do.
    Wrong(String, String),
}

/// A switch.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// Its letter, or its name.
    pub name: &'static str,
    /// Placeholder of the value, in help texts.
    pub value: &'static str,
    /// One sentence for the help.
    pub about: &'static str,
    id: Id,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    Config,
    Results,
    Timeout,
    Port,
    Meter,
    Help,
    Map,
    Target,
    Size,
    Layout,
}

const fn switch(id: Id, name: &'static str, value: &'static str, about: &'static str) -> Switch {
    Switch { name, value, about, id }
}

/// All switches: Iometer's have one letter, fathom's a name.
pub const SWITCHES: &[Switch] = &[
    switch(Id::Config, "c", "FILE", "configuration file"),
    switch(Id::Results, "r", "FILE", "result file; results are appended"),
    switch(
        Id::Timeout,
        "t",
        "SECONDS",
        "time to wait for managers; ignored, because everything runs in one process",
    ),
    switch(
        Id::Port,
        "p",
        "PORT",
        "login port; ignored, because everything runs in one process",
    ),
    switch(Id::Meter, "m", "1", "the big meter; ignored"),
    switch(Id::Help, "?", "", "this text"),
    switch(
        Id::Map,
        "map",
        "NAME=PATH",
        "use PATH (a directory, file or device) for the target NAME; `MANAGER=localhost` lets this machine do the work of that manager",
    ),
    switch(
        Id::Target,
        "target",
        "[NAME=]PATH",
        "same as --map; without NAME, a target for workers that have none",
    ),
    switch(Id::Size, "size", "SIZE", "size of created files, such as 10GiB"),
    switch(
        Id::Layout,
        "layout",
        "VERSION",
        "layout of the results: 1.1.0 or 2006.07.27",
    ),
];

/// Messages about a repeated switch or an invalid value.
const REPEATED_OR_INVALID: [(Id, &str); 4] = [
    (Id::Config, "Config file"),
    (Id::Results, "Result file"),
    (Id::Timeout, "Timeout"),
    (Id::Port, "Login port number"),
];

/// Parses the arguments after the program's name. On Windows every argument with a slash is a
/// switch; elsewhere `/tmp/x.icf` is a path.
pub fn read(program: &str, words: &[String], windows: bool) -> ParseOutcome {
    match parse(words, windows) {
        Ok(Some(arguments)) => ParseOutcome::Run(arguments),
        Ok(None) => ParseOutcome::Help(help(program)),
        Err(what) => ParseOutcome::Wrong(what, format!("`{program} /?` lists the switches")),
    }
}

fn parse(words: &[String], windows: bool) -> Result<Option<Arguments>, String> {
    let mut arguments = Arguments::default();
    let mut seen: Vec<Id> = Vec::new();
    let mut positional = [Id::Config, Id::Results, Id::Timeout].into_iter();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (id, value) = match find_switch(word, windows)? {
            Some((switch, Some(value))) => (switch.id, value),
            Some((switch, None)) if switch.id == Id::Help => return Ok(None),
            Some((switch, None)) => {
                let value = words
                    .next()
                    .ok_or("An additional parameter was expected after the last switch.")?;
                (switch.id, value.clone())
            }
            None => (positional.next().ok_or("Too many parameters.")?, word.clone()),
        };
        if seen.contains(&id)
            && let Some((_, name)) = REPEATED_OR_INVALID.iter().find(|(twice_id, _)| *twice_id == id)
        {
            return Err(format!("{name} parameter was specified more than once."));
        }
        seen.push(id);
        set(&mut arguments, id, value)?;
    }
    match arguments.config.is_empty() {
        true if seen.is_empty() => Ok(None),
        true => Err("no configuration file is named".into()),
        false => Ok(Some(arguments)),
    }
}

fn find_switch(word: &str, windows: bool) -> Result<Option<(&'static Switch, Option<String>)>, String> {
    if let Some(name) = word.strip_prefix("--") {
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (name, None),
        };
        let matching_switch = SWITCHES
            .iter()
            .find(|switch| switch.name.len() > 1 && switch.name == name);
        let unknown = || format!("there is no option --{name}");
        return Ok(Some((matching_switch.ok_or_else(unknown)?, value)));
    }
    let is_path = word.starts_with('/') && word.len() > 2 && !windows;
    let Some(letter) = word.strip_prefix(['/', '-']).filter(|_| !is_path) else {
        return Ok(None);
    };
    if letter.chars().count() != 1 {
        let message = "Exactly one letter must follow a switch character.  Switch characters are \"/\" and \"-\".";
        return Err(message.into());
    }
    let matching_switch = SWITCHES.iter().find(|switch| switch.name.eq_ignore_ascii_case(letter));
    let unknown = || format!("there is no switch {word}");
    Ok(Some((matching_switch.ok_or_else(unknown)?, None)))
}

fn set(arguments: &mut Arguments, id: Id, value: String) -> Result<(), String> {
    match id {
        Id::Config => arguments.config = value,
        Id::Results => arguments.results = Some(value),
        Id::Timeout if value.parse::<i64>().is_err() => {
            return Err("T switch should be followed by an integer timeout value.".into());
        }
        Id::Port if !value.parse::<u16>().is_ok_and(|port| port > 0) => {
            return Err(format!("/p takes a port of 1 to 65535, not {value}"));
        }
        Id::Timeout | Id::Port | Id::Meter | Id::Help => {}
        Id::Map | Id::Target => match (value.split_once('='), id) {
            (Some((name, path)), _) if !name.is_empty() && !path.is_empty() => {
                arguments.maps.push((name.trim().to_owned(), path.to_owned()));
            }
            (None, Id::Target) if !value.is_empty() => arguments.targets.push(value),
            _ => return Err(format!("--map takes NAME=PATH, not {value}")),
        },
        Id::Size => match value.parse::<Bytes>() {
            Ok(size) if size.0 > 0 => arguments.size = Some(size),
            _ => return Err(format!("--size takes a number of bytes such as 10GiB, not {value}")),
        },
        Id::Layout => {
            let known_layout = Layout::ALL.iter().find(|(_, version)| *version == value);
            let (layout, _) = known_layout.ok_or_else(|| format!("--layout takes 1.1.0 or 2006.07.27, not {value}"))?;
            arguments.layout = Some(*layout);
        }
    }
    Ok(())
}

fn help(program: &str) -> String {
    let mut text = format!(
        "Usage: {program} CONFIG_FILE RESULT_FILE [TIMEOUT]\n       {program} /c CONFIG_FILE /r RESULT_FILE [OPTIONS]\n\n"
    );
    for switch in SWITCHES {
        let dash = if switch.name.len() > 1 { "--" } else { "/" };
        let head = format!("{dash}{} {}", switch.name, switch.value);
        text += &format!("  {head:<22} {}\n", switch.about);
    }
    text + "\nRuns every test of the configuration and appends its results. `-` can be used instead of `/`.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(line: &str) -> ParseOutcome {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read("iometer", &words, false)
    }

    #[test]
    fn batch_mode_has_three_spellings() {
        for line in [
            "/c a.icf /r b.csv /t 20",
            "-C a.icf -R b.csv -t 20 /m 1 /p 1066",
            "a.icf b.csv 20",
        ] {
            let ParseOutcome::Run(arguments) = reading(line) else {
                panic!("{line}");
            };
            assert_eq!(
                (&*arguments.config, arguments.results.as_deref()),
                ("a.icf", Some("b.csv"))
            );
        }
        let ParseOutcome::Run(arguments) =
            reading("/tmp/a.icf b.csv --map D:=/mnt --target=/x --target E:=/y --size 1MiB")
        else {
            panic!("a path is not a switch");
        };
        assert_eq!(
            arguments.maps,
            [("D:".into(), "/mnt".into()), ("E:".into(), "/y".into())]
        );
        assert_eq!((arguments.targets.len(), arguments.size), (1, Some(Bytes::mib(1))));
        assert!(matches!(reading(""), ParseOutcome::Help(_)));
        assert!(matches!(reading("/?"), ParseOutcome::Help(_)));
    }

    #[test]
    fn messages_match_iometer() {
        let check = |line, expected: &str| match reading(line) {
            ParseOutcome::Wrong(what, _) => assert_eq!(what, expected, "{line}"),
            other => panic!("{line}: {other:?}"),
        };
        check(
            "-cc a",
            "Exactly one letter must follow a switch character.  Switch characters are \"/\" and \"-\".",
        );
        check("/c", "An additional parameter was expected after the last switch.");
        check("/c a /c b", "Config file parameter was specified more than once.");
        check("/r a /r b", "Result file parameter was specified more than once.");
        check("/t 1 /t 2", "Timeout parameter was specified more than once.");
        check("/p 1 /p 2", "Login port number parameter was specified more than once.");
        check("/t soon", "T switch should be followed by an integer timeout value.");
        check("a b 1 c", "Too many parameters.");
    }
}
