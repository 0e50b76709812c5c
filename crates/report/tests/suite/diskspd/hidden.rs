//! Masks the figures in lines of DiskSpd's reports: labels, columns, elements, widths and decimals
//! remain. Shared with the binary's tests, which also hide what depends on the machine.

/// A line of a text report.
pub fn line(line: &str) -> String {
    if line.starts_with("\tstart time:") {
        return digits(line);
    }
    if line.starts_with("actual test time:") || line.starts_with("total test time:") {
        return number(line);
    }
    let cells: Vec<&str> = line.split('|').collect();
    if cells.len() < 3 {
        return line.to_owned();
    }
    let first = match cells[0].strip_prefix("total:") {
        Some(bytes) => format!("total:{}", cell(bytes)),
        None => cells[0].to_owned(),
    };
    let rest = cells[1..].iter().map(|text| cell(text));
    [first].into_iter().chain(rest).collect::<Vec<String>>().join("|")
}

/// Digits and the blanks before them are masked as one, so a column does not depend on its figure.
fn cell(text: &str) -> String {
    let figures = text.chars().all(|c| " .%-".contains(c) || c.is_ascii_digit());
    if !figures || !text.contains(|c: char| c.is_ascii_digit()) {
        return text.to_owned();
    }
    if text.split_whitespace().count() == 8 {
        return " eight plain numbers".to_owned();
    }
    let hidden = |c: char| if c == ' ' || c.is_ascii_digit() { '#' } else { c };
    text.chars().map(hidden).collect()
}

pub fn digits(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect()
}

/// Masks each number regardless of its length before the point; the number of decimals remains.
pub fn number(text: &str) -> String {
    let mut out = String::new();
    let mut decimals = false;
    for c in text.chars() {
        match c.is_ascii_digit() {
            true if decimals || !out.ends_with('#') => out.push('#'),
            true => {}
            false => {
                decimals = c == '.';
                out.push(c);
            }
        }
    }
    out
}

/// A line of an XML result.
pub fn element(line: &str) -> String {
    let element = line.trim_start();
    let name = name(line);
    match name.as_str() {
        "RunTime" => digits(line),
        "Latency" => number(line),
        _ => match element.strip_prefix("<Bucket SampleMillisecond=\"") {
            Some(behind) => {
                let (end, figures) = behind.split_once('"').unwrap();
                let indent = &line[..line.len() - element.len()];
                format!("{indent}ends {end}: {}", number(figures))
            }
            None if MEASURED.contains(&name.as_str()) || name.starts_with("Average") => number(line),
            None => line.to_owned(),
        },
    }
}

/// The name of the element that a line begins with.
pub fn name(line: &str) -> String {
    let element = line.trim_start().chars().skip(1);
    element.take_while(char::is_ascii_alphabetic).collect()
}

/// Removes the latency of reads and writes of a target together (`latency-per-target`), which
/// version 2.2 does not print.
pub fn without_total_latency(xml: &str) -> Vec<String> {
    let mut kept = Vec::new();
    let mut lines = xml.lines();
    while let Some(line) = lines.next() {
        if line.contains("<AverageLatencyMilliseconds>") {
            assert!(lines.next().unwrap().contains("<LatencyStdev>"));
        } else {
            kept.push(line.to_owned());
        }
    }
    kept
}

/// Elements with measured figures, besides those that begin with `Average`.
const MEASURED: [&str; 25] = [
    "TestTimeSeconds", "UsagePercent", "UserPercent", "KernelPercent", "IdlePercent", "BytesCount", "IOCount",
    "ReadBytes", "ReadCount", "WriteBytes", "WriteCount", "ReadMilliseconds", "WriteMilliseconds", "TotalMilliseconds",
    "ReadIopsStdDev", "WriteIopsStdDev", "IopsStdDev", "CompletionWait", "ThrottleWait", "ThrottleSleep", "Lookaside",
    "LookasideCompletion", "ReadLatencyStdev", "WriteLatencyStdev", "LatencyStdev",
];
