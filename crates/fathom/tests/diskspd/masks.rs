//! Masks the values of reports that depend on the run or on the machine. Lines, labels, columns,
//! elements, their order and number formats remain.

#[path = "../../../report/tests/suite/diskspd/hidden.rs"]
mod hidden;

pub use hidden::{digits as digits_hidden, number as number_hidden};

/// Masks a text report, which must begin with its first line.
pub fn text(report: &str) -> Vec<String> {
    let mut lines = report.lines().peekable();
    let mut masked = Vec::new();
    while let Some(line) = lines.next() {
        if line.ends_with("CPU |  Usage |  User  | Kernel |  Idle") {
            let mut table = vec![line];
            while let Some(row) = lines.next_if(|line| !line.is_empty()) {
                table.push(row);
            }
            masked.push(mask_processors(&table));
        } else {
            masked.push(mask_line(line));
        }
    }
    masked
}

/// Checks and masks the table of processors. Their number and the columns depend on the machine,
/// but not the form of the table.
fn mask_processors(table: &[&str]) -> String {
    let optional = table[0].len() - "CPU |  Usage |  User  | Kernel |  Idle".len();
    let titles = table[0][..optional].split("| ").filter(|title| !title.is_empty());
    let known = ["Socket ", "Node ", "Group ", "Core ", "Class "];
    let positions = titles.map(|title| known.iter().position(|known| *known == title).expect(title));
    assert!(positions.is_sorted(), "{table:#?}");
    let rule = "-".repeat(40 + optional);
    let is_row = |row: &str, first: &str| {
        let fixed = &row[row.len() - 40..];
        let cells: Vec<&str> = fixed.split('|').collect();
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

fn mask_line(line: &str) -> String {
    let machine_labels = [
        "\tcomputer name: ",
        "\tcpu count:\t\t",
        "\tcore count:\t\t",
        "\tgroup count:\t\t",
        "\tnode count:\t\t",
        "\tsocket count:\t\t",
        "\theterogeneous cores:\t",
        "\tactive power scheme:\t",
        // 2.2 lists the paths in no fixed order.
        "Latency distribution: ",
    ];
    if let Some(label) = machine_labels.iter().find(|label| line.starts_with(**label)) {
        assert!(line.len() > label.len(), "{line}");
        return format!("{label}…");
    }
    hidden::line(line)
}

/// Masks an XML result. Only one processor and one interval are kept, because their numbers vary:
/// if a disk stalls at the end of a test, the last intervals are not listed.
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
                let figures = inside[names.len()..].iter().map(|line| mask_element(line));
                format!("      the processors {}", figures.collect::<Vec<_>>().join(""))
            }
            _ if element.starts_with("<ProcessorTopology ") => {
                let inside = lines.by_ref().take_while(|line| line.trim() != "</ProcessorTopology>");
                let inside: Vec<String> = inside.map(|line| mask_attributes(&line)).collect();
                check_topology(&inside);
                "    the processors".to_owned()
            }
            _ => mask_element(&line),
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

/// Checks the order: groups, then nodes and sockets with their groups, then cores.
fn check_topology(lines: &[String]) {
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

/// Removes the values of attributes.
fn mask_attributes(line: &str) -> String {
    line.split('"').step_by(2).collect()
}

fn mask_element(line: &str) -> String {
    match hidden::name(line).as_str() {
        "ComputerName" => format!("{}<ComputerName>…", &line[..line.len() - line.trim_start().len()]),
        "PowerScheme" => mask_attributes(line),
        "ProcCount" => hidden::number(line),
        _ => hidden::element(line),
    }
}
