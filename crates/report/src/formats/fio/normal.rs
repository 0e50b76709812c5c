//! The normal report: an empty line, the entries, the groups, the disks.

use std::io::{self, Write};

use model::plan::TrackedMetric;
use model::results::{Idleness, Results};
use model::{Direction, Nanos};

use super::bins::{CLASS_ENDS, LAST_CLASS_END_MS, LatencyClasses};
use super::clock::End;
use super::codes;
use super::control::{Steady, Target};
use super::disks::{Disk, collect_disks};
use super::entries::{BATCHES, DEPTHS, Entry, collect_entries};
use super::figures::{Figures, PriorityFigures};
use super::groups::{GroupTotals, Total, groups};
use super::latency::{Spread, scale_percentiles};
use super::lifetimes;
use super::numbers::{Style, Unit};
use super::samples::Samples;
use super::settings::{Settings, Unified, Units};

/// Maximum length of the percentiles on a line.
const PERCENTILE_LINE: usize = 73;
/// Classes of the latency distribution per line.
const CLASSES_PER_LINE: usize = 5;

pub(super) fn write(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let settings = Settings::from_plan(&results.plan);
    let entries = collect_entries(results);
    let groups = groups(&entries);
    let end = End::from_results(results, &settings);
    writeln!(out)?;
    for entry in entries.iter().filter(|entry| !entry.is_idle()) {
        let group = groups.iter().find(|group| group.number == entry.group);
        write_entry(out, entry, group, (&settings, &end))?;
    }
    for group in &groups {
        write_group(out, group)?;
    }
    let disks = collect_disks(results, &settings);
    if !disks.is_empty() {
        writeln!(out, "\nDisk stats (read/write):")?;
    }
    disks.iter().try_for_each(|disk| write_disk(out, disk))?;
    match idleness(results) {
        Some(idleness) => {
            writeln!(out)?;
            write_idleness(out, idleness, settings.per_cpu_idleness)
        }
        None => Ok(()),
    }
}

pub(super) fn write_entry(
    out: &mut dyn Write,
    entry: &Entry,
    group: Option<&GroupTotals>,
    (settings, end): (&Settings, &End),
) -> io::Result<()> {
    write_head(out, entry, settings, end)?;
    write_directions(out, entry, group)?;
    write_classes(out, &entry.classes)?;
    write_flushes(out, entry)?;
    write_counters(out, entry)
}

/// Writes the output of `--idle-prof=calibrate`: how long a unit of work takes.
pub(super) fn write_calibration(out: &mut dyn Write, idleness: &Idleness) -> io::Result<()> {
    writeln!(out, "CPU idleness:")?;
    write_unit(out, idleness)
}

fn write_idleness(out: &mut dyn Write, idleness: &Idleness, per_cpu: bool) -> io::Result<()> {
    writeln!(out, "CPU idleness:\n  system: {:.2}%", idleness.percent())?;
    if per_cpu {
        let each: Vec<String> = idleness.cpus.iter().map(|cpu| format!("{:.2}%", cpu.percent)).collect();
        writeln!(out, "  percpu: {}", each.join(", "))?;
    }
    write_unit(out, idleness)
}

fn write_unit(out: &mut dyn Write, idleness: &Idleness) -> io::Result<()> {
    let (mean, deviation) = (idleness.unit_ns_mean / 1000.0, idleness.unit_ns_deviation / 1000.0);
    writeln!(out, "  unit work: mean={mean:.2}us, stddev={deviation:.2}")
}

/// Idleness of the processors of the first machine, if measured: fio reports a single machine.
pub(super) fn idleness(results: &Results) -> Option<&Idleness> {
    results.hosts.first()?.idleness.as_ref()
}

fn write_head(out: &mut dyn Write, entry: &Entry, settings: &Settings, end: &End) -> io::Result<()> {
    let (name, group, members) = (entry.name, entry.group, entry.members);
    write!(out, "{name}: (groupid={group}, jobs={members}): err=")?;
    match &entry.error {
        None => write!(out, "{:>2}", 0)?,
        Some(error) => write!(out, "{:>2} ({})", error.number, error.text())?,
    }
    writeln!(out, ": pid={}: {}", settings.pid, end.text)?;
    match entry.description {
        Some(description) => writeln!(out, "  Description  : [{description}]"),
        None => Ok(()),
    }
}

fn write_directions(out: &mut dyn Write, entry: &Entry, group: Option<&GroupTotals>) -> io::Result<()> {
    let units = entry.settings.units;
    let rate = |direction: Direction| {
        let total = group.and_then(|group| group.parts[direction]);
        total.map_or(0, |total| total.bytes_per_second)
    };
    for (name, direction, figures) in entry.rows() {
        if figures.bytes > 0 {
            write_row(
                out,
                name,
                figures,
                entry,
                format_in_both_units(figures.bytes_per_second(), units, units.rate()),
            )?;
            write_samples(out, figures, units, rate(direction))?;
        }
    }
    if let Some(together) = entry.together.as_ref().filter(|figures| figures.bytes > 0) {
        // fio prints bandwidth without a unit on this line.
        let bandwidth = format_in_both_units(together.bytes_per_second(), units, Unit::None);
        write_row(out, "mixed", together, entry, bandwidth)?;
        let total = group.and_then(GroupTotals::sum_of_directions);
        write_samples(out, together, units, total.map_or(0, |total| total.bytes_per_second))?;
    }
    Ok(())
}

fn write_row(
    out: &mut dyn Write,
    name: &str,
    figures: &Figures,
    entry: &Entry,
    [bandwidth, other]: [String; 2],
) -> io::Result<()> {
    let settings = &entry.settings;
    let units = settings.units;
    let iops = Style::plain(units.figures).write(figures.whole_iops());
    let bytes = units.style(Unit::Bytes).write(figures.bytes);
    let runtime = figures.runtime_ms;
    let resets = entry.zone_resets.filter(|_| name == "write");
    let resets = resets.map_or(String::new(), |count| format!("; {count} zone resets"));
    writeln!(
        out,
        "  {name}: IOPS={iops}, BW={bandwidth} ({other})({bytes}/{runtime}msec){resets}"
    )?;
    let (latency, wanted) = (&figures.latency, &settings.percentiles_of);
    write_spread(out, "slat", &Spread::from_histogram(&latency.slat))?;
    write_spread(out, "clat", &Spread::from_histogram(&latency.clat))?;
    write_spread(out, " lat", &Spread::from_histogram(&latency.lat))?;
    let kind = if wanted.lat { "lat" } else { "clat" };
    let priorities: Vec<(String, &PriorityFigures)> = figures
        .by_priority()
        .into_iter()
        .map(|figures| {
            (
                format!("{kind} prio {}/{}/{}", figures.class, figures.level, figures.hint),
                figures,
            )
        })
        .collect();
    for (name, figures) in &priorities {
        write_spread(out, name, &Spread::from_histogram(&figures.latency))?;
    }
    for (name, histogram, wanted) in [
        ("slat", &latency.slat, wanted.slat),
        ("clat", &latency.clat, wanted.clat),
        ("lat", &latency.lat, wanted.lat),
    ] {
        if wanted && !histogram.is_empty() {
            let (scale, values) = scale_percentiles(histogram, &settings.percentiles);
            writeln!(out, "    {name} percentiles ({}):", scale.word())?;
            write_percentiles(out, &values, settings.percentile_decimals)?;
        }
    }
    let all: u64 = priorities.iter().map(|(_, figures)| figures.latency.n()).sum();
    for (name, figures) in priorities.iter().filter(|_| wanted.clat || wanted.lat) {
        let (scale, values) = scale_percentiles(&figures.latency, &settings.percentiles);
        let share = figures.latency.n() as f64 * 100.0 / all as f64;
        writeln!(out, "    {name} ({share:.2}% of IOs) percentiles ({}):", scale.word())?;
        write_percentiles(out, &values, settings.percentile_decimals)?;
    }
    Ok(())
}

fn write_spread(out: &mut dyn Write, name: &str, spread: &Spread) -> io::Result<()> {
    if spread.count == 0 {
        return Ok(());
    }
    let scale = spread.scale();
    let format_whole = |value: u64| Style::plain(6).write(value / scale.divisor());
    let real = |value: f64| value / scale.divisor() as f64;
    writeln!(
        out,
        "    {name} ({}): min={}, max={}, avg={:5.2}, stdev={:5.2}",
        scale.word(),
        format_whole(spread.min),
        format_whole(spread.max),
        real(spread.mean),
        real(spread.deviation),
    )
}

fn write_percentiles(out: &mut dyn Write, values: &[(f64, u64)], decimals: usize) -> io::Result<()> {
    let largest = values.last().map_or(0, |(_, value)| *value);
    let width = largest.to_string().len().max(5);
    let per_line = (PERCENTILE_LINE / (decimals + 10 + width)).max(1);
    let lines = values.chunks(per_line);
    let last = lines.len().saturating_sub(1);
    for (number, line) in lines.enumerate() {
        let item = |(percent, value): &(f64, u64)| {
            format!(
                " {percent:>before$.decimals$}th=[{value:>width$}]",
                before = decimals + 3
            )
        };
        let items: Vec<String> = line.iter().map(item).collect();
        let separator = if number < last { "," } else { "" };
        writeln!(out, "     |{}{separator}", items.join(","))?;
    }
    Ok(())
}

fn write_samples(out: &mut dyn Write, figures: &Figures, units: Units, group: u64) -> io::Result<()> {
    if figures.bandwidth.count > 0 {
        let share = figures.percent_of_group(group);
        let mut factor = if units.bits { 8.0 } else { 1.0 };
        let base = f64::from(units.kilo);
        let large = figures.bandwidth.mean * factor > base * base;
        if large {
            factor /= base;
        }
        let unit = units.sample_unit(large);
        let share_text = format!("per={share:3.2}%, ");
        write!(out, "   bw ({unit:>5}/s): ")?;
        write_sample_line(out, &figures.bandwidth, factor, &share_text)?;
    }
    if figures.iops.count > 0 {
        write!(out, "   iops        : ")?;
        write_sample_line(out, &figures.iops, 1.0, "")?;
    }
    Ok(())
}

fn write_sample_line(out: &mut dyn Write, samples: &Samples, factor: f64, share: &str) -> io::Result<()> {
    let scaled = |value: u64| (value as f64 * factor) as u64;
    writeln!(
        out,
        "min={:>5}, max={:>5}, {share}avg={:5.2}, stdev={:5.2}, samples={}",
        scaled(samples.min),
        scaled(samples.max),
        samples.mean * factor,
        samples.deviation() * factor,
        samples.count,
    )
}

fn write_classes(out: &mut dyn Write, classes: &LatencyClasses) -> io::Result<()> {
    let last = (LAST_CLASS_END_MS.to_string(), format!(">={LAST_CLASS_END_MS}"));
    let mut ms_labels = CLASS_ENDS.map(|end| end.to_string()).to_vec();
    ms_labels.extend([last.0, last.1]);
    for (unit, shares) in [("nsec", &classes.ns[..]), ("usec", &classes.us), ("msec", &classes.ms)] {
        let filled = ms_labels.iter().zip(shares).filter(|(_, share)| **share > 0.0);
        let items: Vec<String> = filled.map(|(label, share)| format!("{label}={share:3.2}%")).collect();
        for line in items.chunks(CLASSES_PER_LINE) {
            writeln!(out, "  lat ({unit})   : {}", line.join(", "))?;
        }
    }
    Ok(())
}

fn write_flushes(out: &mut dyn Write, entry: &Entry) -> io::Result<()> {
    let spread = Spread::from_histogram(&entry.flush_latency);
    if spread.count == 0 {
        return Ok(());
    }
    writeln!(out, "  fsync/fdatasync/sync_file_range/syncfs:")?;
    write_spread(out, "sync", &spread)?;
    let wanted = entry.settings.percentiles_of;
    if wanted.clat || wanted.lat {
        let (scale, values) = scale_percentiles(&entry.flush_latency, &entry.settings.percentiles);
        writeln!(out, "    sync percentiles ({}):", scale.word())?;
        write_percentiles(out, &values, entry.settings.percentile_decimals)?;
    }
    Ok(())
}

fn write_counters(out: &mut dyn Write, entry: &Entry) -> io::Result<()> {
    let cpu = &entry.cpu;
    writeln!(
        out,
        "  cpu          : usr={:3.2}%, sys={:3.2}%, ctx={}, majf={}, minf={}",
        cpu.user_percent(),
        cpu.system_percent(),
        cpu.switches,
        cpu.major_faults,
        cpu.minor_faults
    )?;
    for (label, names, shares) in [
        ("  IO depths    ", DEPTHS, &entry.depth),
        ("     submit    ", BATCHES, &entry.submitted),
        ("     complete  ", BATCHES, &entry.completed),
    ] {
        let Some(shares) = shares else { continue };
        let shares: Vec<String> = names
            .iter()
            .zip(shares)
            .map(|(name, share)| format!("{name}={share:3.1}%"))
            .collect();
        writeln!(out, "{label}: {}", shares.join(", "))?;
    }
    let counts = |count: fn(&Figures) -> u64| entry.parts.map(count);
    let (total, short) = (counts(|figures| figures.issued), counts(|figures| figures.short));
    writeln!(
        out,
        "     issued rwts: total={},{},{},{} short={},{},{},0 dropped=0,0,0,0",
        total.read, total.write, total.trim, entry.flushes, short.read, short.write, short.trim
    )?;
    if let Some(tolerated) = entry.tolerated.filter(|tolerated| tolerated.total > 0) {
        let (total, first) = (tolerated.total, tolerated.first);
        writeln!(
            out,
            "     errors    : total={total}, first_error={first}/<{}>",
            codes::error_text(first)
        )?;
    }
    if let Some(target) = &entry.target {
        write_target(out, target)?;
    }
    if let Some(block_lifetimes) = &entry.lifetimes {
        lifetimes::write(out, block_lifetimes, &entry.settings.percentiles)?;
    }
    entry
        .steady
        .as_ref()
        .map_or(Ok(()), |steady| write_steady(out, steady, entry.settings.units))
}

fn write_target(out: &mut dyn Write, target: &Target) -> io::Result<()> {
    writeln!(
        out,
        "     latency   : target={}, window={}, percentile={:.2}%, depth={}",
        time(target.target),
        time(target.window),
        target.percentile,
        target.depth
    )
}

/// Formats a time with two decimals, in the smallest unit in which it is at most 2000.
fn time(length: Nanos) -> String {
    let mut value = length.0 as f64;
    for unit in ["ns", "us", "ms"] {
        if value <= 2000.0 {
            return format!("{value:.2}{unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.2}s")
}

fn write_steady(out: &mut dyn Write, steady: &Steady, units: Units) -> io::Result<()> {
    // For the decimal form, fio formats a count of KiB as if it were a count of kB.
    let kib = mean_of_samples(&steady.bandwidth) / 1024;
    let style = |binary: bool| Style {
        binary,
        thousands: true,
        ..units.style(units.rate())
    };
    let binary = units.kilo == 1024;
    let metric_name = metric_name(steady.rule.metric);
    writeln!(
        out,
        "  steadystate  : attained={}, bw={} ({}), iops={}, {metric_name} {}={:.3}{}",
        if steady.attained { "yes" } else { "no" },
        style(binary).write(kib),
        style(!binary).write(kib),
        Style::plain(units.figures).write(mean_of_samples(&steady.iops)),
        if steady.rule.slope { "slope" } else { "mean dev" },
        steady.criterion,
        if steady.rule.percent { "%" } else { "" },
    )
}

/// fio's name of a tracked metric.
pub(super) fn metric_name(metric: TrackedMetric) -> &'static str {
    match metric {
        TrackedMetric::Iops => "iops",
        TrackedMetric::Throughput => "bw",
        TrackedMetric::Latency => "lat",
    }
}

/// The mean, rounded down; 0 for an empty slice.
pub(super) fn mean_of_samples(values: &[u64]) -> u64 {
    values.iter().sum::<u64>().checked_div(values.len() as u64).unwrap_or(0)
}

fn write_group(out: &mut dyn Write, group: &GroupTotals) -> io::Result<()> {
    writeln!(out, "\nRun status group {} (all jobs):", group.number)?;
    for (direction, total) in group.parts.iter() {
        let name = match group.unified {
            Unified::Mixed => "MIXED".to_owned(),
            Unified::No | Unified::Both => direction.word().to_uppercase(),
        };
        if let Some(total) = total {
            write_total(out, &name, total, group.units)?;
        }
    }
    match group.sum_of_directions().filter(|_| group.unified == Unified::Both) {
        Some(total) => write_total(out, "MIXED", &total, group.units),
        None => Ok(()),
    }
}

fn write_total(out: &mut dyn Write, name: &str, total: &Total, units: Units) -> io::Result<()> {
    let rate = |value: u64| format_in_both_units(value, units, units.rate());
    let [bandwidth, bandwidth_other] = rate(total.bytes_per_second);
    let [slowest, slowest_other] = rate(total.bandwidth_min);
    let [fastest, fastest_other] = rate(total.bandwidth_max);
    let [bytes, bytes_other] = format_in_both_units(total.bytes, units, Unit::Bytes);
    writeln!(
        out,
        "{name:>7}: bw={bandwidth} ({bandwidth_other}), {slowest}-{fastest} ({slowest_other}-{fastest_other}), \
         io={bytes} ({bytes_other}), run={}-{}msec",
        total.runtime_ms_min, total.runtime_ms_max
    )
}

fn write_disk(out: &mut dyn Write, disk: &Disk) -> io::Result<()> {
    write!(out, "  {}: {}", disk.name, disk_figures(disk, ""))?;
    if let Some(aggregate) = disk.aggregate() {
        write!(out, ", {}", disk_figures(&aggregate, "aggr"))?;
    }
    writeln!(out)?;
    for member in &disk.members {
        writeln!(out, "    {}: {}", member.name, disk_figures(member, ""))?;
    }
    Ok(())
}

fn disk_figures(disk: &Disk, prefix: &str) -> String {
    let format_pair = |[read, write]: [u64; 2]| format!("{read}/{write}");
    format!(
        "{prefix}ios={}, {prefix}sectors={}, {prefix}merge={}, {prefix}ticks={}, {prefix}in_queue={}, {prefix}util={:3.2}%",
        format_pair(disk.operations),
        format_pair(disk.sectors),
        format_pair(disk.merges),
        format_pair(disk.ticks_ms),
        disk.in_queue_ms,
        disk.busy_percent
    )
}

/// Formats an amount with binary and with decimal prefixes, the configured kind first.
fn format_in_both_units(value: u64, units: Units, unit: Unit) -> [String; 2] {
    let style = units.style(unit);
    let binary = !style.binary;
    [style.write(value), Style { binary, ..style }.write(value)]
}

impl Units {
    fn style(self, unit: Unit) -> Style {
        Style {
            figures: self.figures,
            binary: self.kilo == 1024,
            thousands: false,
            unit,
        }
    }

    fn rate(self) -> Unit {
        match self.bits {
            true => Unit::BitsPerSecond,
            false => Unit::BytesPerSecond,
        }
    }

    /// The unit of bandwidth samples, with the next prefix for large ones.
    fn sample_unit(self, large: bool) -> &'static str {
        match (large, self.bits, self.kilo) {
            (true, true, _) => "Mibit",
            (true, false, _) => "MiB",
            (false, true, 1000) => "kbit",
            (false, true, _) => "Kibit",
            (false, false, 1000) => "kB",
            (false, false, _) => "KiB",
        }
    }
}
