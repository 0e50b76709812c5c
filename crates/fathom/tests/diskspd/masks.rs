//! Reports without what changes from run to run and from machine to machine: the same lines, labels, columns, elements,
//! order and number formats remain.

/// A text report. What comes before it is not part of it.
pub fn text(report: &str) -> Vec<String> {
    let mut lines = report.lines().peekable();
    let mut masked = Vec::new();
    while let Some(line) = lines.next() {
        if line.ends_with("CPU |  Usage |  User  | Kernel |  Idle") {
            let mut table = vec![line];
            while let Some(row) = lines.next_if(|line| !line.is_empty()) {
                table.push(row);
            }
            masked.push(processors(&table));
        } else {
            masked.push(line_hidden(line));
        }
    }
    masked
}

/// How many processors there are and which columns they have depends on the machine; the form of the table does not.
fn processors(table: &[&str]) -> String {
    let optional = table[0].len() - "CPU |  Usage |  User  | Kernel |  Idle".len();
    let titles = table[0][..optional].split("| ").filter(|title| !title.is_empty());
    let known = ["Socket ", "Node ", "Group ", "Core ", "Class "];
    let places = titles.map(|title| known.iter().position(|known| *known == title).expect(title));
    assert!(places.is_sorted(), "{table:#?}");
    let rule = "-".repeat(40 + optional);
    let is_row = |row: &str, first: &str| {
        let behind = &row[row.len() - 40..];
        let cells: Vec<&str> = behind.split('|').collect();
        let percent = |cell: &&str| cell.len() == 8 && cell.ends_with('%') && cell.as_bytes()[4] == b'.';
        assert!(
            cells.len() == 5 && cells[0].len() == 4 && cells[0].trim_start().starts_with(first),
            "{row}"
        );
        assert!(cells[1..].iter().all(percent), "{row}");
        row.len() == rule.len()
    };
    let rows = &table[2..table.len() - 2];
    assert!(!rows.is_empty() && rows.iter().all(|row| is_row(row, "")), "{table:#?}");
    assert!(is_row(table[table.len() - 1], "avg."), "{table:#?}");
    assert_eq!([table[1], table[table.len() - 2]], [&rule, &rule], "{table:#?}");
    "the processors".to_owned()
}

fn line_hidden(line: &str) -> String {
    if line.starts_with("\tstart time:") {
        return digits_hidden(line);
    }
    let of_the_machine = [
        "\tcomputer name: ",
        "\tcpu count:\t\t",
        "\tcore count:\t\t",
        "\tgroup count:\t\t",
        "\tnode count:\t\t",
        "\tsocket count:\t\t",
        "\theterogeneous cores:\t",
        "\tactive power scheme:\t",
        // 2.2 has no fixed order of the paths.
        "Latency distribution: ",
    ];
    if let Some(label) = of_the_machine.iter().find(|label| line.starts_with(**label)) {
        assert!(line.len() > label.len(), "{line}");
        return format!("{label}…");
    }
    if line.starts_with("actual test time:\t") || line.starts_with("total test time:\t") {
        return number_hidden(line);
    }
    let cells: Vec<&str> = line.split('|').collect();
    if cells.len() < 3 {
        return line.to_owned();
    }
    let first = match cells[0].strip_prefix("total:") {
        Some(bytes) => format!("total:{}", cell_hidden(bytes)),
        None => cells[0].to_owned(),
    };
    let rest = cells[1..].iter().map(|cell| cell_hidden(cell));
    [first].into_iter().chain(rest).collect::<Vec<String>>().join("|")
}

/// Digits and the blanks before them are one: what a column looks like does not depend on the figure.
fn cell_hidden(cell: &str) -> String {
    let figures = cell.chars().all(|c| " .%-".contains(c) || c.is_ascii_digit());
    if !figures || !cell.contains(|c: char| c.is_ascii_digit()) {
        return cell.to_owned();
    }
    if cell.split_whitespace().count() == 8 {
        return " eight plain numbers".to_owned();
    }
    let hidden = |c: char| if c == ' ' || c.is_ascii_digit() { '#' } else { c };
    cell.chars().map(hidden).collect()
}

pub fn digits_hidden(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect()
}

/// Each number, whatever its length before the point; decimals keep their number.
pub fn number_hidden(text: &str) -> String {
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

/// Elements whose figures were measured, beside those that begin with `Average`.
const MEASURED: [&str; 25] = [
    "TestTimeSeconds",
    "UsagePercent",
    "UserPercent",
    "KernelPercent",
    "IdlePercent",
    "BytesCount",
    "IOCount",
    "ReadBytes",
    "ReadCount",
    "WriteBytes",
    "WriteCount",
    "ReadMilliseconds",
    "WriteMilliseconds",
    "TotalMilliseconds",
    "ReadIopsStdDev",
    "WriteIopsStdDev",
    "IopsStdDev",
    "CompletionWait",
    "ThrottleWait",
    "ThrottleSleep",
    "Lookaside",
    "LookasideCompletion",
    "ReadLatencyStdev",
    "WriteLatencyStdev",
    "LatencyStdev",
];

/// An XML result. Processors are listed once, however many there are.
pub fn xml(result: &str) -> Vec<String> {
    let mut masked: Vec<String> = Vec::new();
    let mut lines = without_total_latency(result).into_iter();
    while let Some(line) = lines.next() {
        let element = line.trim_start();
        let hidden = match element {
            "<CPU>" => {
                let inside: Vec<String> = lines.by_ref().take_while(|line| line.trim() != "</CPU>").collect();
                let names = ["Socket", "Node", "Group", "Core", "EfficiencyClass", "Id"];
                for (line, name) in inside.iter().zip(names) {
                    assert!(line.starts_with(&format!("        <{name}>")), "{line}");
                }
                let figures = inside[names.len()..].iter().map(|line| element_hidden(line));
                format!("      the processors {}", figures.collect::<Vec<_>>().join(""))
            }
            _ if element.starts_with("<ProcessorTopology ") => {
                let inside = lines.by_ref().take_while(|line| line.trim() != "</ProcessorTopology>");
                let inside: Vec<String> = inside.map(|line| attributes_hidden(&line)).collect();
                topology(&inside);
                "    the processors".to_owned()
            }
            _ => element_hidden(&line),
        };
        if !(hidden.contains("the processors") && masked.last() == Some(&hidden)) {
            masked.push(hidden);
        }
    }
    masked
}

/// Groups, then nodes and sockets with their groups, then cores.
fn topology(lines: &[String]) {
    let kinds = [
        [
            "      <Group Group= MaximumProcessors= ActiveProcessors= ActiveProcessorMask=/>",
            "",
            "",
        ],
        ["      <Node Node=>", "        <Group Group= Mask=/>", "      </Node>"],
        [
            "      <Socket Socket=>",
            "        <Group Group= Mask=/>",
            "      </Socket>",
        ],
        ["      <Core Group= Core= Mask= EfficiencyClass=/>", "", ""],
    ];
    let mut rest = lines;
    for kind in kinds {
        let count = rest.iter().take_while(|line| kind.contains(&line.as_str())).count();
        assert!(
            rest.first().is_some_and(|line| line == kind[0]),
            "{kind:?} in {lines:#?}"
        );
        rest = &rest[count..];
    }
    assert!(rest.is_empty(), "{lines:#?}");
}

/// Attributes without their values.
fn attributes_hidden(line: &str) -> String {
    line.split('"').step_by(2).collect()
}

/// The latency of reads and writes of a target together, which version 2.2 leaves out (`latency-per-target`).
fn without_total_latency(xml: &str) -> Vec<String> {
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

fn element_hidden(line: &str) -> String {
    let element = line.trim_start();
    let name: String = element.chars().skip(1).take_while(char::is_ascii_alphabetic).collect();
    let measured = MEASURED.contains(&name.as_str()) || name.starts_with("Average");
    let indent = &line[..line.len() - element.len()];
    match name.as_str() {
        "ComputerName" => format!("{indent}<ComputerName>…"),
        "PowerScheme" => attributes_hidden(line),
        "ProcCount" | "Latency" => number_hidden(line),
        "RunTime" => digits_hidden(line),
        _ => match element.strip_prefix("<Bucket SampleMillisecond=\"") {
            Some(behind) => {
                let (end, figures) = behind.split_once('"').unwrap();
                format!("{indent}ends {end}: {}", number_hidden(figures))
            }
            None if measured => number_hidden(line),
            None => line.to_owned(),
        },
    }
}
