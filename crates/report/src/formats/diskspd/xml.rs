//! The XML result. Frameworks read elements by name and buckets by position, so every element is
//! written in DiskSpd's order, even if it does not apply to this system.

use std::fmt::Write as _;
use std::io::{self, Write};

use model::histogram::Histogram;
use model::results::{EffectiveShare, Results, Waits};

use super::buckets::{Bucket, Buckets};
use super::distributions::fill_holes;
use super::figures::{Figures, Row, Span, Thread};
use super::latency::{DirectionPart, Split, Spread, max_ms, min_ms, percentile_ms};
use super::machine::{CpuTopology, Shares, group_masks};
use super::markup::{Markup, escape_xml};
use super::settings::Settings;
use super::text::{computer_name, power_scheme, start_time};
use super::{NOT_MEASURED, VERSION, VERSION_DATE};

pub(super) fn write(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let settings = Settings::from_plan(&results.plan);
    let machine = CpuTopology::from_results(results);
    Markup::new(out).write_element("Results", |xml| {
        write_system(xml, results, &machine)?;
        write_profile(xml, results)?;
        for step in 0..results.steps.len() {
            let span = Span::for_step(results, &machine, step);
            xml.write_element("TimeSpan", |xml| match span {
                None => xml.value("Error", NOT_MEASURED),
                Some(span) => time_span(xml, &span, &machine, settings),
            })?;
        }
        Ok(())
    })
}

pub(super) fn write_system(xml: &mut Markup, results: &Results, machine: &CpuTopology) -> io::Result<()> {
    xml.write_element("System", |xml| {
        xml.text("ComputerName", computer_name(results))?;
        xml.write_element("Tool", |xml| {
            xml.value("Version", VERSION)?;
            xml.value("VersionDate", VERSION_DATE)
        })?;
        xml.value("RunTime", start_time(results))?;
        let (name, guid) = power_scheme(results).unwrap_or(("unknown", "00000000-0000-0000-0000-000000000000"));
        xml.write_line(format_args!(
            r#"<PowerScheme Name="{}" Guid="{guid}"/>"#,
            escape_xml(name)
        ))?;
        write_topology(xml, machine)
    })
}

fn write_topology(xml: &mut Markup, machine: &CpuTopology) -> io::Result<()> {
    let heterogeneous = format!(" Heterogeneous=\"{}\"", machine.is_heterogeneous());
    xml.write_element_with_attributes("ProcessorTopology", &heterogeneous, |xml| {
        for (group, mask) in group_masks(&machine.cpus) {
            let (max_processors, active) = (64 - mask.leading_zeros(), mask.count_ones());
            xml.write_line(format_args!(
                r#"<Group Group="{group}" MaximumProcessors="{max_processors}" ActiveProcessors="{active}" ActiveProcessorMask="{mask:#x}"/>"#
            ))?;
        }
        write_cpu_sets(xml, machine, "Node", |place| place.node)?;
        write_cpu_sets(xml, machine, "Socket", |place| place.socket)?;
        let mut cores: Vec<_> = machine.cpus.iter().map(|place| (place.group, place.core)).collect();
        cores.sort_unstable();
        cores.dedup();
        for core in cores {
            let members = || machine.cpus.iter().filter(|place| (place.group, place.core) == core);
            let class = members().map(|place| place.efficiency_class).max().unwrap_or(0);
            let mask = members().fold(0, |mask, place| mask | 1u64 << place.number);
            let (group, number) = core;
            xml.write_line(format_args!(
                r#"<Core Group="{group}" Core="{number}" Mask="{mask:#x}" EfficiencyClass="{class}"/>"#
            ))?;
        }
        Ok(())
    })
}

/// Writes the CPUs of each node or socket.
fn write_cpu_sets(
    xml: &mut Markup,
    machine: &CpuTopology,
    name: &str,
    value: fn(&super::machine::CpuPlace) -> u32,
) -> io::Result<()> {
    let mut numbers: Vec<u32> = machine.cpus.iter().map(value).collect();
    numbers.sort_unstable();
    numbers.dedup();
    for number in numbers {
        xml.write_element_with_attributes(name, &format!(" {name}=\"{number}\""), |xml| {
            for (group, mask) in group_masks(machine.cpus.iter().filter(|place| value(place) == number)) {
                xml.write_line(format_args!(r#"<Group Group="{group}" Mask="{mask:#x}"/>"#))?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Writes the echoed profile. Parsers expect the element even if it is empty.
fn write_profile(xml: &mut Markup, results: &Results) -> io::Result<()> {
    let lines = &results.plan.origin.profile_markup;
    if lines.is_empty() {
        return xml.write_line("<Profile/>");
    }
    lines.iter().try_for_each(|line| xml.write_line(line))
}

fn time_span(xml: &mut Markup, span: &Span, machine: &CpuTopology, settings: Settings) -> io::Result<()> {
    xml.value("TestTimeSeconds", format_args!("{:.2}", span.seconds))?;
    xml.value("ThreadCount", span.threads.len())?;
    xml.value("RequestCount", span.settings.requests)?;
    xml.value("ProcCount", machine.cpus.len())?;
    write_cpu(xml, span, machine)?;
    if span.settings.latency {
        write_latency(xml, &span.latency)?;
    }
    write_iops(xml, &span.totals)?;
    for (number, thread) in span.threads.iter().enumerate() {
        xml.write_element("Thread", |xml| {
            xml.value("Id", number)?;
            write_thread(xml, thread, span, settings)
        })?;
    }
    Ok(())
}

fn write_cpu(xml: &mut Markup, span: &Span, machine: &CpuTopology) -> io::Result<()> {
    fn write_shares(xml: &mut Markup, shares: &Shares) -> io::Result<()> {
        xml.value("UsagePercent", format_args!("{:.2}", shares.usage))?;
        xml.value("UserPercent", format_args!("{:.2}", shares.user))?;
        xml.value("KernelPercent", format_args!("{:.2}", shares.kernel))?;
        xml.value("IdlePercent", format_args!("{:.2}", shares.idle))
    }
    xml.write_element("CpuUtilization", |xml| {
        for (place, of_cpu) in machine.cpus.iter().zip(&span.cpus) {
            xml.write_element("CPU", |xml| {
                xml.value("Socket", place.socket)?;
                xml.value("Node", place.node)?;
                xml.value("Group", place.group)?;
                xml.value("Core", place.core)?;
                xml.value("EfficiencyClass", place.efficiency_class)?;
                xml.value("Id", place.number)?;
                write_shares(xml, of_cpu)
            })?;
        }
        xml.write_element("Average", |xml| write_shares(xml, &Shares::average(&span.cpus)))
    })
}

/// Percentiles above 99, as DiskSpd prints them.
const NINES: [&str; 7] = [
    "99.9", "99.99", "99.999", "99.9999", "99.99999", "99.999999", "99.9999999",
];

fn write_latency(xml: &mut Markup, latency: &Split<Histogram>) -> io::Result<()> {
    let buckets = |part: DirectionPart| latency[part].buckets().count();
    let attributes = format!(
        r#" ReadHistoBuckets="{}" WriteHistoBuckets="{}" TotalHistoBuckets="{}""#,
        buckets(DirectionPart::Read),
        buckets(DirectionPart::Write),
        buckets(DirectionPart::Total)
    );
    xml.write_element_with_attributes("Latency", &attributes, |xml| {
        for (part, names) in [
            (DirectionPart::Read, ["AverageReadMilliseconds", "ReadLatencyStdev"]),
            (DirectionPart::Write, ["AverageWriteMilliseconds", "WriteLatencyStdev"]),
            (DirectionPart::Total, ["AverageTotalMilliseconds", "LatencyStdev"]),
        ] {
            spread(xml, names, Spread::from_histogram(&latency[part]))?;
        }
        write_bucket(xml, latency, "0", &min_ms)?;
        let whole = (1..=99).map(|percent: u32| percent.to_string());
        for percent in whole.chain(NINES.map(str::to_owned)) {
            // A literal fraction may differ in the last bit.
            let fraction = percent.parse::<f64>().expect("percentiles are numbers") / 100.0;
            write_bucket(xml, latency, &percent, &|histogram| percentile_ms(histogram, fraction))?;
        }
        write_bucket(xml, latency, "100", &max_ms)
    })
}

/// Writes mean and deviation, if there were operations.
fn spread(xml: &mut Markup, names: [&str; 2], spread: Spread) -> io::Result<()> {
    if spread.operations == 0 {
        return Ok(());
    }
    xml.value(names[0], format_args!("{:.3}", spread.mean_ms))?;
    xml.value(names[1], format_args!("{:.3}", spread.deviation_ms))
}

fn write_bucket(
    xml: &mut Markup,
    latency: &Split<Histogram>,
    percentile: &str,
    value: &dyn Fn(&Histogram) -> f32,
) -> io::Result<()> {
    xml.write_element("Bucket", |xml| {
        xml.value("Percentile", percentile)?;
        let names = ["ReadMilliseconds", "WriteMilliseconds", "TotalMilliseconds"];
        for (name, part) in names.into_iter().zip(DirectionPart::COLUMNS) {
            if !latency[part].is_empty() {
                xml.value(name, format_args!("{:.3}", value(&latency[part])))?;
            }
        }
        Ok(())
    })
}

/// Writes the operations of each interval, if they were counted.
fn write_iops(xml: &mut Markup, figures: &Split<Figures>) -> io::Result<()> {
    let (Some(read), Some(write)) = (&figures.read.buckets, &figures.write.buckets) else {
        return Ok(());
    };
    xml.write_element("Iops", |xml| {
        let names = ["ReadIopsStdDev", "WriteIopsStdDev", "IopsStdDev"];
        for (name, part) in names.into_iter().zip(DirectionPart::COLUMNS) {
            let counted = figures[part]
                .buckets
                .as_ref()
                .filter(|buckets| !buckets.list().is_empty());
            if let Some(buckets) = counted {
                xml.value(name, format_args!("{:.3}", buckets.deviation()))?;
            }
        }
        for index in 0..read.list().len().max(write.list().len()) {
            xml.write_line(format_interval(read, write, index))?;
        }
        Ok(())
    })
}

fn format_interval(read: &Buckets, write: &Buckets, index: usize) -> String {
    let bucket_at_index = |buckets: &Buckets| buckets.list().get(index).copied().unwrap_or_default();
    let (reads, writes): (Bucket, Bucket) = (bucket_at_index(read), bucket_at_index(write));
    let mut line = format!(
        r#"<Bucket SampleMillisecond="{}" Read="{:.0}" Write="{:.0}" Total="{:.0}""#,
        read.end_ms(index),
        read.per_second(reads.operations),
        read.per_second(writes.operations),
        read.per_second(reads.operations + writes.operations)
    );
    for (name, bucket) in [("Read", reads), ("Write", writes)] {
        let figures = [
            ("MinLatencyMilliseconds", bucket.min_ms()),
            ("MaxLatencyMilliseconds", bucket.max_ms()),
            ("AvgLatencyMilliseconds", bucket.mean_ms()),
            ("LatencyStdDev", bucket.deviation_ms()),
        ];
        for (what, value) in figures {
            write!(line, r#" {name}{what}="{value:.3}""#).expect("writing to a string succeeds");
        }
    }
    line + "/>"
}

fn write_thread(xml: &mut Markup, thread: &Thread, span: &Span, settings: Settings) -> io::Result<()> {
    for row in &thread.rows {
        xml.write_element("Target", |xml| write_target(xml, row, span))?;
    }
    match settings.wait_statistics {
        true => xml.write_element("WaitStatistics", |xml| write_waits(xml, thread.waits)),
        false => Ok(()),
    }
}

fn write_target(xml: &mut Markup, row: &Row, span: &Span) -> io::Result<()> {
    let figures = &row.figures;
    xml.text("Path", &row.path)?;
    xml.value("BytesCount", figures.total.bytes)?;
    xml.value("FileSize", row.size)?;
    xml.value("IOCount", figures.total.operations)?;
    xml.value("ReadBytes", figures.read.bytes)?;
    xml.value("ReadCount", figures.read.operations)?;
    xml.value("WriteBytes", figures.write.bytes)?;
    xml.value("WriteCount", figures.write.operations)?;
    if !row.ranges.is_empty() {
        xml.write_element("Distribution", |xml| {
            xml.write_element("Absolute", |xml| write_ranges(xml, row.ranges))
        })?;
    }
    if span.settings.latency {
        let read = ["AverageReadLatencyMilliseconds", "ReadLatencyStdev"];
        let write = ["AverageWriteLatencyMilliseconds", "WriteLatencyStdev"];
        spread(xml, read, figures.read.latency)?;
        spread(xml, write, figures.write.latency)?;
        // Missing in version 2.2, present in earlier ones.
        let total = ["AverageLatencyMilliseconds", "LatencyStdev"];
        spread(xml, total, figures.total.latency)?;
    }
    write_iops(xml, figures)
}

fn write_ranges(xml: &mut Markup, ranges: &[EffectiveShare]) -> io::Result<()> {
    for (percent, length) in fill_holes(ranges) {
        xml.write_line(format_args!(r#"<Range IO="{percent}">{length}</Range>"#))?;
    }
    Ok(())
}

fn write_waits(xml: &mut Markup, waits: &Waits) -> io::Result<()> {
    xml.value("CompletionWait", waits.completion)?;
    xml.value("ThrottleWait", waits.throttled)?;
    xml.value("ThrottleSleep", waits.slept)?;
    xml.value("Lookaside", waits.polls)?;
    let per_poll = waits.completions_per_poll.map(|count| count.to_string());
    xml.value("LookasideCompletion", per_poll.join(" "))
}
