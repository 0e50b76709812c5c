//! The lexical grammar: files to lines, lines to `keyword=value` items.

use super::blocks::invalid;
use super::notes::find_remark_after_comma;
use super::table::{self, Section};
use super::{VdbenchEnv, values};
use crate::{Diagnostic, Location};

/// One item of a parameter file.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The keyword as written, in lower case.
    pub keyword: String,
    /// The values: one, or those in parentheses.
    pub values: Vec<Value>,
    /// Its place in the file.
    pub at: Location,
}

/// A part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The text without quotes.
    pub text: String,
    /// An unquoted dash precedes it and ends a range.
    pub ends_range: bool,
    /// Part of it was quoted, so it is never a number.
    pub quoted: bool,
}

/// A line with its place.
#[derive(Clone, Debug)]
struct Line {
    text: String,
    at: Location,
}

/// A part of a parameter file as read, for `parmfile.html`: an include interrupts the file that
/// names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedLines {
    /// The heading above it, before the name.
    pub heading: &'static str,
    /// Name of the file that the lines come from.
    pub file: String,
    /// Its lines; after those with variables, also the result of the substitution.
    pub lines: Vec<String>,
}

fn copied(heading: &'static str, file: &str) -> CopiedLines {
    CopiedLines {
        heading,
        file: file.to_owned(),
        lines: Vec::new(),
    }
}

/// The contents of parameter files.
#[derive(Debug)]
pub struct ScannedFiles {
    /// The items of all files, in order.
    pub items: Vec<Item>,
    /// The files as read.
    pub copies: Vec<CopiedLines>,
    /// Remarks that look like parameters, and variables that no line uses.
    pub notes: Vec<String>,
}

/// Replaces variables and removes remarks.
struct Expansion<'a> {
    /// Variables, the longest name first.
    variables: &'a [(String, String)],
    /// Whether a line uses the variable.
    used: Vec<bool>,
    notes: Vec<String>,
}

/// The items of all files, in order. `plus` is added to each `rd=` of one line.
///
/// # Errors
/// The first mistake in them.
pub fn scan(
    files: &[String],
    variables: &[(String, String)],
    plus: Option<&str>,
    env: &mut dyn VdbenchEnv,
) -> Result<ScannedFiles, Diagnostic> {
    let mut copies = Vec::new();
    let mut expansion = Expansion {
        variables,
        used: vec![false; variables.len()],
        notes: Vec::new(),
    };
    let mut lines = Vec::new();
    'files: for file in files {
        let text = env
            .read_file(file)
            .map_err(|_| Diagnostic::new(format!("Requested parameter file does not exist: {file}")))?;
        for line in with_includes(file, &text, &mut expansion, env, &mut copies)? {
            if is_end(&line) {
                break 'files;
            }
            lines.push(line);
        }
    }
    let mut items = Vec::new();
    let mut logical: Option<Line> = None;
    for mut line in lines {
        if let Some(plus) = plus
            && logical.is_none()
            && line.text.starts_with("rd")
            && !line.text.ends_with(',')
        {
            line.text = format!("{},{plus}", line.text);
        }
        let joined = match logical.take() {
            Some(before) => Line {
                text: before.text + &line.text,
                ..before
            },
            None => line,
        };
        match joined.text.ends_with(',') || parse_depth(&joined.text, &joined.at)? > 0 {
            true => logical = Some(joined),
            false => items.extend(split(&joined)?),
        }
    }
    if let Some(rest) = logical {
        let text = rest.text.trim_end_matches(',').to_owned();
        items.extend(split(&Line { text, ..rest })?);
    }
    let unused = { variables.iter() }.zip(&expansion.used).filter(|(_, used)| !**used);
    let mut notes = expansion.notes;
    notes.extend(unused.map(|((name, value), _)| {
        format!("the variable `{name}={value}` of the command line has no effect: no line contains ${name}")
    }));
    Ok(ScannedFiles { items, copies, notes })
}

/// The lines of a file without comments and remarks, with variables and includes replaced.
fn with_includes(
    file: &str,
    text: &str,
    expansion: &mut Expansion<'_>,
    env: &mut dyn VdbenchEnv,
    copies: &mut Vec<CopiedLines>,
) -> Result<Vec<Line>, Diagnostic> {
    let mut copy = copied("Contents of parameter file", file);
    let mut lines = Vec::new();
    for line in numbered_lines(file, text) {
        let Some(line) = expansion.expand(line, &mut copy.lines)? else {
            continue;
        };
        let Some(path) = include_path(&line.text) else {
            let is_end = is_end(&line);
            lines.push(line);
            if is_end {
                break;
            }
            continue;
        };
        let folder = file.rsplit_once('/').map(|(folder, _)| format!("{folder}/{path}"));
        let in_folder = folder.filter(|_| !path.contains('/'));
        let paths = in_folder.into_iter().chain([path.to_owned()]);
        let read = { paths }.find_map(|path| match env.read_file(&path) {
            Ok(text) => Some(Ok((path, text))),
            Err(why) => env.exists(&path).then_some(Err(why)),
        });
        let Some(read) = read else {
            return Err(Diagnostic::new(format!("include={path} file not found")).at(line.at));
        };
        let (name, text) = read.map_err(|why| {
            let error = Diagnostic::new(format!("cannot read include={path}: {why}")).at(line.at.clone());
            error.help("name a file that can be read")
        })?;
        copies.push(copy);
        copy = copied("Contents of include file", &name);
        for inner in numbered_lines(&name, &text) {
            let Some(inner) = expansion.expand(inner, &mut copy.lines)? else {
                continue;
            };
            if include_path(&inner.text).is_some() {
                let message = format!(
                    "Using the 'include=' parameter recusrively is not allowed: {}",
                    inner.text
                );
                return Err(Diagnostic::new(message).at(inner.at));
            }
            let is_end = is_end(&inner);
            lines.push(inner);
            if is_end {
                copies.push(copy);
                return Ok(lines);
            }
        }
        copies.push(copy);
        copy = copied("Continuing with original file", file);
    }
    copies.push(copy);
    Ok(lines)
}

/// True if nothing behind the line is read.
fn is_end(line: &Line) -> bool {
    line.text.starts_with("eof")
}

fn include_path(line: &str) -> Option<&str> {
    let (keyword, path) = line.split_once('=')?;
    (keyword.len() >= 2 && "include".starts_with(&keyword.to_ascii_lowercase())).then_some(path)
}

fn numbered_lines(file: &str, text: &str) -> Vec<Line> {
    let line = |(index, text): (usize, &str)| Line {
        text: text.trim().to_owned(),
        at: Location {
            file: file.to_owned(),
            line: index + 1,
            text: text.trim().to_owned(),
        },
    };
    // Editors on Windows begin files with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines().enumerate().map(line).collect()
}

/// Finds the first blank outside quotation marks, which ends a line. The second value is true if a
/// mark has no counterpart.
pub(super) fn find_blank(line: &str) -> (Option<usize>, bool) {
    let mut quoted = false;
    let blank = line.char_indices().find(|(_, c)| {
        quoted ^= *c == '"';
        c.is_whitespace() && !quoted
    });
    (blank.map(|(at, _)| at), quoted)
}

impl Expansion<'_> {
    /// A line with its variables replaced and cut at its first blank; `None` for comments. The line
    /// and its substitution are added to `copy`.
    fn expand(&mut self, line: Line, copy: &mut Vec<String>) -> Result<Option<Line>, Diagnostic> {
        copy.push(line.text.clone());
        if line.text.is_empty() || line.text.starts_with(['/', '#', '*']) {
            return Ok(None);
        }
        let mut text = line.text.clone();
        for ((name, value), used) in self.variables.iter().zip(&mut self.used) {
            for sign in ['$', '!'] {
                let reference = format!("{sign}{name}");
                *used |= text.contains(&reference);
                text = text.replace(&reference, value);
            }
        }
        if text != line.text {
            copy.push(format!("    variable substitution: {text}"));
        }
        // Vdbench replaces these itself, where they have a meaning.
        let rest = ["$output", "!output", "$host", "!host", "$lun", "$lba", "$size", "$sd"]
            .iter()
            .filter(|word| text.contains("=\"") || text.contains("=(\"") || word.ends_with("host"))
            .fold(text.clone(), |text, word| text.replace(word, ""));
        if rest.contains(['$', '!']) {
            let message = format!("Unknown variable substitution request in parameter file: {}", line.text);
            return Err(Diagnostic::new(message).at(line.at));
        }
        if let Some(remark) = find_remark_after_comma(&text) {
            let Location { file, line, .. } = &line.at;
            self.notes.push(format!(
                "{file}:{line}: `{remark}` is a remark and has no effect: a blank ends a line"
            ));
        }
        let (end, is_unmatched) = find_blank(&text);
        if is_unmatched {
            let error = Diagnostic::new("Unmatched quotation mark").at(line.at);
            return Err(error.help("add the closing `\"` in the same line"));
        }
        let text = end.map_or(text.clone(), |end| text[..end].to_owned());
        Ok(Some(Line { text, ..line }))
    }
}

/// How many parentheses are open at the end of a text.
fn parse_depth(text: &str, at: &Location) -> Result<usize, Diagnostic> {
    let (mut quoted, mut depth) = (false, 0usize);
    for c in text.chars() {
        quoted ^= c == '"';
        match c {
            '(' if !quoted => depth += 1,
            ')' if !quoted && depth == 0 => return Err(Diagnostic::new("Unmatched Parenthesis ").at(at.clone())),
            ')' if !quoted => depth -= 1,
            _ => {}
        }
    }
    Ok(depth)
}

/// The items of a logical line.
fn split(line: &Line) -> Result<Vec<Item>, Diagnostic> {
    if parse_depth(&line.text, &line.at)? > 0 {
        return Err(Diagnostic::new("Unmatched Parenthesis ").at(line.at.clone()));
    }
    let mut items = Vec::new();
    for text in split_pieces(&line.text, |c, depth| c == ',' && depth == 0) {
        let text = text.0;
        if text.is_empty() {
            continue;
        }
        let Some((keyword, value)) = text.split_once('=') else {
            let message = format!("Expecting 'keyword=' in parameter: {text}");
            return Err(Diagnostic::new(message).at(line.at.clone()));
        };
        if keyword.chars().count() < 2 {
            let message = format!("Keyword must contain a minimum of 2 characters: {text}");
            return Err(Diagnostic::new(message).at(line.at.clone()));
        }
        items.push(Item {
            keyword: keyword.to_ascii_lowercase(),
            values: split_atoms(value),
            at: line.at.clone(),
        });
    }
    Ok(items)
}

/// Splits a text where `at` is true, outside of quotes; each piece has the character before it.
fn split_pieces(text: &str, at: impl Fn(char, usize) -> bool) -> Vec<(&str, Option<char>)> {
    let (mut quoted, mut depth, mut from, mut before) = (false, 0usize, 0, None);
    let mut pieces = Vec::new();
    for (index, c) in text.char_indices() {
        quoted ^= c == '"';
        match c {
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            _ if !quoted && at(c, depth) => {
                pieces.push((&text[from..index], before));
                from = index + c.len_utf8();
                before = Some(c);
            }
            _ => {}
        }
    }
    pieces.push((&text[from..], before));
    pieces
}

fn split_atoms(value: &str) -> Vec<Value> {
    let atom = |text: &str, ends_range: bool| Value {
        text: text.replace('"', ""),
        ends_range,
        quoted: text.contains('"'),
    };
    let Some(list) = value.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else {
        return vec![atom(value, false)];
    };
    // A dash at the beginning of an atom is the sign of a number.
    let pieces = split_pieces(list, |c, depth| (c == ',' || c == '-') && depth == 0);
    pieces
        .into_iter()
        .map(|(text, before)| atom(text, before == Some('-')))
        .collect()
}

impl Item {
    pub(super) fn error(&self, what: impl Into<String>) -> Diagnostic {
        Diagnostic::new(what).at(self.at.clone())
    }

    /// The row of the keyword in a section.
    pub fn row(&self, section: Section) -> Option<&'static table::Row> {
        table::find(section, &self.keyword)
    }

    /// The values as numbers, ranges resolved; `None` if they are words.
    ///
    /// # Errors
    /// A list that mixes both, or an invalid range.
    pub fn numbers(&self, name: &str) -> Result<Option<Vec<f64>>, Diagnostic> {
        let minutes = ["el", "in", "pa", "wa", "reset"]
            .iter()
            .any(|start| name.starts_with(start));
        let number = |value: &Value| {
            (!value.quoted)
                .then(|| values::parse_number(&value.text, minutes))
                .flatten()
        };
        if let Some(large) = { self.values.iter() }.find(|value| !value.quoted && values::is_too_large(&value.text)) {
            let error = self.error(invalid(name, format!("{} is too large", large.text)));
            return Err(error.help(format!("the largest number is {}", values::MAX_NUMBER)));
        }
        let is_step =
            |index: usize| index == 2 && self.values[1].ends_range && self.values[2].text.eq_ignore_ascii_case("d");
        if self.values.iter().all(|value| number(value).is_none()) {
            return Ok(None);
        }
        if let Some((_, text)) = self
            .values
            .iter()
            .enumerate()
            .find(|(index, value)| number(value).is_none() && !is_step(*index))
        {
            let message = format!("Mix of alpha and numeric values not allowed: ({name}) {}", text.text);
            return Err(self.error(message));
        }
        let Some(place) = self.values.iter().position(|value| value.ends_range) else {
            return Ok(Some(self.values.iter().filter_map(number).collect()));
        };
        let all = match &self.values[..] {
            [first, last, step] if place == 1 => number(first)
                .zip(number(last))
                .and_then(|(first, last)| values::expand_range(first, last, &step.text)),
            _ => None,
        };
        let message = format!("Invalid range of values for '{name}='");
        let help = "write (FIRST-LAST,STEP), or (FIRST-LAST,d) to double or halve";
        all.map(Some).ok_or_else(|| self.error(message).help(help))
    }

    /// The values as words, ranges of names resolved.
    pub fn expanded_values(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for value in &self.values {
            let before = words.last().filter(|_| value.ends_range);
            match before.and_then(|first| values::name_range(first, &value.text)) {
                Some(names) => {
                    words.pop();
                    words.extend(names);
                }
                None => match words.last_mut().filter(|_| value.ends_range) {
                    Some(first) => *first = format!("{first}-{}", value.text),
                    None => words.push(value.text.clone()),
                },
            }
        }
        words
    }

    /// The only value.
    pub fn single_value(&self) -> String {
        self.expanded_values().into_iter().next().unwrap_or_default()
    }
}
