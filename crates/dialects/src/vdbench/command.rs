//! The command line.

use super::Validation;
use crate::Diagnostic;

/// A parsed command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// Parameter files.
    pub files: Vec<String>,
    /// The output directory.
    pub output: Option<String>,
    /// Simulate only.
    pub simulate: bool,
    /// `elapsed=`, `interval=` and `warmup=` of every RD.
    pub elapsed: Option<u64>,
    /// See `elapsed`.
    pub interval: Option<u64>,
    /// See `elapsed`.
    pub warmup: Option<u64>,
    /// `format=` of every RD.
    pub format: Option<String>,
    /// Remove all trees before the first run.
    pub cleans: bool,
    /// Variables, the longest name first.
    pub variables: Vec<(String, String)>,
    /// Text to add to every `rd=`.
    pub plus: Option<String>,
    /// Repeat all RDs, for these seconds or endlessly.
    pub repeat: Option<Option<u64>>,
    /// Megabytes are 10⁶ bytes.
    pub decimal: bool,
    /// Start at this RD.
    pub start_at: Option<String>,
    /// The built-in test: its parameter file, and that its file is removed first.
    pub self_test: Option<(String, bool)>,
    /// `-v` and `-j`.
    pub validation: Option<Validation>,
    /// Arguments as they were scanned.
    pub scanned: Vec<String>,
}

const HELP_FILE: &str = "name a parameter file: `-f FILE`; docs/vdbench.md lists what it may hold";

/// Parses the arguments after the program's name. `temporary` is the directory of the built-in
/// test's file.
///
/// # Errors
/// The first invalid or unsupported argument.
pub fn read_command(arguments: &[String], temporary: &str) -> Result<Command, Diagnostic> {
    let mut command = Command::default();
    if arguments.is_empty() {
        return Err(Diagnostic::new("No input parameters specified").help(HELP_FILE));
    }
    let mut rest = arguments.iter().map(String::as_str);
    let mut takes_files = false;
    while let Some(word) = rest.next() {
        if word == "+" || word.starts_with('+') {
            let text = [&word[1..]]
                .into_iter()
                .chain(rest.by_ref())
                .collect::<Vec<_>>()
                .join(" ");
            let text = text.trim();
            if text.contains(' ') {
                return Err(Diagnostic::new(format!("Embedded blanks not acceptable: '{text}'")));
            }
            command.plus = Some(text.trim_start_matches(',').to_owned());
            break;
        }
        let Some(option) = word.strip_prefix('-') else {
            match word.split_once('=') {
                Some((name, value)) => {
                    command.variables.push((name.to_owned(), value.to_owned()));
                    takes_files = true;
                }
                None if takes_files => command.files.push(word.to_owned()),
                None => return Err(Diagnostic::new(format!("Invalid execution parameter: '{word}'")).help(HELP_FILE)),
            }
            continue;
        };
        let letter = option.chars().next().unwrap_or_default();
        let glued = option.get(letter.len_utf8()..).unwrap_or_default();
        takes_files = false;
        let needs_value = "foeiwpdr".contains(letter) || letter == 'm' && glued != "b";
        let value = match (needs_value && letter != '\0', glued) {
            (true, "") => rest.next().unwrap_or_default().to_owned(),
            (_, glued) => glued.to_owned(),
        };
        command
            .scanned
            .push(format!("-{letter}{value}").trim_end_matches('\0').to_owned());
        read_option(&mut command, word, letter, &value, temporary)?;
        takes_files |= letter == 'f';
        if letter == 'l' && glued.is_empty() {
            // Its value is optional: a following number is its value.
            let next = rest
                .clone()
                .next()
                .filter(|next| next.starts_with(|c: char| c.is_ascii_digit()) && !next.contains('='));
            command.repeat = Some(None);
            if let Some(next) = next {
                read_option(&mut command, &format!("-l {next}"), letter, next, temporary)?;
                rest.next();
            }
        }
    }
    command.variables.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    if command.files.is_empty() && command.self_test.is_none() {
        return Err(Diagnostic::new("No input parameters specified").help(HELP_FILE));
    }
    Ok(command)
}

fn read_option(
    command: &mut Command,
    word: &str,
    letter: char,
    value: &str,
    temporary: &str,
) -> Result<(), Diagnostic> {
    let parse_seconds = |name: &str| {
        let message = format!("Invalid execution parameter: '{word}'");
        value
            .parse::<u64>()
            .map_err(|_| Diagnostic::new(message).help(format!("specify {name} as a whole number of seconds")))
    };
    let refuse = |what: &str, help: &str| Err(Diagnostic::new(what.to_owned()).help(help.to_owned()));
    match letter {
        'f' => command.files.push(value.to_owned()),
        'o' => command.output = Some(value.to_owned()),
        's' if value.is_empty() => command.simulate = true,
        'e' => command.elapsed = Some(parse_seconds("elapsed time")?),
        'i' => command.interval = Some(parse_seconds("the interval")?),
        'w' => command.warmup = Some(parse_seconds("the warm-up")?),
        'm' if value == "b" => command.decimal = true,
        // The port, the debug switches, and the number of slaves: there is only this process.
        'm' | 'p' | 'd' if value.parse::<u32>().is_ok() => {}
        'k' if value.is_empty() => {}
        'm' | 'p' | 'd' => {
            let word = match word.len() {
                2 => format!("{word} {value}"),
                _ => word.to_owned(),
            };
            return refuse(&format!("Invalid execution parameter: '{word}'"), "give a whole number");
        }
        'r' => command.start_at = Some(value.to_owned()),
        'l' if value.is_empty() => {}
        'l' => match seconds(value) {
            Some(time) if time > 0 => command.repeat = Some(Some(time)),
            _ => {
                return refuse(
                    &format!("Invalid execution parameter: '{word}'"),
                    "specify a time: `-l 30m`",
                );
            }
        },
        't' => return self_test(command, word, value, temporary),
        'v' => command.validation.get_or_insert_default().add_letters(value, word)?,
        'j' => command
            .validation
            .get_or_insert_default()
            .add_journal_letters(value, word)?,
        'c' => {
            let formats = [("o", "only"), ("y", "yes"), ("n", "no")];
            command.format = match formats.into_iter().find(|(letter, _)| *letter == value) {
                Some((_, format)) => Some(format.to_owned()),
                None if value.is_empty() => None,
                None => {
                    return refuse(
                        &format!("Invalid execution parameter: '{word}'"),
                        "`-c` removes trees, `-co`, `-cy` and `-cn` force `format=only`, `yes` and `no`",
                    );
                }
            };
            command.cleans |= value.is_empty();
        }
        '\0' => return refuse("Use of parameter file is now required.", HELP_FILE),
        _ => {
            return refuse(
                &format!("Invalid execution parameter: '{word}'"),
                "docs/vdbench.md lists the options",
            );
        }
    }
    Ok(())
}

fn seconds(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['s', 'm', 'h']);
    let factor = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

fn self_test(command: &mut Command, word: &str, value: &str, temporary: &str) -> Result<(), Diagnostic> {
    if value == "f" {
        let text = format!(
            "fsd=fsd1,anchor={temporary}/fsd1,depth=1,width=1,files=100,size=128k\n\
             fwd=default,xfersize=4k,fileio=random,fileselect=random,threads=8,stopafter=100\n\
             fwd=fwd1,fsd=fsd1,operation=read\n\
             fwd=fwd2,fsd=fsd1,operation=write\n\
             rd=rd1,fwd=fwd*,fwdrate=100,format=yes,elapsed=5,interval=1\n"
        );
        command.self_test = Some((text, false));
        return Ok(());
    }
    let (flags, mix, rate) = match value {
        "" | "d" => ("", "rdpct=50", "100"),
        "1" => (",openflags=o_sync", "rdpct=50", "100"),
        "2" => ("", "rdpct=0", "max"),
        _ => {
            let message = format!("the built-in test {word} is not supported");
            return Err(Diagnostic::new(message).help("`-t`, `-t1`, `-t2` and `-td` test raw workloads, `-tf` files"));
        }
    };
    let text = format!(
        "sd=sd1,lun={temporary}/quick_vdbench_test,size=40m{flags}\n\
         wd=wd1,sd=sd1,xf=1k,{mix}\n\
         rd=rd1,wd=wd1,iorate={rate},elapsed=5,interval=1\n"
    );
    command.self_test = Some((text, value == "d"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Command, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read_command(&words, "/tmp").map_err(|error| error.what)
    }

    #[test]
    fn values_may_be_attached_or_separate() {
        let command = read("-fx -o out -e 60 -i5 -w 10 a=1 y ab=2 -s -l 2h").unwrap();
        assert_eq!(command.files, ["x", "y"]);
        assert_eq!(
            (command.elapsed, command.interval, command.warmup),
            (Some(60), Some(5), Some(10))
        );
        assert_eq!(command.output.as_deref(), Some("out"));
        assert_eq!(command.variables[0].0, "ab", "the longest name first");
        assert!(command.simulate);
        assert_eq!(command.repeat, Some(Some(7200)));
    }

    #[test]
    fn a_plus_takes_the_rest_of_the_line() {
        let command = read("-f x -o out + iorate=50,threads=2").unwrap();
        assert_eq!(command.plus.as_deref(), Some("iorate=50,threads=2"));
        let error = read("-f x + iorate=50 -o out").unwrap_err();
        assert_eq!(error, "Embedded blanks not acceptable: 'iorate=50 -o out'");
    }

    #[test]
    fn wrong_lines_have_the_messages_that_scripts_expect() {
        assert_eq!(read("").unwrap_err(), "No input parameters specified");
        assert_eq!(read("-f parmfile -z").unwrap_err(), "Invalid execution parameter: '-z'");
        assert!(read("-f x -vt").unwrap_err().contains("`-vt` is not supported"));
        for option in [
            "-l 2x", "-l2x", "-l 0", "-l0m", "-m abc", "-mabc", "-p x", "-d x", "-kx",
        ] {
            let error = format!("Invalid execution parameter: '{option}'");
            assert_eq!(read(&format!("-f x {option}")).unwrap_err(), error);
        }
        assert_eq!(read("-f x -l -s").unwrap().repeat, Some(None));
        assert!(read("-f x -m 2 -p 5570 -d27 -k -mb").unwrap().decimal);
        assert_eq!(read("-f x -jx").unwrap_err(), "Invalid execution parameter: '-jx'");
        assert!(read("-tx").unwrap_err().contains("not supported"));
    }
}
