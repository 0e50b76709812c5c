//! The terse report: one line for each entry, with fields separated by semicolons. Scripts read
//! fields by number, so every field of a version is written, even if empty.

use std::io::{self, Write};

use model::histogram::Histogram;
use model::results::Results;

use super::bins;
use super::disks::{Disk, collect_disks};
use super::entries::{Entry, collect_entries};
use super::figures::Figures;
use super::groups::{GroupTotals, groups};
use super::latency::Spread;
use super::settings::{JobSettings, MAX_PERCENTILES, Settings, Unified};

/// Writes the report in one of the versions 2 to 5.
pub(super) fn write(results: &Results, version: u32, out: &mut dyn Write) -> io::Result<()> {
    let settings = Settings::from_plan(&results.plan);
    let entries = collect_entries(results);
    let groups = groups(&entries);
    let disks = collect_disks(results, &settings);
    for entry in &entries {
        let group = groups.iter().find(|group| group.number == entry.group);
        let mut line = Line {
            version,
            fields: Vec::new(),
        };
        line.add_head(entry, &settings);
        line.add_directions(entry, group);
        line.add_counters(entry);
        if version >= 3 {
            disks.iter().for_each(|disk| line.add_disk(disk));
        }
        if let Some(tolerated) = entry.tolerated {
            line.add(tolerated.total);
            line.add(tolerated.first);
        }
        line.fields.extend(entry.description.map(str::to_owned));
        writeln!(out, "{}", line.fields.join(";"))?;
    }
    Ok(())
}

struct Line {
    version: u32,
    fields: Vec<String>,
}

impl Line {
    fn add(&mut self, field: impl ToString) {
        self.fields.push(field.to_string());
    }

    fn add_real(&mut self, value: f64) {
        self.fields.push(format!("{value:.6}"));
    }

    fn add_head(&mut self, entry: &Entry, settings: &Settings) {
        self.add(self.version);
        if self.version > 2 {
            self.add(&settings.version);
        }
        self.add(entry.name);
        self.add(entry.group);
        self.add(entry.error.as_ref().map_or(0, |error| error.number));
    }

    fn add_directions(&mut self, entry: &Entry, group: Option<&GroupTotals>) {
        let has_trims = self.version != 3 || entry.settings.unified == Unified::Mixed;
        for (_, direction, figures) in entry.rows().into_iter().take(if has_trims { 3 } else { 2 }) {
            let total = group.and_then(|group| group.parts[direction]);
            self.add_direction(
                figures,
                total.map_or(0, |total| total.bytes_per_second),
                &entry.settings,
            );
        }
        if let Some(together) = &entry.together {
            let total = group.and_then(GroupTotals::sum_of_directions);
            self.add_direction(
                together,
                total.map_or(0, |total| total.bytes_per_second),
                &entry.settings,
            );
        }
    }

    fn add_direction(&mut self, figures: &Figures, group: u64, settings: &JobSettings) {
        self.add(figures.bytes >> 10);
        self.add(figures.bytes_per_second() >> 10);
        self.add(figures.whole_iops());
        self.add(figures.runtime_ms);
        let latency = &figures.latency;
        self.add_latency(&latency.slat);
        self.add_latency(&latency.clat);
        let wanted = settings.percentiles_of;
        match (wanted.lat, wanted.clat) {
            (true, _) => self.add_percentiles(&latency.lat, &settings.percentiles),
            (false, true) => self.add_percentiles(&latency.clat, &settings.percentiles),
            (false, false) => self.add_percentiles(&latency.clat, &[]),
        }
        self.add_latency(&latency.lat);
        let bandwidth = &figures.bandwidth;
        self.add(bandwidth.min);
        self.add(bandwidth.max);
        self.add(format!("{:.6}%", figures.percent_of_group(group)));
        self.add_real(bandwidth.mean);
        self.add_real(bandwidth.deviation());
        if self.version >= 5 {
            let iops = &figures.iops;
            self.add(bandwidth.count);
            self.add(iops.min);
            self.add(iops.max);
            self.add_real(iops.mean);
            self.add_real(iops.deviation());
            self.add(iops.count);
        }
    }

    /// Adds microseconds: minimum and maximum truncated, mean and deviation with decimals.
    fn add_latency(&mut self, histogram: &Histogram) {
        let spread = Spread::from_histogram(histogram);
        self.add(spread.min / 1000);
        self.add(spread.max / 1000);
        self.add_real(spread.mean / 1000.0);
        self.add_real(spread.deviation / 1000.0);
    }

    fn add_percentiles(&mut self, histogram: &Histogram, list: &[f64]) {
        let values = bins::percentiles_of_bins(histogram, list);
        for index in 0..MAX_PERCENTILES {
            match list.get(index) {
                Some(percent) => {
                    let value = values.get(index).copied().unwrap_or(0);
                    self.add(format!("{percent:.6}%={}", value / 1000));
                }
                None => self.add("0%=0"),
            }
        }
    }

    fn add_counters(&mut self, entry: &Entry) {
        let cpu = &entry.cpu;
        self.add(format!("{:.6}%", cpu.user_percent()));
        self.add(format!("{:.6}%", cpu.system_percent()));
        self.add(cpu.switches);
        self.add(cpu.major_faults);
        self.add(cpu.minor_faults);
        // Fields have fixed positions, so figures that were not counted are 0.
        for share in entry.depth.unwrap_or_default() {
            self.add(format!("{share:3.1}%"));
        }
        let classes = &entry.classes;
        let mut us = classes.us;
        // There are no fields for less than a microsecond.
        us[0] += classes.ns.iter().sum::<f64>();
        for share in us.iter().chain(&classes.ms) {
            self.add(format!("{share:3.2}%"));
        }
    }

    fn add_disk(&mut self, disk: &Disk) {
        self.add_disk_figures(&disk.name, disk);
        if let Some(aggregate) = disk.aggregate() {
            self.add_disk_figures("slaves", &aggregate);
        }
    }

    fn add_disk_figures(&mut self, name: &str, disk: &Disk) {
        self.add(name);
        for pair in [disk.operations, disk.merges, disk.ticks_ms] {
            self.add(pair[0]);
            self.add(pair[1]);
        }
        self.add(disk.in_queue_ms);
        self.add(format!("{:3.2}%", disk.busy_percent));
    }
}
