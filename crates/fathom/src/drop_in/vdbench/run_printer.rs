//! Prints a run live. An interval becomes a row once every SD has reported it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dialects::vdbench::values::format_loop_value;
use dialects::vdbench::{JobLabel, Run};
use engine::probe::CoreTimes;
use model::event::{Counts, Event, Phase};
use model::histogram::Histogram;
use model::results::{Results, StreamResults};
use model::{Direction, PerDirection};
use report::formats::vdbench::{
    Cpu, DirectionTally, FileColumns, FlatFacts, Layout, SkewRow, Tally, format_file_counters, format_file_flat_row,
    format_file_header, format_file_histogram, format_file_row, format_flat_row, format_header, format_histogram,
    format_row, format_skew_table,
};

use ::run::targets::SHORT_FILES;

use super::cpu::{cpu_between, cpu_of_hosts};
use super::monitor::{EarlyEnds, Request, take_request};
use super::output::{Output, date, time, timestamp};

/// The format of rows.
#[derive(Clone, Debug)]
pub struct RowStyle {
    pub layout: Layout,
    pub decimal: bool,
    /// The labels of the hosts that have pages of their own.
    pub hosts: Vec<String>,
    /// The workers run on other hosts, so the processor time of this host is irrelevant.
    pub in_fleet: bool,
    pub files: Option<FileColumns>,
}

impl RowStyle {
    /// Returns the label of a rank; without a fleet, the label of this process.
    pub fn host(&self, rank: Option<usize>) -> &str {
        self.hosts.get(rank.unwrap_or(0)).map_or("", String::as_str)
    }

    /// Returns the names of a host's pages: its own page, and its slave's.
    pub fn page_names(host: &str) -> [String; 2] {
        [host.to_owned(), format!("{host}-0")]
    }

    /// Returns the names of the pages of all hosts.
    pub fn pages(&self) -> Vec<String> {
        self.hosts.iter().flat_map(|host| RowStyle::page_names(host)).collect()
    }
}

/// Prints the rows of a run.
pub struct RunPrinter<'a> {
    run: &'a Run,
    facts: FlatFacts,
    style: RowStyle,
    output: &'a mut Output,
    bucket_limits: &'a [u64],
    /// Seconds before the measured window.
    warm_up: u64,
    /// For each job, the report files that get its rows: those of its SD (or FSD and FWD) and, with
    /// several hosts, of its host.
    report_files: Vec<Vec<String>>,
    /// For each job: figures by interval, number of complete intervals, and true after its end.
    jobs: Vec<(Vec<Tally>, u64, bool)>,
    /// Number of printed intervals.
    printed: u64,
    /// Processor time of each printed interval.
    cpus: Vec<Cpu>,
    /// Sum of the intervals after the warm-up.
    measured_sum: Tally,
    /// Processor times at the end of the last interval.
    cpu_at_last_interval: Arc<CoreTimes>,
    /// Processor times at the end of the warm-up.
    cpu_after_warm_up: Arc<CoreTimes>,
    /// Processor times when the last event arrived.
    cpu_now: Arc<CoreTimes>,
    has_begun: bool,
    ends: EarlyEnds<'a>,
    /// The last interval of a run that ends early; `None` if it runs to its planned end.
    early_last: Option<u64>,
    /// What the file of `monitor=` asked for.
    request: Option<Request>,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Operations a second, averaged.
    pub rate: f64,
    /// Response time in milliseconds, averaged.
    pub response_ms: f64,
    /// Number of reported intervals.
    pub intervals: u64,
    /// What the file of `monitor=` asked for.
    pub request: Option<Request>,
}

impl<'a> RunPrinter<'a> {
    pub fn new(
        run: &'a Run,
        facts: FlatFacts,
        style: RowStyle,
        (labels, bucket_limits): (&[JobLabel], &'a [u64]),
        ends: EarlyEnds<'a>,
        output: &'a mut Output,
    ) -> RunPrinter<'a> {
        let warm_up = match (run.ends_with_data() || run.elapsed.is_none(), run.warmup) {
            (true, _) => 0,
            (false, 0) => run.interval,
            (false, warmup) => warmup,
        };
        let pages = |label: &JobLabel| match style.hosts.len() {
            1 => Vec::new(),
            _ => RowStyle::page_names(style.host(label.rank)).to_vec(),
        };
        let cpu_now = Arc::new(CoreTimes::read());
        RunPrinter {
            facts,
            output,
            bucket_limits,
            warm_up,
            jobs: labels.iter().map(|_| (Vec::new(), 0, false)).collect(),
            report_files: labels
                .iter()
                .map(|label| [label.report_files.clone(), pages(label)].concat())
                .collect(),
            style,
            printed: 0,
            cpus: Vec::new(),
            measured_sum: Tally::default(),
            cpu_at_last_interval: Arc::clone(&cpu_now),
            cpu_after_warm_up: Arc::clone(&cpu_now),
            cpu_now,
            has_begun: false,
            ends,
            early_last: None,
            request: None,
            run,
        }
    }

    /// Handles an event, with the processor times when it arrived.
    pub fn handle_event(&mut self, event: &Event, cpu_now: Arc<CoreTimes>) {
        self.cpu_now = cpu_now;
        match event {
            Event::Phase {
                phase: Phase::WarmUp | Phase::Measured,
                ..
            } if !self.has_begun => {
                self.has_begun = true;
                self.cpu_at_last_interval = Arc::clone(&self.cpu_now);
                self.cpu_after_warm_up = Arc::clone(&self.cpu_now);
            }
            Event::Interval(interval) if matches!(interval.phase, Phase::WarmUp | Phase::Measured) => {
                let offset_s = if interval.phase == Phase::Measured {
                    self.warm_up
                } else {
                    0
                };
                let (length, last) = (self.run.interval * 1_000_000_000, self.run.intervals().0);
                let start = offset_s * 1_000_000_000 + interval.start_ns.0;
                // Assign an event to the interval that it mostly overlaps, because it may begin
                // slightly late.
                let number = ((start + interval.length_ns.0 / 2) / length).min(last.saturating_sub(1));
                // The run ends a little after its last interval.
                let is_in_run = self.early_last.is_none_or(|last| number < last) && number < 10_000_000;
                if let Some((tallies, complete, _)) = self.jobs.get_mut(interval.job as usize)
                    && is_in_run
                {
                    if tallies.len() <= number as usize {
                        tallies.resize(number as usize + 1, Tally::default());
                    }
                    let direction_tally = |direction| {
                        DirectionTally::from_interval(interval.counts[direction], interval.latency[direction].as_ref())
                    };
                    tallies[number as usize].add(&Tally {
                        reads: direction_tally(Direction::Read),
                        writes: direction_tally(Direction::Write),
                        in_flight_ns: interval.in_flight_ns.0.into(),
                        file_operations: interval.file_operations.clone(),
                    });
                    *complete = (start + interval.length_ns.0 + length / 1000) / length;
                }
            }
            Event::Notice { finding } if finding.rule == SHORT_FILES => self.output.print_stamped(&finding.what),
            // Without a fleet, a separate run lays out the files and reports it.
            Event::Prepared { target, how, .. } if self.style.in_fleet => {
                self.output.print_stamped(&format!("{target}: {how}"));
            }
            Event::JobEnded { job, .. } => {
                if let Some(state) = self.jobs.get_mut(*job as usize) {
                    state.2 = true;
                }
            }
            _ => return,
        }
        while self
            .jobs
            .iter()
            .all(|(_, complete, ended)| *ended || *complete > self.printed)
            && self.has_unprinted_intervals()
        {
            self.print_interval();
        }
    }

    fn total_files(&self) -> Vec<String> {
        match &self.style.hosts[..] {
            [_] => [vec!["summary".into()], self.style.pages()].concat(),
            _ => vec!["summary".into()],
        }
    }

    fn sum_by_file(&self, job_tallies: &[Tally]) -> Vec<(String, Tally)> {
        let mut sums: Vec<(String, Tally)> = Vec::new();
        for (report_files, tally) in self.report_files.iter().zip(job_tallies) {
            for file in report_files {
                match sums.iter_mut().find(|(name, _)| name == file) {
                    Some((_, sum)) => sum.add(tally),
                    None => sums.push((file.clone(), tally.clone())),
                }
            }
        }
        sums
    }

    fn has_unprinted_intervals(&self) -> bool {
        self.jobs
            .iter()
            .any(|(tallies, ..)| tallies.len() as u64 > self.printed)
    }

    fn print_interval(&mut self) {
        let number = self.printed + 1;
        let cpu = match self.style.in_fleet {
            true => Cpu::default(),
            false => cpu_between(&self.cpu_now, &self.cpu_at_last_interval),
        };
        self.cpu_at_last_interval = Arc::clone(&self.cpu_now);
        self.cpus.push(cpu);
        let label = number.to_string();
        let mut sum = Tally::default();
        let job_tallies: Vec<Tally> = self
            .jobs
            .iter()
            .map(|(tallies, ..)| tallies.get(self.printed as usize).cloned().unwrap_or_default())
            .collect();
        job_tallies.iter().for_each(|tally| sum.add(tally));
        for (name, tally) in self.sum_by_file(&job_tallies) {
            self.write_row(&name, &label, number, &tally, cpu);
        }
        for file in self.total_files() {
            self.write_row(&file, &label, number, &sum, cpu);
        }
        if let [(wd, _)] = &self.run.workloads[..] {
            self.write_row(&wd.name, &label, number, &sum, cpu);
        }
        self.print_row(&label, number, &sum, cpu);
        self.write_flat(&label, &sum, self.run.interval as f64, cpu);
        let first = self.run.intervals().1;
        if number >= first {
            self.measured_sum.add(&sum);
        } else if number + 1 == first {
            self.cpu_after_warm_up = Arc::clone(&self.cpu_at_last_interval);
            self.write_status("Warmup done");
        }
        self.printed = number;
        self.end_after_max_bytes();
        self.check_monitor_file();
    }

    /// Ends the run if the file of `monitor=` asks for it. Lay-outs and formats continue, because
    /// the next run needs all of their files.
    fn check_monitor_file(&mut self) {
        let file = self
            .ends
            .monitor
            .filter(|_| self.run.elapsed.is_some() && self.request.is_none());
        let Some((file, request)) = file.and_then(|file| Some((file, take_request(file)?))) else {
            return;
        };
        let (name, file) = (&self.run.name, file.display());
        self.output
            .print_stamped(&format!("monitor={file}: rd={name} shutting down"));
        self.request = Some(request);
        self.early_last = Some(self.printed);
        self.ends.finished.store(true, Ordering::Relaxed);
    }

    /// Ends the run one interval after the one that reached `maxdata=`.
    fn end_after_max_bytes(&mut self) {
        let (Some(maxdata), Some(max)) = (self.run.maxdata, self.ends.max_bytes) else {
            return;
        };
        if self.early_last == Some(self.printed) {
            self.ends.finished.store(true, Ordering::Relaxed);
        }
        let printed = self.printed as usize;
        let tallies = self.jobs.iter().flat_map(|(tallies, ..)| tallies.iter().take(printed));
        let bytes: u64 = tallies
            .map(|tally| match maxdata.name {
                "maxdataread" => tally.reads.bytes,
                "maxdatawritten" => tally.writes.bytes,
                _ => tally.reads.bytes + tally.writes.bytes,
            })
            .sum();
        let is_last = self.printed >= self.run.intervals().0;
        if bytes >= max && self.early_last.is_none() && !is_last {
            self.early_last = Some(self.printed + 1);
            self.output.print_stamped(&format!(
                "Reached {}={}. rd={} shutting down after next interval. ",
                maxdata.name,
                format_loop_value(maxdata.bytes),
                self.run.name
            ));
        }
    }

    /// Writes the row of an interval or average to a file, with headers every 30 rows.
    fn write_row(&mut self, file: &str, label: &str, number: u64, tally: &Tally, cpu: Cpu) {
        let lines = self.with_headers(label, number, tally, cpu);
        self.output.write_lines(file, &lines);
    }

    fn print_row(&mut self, label: &str, number: u64, tally: &Tally, cpu: Cpu) {
        for line in self.with_headers(label, number, tally, cpu) {
            self.output.print_line(&line);
        }
    }

    fn with_headers(&self, label: &str, number: u64, tally: &Tally, cpu: Cpu) -> Vec<String> {
        let mut lines = match number % 30 == 1 && !label.starts_with("avg") {
            true => Vec::from(self.headers()),
            false => Vec::new(),
        };
        lines.push(self.format_row(label, tally, cpu));
        lines
    }

    fn headers(&self) -> [String; 3] {
        let [first, second] = match &self.style.files {
            Some(columns) => format_file_header(self.style.layout, columns, &date()),
            None => format_header(self.style.layout, &date(), self.style.decimal),
        };
        [String::new(), first, second]
    }

    fn format_row(&self, label: &str, tally: &Tally, cpu: Cpu) -> String {
        let seconds = match label.starts_with("avg") {
            true => self.average_seconds(),
            false => self.run.interval as f64,
        };
        if let Some(columns) = &self.style.files {
            let (layout, decimal) = (self.style.layout, self.style.decimal);
            return format_file_row(layout, columns, (&time(), label), tally, seconds, decimal, cpu);
        }
        format_row(
            self.style.layout,
            &time(),
            label,
            tally,
            seconds,
            self.style.decimal,
            cpu,
        )
    }

    fn average_seconds(&self) -> f64 {
        let first = self.run.intervals().1;
        ((self.printed + 1).saturating_sub(first).max(1) * self.run.interval) as f64
    }

    fn write_flat(&mut self, label: &str, tally: &Tally, seconds: f64, cpu: Cpu) {
        if let Some(columns) = &self.style.files {
            let (reqrate, compratio) = (self.facts.reqrate, self.facts.compratio);
            let facts = (&*self.run.name, reqrate, compratio, self.style.decimal);
            let times = (&*time(), &*timestamp());
            let line = format_file_flat_row(columns, times, label, facts, tally, seconds, cpu);
            return self.output.write("flatfile", &line);
        }
        let line = format_flat_row(
            self.style.layout,
            (&time(), &timestamp()),
            label,
            &self.facts,
            tally,
            seconds,
            cpu,
        );
        self.output.write("flatfile", &line);
    }

    /// Writes a line to the status file.
    pub fn write_status(&mut self, state: &str) {
        let line = format!(
            "{}\t{state}\trd={}\t{}",
            timestamp(),
            self.run.name,
            self.run.loops_text()
        );
        self.output.write("status", &line);
    }

    /// Writes remaining rows, averages, histograms and figures of the results. If `totals_headers`
    /// is true, the row in `totals.html` gets headers.
    pub fn finish(mut self, results: &Results, workload_of: &[Vec<Vec<usize>>], totals_headers: bool) -> Outcome {
        // A run without any operation has an interval too.
        while self.printed == 0 || self.has_unprinted_intervals() {
            self.print_interval();
        }
        let (_, first) = self.run.intervals();
        let label = format!("avg_{first}-{}", self.printed);
        // Average all intervals of a run that ended during the warm-up.
        let start = if self.printed < first { 0 } else { first as usize - 1 };
        let sum_counted = |tallies: &[Tally]| {
            tallies.iter().skip(start).fold(Tally::default(), |mut sum, tally| {
                sum.add(tally);
                sum
            })
        };
        let job_sums: Vec<Tally> = self.jobs.iter().map(|(tallies, ..)| sum_counted(tallies)).collect();
        if self.printed < first {
            self.measured_sum = sum_counted(&job_sums);
        }
        let measured_sum = std::mem::take(&mut self.measured_sum);
        let cpu = match self.printed < first {
            _ if self.style.in_fleet => cpu_of_hosts(results, |_| true),
            true => self.cpus.last().copied().unwrap_or_default(),
            false => cpu_between(&self.cpu_at_last_interval, &self.cpu_after_warm_up),
        };
        for (name, tally) in self.sum_by_file(&job_sums) {
            let cpu = self.cpu_of_page(&name, results).unwrap_or(cpu);
            self.write_row(&name, &label, self.printed, &tally, cpu);
            self.write_histogram(&format!("{name}.histogram"), &tally, results, Some(&name));
        }
        for file in self.total_files() {
            self.write_row(&file, &label, self.printed, &measured_sum, cpu);
        }
        if totals_headers {
            let headers = self.headers();
            self.output.write_lines("totals", &headers);
        }
        self.write_row("totals", &label, self.printed, &measured_sum, cpu);
        self.print_row(&label, self.printed, &measured_sum, cpu);
        let seconds = self.average_seconds();
        self.write_flat(&label, &measured_sum, seconds, cpu);
        self.write_histogram("histogram", &measured_sum, results, None);
        let sds = self.run.sds.iter().map(|sd| &sd.name);
        self.write_skew("SD", &self.skew_rows(sds, &job_sums));
        let hosts = self.style.hosts.clone();
        self.write_skew("Host", &self.skew_rows(hosts.iter(), &job_sums));
        self.write_workloads(results, workload_of, (&label, cpu), &measured_sum);
        self.write_status("Workload done");
        self.write_status("Slaves done");
        self.print_counters();
        let total = match &self.style.files {
            Some(columns) => measured_sum.sum_of_kinds(&columns.requested),
            None => measured_sum.total(),
        };
        Outcome {
            rate: total.n as f64 / seconds,
            response_ms: total.sum_ns as f64 / total.n.max(1) as f64 / 1e6,
            intervals: self.printed,
            request: self.request,
        }
    }

    /// Prints the counters of a run on files over all its intervals.
    fn print_counters(&mut self) {
        let Some(files) = &self.run.files else { return };
        let (mut reading, mut writing) = (Tally::default(), Tally::default());
        for (load, (tallies, ..)) in files.loads().iter().zip(&self.jobs) {
            let job_kind_tally = if load.writes() { &mut writing } else { &mut reading };
            tallies.iter().for_each(|tally| job_kind_tally.add(tally));
        }
        let seconds = (self.printed.max(1) * self.run.interval) as f64;
        for line in format_file_counters(&reading, &writing, seconds) {
            self.output.print_stamped(&line);
        }
    }

    /// Writes a histogram. In a run on files, it covers the jobs of `page`, or all jobs.
    fn write_histogram(&mut self, file: &str, tally: &Tally, results: &Results, page: Option<&str>) {
        let lines = match &self.style.files {
            Some(columns) => format_file_histogram(&self.requested_times(columns, results, page), self.bucket_limits),
            None => format_histogram(tally, self.bucket_limits),
        };
        self.output.write(file, "");
        self.output.write_lines(file, &lines);
    }

    /// Merges the response times of the requested operations on files in the measured window.
    fn requested_times(&self, columns: &FileColumns, results: &Results, page: Option<&str>) -> Histogram {
        let mut times = Histogram::new();
        let jobs = results.steps.first().map_or(&[][..], |step| &step.jobs);
        for (job, report_files) in jobs.iter().zip(&self.report_files) {
            if page.is_some_and(|page| !report_files.iter().any(|file| file == page)) {
                continue;
            }
            for operation in job.file_operations() {
                if columns.requested.contains(&operation.kind) {
                    times.merge(operation.results.latency());
                }
            }
        }
        times
    }

    /// Writes the files and the skew table of workloads. If a run has several workloads, their rows
    /// cover only the measured window.
    fn write_workloads(
        &mut self,
        results: &Results,
        workload_of: &[Vec<Vec<usize>>],
        (label, cpu): (&str, Cpu),
        measured_sum: &Tally,
    ) {
        let run = self.run;
        let is_single = run.workloads.len() == 1;
        let warm_up_intervals = self.warm_up / run.interval;
        let mut rows = Vec::new();
        for (index, (wd, share)) in run.workloads.iter().enumerate() {
            let (intervals, total) = workload_figures(results, workload_of, index, run.interval);
            let tally = if is_single { measured_sum.clone() } else { total };
            for (number, tally) in intervals.iter().enumerate().filter(|_| !is_single) {
                let number = warm_up_intervals + number as u64 + 1;
                // Write headers above the first row.
                let header_row_number = if number == warm_up_intervals + 1 { 1 } else { number };
                let cpu = self.cpus.get(number as usize - 1).copied().unwrap_or_default();
                self.write_row(&wd.name, &number.to_string(), header_row_number, tally, cpu);
            }
            self.write_row(&wd.name, label, self.printed, &tally, cpu);
            self.write_histogram(&format!("{}.histogram", wd.name), &tally, results, None);
            rows.push(SkewRow {
                name: wd.name.clone(),
                requested: Some(*share),
                tally,
            });
        }
        self.write_skew("WD", &rows);
    }

    /// Returns the rows of SDs or hosts that have work in this run.
    fn skew_rows<'n>(&self, names: impl Iterator<Item = &'n String>, job_sums: &[Tally]) -> Vec<SkewRow> {
        let sums = self.sum_by_file(job_sums);
        let row = |name: &String| {
            let (_, tally) = sums.iter().find(|(file, _)| file == name)?;
            Some(SkewRow {
                name: name.clone(),
                requested: None,
                tally: tally.clone(),
            })
        };
        names.filter_map(row).collect()
    }

    /// Returns the processor time of the host that a page is about.
    fn cpu_of_page(&self, page: &str, results: &Results) -> Option<Cpu> {
        let mut hosts = self.style.hosts.iter();
        let rank = hosts.position(|host| RowStyle::page_names(host).iter().any(|name| name == page))?;
        let machine = results.fleet.as_ref()?.ranks.get(rank)?.machine?;
        Some(cpu_of_hosts(results, |core| core.host == machine))
    }

    /// Writes a table of the skew report if it has more than one row.
    fn write_skew(&mut self, kind: &str, rows: &[SkewRow]) {
        if rows.len() < 2 {
            return;
        }
        let mut lines = vec![String::new()];
        if kind == "WD" {
            lines.push("Calculated versus requested workload skew. (Delta only shown if > 0.10% absolute)".into());
            lines.push("Note that for an Uncontrolled MAX run workload skew is irrelevant.".into());
            lines.push(String::new());
        }
        let (layout, decimal) = (self.style.layout, self.style.decimal);
        lines.extend(format_skew_table(layout, kind, rows, self.average_seconds(), decimal));
        for line in lines {
            self.output.write("skew", &format!("{} {line}", time()));
        }
    }
}

/// Returns the figures of a workload in the measured window, by interval and in total.
fn workload_figures(
    results: &Results,
    workload_of: &[Vec<Vec<usize>>],
    index: usize,
    interval: u64,
) -> (Vec<Tally>, Tally) {
    let (mut intervals, mut total): (Vec<Tally>, Tally) = (Vec::new(), Tally::default());
    let jobs = results.steps.first().map_or(&[][..], |step| &step.jobs);
    for (job, workers) in jobs.iter().zip(workload_of) {
        let is_wanted =
            |worker: usize, stream: usize| workers.get(worker).and_then(|streams| streams.get(stream)) == Some(&index);
        for series in &job.series {
            let is_wanted_stream = series
                .source
                .is_some_and(|(worker, stream)| is_wanted(worker as usize, stream as usize));
            if !is_wanted_stream || series.length_ns.0 != interval * 1_000_000_000 {
                continue;
            }
            let PerDirection { read, write, .. } = &series.points;
            intervals.resize(intervals.len().max(read.len()).max(write.len()), Tally::default());
            for (is_read, points) in [(true, read), (false, write)] {
                for (at, point) in points.iter().enumerate() {
                    let side = DirectionTally::from_point(point);
                    let (reads, writes) = match is_read {
                        true => (side, DirectionTally::default()),
                        false => (DirectionTally::default(), side),
                    };
                    intervals[at].add(&Tally {
                        reads,
                        writes,
                        in_flight_ns: point.in_flight_ns.unwrap_or(point.latency_ns).into(),
                        ..Tally::default()
                    });
                }
            }
        }
        for (number, worker) in job.workers.iter().enumerate() {
            let streams = worker.streams.iter().enumerate();
            for (_, stream) in streams.filter(|(stream, _)| is_wanted(number, *stream)) {
                total.add(&measured_tally(stream));
            }
        }
    }
    (intervals, total)
}

/// Returns the figures of a stream in the measured window.
fn measured_tally(stream: &StreamResults) -> Tally {
    let mut in_flight_ns = 0;
    let [reads, writes] = [Direction::Read, Direction::Write].map(|direction| {
        let Some(figures) = &stream.directions[direction] else {
            return DirectionTally::default();
        };
        in_flight_ns += figures.total.sum();
        let counts = Counts {
            operations: figures.operations,
            bytes: figures.bytes,
        };
        DirectionTally::from_interval(counts, Some(figures.latency()))
    });
    Tally {
        reads,
        writes,
        in_flight_ns,
        ..Tally::default()
    }
}
