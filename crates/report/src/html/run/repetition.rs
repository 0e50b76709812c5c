//! Command lines that repeat a test, ready to paste. They overwrite nothing that the test wrote.

use std::path::Path;

use model::shell_word;

/// Options whose value is a file to write.
const OUTPUT_FILES: [&str; 6] = ["--save", "--report", "--log", "--output", "--junit", "-o"];
/// The option whose value is a list of `FORMAT=FILE`.
const OUTPUT_LIST: &str = "--out";

/// True if the value of an option names a file, or several, to write.
pub fn names_output(option: &str) -> bool {
    option == OUTPUT_LIST || OUTPUT_FILES.contains(&option)
}

/// The names of the files that a repetition writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name<'a> {
    /// Those of a repetition.
    Again,
    /// Those of a test of another figure.
    Part(&'a str),
}

impl Name<'_> {
    fn rename(self, file: &str) -> String {
        match self {
            Name::Again => name_of_repetition(file),
            Name::Part(part) => name_of_repetition(file).replacen("again", part, 1),
        }
    }
}

/// The command that repeats a test with other options. Its files have new names.
pub fn repeat_command(arguments: &[String], options: &[(String, String)]) -> String {
    repeat_command_as(arguments, options, Name::Again)
}

/// Like [`repeat_command`], with these names of files.
pub(super) fn repeat_command_as(arguments: &[String], options: &[(String, String)], names: Name<'_>) -> String {
    let mut words: Vec<String> = arguments.to_vec();
    for at in 0..words.len() {
        let (name, value) = match words[at].split_once('=') {
            Some((name, value)) if name.starts_with('-') => (format!("{name}="), value.to_owned()),
            _ if at > 0 => (words[at - 1].clone(), words[at].clone()),
            _ => continue,
        };
        let option = name.trim_end_matches('=');
        let renamed = match option {
            _ if OUTPUT_FILES.contains(&option) => names.rename(&value),
            OUTPUT_LIST => rename_outputs(&value, names),
            _ => continue,
        };
        words[at] = if name.ends_with('=') { name + &renamed } else { renamed };
    }
    add_options(&words, options)
}

/// Renames the files of a list of `FORMAT=FILE`.
fn rename_outputs(list: &str, names: Name<'_>) -> String {
    let outputs = list.split(',').map(|output| match output.split_once('=') {
        Some((format, file)) => format!("{format}={}", names.rename(file)),
        None => output.to_owned(),
    });
    outputs.collect::<Vec<_>>().join(",")
}

/// A file for the repetition of a result: `a.fathom` becomes `a-again.fathom`, `history:12`
/// becomes `again-12.fathom`.
pub fn name_of_repetition(file: &str) -> String {
    if file == "-" {
        return file.to_owned();
    }
    if let Some(id) = file.strip_prefix("history:") {
        return format!("again-{id}.fathom");
    }
    match Path::new(file).extension().and_then(|extension| extension.to_str()) {
        Some(extension) => format!("{}-again.{extension}", &file[..file.len() - extension.len() - 1]),
        None => format!("{file}-again"),
    }
}

/// Replaces or adds options in a command line.
pub fn add_options(arguments: &[String], options: &[(String, String)]) -> String {
    let mut words = arguments.to_vec();
    for (name, value) in options {
        if name == "--time" {
            // `--quick` also sets the time.
            words.retain(|word| word != "--quick");
        }
        let assigned = format!("{name}=");
        match words
            .iter()
            .position(|word| word == name || word.starts_with(&assigned))
        {
            Some(at) if words[at] == *name && at + 1 < words.len() => words[at + 1].clone_from(value),
            Some(at) => words[at] = assigned + value,
            None => words.extend([name.clone(), value.clone()]),
        }
    }
    let quoted: Vec<_> = words.iter().map(|word| shell_word(word)).collect();
    quoted.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_repetition_overwrites_no_file() {
        let line = "fathom run --target /t/f --save a.fathom --report=runs.1/a --out csv=a.csv,json=-,text";
        assert_eq!(
            repeat_command(&split_words(line), &[("--time".into(), "60s".into())]),
            "fathom run --target /t/f --save a-again.fathom --report=runs.1/a-again \
             --out csv=a-again.csv,json=-,text --time 60s"
        );
    }

    #[test]
    fn a_given_file_is_taken() {
        let line = split_words("fathom run --save a.fathom");
        let save = [("--save".to_owned(), "b.fathom".to_owned())];
        assert_eq!(repeat_command(&line, &save), "fathom run --save b.fathom");
    }
}
