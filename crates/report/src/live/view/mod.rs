//! The live view on a terminal of any size. Less important parts are omitted if they do not fit;
//! figures are never truncated.

mod text;

use model::finding::Severity;
use model::histogram::Histogram;
use model::stats::{Support, support};
use model::{Direction, Nanos};

use super::state::{Rates, Row, State};
use crate::charts::{bar_chars, column_char};
use crate::numbers::{duration, rate, throughput, whole_seconds};
pub use text::Line;
use text::{PIECE_GAP, Piece, Style, Table, columns, fit_pieces, piece, strong, truncate_end, truncate_start};

/// Appearance of the view, and the time since the last event.
#[derive(Clone, Copy, Debug)]
pub struct ViewOptions {
    /// The terminal can show characters beyond ASCII.
    pub unicode: bool,
    /// Use colours, which only repeat the text.
    pub colour: bool,
    /// Time since the last event.
    pub silent_for: Nanos,
}

/// Percentiles that are shown, with their names.
const PERCENTILES: [(f64, &str); 4] = [(0.5, "p50"), (0.95, "p95"), (0.99, "p99"), (0.999, "p99.9")];

/// A part of the view.
struct Section {
    /// Priority; smaller is more important.
    rank: u32,
    lines: Vec<Line>,
    /// Fewest lines that are still useful.
    min_lines: usize,
    /// It follows the section above without an empty line.
    joined: bool,
    /// If it must shrink, its first lines are dropped.
    keep_newest: bool,
}

impl Section {
    fn new(rank: u32, lines: Vec<Line>) -> Section {
        let min_lines = lines.len();
        Section {
            rank,
            lines,
            min_lines,
            joined: false,
            keep_newest: false,
        }
    }

    fn with_min_lines(self, min_lines: usize) -> Section {
        let min_lines = min_lines.min(self.lines.len());
        Section { min_lines, ..self }
    }

    fn joined(self) -> Section {
        Section { joined: true, ..self }
    }

    fn keep_newest(self) -> Section {
        Section {
            keep_newest: true,
            ..self
        }
    }
}

/// Draws the state on a terminal of `width` columns and `height` lines.
pub fn draw(state: &State, options: ViewOptions, width: usize, height: usize) -> Vec<Line> {
    let mut marks = [false; 2];
    let rates = rates_table(state, width);
    let latency = latency_table(state, width, &mut marks);
    let mut sections = vec![
        Section::new(0, vec![title_line(state, options, width)]),
        Section::new(50, progress_gauge(state, options, width)).joined(),
        Section::new(5, silence_warning(state, options, width)).joined(),
        // The total comes first, so that it stays if the directions do not fit.
        Section::new(10, rates).with_min_lines(2),
        Section::new(80, sparklines(state, options, width))
            .with_min_lines(1)
            .joined(),
        Section::new(20, latency).with_min_lines(3),
        Section::new(30, in_flight_line(state, width)),
        Section::new(90, processor_lines(state, options, width))
            .with_min_lines(1)
            .joined(),
        Section::new(70, device_lines(state, options, width)).with_min_lines(2),
        Section::new(55, rank_lines(state, options, width, height)).with_min_lines(3),
        Section::new(60, table_lines("job", &state.jobs(), options, width)).with_min_lines(3),
        Section::new(61, table_lines("target", &state.targets(), options, width)).with_min_lines(3),
        Section::new(65, message_lines(state, options, width))
            .with_min_lines(1)
            .keep_newest(),
    ];
    sections.retain(|section| !section.lines.is_empty());
    let keys = key_line(state, marks, width);
    sections.push(Section::new(25, vec![keys]));
    fit_sections(sections, width, height)
}

/// Distributes the available lines, the most important section first.
fn fit_sections(mut sections: Vec<Section>, width: usize, height: usize) -> Vec<Line> {
    let mut order: Vec<usize> = (0..sections.len()).collect();
    order.sort_by_key(|index| sections[*index].rank);
    let mut room = height;
    let mut allotted = vec![0; sections.len()];
    for index in &order {
        if sections[*index].min_lines <= room {
            allotted[*index] = sections[*index].min_lines;
            room -= allotted[*index];
        }
    }
    for index in &order {
        let section = &sections[*index];
        if allotted[*index] > 0 {
            let hidden = (section.lines.len() - allotted[*index]).min(room);
            allotted[*index] += hidden;
            room -= hidden;
        }
    }
    let shown = || (0..sections.len()).filter(|index| allotted[*index] > 0);
    let gaps: Vec<usize> = shown().skip(1).filter(|index| !sections[*index].joined).collect();
    // The keys are always at the bottom.
    let last = sections.len() - 1;
    let spread = gaps.len() <= room;
    let free = room - if spread { gaps.len() } else { 0 };
    let mut lines = Vec::new();
    for (index, section) in sections.iter_mut().enumerate() {
        if allotted[index] == 0 {
            continue;
        }
        if index == last {
            lines.extend(std::iter::repeat_n(Line::default(), free));
        }
        if spread && gaps.contains(&index) {
            lines.push(Line::default());
        }
        let is_cut = allotted[index] < section.lines.len();
        let hidden = section.lines.len() - allotted[index];
        if section.keep_newest {
            section.lines.drain(..hidden);
        }
        lines.extend(section.lines.drain(..allotted[index]));
        // The last line says how many rows of the table are hidden.
        if is_cut && [55, 60, 61].contains(&section.rank) {
            lines.pop();
            let rest = vec![piece(0, format!("and {} more", hidden + 1))];
            lines.push(fit_pieces(rest, width).with_style(Style::Dim));
        }
    }
    lines
}

fn title_line(state: &State, options: ViewOptions, width: usize) -> Line {
    let phase = if state.is_stopping() { "stopping" } else { state.phase() };
    let (step, steps) = state.step();
    let time_left = state.time_left().filter(|_| !state.is_stopping());
    let time_left = time_left.map_or(String::new(), |time_left| {
        format!("{} left", duration(whole_seconds(time_left)))
    });
    let place = if steps > 1 {
        format!("step {step} of {steps}")
    } else {
        String::new()
    };
    let run_label = state.run_label().unwrap_or_default();
    let hosts = state
        .host_counts()
        .map_or(String::new(), |(hosts, lost)| match (hosts, lost) {
            (1, 0) => "1 host".to_owned(),
            (hosts, 0) => format!("{hosts} hosts"),
            (1, lost) => format!("1 host, {lost} lost"),
            (hosts, lost) => format!("{hosts} hosts, {lost} lost"),
        });
    let fixed =
        columns(phase) + columns(&time_left) + columns(&place) + columns(run_label) + columns(&hosts) + 6 * PIECE_GAP;
    let name = truncate_start(&state.title(), width.saturating_sub(fixed).max(12), options);
    fit_pieces(
        vec![
            piece(3, run_label),
            strong(4, name),
            strong(1, phase),
            piece(2, time_left),
            piece(3, hosts),
            piece(5, place),
        ],
        width,
    )
}

fn progress_gauge(state: &State, options: ViewOptions, width: usize) -> Vec<Line> {
    if let Some(preparing) = state.preparing() {
        let share = preparing.done.0 as f64 / (preparing.total.0 as f64).max(1.0);
        let time_left = match preparing.left.0 {
            0 => String::new(),
            _ => format!("{} left", duration(whole_seconds(preparing.left))),
        };
        let name = truncate_start(&preparing.target, (width / 3).max(12), options);
        let texts = vec![
            piece(2, format!("{} of {}", preparing.done, preparing.total)),
            piece(3, time_left),
            piece(4, name),
        ];
        return vec![bar_line(share, texts, options, width)];
    }
    let Some(progress) = state.progress().filter(|progress| progress.total.0 > 0) else {
        return Vec::new();
    };
    let share = progress.done.0 as f64 / progress.total.0 as f64;
    let done_of_total = format!(
        "{} of {}",
        duration(Nanos(progress.done.0 / 1_000_000_000 * 1_000_000_000)),
        duration(whole_seconds(progress.total))
    );
    vec![bar_line(share, vec![piece(2, done_of_total)], options, width)]
}

/// Draws a bar, its share in percent, and the texts that fit after it.
fn bar_line(share: f64, mut texts: Vec<Piece>, options: ViewOptions, width: usize) -> Line {
    const MIN_BAR: usize = 10;
    const MAX_BAR: usize = 40;
    let share = share.clamp(0.0, 1.0);
    texts.insert(0, strong(0, format!("{:.0} %", (100.0 * share).floor())));
    let line = fit_pieces(texts, width);
    let length = width.saturating_sub(line.width() + PIECE_GAP).min(MAX_BAR);
    if length < MIN_BAR {
        return line;
    }
    let full = (share * length as f64).floor() as usize;
    let (on, off) = bar_chars(options.unicode);
    line.preceded_by(on.repeat(full) + &off.repeat(length - full) + &" ".repeat(PIECE_GAP))
}

/// Warns that the figures below are outdated if no events arrive.
fn silence_warning(state: &State, options: ViewOptions, width: usize) -> Vec<Line> {
    let Some(interval) = state.interval_length().filter(|_| state.expects_intervals()) else {
        return Vec::new();
    };
    if options.silent_for.0 < (3 * interval.0).max(3_000_000_000) {
        return Vec::new();
    }
    let since = duration(Nanos(options.silent_for.0 / 1_000_000_000 * 1_000_000_000));
    let text = format!("no new figures for {since}: those below are outdated");
    let style = if options.colour { Style::Yellow } else { Style::Bold };
    vec![Line::new(style, truncate_end(&text, width, options))]
}

fn format_mib(rates: Rates) -> String {
    throughput(rates.bytes_per_sec / f64::from(1 << 20))
}

fn active_directions(state: &State) -> Vec<Direction> {
    let (current, measured_rates) = (state.current_rates(), state.measured_rates().unwrap_or_default());
    let occurs = |direction: &Direction| current[*direction].iops > 0.0 || measured_rates[*direction].iops > 0.0;
    Direction::ALL.into_iter().filter(occurs).collect()
}

fn rates_table(state: &State, width: usize) -> Vec<Line> {
    if state.interval_length().is_none() {
        return Vec::new();
    }
    let (current, measured_rates) = (state.current_rates(), state.measured_rates());
    let cells = |current: Rates, measured_rates: Option<Rates>| {
        vec![
            rate(current.iops),
            format_mib(current),
            throughput(current.bytes_per_sec / 1e6),
            measured_rates.map_or_else(|| "-".into(), |measured_rates| rate(measured_rates.iops)),
            measured_rates.map_or_else(|| "-".into(), format_mib),
        ]
    };
    let mut rows = vec![(
        "all".to_owned(),
        cells(
            state.sum_directions(&current),
            measured_rates
                .as_ref()
                .map(|measured_rates| state.sum_directions(measured_rates)),
        ),
    )];
    let directions = active_directions(state);
    if directions.len() == 1 {
        directions[0].word().clone_into(&mut rows[0].0);
    } else {
        for direction in directions {
            let measured_rates = measured_rates.as_ref().map(|measured_rates| measured_rates[direction]);
            rows.push((direction.word().to_owned(), cells(current[direction], measured_rates)));
        }
    }
    let total_iops = rows[0].1[0].clone();
    let table = Table {
        head: "",
        columns: vec![
            ("IOPS", 0, 9),
            ("MiB/s", 1, 8),
            ("MB/s", 2, 8),
            ("IOPS so far", 3, 11),
            ("MiB/s so far", 4, 12),
        ],
        rows,
        bold_first_row: true,
        names_are_labels: true,
    };
    let lines = table.lines(PLAIN, width);
    if !lines.is_empty() {
        return lines;
    }
    vec![fit_pieces(vec![strong(0, total_iops), piece(1, "IOPS")], width)]
}

/// Options for labels, which are never truncated.
const PLAIN: ViewOptions = ViewOptions {
    unicode: false,
    colour: false,
    silent_for: Nanos(0),
};

fn latency_table(state: &State, width: usize, marks: &mut [bool; 2]) -> Vec<Line> {
    let (last, measured) = state.window_lengths();
    let Some(last) = last else { return Vec::new() };
    let mut rows = Vec::new();
    // The last interval of each direction comes before the whole window, because the first rows
    // stay if space is short.
    let windows = [
        (format!("last {}", duration(round_interval(last))), true),
        (format!("all {}", duration(round_interval(measured))), false),
    ];
    for (words, is_current) in windows {
        for direction in active_directions(state) {
            let latency = match is_current {
                true => state.latency_now(direction),
                false => state.measured_latency(direction),
            };
            if let Some(histogram) = latency.filter(|histogram| !histogram.is_empty()) {
                let name = format!("{} {words}", direction.word());
                rows.push((name, latency_cells(&histogram, marks)));
            }
        }
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![("mean", 4, 8)];
    columns.extend(PERCENTILES.map(|(_, name)| {
        let rank = match name {
            "p99" => 0,
            "p50" => 1,
            "p99.9" => 2,
            _ => 3,
        };
        (name, rank, 9)
    }));
    columns.push(("max", 5, 8));
    let table = Table {
        head: "latency",
        columns,
        rows,
        names_are_labels: true,
        ..Table::default()
    };
    table.lines(PLAIN, width)
}

/// Rounds the length of an interval, which differs slightly from the configured length.
fn round_interval(length: Nanos) -> Nanos {
    match length.0 {
        0..950_000_000 => length,
        nanos => Nanos((nanos + 50_000_000) / 1_000_000_000 * 1_000_000_000),
    }
}

fn latency_cells(histogram: &Histogram, marks: &mut [bool; 2]) -> Vec<String> {
    let mut cells = vec![Nanos(histogram.mean().round() as u64).to_string()];
    for (fraction, _) in PERCENTILES {
        let value = Nanos(histogram.quantile(fraction));
        cells.push(match support(fraction, histogram.n()) {
            Support::Good => value.to_string(),
            Support::Weak => {
                marks[0] = true;
                format!("~{value}")
            }
            Support::None => {
                marks[1] = true;
                format!("?{value}")
            }
        });
    }
    cells.push(Nanos(histogram.max()).to_string());
    cells
}

fn in_flight_line(state: &State, width: usize) -> Vec<Line> {
    let Some(in_flight) = state.in_flight() else {
        return Vec::new();
    };
    let limit = if in_flight.paced { "up to " } else { "" };
    let share = match in_flight.paced {
        true => String::new(),
        false => format!(
            "({:.0} % of the queue depth)",
            100.0 * in_flight.average / in_flight.depth as f64
        ),
    };
    vec![fit_pieces(
        vec![
            piece(1, "in flight"),
            strong(
                0,
                format!("{} of {limit}{}", format_in_flight(in_flight.average), in_flight.depth),
            ),
            piece(2, share),
        ],
        width,
    )]
}

fn format_in_flight(average: f64) -> String {
    match average {
        many if many >= 99.95 => crate::numbers::count(many.round() as u64),
        some if some >= 0.995 => format!("{some:.1}"),
        few => format!("{few:.2}"),
    }
}

fn sparklines(state: &State, options: ViewOptions, width: usize) -> Vec<Line> {
    // Width that remains after the name and the maximum.
    let room = width.saturating_sub(28);
    if state.history().len() < 2 || room < 4 {
        return Vec::new();
    }
    let format_row = |name: &str, value: fn(&Rates) -> f64, text: fn(f64) -> String| {
        let values: Vec<f64> = state.history().map(value).collect();
        let max = values.iter().copied().fold(0.0, f64::max);
        let shown = &values[values.len().saturating_sub(room)..];
        let drawn: String = shown
            .iter()
            .map(|value| column_char(*value, max, options.unicode))
            .collect();
        fit_pieces(
            vec![
                piece(1, format!("{name:<6}")),
                piece(3, drawn),
                piece(2, format!("max {}", text(max))),
            ],
            width,
        )
    };
    vec![
        format_row("IOPS", |rates| rates.iops, rate),
        format_row("MiB/s", |rates| rates.bytes_per_sec / f64::from(1 << 20), throughput),
    ]
}

fn processor_lines(state: &State, options: ViewOptions, width: usize) -> Vec<Line> {
    let cores = state.cores();
    let Some((busiest, max_busy)) = cores.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a }) else {
        return Vec::new();
    };
    let mean = cores.iter().map(|(_, busy)| busy).sum::<f64>() / cores.len() as f64;
    let strip: String = cores
        .iter()
        .map(|(_, busy)| column_char(*busy, 100.0, options.unicode))
        .collect();
    let few = cores.len() <= 4;
    let mut pieces = vec![piece(0, "CPU"), strong(1, format!("{mean:.0} % busy"))];
    if few {
        let cells = cores
            .iter()
            .map(|(cpu, busy)| piece(5, format!("cpu{cpu} {busy:.0} %")));
        pieces.extend(cells);
    } else {
        pieces.push(piece(2, format!("max cpu{busiest} {max_busy:.0} %")));
        pieces.push(piece(3, format!("[{strip}]")));
    }
    let mut lines = vec![fit_pieces(pieces, width)];
    if !few {
        let cells: Vec<String> = cores
            .iter()
            .map(|(cpu, busy)| format!("{:>6} {busy:>3.0} %", format!("cpu{cpu}")))
            .collect();
        let per_line = (width / 14).max(1);
        for chunk in cells.chunks(per_line) {
            let pieces = chunk.iter().map(|cell| piece(0, cell.clone())).collect();
            lines.push(fit_pieces(pieces, width));
        }
    }
    lines
}

fn device_lines(state: &State, options: ViewOptions, width: usize) -> Vec<Line> {
    let devices = state.device_rows();
    if devices.is_empty() {
        return Vec::new();
    }
    let row = |device: super::state::DeviceRow| {
        let show_test_rate = |text: fn(Rates) -> String| device.test_rates.map_or_else(|| "-".into(), text);
        let cells = vec![
            rate(device.kernel.iops),
            show_test_rate(|rates| rate(rates.iops)),
            format_mib(device.kernel),
            show_test_rate(format_mib),
            format!("{:.0} %", device.busy_percent),
            format_in_flight(device.device_queue_depth),
        ];
        (device.name.clone(), cells)
    };
    let table = Table {
        head: "kernel counts",
        columns: vec![
            ("IOPS", 0, 9),
            ("by test", 1, 9),
            ("MiB/s", 2, 8),
            ("by test", 3, 8),
            ("busy", 4, 5),
            ("queue", 5, 5),
        ],
        rows: devices.into_iter().map(row).collect(),
        ..Table::default()
    };
    table.lines(options, width)
}

fn table_lines(head: &'static str, table_rows: &[Row], options: ViewOptions, width: usize) -> Vec<Line> {
    if table_rows.is_empty() {
        return Vec::new();
    }
    let row = |row: &Row| {
        let mean = row.mean_ns.map_or_else(|| "-".into(), crate::numbers::format_time);
        (
            row.name.clone(),
            vec![rate(row.rates.iops), format_mib(row.rates), mean],
        )
    };
    let table = Table {
        head,
        columns: vec![("IOPS", 0, 9), ("MiB/s", 2, 8), ("mean latency", 1, 12)],
        rows: table_rows.iter().map(row).collect(),
        ..Table::default()
    };
    table.lines(options, width)
}

/// Lines of the view that are reserved for other parts than the table of ranks.
const RESERVED_LINES: usize = 18;

fn rank_lines(state: &State, options: ViewOptions, width: usize, height: usize) -> Vec<Line> {
    let rank_rows = state.sorted_rank_rows(height.saturating_sub(RESERVED_LINES));
    if rank_rows.is_empty() {
        return Vec::new();
    }
    let row = |row: super::state::RankRow| {
        let cells = vec![
            row.state.word().to_owned(),
            row.iops.map_or_else(|| "-".into(), rate),
            row.p99_ns.map_or_else(|| "-".into(), |ns| Nanos(ns).to_string()),
        ];
        (format!("{} {}", row.rank, row.host), cells)
    };
    let table = Table {
        head: "rank and host",
        columns: vec![("", 1, 9), ("IOPS", 0, 9), ("p99", 2, 9)],
        rows: rank_rows.into_iter().map(row).collect(),
        ..Table::default()
    };
    table.lines(options, width)
}

fn message_lines(state: &State, options: ViewOptions, width: usize) -> Vec<Line> {
    let line = |(severity, text): &(Severity, String)| {
        let style = match (severity, options.colour) {
            (Severity::Error, true) => Style::Red,
            (Severity::Warning, true) => Style::Yellow,
            (Severity::Error | Severity::Warning, false) => Style::Bold,
            (Severity::Note, _) => Style::Plain,
        };
        Line::new(style, truncate_end(text, width, options))
    };
    state.messages().map(line).collect()
}

fn key_line(state: &State, marks: [bool; 2], width: usize) -> Line {
    let stop = match state.is_stopping() {
        true => "stopping, the report follows",
        false => "q: stop and report",
    };
    let mut pieces = vec![piece(0, stop)];
    if marks[0] {
        pieces.push(piece(2, "~ fewer than 100 slower"));
    }
    if marks[1] {
        pieces.push(piece(1, "? fewer than 10 slower"));
    }
    fit_pieces(pieces, width).with_style(Style::Dim)
}
