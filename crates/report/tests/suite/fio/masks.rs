//! Outputs with their measured figures masked, so that only their form remains.

/// The report's lines without fio's interspersed messages and without the latency classes, which
/// differ from run to run.
pub fn normal_lines(text: &str, fixed: bool) -> Vec<String> {
    let lines = text.lines().filter(|line| {
        let between = line.contains("Laying out IO file") || line.starts_with("note: ");
        let classes = line.starts_with("  lat (");
        !between && !classes
    });
    let masked = |line: &str| match () {
        () if line.contains(", bs=(R) ") => line.to_owned(),
        () if fixed && line.contains("issued rwts") => line.to_owned(),
        () if line.contains(": pid=") => masked_numbers(&line[..line.find(": pid=").unwrap()]) + &masked_date(line),
        () => masked_numbers(line),
    };
    let mut lines: Vec<String> = lines.map(masked).collect();
    lines.iter_mut().for_each(|line| {
        *line = line
            .replace("(nsec)", "(usec)")
            .replace("(msec)", "(usec)")
            .replace("(  MiB/s)", "(  KiB/s)");
    });
    lines
}

/// The shape of a `ctime`.
fn masked_date(line: &str) -> String {
    let date = line.rsplit_once(": ").map_or(line, |(_, date)| date);
    // Day and hour differ, and the hour in "19:36:04" may have one digit, but the separators stay.
    date.chars()
        .map(|c| match c {
            ':' | ' ' => c,
            _ => '#',
        })
        .collect()
}

/// Masks numbers as `#`, with the decimals of numbers that are a whole word; labels before `=` or
/// `th` stay. Blanks that pad a column are removed.
fn masked_numbers(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let filled = before.trim_end().ends_with(['=', '[']);
        out += if filled { before.trim_end() } else { before };
        let end = from
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(from.len());
        let (number, behind) = from.split_at(end);
        rest = behind;
        if behind.starts_with('=') || behind.starts_with("th=") {
            out += number;
            continue;
        }
        out.push('#');
        match behind.strip_prefix(['k', 'M', 'G', 'T', 'K']) {
            Some(unit) => rest = unit.strip_prefix('i').unwrap_or(unit),
            None if behind.starts_with('B') => {}
            None => out += &masked_decimals(number),
        }
    }
    out + rest
}

fn masked_decimals(number: &str) -> String {
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let point = if decimals > 0 { "." } else { "" };
    format!("{point}{}", "#".repeat(decimals))
}

/// Masks values by their type; what the job determines stays.
pub fn json_lines(text: &str, fixed: bool) -> Vec<String> {
    let document = &text[text.find('{').unwrap()..];
    let mut lines = Vec::new();
    let mut in_bins = false;
    for line in document.lines() {
        in_bins |= line.ends_with("\"bins\" : {");
        if in_bins && line.contains("\" : ") && !line.ends_with('{') {
            assert!(
                line.trim_end_matches(',').ends_with(|c: char| c.is_ascii_digit()),
                "{line}"
            );
            continue;
        }
        in_bins &= !line.trim_start().starts_with('}');
        lines.push(masked_pair(line, fixed));
    }
    lines
}

fn masked_pair(line: &str, fixed: bool) -> String {
    let (key, value) = match line.split_once(" : ") {
        Some((key, value)) => (key.trim().trim_matches('"'), value),
        None => ("", line),
    };
    let amounts = ["io_bytes", "io_kbytes", "total_ios", "iops_samples", "bw_samples"];
    let said = [
        "groupid", "error", "eta", "short_ios", "drop_ios", "duration", "attained",
    ];
    let exact = said.contains(&key) || key.starts_with("latency_") || (fixed && amounts.contains(&key));
    if exact || value.starts_with(['{', '[']) {
        return line.to_owned();
    }
    if ["time", "criterion"].contains(&key) {
        return line.replace(|c: char| c.is_ascii_alphanumeric(), "#");
    }
    let (number, comma) = match value.strip_suffix(',') {
        Some(number) => (number, ","),
        None => (value, ""),
    };
    let number = number.trim();
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let kind = match number.split_once('.') {
        Some((whole, decimals)) if digits(whole) && digits(decimals) && decimals.len() == 6 => "REAL",
        None if digits(number) => "INTEGER",
        _ => return line.to_owned(),
    };
    format!("{}{kind}{comma}", &line[..line.len() - value.trim_start().len()])
}

/// Masks fields by their type.
pub fn terse_lines(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.starts_with("3;"));
    let field = |text: &str| -> String {
        let (label, number) = text
            .split_once("%=")
            .map_or(("", text), |(label, number)| (label, number));
        let shape: String = match number.split_once('.') {
            Some((whole, decimals)) if !whole.is_empty() && whole.chars().all(|c| c.is_ascii_digit()) => {
                format!("#.{}", decimals.replace(|c: char| c.is_ascii_digit(), "#"))
            }
            _ if number.chars().all(|c| c.is_ascii_digit()) => "#".into(),
            _ => number.into(),
        };
        format!("{label}{}{shape}", if label.is_empty() { "" } else { "%=" })
    };
    let mut out = Vec::new();
    for line in lines {
        // The first fields and all percentages stay.
        out.extend(
            line.split(';')
                .enumerate()
                .map(|(index, text)| format!("{}: {}", index + 1, field(text))),
        );
    }
    out
}
