//! `parse` and `parseflat`: write columns and rows of a flat file as a table.

use std::fs;

use dialects::Diagnostic;

use crate::drop_in::print_stdout;

/// The names of the function.
pub const NAMES: [&str; 2] = ["parse", "parseflat"];

/// The files, and the columns and rows to copy.
#[derive(Debug, Default)]
struct Selection {
    input: String,
    output: String,
    /// Columns in order; empty for all.
    columns: Vec<String>,
    /// Columns with the value that a row must have.
    filters: Vec<(String, String)>,
    /// Only rows with averages.
    averages: bool,
}

/// Reads a flat file and writes the selected columns and rows.
///
/// # Errors
/// The arguments are wrong, or a file cannot be read or written.
pub fn execute(arguments: &[String]) -> Result<(), Diagnostic> {
    let selection = read_arguments(arguments)?;
    let failed =
        |what: &str, path: &str, error: &std::io::Error| Diagnostic::new(format!("cannot {what} {path}: {error}"));
    let text = fs::read_to_string(&selection.input).map_err(|error| failed("read", &selection.input, &error))?;
    let table = format_table(&text, &selection)?;
    if table.lines().count() == 1 {
        // Not a failure: a script may select rows that not every run has.
        let _ = print_stdout(&format!(
            "No row of {} matches: {} has only the header.\n",
            selection.input, selection.output
        ));
    }
    fs::write(&selection.output, table).map_err(|error| failed("write", &selection.output, &error))
}

fn read_arguments(arguments: &[String]) -> Result<Selection, Diagnostic> {
    let mut selection = Selection::default();
    let mut option = "";
    for word in arguments {
        match (
            word.strip_prefix('-').filter(|rest| rest.parse::<f64>().is_err()),
            option,
        ) {
            (Some("a"), _) => selection.averages = true,
            (Some(letter @ ("i" | "o" | "c" | "f")), _) => option = letter,
            (None, "i") => selection.input.clone_from(word),
            (None, "o") => selection.output.clone_from(word),
            (None, "c") => selection.columns.push(word.clone()),
            (None, "f") => match selection.filters.last_mut().filter(|(_, value)| value.is_empty()) {
                Some((_, value)) => value.clone_from(word),
                None => selection.filters.push((word.clone(), String::new())),
            },
            _ => return Err(usage(&format!("Invalid execution parameter: '{word}'"))),
        }
    }
    match &selection {
        Selection { input, .. } if input.is_empty() => Err(usage("no flat file given")),
        Selection { output, .. } if output.is_empty() => Err(usage("no output file given")),
        Selection { input, output, .. } if is_same_file(input, output) => Err(usage(&format!(
            "`{output}` is the flat file itself, which would be overwritten"
        ))),
        Selection { filters, .. } if filters.iter().any(|(_, value)| value.is_empty()) => {
            Err(usage("`-f` takes a column and its value"))
        }
        _ => Ok(selection),
    }
}

fn is_same_file(a: &str, b: &str) -> bool {
    let real = |path: &str| fs::canonicalize(path).ok();
    real(a).is_some_and(|path| real(b) == Some(path))
}

fn usage(what: &str) -> Diagnostic {
    Diagnostic::new(what.to_owned()).help("parse -i flatfile.html -o out.csv [-c column …] [-f column value …] [-a]")
}

/// Formats the header and the selected rows. Cells are separated by commas in a `.csv` file, and by
/// tabs in other files.
fn format_table(text: &str, selection: &Selection) -> Result<String, Diagnostic> {
    let mut lines = text
        .lines()
        .filter(|line| !line.starts_with(['*', '<']) && !line.trim().is_empty());
    let header: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let place = |name: &str| {
        let column_index = header.iter().position(|title| title.eq_ignore_ascii_case(name));
        column_index.ok_or_else(|| {
            let columns = format!("known columns: {}", header.join(" "));
            Diagnostic::new(format!("no column `{name}` in {}", selection.input)).help(columns)
        })
    };
    if !header.contains(&"tod") {
        return Err(Diagnostic::new(format!("{} is not a flat file", selection.input)).help("use `flatfile.html`"));
    }
    let columns = match &selection.columns[..] {
        [] => (0..header.len()).collect(),
        names => names
            .iter()
            .map(|name| place(name))
            .collect::<Result<Vec<usize>, _>>()?,
    };
    let filters = { selection.filters.iter() }.map(|(name, value)| Ok((place(name)?, value)));
    let filters = filters.collect::<Result<Vec<(usize, &String)>, Diagnostic>>()?;
    let interval = place("Interval")?;
    let separator = if selection.output.ends_with(".csv") { "," } else { "\t" };
    let rows = lines
        .map(|line| line.split_whitespace().collect::<Vec<&str>>())
        .filter(|row| {
            let has_all = filters
                .iter()
                .all(|(column, value)| row.get(*column).is_some_and(|cell| is_same_value(cell, value)));
            has_all && (!selection.averages || row.get(interval).is_some_and(|label| label.starts_with("avg")))
        });
    let mut table = String::new();
    for row in [header.clone()].into_iter().chain(rows) {
        let cells: Vec<&str> = columns
            .iter()
            .map(|column| row.get(*column).copied().unwrap_or_default())
            .collect();
        table += &cells.join(separator);
        table.push('\n');
    }
    Ok(table)
}

/// Compares a cell with a value. Numbers may have different decimals.
fn is_same_value(cell: &str, wanted: &str) -> bool {
    match (cell.parse::<f64>(), wanted.parse::<f64>()) {
        (Ok(cell), Ok(wanted)) => cell == wanted,
        _ => cell == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAT: &str = "<title>Vdbench output/flatfile.html</title><pre>\n* tod  time of day\n\
                        \x20        tod Run  Interval  rate   rdpct\n\
                        21:51:20.008 rd1         1  71.0000  100.0000\n\
                        21:51:24.057 rd1   avg_2-5  87.8000  100.0000\n\
                        21:51:34.057 rd2   avg_2-5  90.0000   50.0000\n";

    fn parse(arguments: &str) -> Result<String, String> {
        let words: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let table = read_arguments(&words).and_then(|selection| format_table(FLAT, &selection));
        table.map_err(|error| error.what)
    }

    #[test]
    fn the_table_has_the_requested_columns_and_rows() {
        assert_eq!(
            parse("-i flat -o out.csv -c run rate -a").unwrap(),
            "Run,rate\nrd1,87.8000\nrd2,90.0000\n"
        );
        assert_eq!(
            parse("-a -o out -i flat -c rate -f rdpct 100 run rd1").unwrap(),
            "rate\n87.8000\n"
        );
        assert_eq!(parse("-i flat -o out").unwrap().lines().count(), 4);
        assert_eq!(parse("-i flat -o out -f rate -1").unwrap().lines().count(), 1);
        for (wrong, what) in [
            ("-o out.csv", "no flat file given"),
            ("-i flat", "no output file given"),
            ("-i flat -o out -c nothing", "no column `nothing`"),
            ("-i flat -o out -f rate", "a column and its value"),
            ("-i flat -o out -x", "'-x'"),
        ] {
            assert!(parse(wrong).unwrap_err().contains(what), "{wrong}");
        }
    }
}
