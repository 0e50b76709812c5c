//! Reads figures that a user wrote down from a picture, a page or a data sheet: TOML with a table
//! `[[load]]` per load, or CSV with a row per load and the same names as titles. Missing
//! figures stay unknown, except those that `complete_directions` derives.

use model::observation::{Concurrency, IoStats, Latency, Load, Observation};
use model::{Direction, Nanos, PerDirection};
use toml::{Table, Value};

use super::numbers::{parse_decimal, parse_integer};
use super::{Form, Imported, build_location, diskspd, problem_at};
use crate::{Diagnostic, nearest};

/// Keys of a load, in documentation order.
const KEYS: [&str; 31] = [
    "name", "tool", "version", "source", "date", "host", "command", "targets", "block", "read", "random", "depth",
    "workers", "rate", "direct", "warm_up", "size", "time", "operations", "bytes", "iops", "mib_per_sec", "mb_per_sec",
    "iops_deviation", "mean", "deviation", "min", "max", "errors", "write", "group",
];

/// Keys of the figures of one direction.
const DIRECTION_KEYS: [&str; 10] = [
    "operations", "bytes", "iops", "mib_per_sec", "mb_per_sec", "iops_deviation", "mean", "deviation", "min", "max",
];

/// True if the text is a TOML document or CSV table of figures.
pub(super) fn is_report(text: &str) -> bool {
    has_rate(text) || parse_titles(text).is_some()
}

/// Every load has at least one of these keys.
const RATE_KEYS: [&str; 3] = ["iops", "mib_per_sec", "mb_per_sec"];

fn has_rate(text: &str) -> bool {
    let Ok(document) = text.parse::<Table>() else {
        return has_rate_line(text);
    };
    let has_rate_key = |table: &Table| RATE_KEYS.iter().any(|key| table.contains_key(*key));
    load_tables(&document).iter().any(|table| {
        let inner = ["read", "write"]
            .iter()
            .filter_map(|key| table.get(*key).and_then(Value::as_table));
        has_rate_key(table) || inner.into_iter().any(has_rate_key)
    })
}

/// True if a line assigns a rate in TOML syntax, even if the document is malformed.
fn has_rate_line(text: &str) -> bool {
    let keys = text.lines().filter_map(|line| line.split_once('='));
    keys.map(|(key, _)| key.trim()).any(|key| RATE_KEYS.contains(&key))
}

/// The loads of a document: its `[[load]]` tables, or the whole document.
fn load_tables(document: &Table) -> Vec<&Table> {
    match document.get("load") {
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_table).collect(),
        Some(Value::Table(table)) => vec![table],
        _ => vec![document],
    }
}

/// The separator and titles of a CSV table.
fn parse_titles(text: &str) -> Option<(char, Vec<String>)> {
    let first = text
        .lines()
        .find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))?;
    let separator = [';', ',', '\t']
        .into_iter()
        .find(|separator| first.contains(*separator))?;
    let titles: Vec<String> = split_cells(first, separator);
    let has_title = |wanted: &[&str]| titles.iter().any(|title| wanted.contains(&title.as_str()));
    has_title(&RATE_KEYS).then_some((separator, titles))
}

fn split_cells(line: &str, separator: char) -> Vec<String> {
    let cell = |text: &str| text.trim().trim_matches('"').trim().to_owned();
    line.split(separator).map(cell).collect()
}

/// Reads every load.
///
/// # Errors
/// Every unreadable key and value.
pub(super) fn read(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    let mut reader = Reader {
        file,
        text,
        errors: Vec::new(),
        imported: Imported::new(Form::Figures),
    };
    match text.parse::<Table>() {
        Ok(document) if parse_titles(text).is_none() || document.contains_key("load") => {
            reader.read_document(&document)
        }
        Err(error) if parse_titles(text).is_none() => reader.errors.push(toml_error(file, text, &error)),
        _ => reader.read_rows(),
    }
    match reader.errors.is_empty() {
        true => Ok(reader.imported),
        false => Err(reader.errors),
    }
}

/// Reports a TOML syntax error.
fn toml_error(file: &str, text: &str, error: &toml::de::Error) -> Diagnostic {
    let before = error.span().map_or("", |span| &text[..span.start.min(text.len())]);
    let index = before.matches('\n').count();
    let line = text.lines().nth(index).unwrap_or_default();
    let problem = problem_at(file, index + 1, line, error.message());
    // Users may write both `read = 70` and `[read]`: to TOML that is the same key twice.
    let is_direction = |key: &str| matches!(key, "read" | "write");
    let key = line
        .trim()
        .trim_matches(['[', ']'])
        .split(['=', '.'])
        .next()
        .unwrap_or_default();
    match error.message().contains("duplicate key") && is_direction(key.trim()) {
        true => problem.help(format!(
            "use `{0}` only once: as a percentage, or as a table of figures",
            key.trim()
        )),
        false => problem,
    }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    errors: Vec<Diagnostic>,
    imported: Imported,
}

impl Reader<'_> {
    fn read_document(&mut self, document: &Table) {
        let common: Table = document
            .iter()
            .filter(|(key, _)| *key != "load")
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        for (index, table) in load_tables(document).into_iter().enumerate() {
            // Keys above the tables apply to all loads.
            let mut merged_table = common.clone();
            merged_table.extend(table.clone());
            self.add_load(&merged_table, index);
        }
    }

    fn read_rows(&mut self) {
        let Some((separator, titles)) = parse_titles(self.text) else {
            return;
        };
        let lines = self.text.lines().enumerate();
        let lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
        for (row, (index, line)) in lines.skip(1).enumerate() {
            let cells = split_cells(line, separator);
            if cells.len() != titles.len() {
                let message = format!("the row has {} cells, but the header has {}", cells.len(), titles.len());
                self.errors.push(problem_at(self.file, index + 1, line, message));
                continue;
            }
            let filled = titles.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
            self.add_load(
                &filled
                    .map(|(title, cell)| (title.clone(), Value::String(cell)))
                    .collect(),
                row,
            );
        }
    }

    fn add_load(&mut self, table: &Table, index: usize) {
        self.report_unknown_keys(table, &KEYS);
        for direction in ["read", "write"] {
            if let Some(inner) = table.get(direction).and_then(Value::as_table) {
                self.report_unknown_keys(inner, &DIRECTION_KEYS);
            }
        }
        let string_value = |key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
        let command = string_value("command");
        let command_load = match command.as_deref().map(diskspd::load_of_command) {
            Some(Ok(load)) => load,
            Some(Err(finding)) => {
                self.imported.findings.push(*finding);
                Load::default()
            }
            None => Load::default(),
        };
        self.imported.commands.extend(command);
        self.imported.host = string_value("host").or(self.imported.host.take());
        self.imported.started = string_value("date").or(self.imported.started.take());
        self.imported.source = string_value("source").or(self.imported.source.take());
        let load = self.parse_load(table, command_load);
        let direction = |direction: Direction| table.get(direction.word()).and_then(Value::as_table).cloned();
        let [read, write] = [direction(Direction::Read), direction(Direction::Write)]
            .map(|inner| inner.map(|inner| self.parse_flow(&inner)));
        let observation = Observation {
            tool: string_value("tool").unwrap_or_else(|| "figures".into()),
            version: string_value("version"),
            name: string_value("name").unwrap_or_else(|| format!("load {}", index + 1)),
            measured_ns: self.parse_value(table, "time", parse_time),
            total: self.parse_flow(table),
            directions: PerDirection::new(read, write, None),
            errors: self.parse_value(table, "errors", parse_integer),
            concurrency: self
                .parse_value(table, "group", parse_integer)
                .map(|group| Concurrency {
                    group: u32::try_from(group).unwrap_or(u32::MAX),
                    ..Concurrency::default()
                }),
            load,
            ..Observation::default()
        };
        self.imported.loads.push(complete_directions(observation));
    }

    /// Reports unknown keys: ignoring one would silently drop a figure.
    fn report_unknown_keys(&mut self, table: &Table, keys: &[&'static str]) {
        let unknown = |key: &&String| !keys.contains(&key.as_str()) && parse_quantile_key(key).is_none();
        for key in table.keys().filter(unknown) {
            let diagnostic = Diagnostic::new(format!("unknown key `{key}`")).at(self.location(key));
            let near = nearest(key, keys.iter().copied());
            self.errors.push(match near {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => diagnostic.help(format!(
                    "known keys: {}, and percentiles such as p99 or p99.9",
                    keys.join(", ")
                )),
            });
        }
    }

    /// The load of a table, which overrides that of its command.
    fn parse_load(&mut self, table: &Table, mut load: Load) -> Load {
        let flag = |text: &str| text.parse::<bool>().ok();
        match table.get("targets") {
            Some(Value::Array(list)) => {
                load.targets = list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            }
            Some(Value::String(target)) => load.targets = vec![target.clone()],
            _ => {}
        }
        self.update(&mut load.rate_iops, table, "rate", parse_decimal);
        self.update(&mut load.depth, table, "depth", parse_integer);
        self.update(&mut load.workers, table, "workers", |text| text.parse().ok());
        self.update(&mut load.block, table, "block", |text| text.parse().ok());
        if !matches!(table.get("read"), Some(Value::Table(_))) {
            let percent = |text: &str| parse_decimal(text).filter(|percent| *percent <= 100.0);
            self.update(&mut load.read_percent, table, "read", percent);
        }
        self.update(&mut load.random, table, "random", flag);
        if load.rate_iops.is_some() {
            load.closed_loop = Some(false);
        }
        self.update(&mut load.direct, table, "direct", flag);
        self.update(&mut load.warm_up_ns, table, "warm_up", parse_time);
        self.update(&mut load.size, table, "size", |text| text.parse().ok());
        load
    }

    /// Replaces a field by the value of a key, if the table has a readable one.
    fn update<T>(&mut self, field: &mut Option<T>, table: &Table, key: &str, read: impl Fn(&str) -> Option<T>) {
        *field = self.parse_value(table, key, read).or(field.take());
    }

    fn parse_flow(&mut self, table: &Table) -> IoStats {
        let mib = self
            .parse_value(table, "mib_per_sec", parse_decimal)
            .map(|rate| rate * f64::from(1 << 20));
        let mb = self
            .parse_value(table, "mb_per_sec", parse_decimal)
            .map(|rate| rate * 1e6);
        let operations = self.parse_value(table, "operations", parse_integer);
        let mut quantiles = Vec::new();
        for key in table.keys() {
            if let Some(share) = parse_quantile_key(key)
                && let Some(value) = self.parse_value(table, key, parse_latency)
            {
                quantiles.push((share, value));
            }
        }
        quantiles.sort_by(|a, b| a.0.total_cmp(&b.0));
        let latency = Latency {
            samples: operations,
            mean_ns: self.parse_value(table, "mean", parse_latency),
            deviation_ns: self.parse_value(table, "deviation", parse_latency),
            min_ns: self.parse_value(table, "min", parse_latency),
            max_ns: self.parse_value(table, "max", parse_latency),
            quantiles,
            ..Latency::default()
        };
        let has_latency = latency.mean_ns.is_some() || latency.max_ns.is_some() || !latency.quantiles.is_empty();
        IoStats {
            operations,
            bytes: self.parse_value(table, "bytes", |text| text.parse().ok()),
            iops: self.parse_value(table, "iops", parse_decimal),
            bytes_per_sec: mib.or(mb),
            iops_deviation: self.parse_value(table, "iops_deviation", parse_decimal),
            latency: has_latency.then_some(latency),
            ..IoStats::default()
        }
    }

    /// Reads an optional value; reports it if it is unreadable.
    fn parse_value<T>(&mut self, table: &Table, key: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = match table.get(key)? {
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Boolean(flag) => flag.to_string(),
            Value::Datetime(_) | Value::Array(_) | Value::Table(_) => String::new(),
        };
        let value = read(text.trim());
        if value.is_none() {
            let diagnostic = Diagnostic::new(format!("cannot read `{key}`: {text}")).at(self.location(key));
            self.errors.push(diagnostic.help(describe_expected_value(key)));
        }
        value
    }

    fn location(&self, key: &str) -> crate::Location {
        let mut lines = self.text.lines().enumerate();
        let matching_line = lines.find(|(_, line)| line.contains(key));
        let (index, line) = matching_line.unwrap_or((0, key));
        build_location(self.file, index + 1, line)
    }
}

fn describe_expected_value(key: &str) -> &'static str {
    match key {
        "block" | "size" | "bytes" => "a size such as 4096, 4k or 1.5 GiB",
        "warm_up" | "time" => "a time such as 30s or 5 min",
        "mean" | "deviation" | "min" | "max" => "a latency with its unit, such as 1011.46us or 32.763 ms",
        "random" | "direct" => "true or false",
        "read" => "the percentage of reads, from 0 to 100; or a table of figures of the reads",
        _ if parse_quantile_key(key).is_some() => "a latency with its unit, such as 1011.46us or 32.763 ms",
        _ => "a number such as 1953.3, without thousands separators",
    }
}

/// The share of `p99.9`, `p50` or `p99_9`: bare TOML keys cannot contain a point.
fn parse_quantile_key(key: &str) -> Option<f64> {
    let percent = parse_decimal(&key.strip_prefix('p')?.replace('_', "."))?;
    (percent > 0.0 && percent < 100.0).then(|| super::numbers::percent_to_share(percent))
}

/// Parses a latency, which must have a unit.
fn parse_latency(text: &str) -> Option<f64> {
    let end = text.find(|letter: char| !(letter.is_ascii_digit() || letter == '.'))?;
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" | "usec" => 1e3,
        "ms" | "msec" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    parse_decimal(number).map(|number| number * factor)
}

fn parse_time(text: &str) -> Option<Nanos> {
    text.parse().ok()
}

/// Fills in the total from the directions, or the only direction from the total.
fn complete_directions(mut observation: Observation) -> Observation {
    let directions = &mut observation.directions;
    if observation.total == IoStats::default() {
        let flows: Vec<&IoStats> = [&directions.read, &directions.write].into_iter().flatten().collect();
        observation.total = super::flow_sum::sum(&flows).unwrap_or_default();
    }
    if directions.read.is_none() && directions.write.is_none() {
        match observation.load.read_percent {
            Some(100.0) => directions.read = Some(observation.total.clone()),
            Some(0.0) => directions.write = Some(observation.total.clone()),
            _ => {}
        }
    }
    observation
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Bytes;

    #[test]
    fn a_command_line_determines_the_load() {
        let text = "tool = \"DiskSpd\"\ncommand = 'diskspd -t2 -o32 -b4k -r4k -w0 -d120 -Sh -D -L -c5G C:\\x\\IO.dat > test01.txt'\n\
                    time = \"120.006s\"\noperations = 234408\niops = 1953.30\nmib_per_sec = 7.63\nmean = \"32.763 ms\"\np99 = \"60ms\"\n";
        assert!(is_report(text));
        let read = read("x", text).expect("sound");
        let load = &read.loads[0].load;
        assert_eq!(
            (load.depth, load.block, load.read_percent),
            (Some(64), Some(Bytes(4096)), Some(100.0))
        );
        assert_eq!(load.direct, Some(true));
        let latency = read.loads[0].total.latency.as_ref().expect("a mean");
        assert_eq!(
            (latency.mean_ns, latency.quantile(0.99)),
            (Some(32.763 * 1e6), Some(60e6))
        );
        assert!(read.loads[0].directions.read.is_some());
    }

    #[test]
    fn a_command_line_that_diskspd_refuses_is_reported() {
        let check = |command: &str, hint: &str| {
            let read = read("x", &format!("command = '{command}'\niops = 5\n")).expect("sound");
            let [finding] = &*read.findings else {
                panic!("{:?}", read.findings)
            };
            assert_eq!(finding.rule, "REPORT-UNREAD");
            assert!(
                finding.help.as_deref().is_some_and(|help| help.contains(hint)),
                "{finding:?}"
            );
        };
        check("diskspd -t2 -08 x.dat", "`-o8`");
        check(r"diskspd -t2 -D -L:\x\IO.dat", r"`-L C:\x\IO.dat`");
        let read = read("x", "command = 'diskspd -t2 -o8 \"F:\\my dir\\x.dat\"'\niops = 5\n").expect("sound");
        assert_eq!((read.findings.len(), read.loads[0].load.depth), (0, Some(16)));
    }

    #[test]
    fn tables_have_a_row_for_each_load() {
        let text = "name,block,read,depth,iops,mean\nqd1,4k,100,1,30000,33.3us\nqd64,4k,100,64,107000,\n";
        let read = read("x", text).expect("sound");
        assert_eq!(read.loads.len(), 2);
        assert_eq!(read.loads[1].load.depth, Some(64));
        assert_eq!(read.loads[1].total.latency, None);
    }

    #[test]
    fn keys_above_the_tables_apply_to_every_load() {
        let text = "tool = \"X\"\nblock = \"4k\"\n[[load]]\niops = 5\n[[load]]\niops = 6\nblock = \"8k\"\n";
        let loads = read("x", text).expect("sound").loads;
        let load = |index: usize| {
            (
                loads[index].tool.as_str(),
                loads[index].load.block,
                loads[index].total.iops,
            )
        };
        assert_eq!(load(0), ("X", Some(Bytes::kib(4)), Some(5.0)));
        assert_eq!(load(1), ("X", Some(Bytes::kib(8)), Some(6.0)));
    }

    #[test]
    fn every_mistake_is_reported_with_its_line() {
        let text = "iops = 5\nmean = 3\ndeph = 4\n[read]\niops = \"1,953\"\nblock = 4\n";
        let errors = read("x", text).expect_err("four mistakes");
        let lines: Vec<usize> = errors
            .iter()
            .filter_map(|error| Some(error.at.as_ref()?.line))
            .collect();
        assert_eq!(errors.len(), 4, "{errors:?}");
        assert!(lines.contains(&2) && lines.contains(&3), "{errors:?}");
        assert!(errors[0].help.as_deref().is_some_and(|help| help.contains("depth")));
    }

    #[test]
    fn other_documents_are_not_figures() {
        assert!(!is_report("[[job]]\ntarget = \"a\"\n"));
        assert!(!is_report("Latency, they say, is key\n"));
        assert!(!is_report(""));
    }
}
