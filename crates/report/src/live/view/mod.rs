//! The live view on a terminal of any size. Less important parts are left out if they do not fit; a
//! figure is never cut.

mod text;

use model::finding::Severity;
use model::histogram::Histogram;
use model::stats::{Support, support};
use model::{Direction, Nanos};
use ratatui_core::style::{Color, Style};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span};

use super::state::{Rates, Row, State};
use crate::charts::{bar_ends, level};
use crate::numbers::{duration, rate, throughput};
use text::{BETWEEN, Piece, Table, bold, columns, cut, cut_end, dim, fitting, piece, strong};

/// Appearance of the view, and the time since the last event.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Characters beyond ASCII can be shown.
    pub unicode: bool,
    /// Use colours; words always say the same.
    pub colour: bool,
    /// Time since the last event.
    pub silent_for: Nanos,
}

/// Percentiles that are shown, with their names.
const SHOWN: [(f64, &str); 4] = [(0.5, "p50"), (0.95, "p95"), (0.99, "p99"), (0.999, "p99.9")];

/// Draws the state.
pub fn draw(frame: &mut Frame<'_>, state: &State, look: Look) {
    let area = frame.area();
    let lines = lines(state, look, usize::from(area.width), usize::from(area.height));
    let buffer = frame.buffer_mut();
    for (line, y) in lines.iter().zip(area.y..area.bottom()) {
        buffer.set_line(area.x, y, line, area.width);
    }
}

/// A part of the view.
struct Section {
    /// Smaller is more important.
    rank: u32,
    lines: Vec<Line<'static>>,
    /// Fewest lines that still make sense.
    least: usize,
    /// No empty line separates it from the section above.
    joined: bool,
    /// If lines must go, the first ones go.
    newest: bool,
}

impl Section {
    fn new(rank: u32, lines: Vec<Line<'static>>) -> Section {
        let least = lines.len();
        Section {
            rank,
            lines,
            least,
            joined: false,
            newest: false,
        }
    }

    fn at_least(self, least: usize) -> Section {
        let least = least.min(self.lines.len());
        Section { least, ..self }
    }

    fn joined(self) -> Section {
        Section { joined: true, ..self }
    }

    fn newest(self) -> Section {
        Section { newest: true, ..self }
    }
}

fn lines(state: &State, look: Look, width: usize, height: usize) -> Vec<Line<'static>> {
    let mut marks = [false; 2];
    let rates = rates_table(state, width);
    let latency = latency_table(state, width, &mut marks);
    let mut sections = vec![
        Section::new(0, vec![title(state, look, width)]),
        Section::new(50, gauge(state, look, width)).joined(),
        Section::new(5, silence_warning(state, look, width)).joined(),
        // The total comes first: it stays if the directions do not fit.
        Section::new(10, rates).at_least(2),
        Section::new(80, sparklines(state, look, width)).at_least(1).joined(),
        Section::new(20, latency).at_least(3),
        Section::new(30, flight(state, width)),
        Section::new(90, processors(state, look, width)).at_least(1).joined(),
        Section::new(70, devices(state, look, width)).at_least(2),
        Section::new(55, ranks(state, look, width, height)).at_least(3),
        Section::new(60, rows("job", &state.jobs(), look, width)).at_least(3),
        Section::new(61, rows("target", &state.targets(), look, width)).at_least(3),
        Section::new(65, messages(state, look, width)).at_least(1).newest(),
    ];
    sections.retain(|section| !section.lines.is_empty());
    let keys = keys(state, marks, width);
    sections.push(Section::new(25, vec![keys]));
    fit_sections(sections, width, height)
}

/// Distributes the available lines, the most important section first.
fn fit_sections(mut sections: Vec<Section>, width: usize, height: usize) -> Vec<Line<'static>> {
    let mut order: Vec<usize> = (0..sections.len()).collect();
    order.sort_by_key(|index| sections[*index].rank);
    let mut room = height;
    let mut given = vec![0; sections.len()];
    for index in &order {
        if sections[*index].least <= room {
            given[*index] = sections[*index].least;
            room -= given[*index];
        }
    }
    for index in &order {
        let section = &sections[*index];
        if given[*index] > 0 {
            let more = (section.lines.len() - given[*index]).min(room);
            given[*index] += more;
            room -= more;
        }
    }
    let shown = || (0..sections.len()).filter(|index| given[*index] > 0);
    let gaps: Vec<usize> = shown().skip(1).filter(|index| !sections[*index].joined).collect();
    // The keys are always at the bottom.
    let last = sections.len() - 1;
    let spread = gaps.len() <= room;
    let free = room - if spread { gaps.len() } else { 0 };
    let mut lines = Vec::new();
    for (index, section) in sections.iter_mut().enumerate() {
        if given[index] == 0 {
            continue;
        }
        if index == last {
            lines.extend(std::iter::repeat_n(Line::default(), free));
        }
        if spread && gaps.contains(&index) {
            lines.push(Line::default());
        }
        let cut = given[index] < section.lines.len();
        let more = section.lines.len() - given[index];
        if section.newest {
            section.lines.drain(..more);
        }
        lines.extend(section.lines.drain(..given[index]));
        // Tells how many rows of a table are hidden.
        if cut && [55, 60, 61].contains(&section.rank) {
            lines.pop();
            lines.push(Line::from(fitting(vec![piece(0, format!("and {} more", more + 1))], width)).style(dim()));
        }
    }
    lines
}

fn title(state: &State, look: Look, width: usize) -> Line<'static> {
    let phase = if state.is_stopping() { "stopping" } else { state.phase() };
    let (step, steps) = state.step();
    let left = state.left().filter(|_| !state.is_stopping());
    let left = left.map_or(String::new(), |left| format!("{} left", duration(whole_seconds(left))));
    let place = if steps > 1 {
        format!("step {step} of {steps}")
    } else {
        String::new()
    };
    let about = state.about().unwrap_or_default();
    let hosts = state
        .hosts()
        .map_or(String::new(), |(hosts, lost)| match (hosts, lost) {
            (1, 0) => "1 host".to_owned(),
            (hosts, 0) => format!("{hosts} hosts"),
            (1, lost) => format!("1 host, {lost} lost"),
            (hosts, lost) => format!("{hosts} hosts, {lost} lost"),
        });
    let fixed = columns(phase) + columns(&left) + columns(&place) + columns(about) + columns(&hosts) + 6 * BETWEEN;
    let name = cut(&state.title(), width.saturating_sub(fixed).max(12), look);
    Line::from(fitting(
        vec![
            piece(3, about),
            strong(4, name),
            strong(1, phase),
            piece(2, left),
            piece(3, hosts),
            piece(5, place),
        ],
        width,
    ))
}

fn whole_seconds(length: Nanos) -> Nanos {
    Nanos(length.0.div_ceil(1_000_000_000) * 1_000_000_000)
}

fn gauge(state: &State, look: Look, width: usize) -> Vec<Line<'static>> {
    if let Some(preparing) = state.preparing() {
        let share = preparing.done.0 as f64 / (preparing.total.0 as f64).max(1.0);
        let left = match preparing.left.0 {
            0 => String::new(),
            _ => format!("{} left", duration(whole_seconds(preparing.left))),
        };
        let name = cut(&preparing.target, (width / 3).max(12), look);
        let texts = vec![
            piece(2, format!("{} of {}", preparing.done, preparing.total)),
            piece(3, left),
            piece(4, name),
        ];
        return vec![bar(share, texts, look, width)];
    }
    let Some(progress) = state.progress().filter(|progress| progress.of.0 > 0) else {
        return Vec::new();
    };
    let share = progress.done.0 as f64 / progress.of.0 as f64;
    let all = format!(
        "{} of {}",
        duration(Nanos(progress.done.0 / 1_000_000_000 * 1_000_000_000)),
        duration(whole_seconds(progress.of))
    );
    vec![bar(share, vec![piece(2, all)], look, width)]
}

/// A bar, its share in percent, and the texts that fit behind it.
fn bar(share: f64, mut texts: Vec<Piece>, look: Look, width: usize) -> Line<'static> {
    const MIN_BAR: usize = 10;
    const MAX_BAR: usize = 40;
    let share = share.clamp(0.0, 1.0);
    texts.insert(0, strong(0, format!("{:.0} %", (100.0 * share).floor())));
    let mut spans = fitting(texts, width);
    let taken: usize = spans.iter().map(Span::width).sum();
    let length = width.saturating_sub(taken + BETWEEN).min(MAX_BAR);
    if length >= MIN_BAR {
        let full = (share * length as f64).floor() as usize;
        let (on, off) = bar_ends(look.unicode);
        let drawn = on.repeat(full) + &off.repeat(length - full);
        spans.insert(0, Span::raw(drawn + &" ".repeat(BETWEEN)));
    }
    Line::from(spans)
}

/// Warns if no events arrive, because the figures below are old.
fn silence_warning(state: &State, look: Look, width: usize) -> Vec<Line<'static>> {
    let Some(interval) = state.interval().filter(|_| state.expects_intervals()) else {
        return Vec::new();
    };
    if look.silent_for.0 < (3 * interval.0).max(3_000_000_000) {
        return Vec::new();
    }
    let since = duration(Nanos(look.silent_for.0 / 1_000_000_000 * 1_000_000_000));
    let text = format!("nothing has come to an end for {since}: the figures are from before");
    let mut line = Line::styled(cut_end(&text, width, look), bold());
    if look.colour {
        line = line.style(Style::new().fg(Color::Yellow));
    }
    vec![line]
}

fn mib(rates: Rates) -> String {
    throughput(rates.bytes / f64::from(1 << 20))
}

fn active_directions(state: &State) -> Vec<Direction> {
    let (now, measured_rates) = (state.current_rates(), state.measured_rates().unwrap_or_default());
    let occurs = |direction: &Direction| now[*direction].iops > 0.0 || measured_rates[*direction].iops > 0.0;
    Direction::ALL.into_iter().filter(occurs).collect()
}

fn rates_table(state: &State, width: usize) -> Vec<Line<'static>> {
    if state.interval().is_none() {
        return Vec::new();
    }
    let (now, measured_rates) = (state.current_rates(), state.measured_rates());
    let cells = |now: Rates, measured_rates: Option<Rates>| {
        vec![
            rate(now.iops),
            mib(now),
            throughput(now.bytes / 1e6),
            measured_rates.map_or_else(|| "-".into(), |measured_rates| rate(measured_rates.iops)),
            measured_rates.map_or_else(|| "-".into(), mib),
        ]
    };
    let mut rows = vec![(
        "all".to_owned(),
        cells(
            state.sum(&now),
            measured_rates.as_ref().map(|measured_rates| state.sum(measured_rates)),
        ),
    )];
    let directions = active_directions(state);
    if directions.len() == 1 {
        directions[0].word().clone_into(&mut rows[0].0);
    } else {
        for direction in directions {
            let measured_rates = measured_rates.as_ref().map(|measured_rates| measured_rates[direction]);
            rows.push((direction.word().to_owned(), cells(now[direction], measured_rates)));
        }
    }
    let all = rows[0].1[0].clone();
    let table = Table {
        head: "",
        columns: [
            ("IOPS", 0, 9),
            ("MiB/s", 1, 8),
            ("MB/s", 2, 8),
            ("IOPS so far", 3, 11),
            ("MiB/s so far", 4, 12),
        ]
        .map(|(head, rank, least)| (head.to_owned(), rank, least))
        .into(),
        rows,
        first: true,
        ours: true,
    };
    let lines = table.lines(PLAIN, width);
    if !lines.is_empty() {
        return lines;
    }
    vec![Line::from(fitting(vec![strong(0, all), piece(1, "IOPS")], width))]
}

/// For labels, which are never cut.
const PLAIN: Look = Look {
    unicode: false,
    colour: false,
    silent_for: Nanos(0),
};

fn latency_table(state: &State, width: usize, marks: &mut [bool; 2]) -> Vec<Line<'static>> {
    let (last, measured) = state.windows();
    let Some(last) = last else { return Vec::new() };
    let mut rows = Vec::new();
    // The last interval of each direction first, then the whole window: the first rows stay if
    // space is short.
    let windows = [
        (format!("last {}", duration(round_interval(last))), true),
        (format!("all {}", duration(round_interval(measured))), false),
    ];
    for (words, now) in windows {
        for direction in active_directions(state) {
            let found = match now {
                true => state.latency_now(direction),
                false => state.measured_latency(direction),
            };
            if let Some(histogram) = found.filter(|histogram| !histogram.is_empty()) {
                let name = format!("{} {words}", direction.word());
                rows.push((name, latency_cells(&histogram, marks)));
            }
        }
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![("mean".to_owned(), 4, 8)];
    columns.extend(SHOWN.map(|(_, name)| {
        let rank = match name {
            "p99" => 0,
            "p50" => 1,
            "p99.9" => 2,
            _ => 3,
        };
        (name.to_owned(), rank, 9)
    }));
    columns.push(("max".to_owned(), 5, 8));
    let table = Table {
        head: "latency",
        columns,
        rows,
        first: false,
        ours: true,
    };
    table.lines(PLAIN, width)
}

/// Rounds the length of an interval, which differs slightly from the configured one.
fn round_interval(length: Nanos) -> Nanos {
    match length.0 {
        0..950_000_000 => length,
        nanos => Nanos((nanos + 50_000_000) / 1_000_000_000 * 1_000_000_000),
    }
}

fn latency_cells(histogram: &Histogram, marks: &mut [bool; 2]) -> Vec<String> {
    let mut cells = vec![Nanos(histogram.mean().round() as u64).to_string()];
    for (fraction, _) in SHOWN {
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

fn flight(state: &State, width: usize) -> Vec<Line<'static>> {
    let Some(flight) = state.flight() else {
        return Vec::new();
    };
    let limit = if flight.paced { "up to " } else { "" };
    let share = match flight.paced {
        true => String::new(),
        false => format!(
            "({:.0} % of the queue depth)",
            100.0 * flight.average / flight.depth as f64
        ),
    };
    vec![Line::from(fitting(
        vec![
            piece(1, "in flight"),
            strong(0, format!("{} of {limit}{}", in_flight(flight.average), flight.depth)),
            piece(2, share),
        ],
        width,
    ))]
}

fn in_flight(average: f64) -> String {
    match average {
        many if many >= 99.95 => crate::numbers::count(many.round() as u64),
        some if some >= 0.995 => format!("{some:.1}"),
        few => format!("{few:.2}"),
    }
}

fn sparklines(state: &State, look: Look, width: usize) -> Vec<Line<'static>> {
    // The sparkline needs some width besides the name and the maximum.
    let room = width.saturating_sub(28);
    if state.history().len() < 2 || room < 4 {
        return Vec::new();
    }
    let one = |name: &str, value: fn(&Rates) -> f64, text: fn(f64) -> String| {
        let values: Vec<f64> = state.history().map(value).collect();
        let most = values.iter().copied().fold(0.0, f64::max);
        let shown = &values[values.len().saturating_sub(room)..];
        let drawn: String = shown.iter().map(|value| level(*value, most, look.unicode)).collect();
        Line::from(fitting(
            vec![
                piece(1, format!("{name:<6}")),
                piece(3, drawn),
                piece(2, format!("most {}", text(most))),
            ],
            width,
        ))
    };
    vec![
        one("IOPS", |rates| rates.iops, rate),
        one("MiB/s", |rates| rates.bytes / f64::from(1 << 20), throughput),
    ]
}

fn processors(state: &State, look: Look, width: usize) -> Vec<Line<'static>> {
    let cores = state.cores();
    let Some((busiest, most)) = cores
        .iter()
        .copied()
        .reduce(|one, other| if other.1 > one.1 { other } else { one })
    else {
        return Vec::new();
    };
    let mean = cores.iter().map(|(_, busy)| busy).sum::<f64>() / cores.len() as f64;
    let strip: String = cores
        .iter()
        .map(|(_, busy)| level(*busy, 100.0, look.unicode))
        .collect();
    let few = cores.len() <= 4;
    let mut pieces = vec![piece(0, "CPU"), strong(1, format!("{mean:.0} % busy"))];
    if few {
        let each = cores
            .iter()
            .map(|(cpu, busy)| piece(5, format!("cpu{cpu} {busy:.0} %")));
        pieces.extend(each);
    } else {
        pieces.push(piece(2, format!("most cpu{busiest} {most:.0} %")));
        pieces.push(piece(3, format!("[{strip}]")));
    }
    let mut lines = vec![Line::from(fitting(pieces, width))];
    if !few {
        let cells: Vec<String> = cores
            .iter()
            .map(|(cpu, busy)| format!("{:>6} {busy:>3.0} %", format!("cpu{cpu}")))
            .collect();
        let per_line = (width / 14).max(1);
        for chunk in cells.chunks(per_line) {
            let each = chunk.iter().map(|cell| piece(0, cell.clone())).collect();
            lines.push(Line::from(fitting(each, width)));
        }
    }
    lines
}

fn devices(state: &State, look: Look, width: usize) -> Vec<Line<'static>> {
    let found = state.device_rows();
    if found.is_empty() {
        return Vec::new();
    }
    let row = |device: super::state::DeviceRow| {
        let ours = |text: fn(Rates) -> String| device.ours.map_or_else(|| "-".into(), text);
        let cells = vec![
            rate(device.kernel.iops),
            ours(|rates| rate(rates.iops)),
            mib(device.kernel),
            ours(mib),
            format!("{:.0} %", device.busy_percent),
            in_flight(device.in_device),
        ];
        (device.name.clone(), cells)
    };
    let table = Table {
        head: "kernel counts",
        columns: [
            ("IOPS", 0, 9),
            ("of ours", 1, 9),
            ("MiB/s", 2, 8),
            ("of ours", 3, 8),
            ("busy", 4, 5),
            ("in it", 5, 5),
        ]
        .map(|(head, rank, least)| (head.to_owned(), rank, least))
        .into(),
        rows: found.into_iter().map(row).collect(),
        first: false,
        ours: false,
    };
    table.lines(look, width)
}

fn rows(head: &'static str, found: &[Row], look: Look, width: usize) -> Vec<Line<'static>> {
    if found.is_empty() {
        return Vec::new();
    }
    let row = |row: &Row| {
        let mean = row.mean_ns.map_or_else(|| "-".into(), crate::numbers::time);
        (row.name.clone(), vec![rate(row.rates.iops), mib(row.rates), mean])
    };
    let table = Table {
        head,
        columns: [("IOPS", 0, 9), ("MiB/s", 2, 8), ("mean latency", 1, 12)]
            .map(|(head, rank, least)| (head.to_owned(), rank, least))
            .into(),
        rows: found.iter().map(row).collect(),
        first: false,
        ours: false,
    };
    table.lines(look, width)
}

/// Lines of the view that are not for the table of ranks.
const RESERVED_LINES: usize = 18;

fn ranks(state: &State, look: Look, width: usize, height: usize) -> Vec<Line<'static>> {
    let found = state.ranks(height.saturating_sub(RESERVED_LINES));
    if found.is_empty() {
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
        columns: [("", 1, 9), ("IOPS", 0, 9), ("p99", 2, 9)]
            .map(|(head, rank, least)| (head.to_owned(), rank, least))
            .into(),
        rows: found.into_iter().map(row).collect(),
        first: false,
        ours: false,
    };
    table.lines(look, width)
}

fn messages(state: &State, look: Look, width: usize) -> Vec<Line<'static>> {
    let line = |(severity, text): &(Severity, String)| {
        let line = Line::raw(cut_end(text, width, look));
        match (severity, look.colour) {
            (Severity::Error, true) => line.style(Style::new().fg(Color::Red)),
            (Severity::Warning, true) => line.style(Style::new().fg(Color::Yellow)),
            (Severity::Error, false) | (Severity::Warning, false) => line.style(bold()),
            (Severity::Note, _) => line,
        }
    };
    state.messages().map(line).collect()
}

fn keys(state: &State, marks: [bool; 2], width: usize) -> Line<'static> {
    let stop = match state.is_stopping() {
        true => "stopping: the report comes",
        false => "q stops and reports",
    };
    let mut pieces = vec![piece(0, stop)];
    if marks[0] {
        pieces.push(piece(2, "~ fewer than 100 beyond it"));
    }
    if marks[1] {
        pieces.push(piece(1, "? fewer than 10 beyond it"));
    }
    let spans = fitting(pieces, width);
    Line::from(spans).style(dim())
}
