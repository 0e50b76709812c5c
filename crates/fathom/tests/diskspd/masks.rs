//! Reports without what changes from run to run and from machine to machine: the same lines,
//! labels, columns, elements, order and number formats remain.

#[path = "../../../report/tests/suite/diskspd/hidden.rs"]
mod hidden;

pub use hidden::{digits as digits_hidden, number as number_hidden};

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

/// How many processors there are and which columns they have depends on the machine; the form of
/// the table does not.
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
    hidden::line(line)
}

/// An XML result. Processors are listed once, however many there are, and so are intervals: where a
/// disk stands still at the end of a test, none of its last intervals has an operation, and the
/// list is shorter.
pub fn xml(result: &str) -> Vec<String> {
    let mut masked: Vec<String> = Vec::new();
    let mut lines = hidden::without_total_latency(result).into_iter();
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
        if !masked.last().is_some_and(|last| is_repeated(last, &hidden)) {
            masked.push(hidden);
        }
    }
    masked
}

fn is_repeated(last: &str, line: &str) -> bool {
    let is_interval = |line: &str| line.trim_start().starts_with("ends ");
    (line.contains("the processors") && last == line) || (is_interval(last) && is_interval(line))
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

fn element_hidden(line: &str) -> String {
    match hidden::name(line).as_str() {
        "ComputerName" => format!("{}<ComputerName>…", &line[..line.len() - line.trim_start().len()]),
        "PowerScheme" => attributes_hidden(line),
        "ProcCount" => hidden::number(line),
        _ => hidden::element(line),
    }
}
