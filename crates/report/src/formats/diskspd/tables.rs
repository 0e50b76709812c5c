//! Tables of the text report. Widths, spaces and rules are part of the interface, because scripts
//! cut the lines by column.

use std::io::{self, Write};

use model::histogram::Histogram;

use super::figures::{Figures, Span, per_second_or_zero, to_mebibytes};
use super::latency::{DirectionPart, Split, max_ms, min_ms, percentile_ms};
use super::machine::{CpuPlace, CpuTopology, Shares};
use super::settings::Form;
use super::sizes;

/// An optional column of the CPU table.
struct Column {
    header: &'static str,
    cell: fn(&CpuPlace, highest_class: u8) -> String,
}

const SOCKET: Column = Column {
    header: "Socket | ",
    cell: |place, _| format!("{:>7}| ", place.socket),
};
const NODE: Column = Column {
    header: "Node | ",
    cell: |place, _| format!("{:>5}| ", place.node),
};
const GROUP: Column = Column {
    header: "Group | ",
    cell: |place, _| format!("{:>6}| ", place.group),
};
const CORE: Column = Column {
    header: "Core | ",
    cell: |place, _| format!("{:>5}| ", place.core),
};
const CLASS: Column = Column {
    header: "Class | ",
    cell: |place, highest| {
        let mark = if place.efficiency_class == highest { 'P' } else { ' ' };
        format!("{:>5}{mark}| ", place.efficiency_class)
    },
};

fn cpu_columns(machine: &CpuTopology, form: Form) -> Vec<Column> {
    let several_groups = machine.count(|place| place.group) > 1;
    let columns = match form {
        Form::V2_0 => vec![(several_groups, GROUP)],
        Form::V2_2 => vec![
            (machine.count(|place| place.socket) > 1, SOCKET),
            (machine.count(|place| place.node) > 1, NODE),
            (several_groups, GROUP),
            (machine.has_threads(), CORE),
            (machine.is_heterogeneous(), CLASS),
        ],
    };
    columns
        .into_iter()
        .filter(|(is_present, _)| *is_present)
        .map(|(_, column)| column)
        .collect()
}

/// Writes the use of each CPU and the mean.
pub(super) fn write_cpu_table(
    out: &mut dyn Write,
    machine: &CpuTopology,
    shares: &[Shares],
    form: Form,
) -> io::Result<()> {
    // The old layout has one more space before the kernel column, and three more dashes.
    let (header, dashes, gap) = match form {
        Form::V2_2 => ("CPU |  Usage |  User  | Kernel |  Idle", 40, ""),
        Form::V2_0 => ("CPU |  Usage |  User  |  Kernel |  Idle", 43, " "),
    };
    let figures = |shares: &Shares| {
        let [usage, user] = [shares.usage, shares.user].map(|percent| format!("| {percent:>6.2}%"));
        let [kernel, idle] = [shares.kernel, shares.idle].map(|percent| format!("{percent:>6.2}%"));
        format!("{usage}{user}| {gap}{kernel}| {idle}")
    };
    let columns = cpu_columns(machine, form);
    let headers: String = columns.iter().map(|column| column.header).collect();
    let width = headers.len();
    let rule = "-".repeat(width + dashes);
    writeln!(out, "\n{headers}{header}\n{rule}")?;
    let highest = machine.highest_class();
    for (place, shares) in machine.cpus.iter().zip(shares) {
        let cells: String = columns.iter().map(|column| (column.cell)(place, highest)).collect();
        writeln!(out, "{cells}{:>4}{}", place.number, figures(shares))?;
    }
    writeln!(out, "{rule}\n{:width$}avg.{}", "", figures(&Shares::average(shares)))
}

/// Writes bytes, operations and rates of each target of each thread, and the totals.
pub(super) fn write_io_table(out: &mut dyn Write, span: &Span, part: DirectionPart, form: Form) -> io::Result<()> {
    let title = match part {
        DirectionPart::Total => "Total IO",
        DirectionPart::Read => "Read IO",
        DirectionPart::Write => "Write IO",
    };
    let (latency, deviation) = (span.settings.latency, span.settings.deviation.is_some());
    let (columns, dashes) = match (latency, deviation) {
        (false, false) => ("", 78),
        (true, false) => ("  AvgLat  | LatStdDev |", 101),
        (false, true) => (" IopsStdDev |", 91),
        (true, true) => ("  AvgLat  | IopsStdDev | LatStdDev |", 114),
    };
    let rule = "-".repeat(dashes);
    writeln!(
        out,
        "\n{title}\nthread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |{columns}  file\n{rule}"
    )?;
    for (number, thread) in span.threads.iter().enumerate() {
        for row in &thread.rows {
            let size = match form {
                Form::V2_2 => sizes::size(row.size),
                Form::V2_0 => sizes::format_legacy(row.size),
            };
            let figures = format_io_figures(span, &row.figures[part]);
            writeln!(out, "{number:>6} | {figures} | {} ({size})", row.path)?;
        }
    }
    writeln!(out, "{rule}\ntotal:   {}", format_io_figures(span, &span.totals[part]))
}

fn format_io_figures(span: &Span, figures: &Figures) -> String {
    let rates = format_rates(figures.bytes, figures.operations, span.seconds);
    let latency = &figures.latency;
    let mean = match span.settings.latency {
        true => format!(" | {:>8.3}", latency.mean_ms),
        false => String::new(),
    };
    let deviation = match span.settings.deviation {
        Some(_) => format!(" | {:>10.2}", figures.iops_deviation()),
        None => String::new(),
    };
    let spread = match (span.settings.latency, latency.operations) {
        (false, _) => String::new(),
        (true, 0) => format!(" |  {:>8}", "N/A"),
        (true, _) => format!(" |  {:>8.3}", latency.deviation_ms),
    };
    format!("{rates}{mean}{deviation}{spread}")
}

fn format_rates(bytes: u64, operations: u64, seconds: f64) -> String {
    let mebibytes = match seconds > 0.0 {
        true => to_mebibytes(bytes as f64) / seconds,
        false => 0.0,
    };
    let operations_per_sec = per_second_or_zero(operations, seconds);
    format!("{bytes:>15} | {operations:>12} | {mebibytes:>10.2} | {operations_per_sec:>10.2}")
}

/// The rows between minimum and maximum, with the literals that DiskSpd uses.
const PERCENTILES: [(&str, f64); 13] = [
    ("25th", 0.25),
    ("50th", 0.50),
    ("75th", 0.75),
    ("90th", 0.90),
    ("95th", 0.95),
    ("99th", 0.99),
    ("3-nines", 0.999),
    ("4-nines", 0.999_9),
    ("5-nines", 0.999_99),
    ("6-nines", 0.999_999),
    ("7-nines", 0.999_999_9),
    ("8-nines", 0.999_999_99),
    ("9-nines", 0.999_999_999),
];

/// Writes minimum, percentiles and maximum.
pub(super) fn write_latency_table(out: &mut dyn Write, latency: &Split<Histogram>) -> io::Result<()> {
    writeln!(out, "  %-ile |  Read (ms) | Write (ms) | Total (ms)")?;
    writeln!(out, "{}", "-".repeat(46))?;
    let mut row = |label: &str, value: &dyn Fn(&Histogram) -> f32| {
        let cell = |part: DirectionPart| match (part, latency[part].is_empty()) {
            // The total always has a figure, even if it is 0.
            (DirectionPart::Read | DirectionPart::Write, true) => format!("{:>10}", "N/A"),
            (DirectionPart::Read | DirectionPart::Write | DirectionPart::Total, _) => {
                format!("{:>10.3}", value(&latency[part]))
            }
        };
        writeln!(out, "{label:>7} | {}", DirectionPart::COLUMNS.map(cell).join(" | "))
    };
    row("min", &min_ms)?;
    for (label, fraction) in PERCENTILES {
        row(label, &|histogram| percentile_ms(histogram, fraction))?;
    }
    row("max", &max_ms)
}

/// Writes the wait statistics of each thread (`-vs`).
pub(super) fn write_wait_table(out: &mut dyn Write, span: &Span) -> io::Result<()> {
    writeln!(out, "\nWait Statistics")?;
    writeln!(
        out,
        "thread | completion wait | throttle wait  -  sleep | lookaside | 0 - 7+ complete per lookaside"
    )?;
    writeln!(out, "{}", "-".repeat(95))?;
    for (number, thread) in span.threads.iter().enumerate() {
        let waits = thread.waits;
        let per_poll = waits.completions_per_poll.map(|count| count.to_string()).join(" ");
        writeln!(
            out,
            "{number:>6} | {:>15} | {:>13}  - {:>6} | {:>9} | {per_poll}",
            waits.completion, waits.throttled, waits.slept, waits.polls
        )?;
    }
    Ok(())
}

/// Writes bytes and operations of all measured time spans.
pub(super) fn write_totals<'a>(out: &mut dyn Write, spans: impl Iterator<Item = &'a Span<'a>>) -> io::Result<()> {
    let mut sums: Split<(u64, u64)> = Split::default();
    let mut seconds = 0.0;
    for span in spans {
        seconds += span.seconds;
        for part in DirectionPart::ALL {
            sums[part].0 += span.totals[part].bytes;
            sums[part].1 += span.totals[part].operations;
        }
    }
    writeln!(out, "\n\nTotals:\n{}\n", super::text::STARS)?;
    writeln!(out, "type   |       bytes     |     I/Os     |    MiB/s   |  I/O per s")?;
    let rule = "-".repeat(79);
    writeln!(out, "{rule}")?;
    for (label, part) in [
        ("write", DirectionPart::Write),
        ("read", DirectionPart::Read),
        ("total", DirectionPart::Total),
    ] {
        if part == DirectionPart::Total {
            writeln!(out, "{rule}")?;
        }
        let (bytes, operations) = sums[part];
        writeln!(out, "{label:<7}| {}", format_rates(bytes, operations, seconds))?;
    }
    writeln!(out, "\ntotal test time:\t{seconds:.2}s")
}
