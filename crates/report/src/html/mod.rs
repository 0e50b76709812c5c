//! Renders a [`Page`] as one HTML file that opens offline in any browser.
//!
//! The markup alone is a complete report: verdict, sentences, tables, charts (`svg`) and, unless
//! there are too many, the figures of the charts. `page.js` only adds interaction. The page
//! contacts no host: its content security policy allows only its own script, by digest. Text from
//! users passes through [`escape`].

pub mod chart;
pub mod escape;
pub mod page;
pub mod path;
pub mod run;
mod svg;
mod terms;

use std::fmt::Write;
use std::io::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use model::finding::Finding;
use sha2::{Digest, Sha256};

use chart::{Chart, Scale, X};
use escape::{escape_phrase, escape_text, escape_with_nbsp, format_prose};
use page::{Block, Lead, Page, Section, Table, Tone, Verdict, severity_class, sort_by_severity};
use path::IoPath;

use crate::diagnosis::capitalize;
use crate::numbers::{count, format_rough, group_thousands};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// The figures of a chart are also written as a table if it has at most this many rows.
const MAX_FIGURE_ROWS: usize = 100;
/// Number of findings that are not folded.
const UNFOLDED_FINDINGS: usize = 5;
/// A verdict with more notes folds those between the first and the scope.
const MAX_UNFOLDED_NOTES: usize = 3;

/// Converts a name to letters, digits and `-`, for identifiers and file names.
pub fn to_identifier(name: &str) -> String {
    let id: String = name
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() {
                character
            } else {
                '-'
            }
        })
        .take(60)
        .collect();
    let id = id.trim_matches('-');
    if id.is_empty() { "report".into() } else { id.to_owned() }
}

/// Renders the page as a self-contained file.
pub fn render_file(page: &Page) -> String {
    render_with_links(page, &[])
}

/// Renders the page with links at the top: address and text.
pub fn render_with_links(page: &Page, links: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(1 << 16);
    write_head(page, &mut out);
    out.push_str("<main>\n");
    write_links(links, &mut out);
    let terms = terms::find_terms(page);
    write_first_screen(page, !terms.is_empty(), &mut out);
    if !page.findings.is_empty() {
        write_findings(&page.findings, &mut out);
    }
    for (number, section) in page.sections.iter().enumerate() {
        write_section(number, section, page.verdict.tone, &mut out);
    }
    write_downloads(page, &mut out);
    terms::write(&terms, &mut out);
    let _ = write!(
        out,
        "<footer id=\"provenance\">{}</footer>\n</main>\n",
        escape_text(&page.provenance)
    );
    let _ = writeln!(out, "<script>{SCRIPT}</script>");
    out.push_str("</body>\n</html>\n");
    out
}

/// Renders a server page that is not a report. `body` is markup, and `script` may be empty. The
/// script may contact only its own server.
pub fn render_plain(title: &str, links: &[(&str, &str)], body: &str, script: &str) -> String {
    let scripts = match script {
        "" => "'none'".to_owned(),
        script => script_digest(script.as_bytes()),
    };
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{0}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        escape_text(title)
    );
    write_links(links, &mut out);
    let _ = write!(
        out,
        "<header>\n<h1>{}</h1>\n</header>\n{body}</main>\n",
        escape_text(title)
    );
    if !script.is_empty() {
        let _ = writeln!(out, "<script>{script}</script>");
    }
    out.push_str("</body>\n</html>\n");
    out
}

fn write_links(links: &[(&str, &str)], out: &mut String) {
    if links.is_empty() {
        return;
    }
    out.push_str("<nav aria-label=\"Navigation\"><p class=\"about\">");
    for (address, words) in links {
        let _ = write!(out, "<a href=\"{}\">{}</a> ", escape_text(address), escape_text(words));
    }
    out.push_str("</p></nav>\n");
}

/// True if a file that begins like this is a page of fathom. `head` has at least 1,000 bytes.
pub fn is_page(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.starts_with("<!DOCTYPE html>") && text.contains("<meta name=\"generator\" content=\"fathom ")
}

/// The digest of a script in the format of content security policies.
fn script_digest(script: &[u8]) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script)))
}

fn write_head(page: &Page, out: &mut String) {
    let scripts = script_digest(SCRIPT.as_bytes());
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"fathom {}\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        env!("CARGO_PKG_VERSION"),
        escape_text(&full_title(page)),
    );
}

/// The name of the test, and the headline of its verdict.
fn full_title(page: &Page) -> String {
    match page.verdict.headline.as_str() {
        "" => page.title.clone(),
        headline => format!("{}: {}", page.title, group_thousands(headline)),
    }
}

fn write_first_screen(page: &Page, has_terms: bool, out: &mut String) {
    out.push_str("<header>\n");
    let _ = writeln!(out, "<h1>{}</h1>", escape_with_nbsp(&full_title(page)));
    let about = join_short_lines(&page.about);
    for (number, line) in about.iter().enumerate() {
        let is_last = has_terms && number + 1 == about.len();
        let link = if is_last {
            // Never alone on a line.
            "\u{a0}·\u{a0}<a href=\"#terms\">Glossary</a>"
        } else {
            ""
        };
        let _ = writeln!(out, "<p class=\"about\">{}{link}</p>", escape_phrase(line));
    }
    out.push_str("</header>\n<section id=\"answer\" aria-label=\"Result\">\n");
    write_verdict(&page.verdict, out);
    page.table.iter().for_each(|table| write_table(table, out));
    if !page.lead.is_empty() {
        out.push_str("<div class=\"leads\">\n");
        page.lead.iter().for_each(|lead| write_lead(lead, out));
        out.push_str("</div>\n");
    }
    if !page.tiles.is_empty() {
        out.push_str("<dl class=\"tiles\">\n");
        for tile in &page.tiles {
            // An approximate figure must not look like a measured one.
            let class = match tile.value.starts_with('≈') {
                true => " class=\"weak\"",
                false => "",
            };
            let _ = writeln!(
                out,
                "<div><dt>{}</dt><dd><strong{class}>{}</strong><span>{}</span></dd></div>",
                escape_text(&tile.name),
                escape_with_nbsp(&tile.value),
                escape_with_nbsp(&tile.note)
            );
        }
        out.push_str("</dl>\n");
    }
    if !page.charts.is_empty() {
        out.push_str("<div class=\"charts\">\n");
        page.charts.iter().for_each(|chart| write_chart(chart, out));
        out.push_str("</div>\n");
    }
    out.push_str("</section>\n");
}

/// Joins lines that fit into one of a wide screen, so that the charts are higher on the page.
fn join_short_lines(lines: &[String]) -> Vec<String> {
    const MAX_LINE_CHARS: usize = 150;
    let mut joined: Vec<String> = Vec::new();
    for line in lines {
        match joined.last_mut() {
            Some(last) if last.chars().count() + line.chars().count() + 3 <= MAX_LINE_CHARS => {
                last.push_str(" · ");
                last.push_str(line);
            }
            _ => joined.push(line.clone()),
        }
    }
    joined
}

fn write_verdict(verdict: &Verdict, out: &mut String) {
    if verdict.word.is_empty() && verdict.sentence.is_empty() {
        return;
    }
    let class = verdict.tone.class();
    let _ = write!(out, "<div class=\"verdict {class}\" id=\"verdict\">\n<p>");
    if !verdict.word.is_empty() {
        let _ = write!(out, "<strong class=\"word\">{}</strong> ", escape_text(&verdict.word));
    }
    let _ = writeln!(out, "{}</p>", format_prose(&verdict.sentence));
    if !verdict.clauses.is_empty() {
        out.push_str("<ul class=\"clauses\">\n");
        for clause in &verdict.clauses {
            let job = clause.job.as_ref().map(|job| format!("{}: ", escape_text(job)));
            let _ = writeln!(
                out,
                "<li class=\"{}\"><strong>{}</strong> <b>{}{}:</b> {}</li>",
                clause.tone.class(),
                escape_text(&clause.word),
                job.unwrap_or_default(),
                format_prose(&clause.promised),
                format_prose(&clause.sentence)
            );
        }
        out.push_str("</ul>\n");
    }
    // The first note is the gravest. More between it and the scope would move the charts off the
    // first screen.
    let notes = &verdict.notes;
    let is_scope = |note: &String| note.starts_with(run::SCOPE) || note.starts_with("Tested: ");
    let scope = notes.iter().position(is_scope);
    let folded = match notes.len() > MAX_UNFOLDED_NOTES {
        true => 1..scope.unwrap_or(notes.len() - 1).max(1),
        false => 0..0,
    };
    for (number, note) in verdict.notes.iter().enumerate() {
        if number == folded.start && !folded.is_empty() {
            let more = crate::numbers::pluralize(folded.len() as u64, "more note");
            let _ = writeln!(out, "<details><summary>{more}</summary>");
        }
        let _ = writeln!(out, "<p>{}</p>", format_prose(note));
        if number + 1 == folded.end && !folded.is_empty() {
            out.push_str("</details>\n");
        }
    }
    out.push_str("</div>\n");
}

fn write_lead(lead: &Lead, out: &mut String) {
    // Commands are long, so their box gets more of the width.
    let has_command = lead.advice.iter().any(|advice| advice.contains('`'));
    let class = if has_command { "lead commands" } else { "lead" };
    let _ = writeln!(
        out,
        "<div class=\"{class}\"><h2>{}</h2><p>{}</p>",
        escape_text(&lead.topic),
        format_prose(&lead.sentence)
    );
    if !lead.advice.is_empty() {
        out.push_str("<ul>");
        for advice in &lead.advice {
            let _ = writeln!(out, "<li>{}</li>", format_advice(&capitalize(advice)));
        }
        out.push_str("</ul>");
    }
    out.push_str("</div>\n");
}

/// Formats advice, with a command of this program or of fio in a box that has a button to copy it.
fn format_advice(advice: &str) -> String {
    let parts: Vec<&str> = advice.split('`').collect();
    match parts[..] {
        [before, command, after] if command.contains("fathom ") || command.starts_with("fio ") => {
            format!(
                "{}{}{}",
                format_prose(before),
                escape::format_command_box(command),
                format_prose(after)
            )
        }
        _ => format_prose(advice),
    }
}

fn write_findings(all: &[Finding], out: &mut String) {
    let sorted = sort_by_severity(all);
    let _ = writeln!(
        out,
        "<section id=\"findings\">\n<h2>Findings ({})</h2>\n<ul class=\"findings\">",
        all.len()
    );
    let (open, rest) = sorted.split_at(sorted.len().min(UNFOLDED_FINDINGS));
    open.iter().for_each(|finding| write_finding(finding, out));
    out.push_str("</ul>\n");
    if !rest.is_empty() {
        let _ = writeln!(
            out,
            "<details><summary>{} more finding{}</summary><ul class=\"findings\">",
            rest.len(),
            if rest.len() == 1 { "" } else { "s" }
        );
        rest.iter().for_each(|finding| write_finding(finding, out));
        out.push_str("</ul></details>\n");
    }
    out.push_str("</section>\n");
}

fn write_finding(finding: &Finding, out: &mut String) {
    let class = severity_class(finding.severity);
    let at = finding.at.as_ref().map(|at| format!(" {}", escape_text(at)));
    let _ = write!(
        out,
        "<li class=\"{class}\"><p><strong>{class}</strong> {} <span class=\"at\"><code>{}</code>{}</span></p>",
        format_prose(&crate::diagnosis::format_sentence(&finding.what)),
        escape_text(&finding.rule),
        at.unwrap_or_default()
    );
    for (word, sentence) in [("Why it matters", &finding.why), ("What to do", &finding.help)] {
        if let Some(sentence) = sentence {
            let _ = write!(
                out,
                "<div class=\"{}\"><em>{word}:</em> {}</div>",
                to_identifier(word).to_lowercase(),
                format_advice(sentence)
            );
        }
    }
    out.push_str("</li>\n");
}

fn write_section(number: usize, section: &Section, tone: Tone, out: &mut String) {
    let (open, close) = match section.folded {
        true => (
            format!("<details><summary><h2>{}</h2></summary>", escape_text(&section.title)),
            "</details>",
        ),
        false => (format!("<h2>{}</h2>", escape_text(&section.title)), ""),
    };
    let _ = writeln!(out, "<section id=\"part-{number}\">\n{open}");
    if !section.about.is_empty() {
        let _ = writeln!(out, "<p class=\"about\">{}</p>", escape_with_nbsp(&section.about));
    }
    let is_chart = |block: &Block| matches!(block, Block::Chart(_));
    for (index, block) in section.blocks.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| &section.blocks[before]);
        if is_chart(block) && !before.is_some_and(is_chart) {
            out.push_str("<div class=\"charts\">\n");
        }
        match block {
            Block::Text(sentence) => {
                let _ = writeln!(out, "<p>{}</p>", format_prose(sentence));
            }
            Block::Chart(chart) => write_chart(chart, out),
            Block::Table(table) => write_table(table, out),
            Block::Path(path) => write_path(path, tone, out),
            Block::Code {
                title,
                text: code,
                notes,
            } => write_code(title, code, notes, out),
        }
        if is_chart(block) && !section.blocks.get(index + 1).is_some_and(is_chart) {
            out.push_str("</div>\n");
        }
    }
    let _ = writeln!(out, "{close}</section>");
}

fn write_chart(chart: &Chart, out: &mut String) {
    let _ = write!(
        out,
        "<figure class=\"chart\" id=\"chart-{0}\" aria-labelledby=\"title-{0}\">\n<h3 id=\"title-{0}\">{1}</h3>\n\
         <div class=\"drawing\">{2}</div>\n{3}<figcaption>{4}</figcaption>\n",
        chart.id,
        escape_text(&chart.title),
        svg::draw(chart),
        svg::draw_legend(chart),
        escape_with_nbsp(&chart.about)
    );
    if let Some(table) = figures_table(chart) {
        out.push_str("<details class=\"figures\"><summary>Figures</summary>\n");
        write_table(&table, out);
        out.push_str("</details>\n");
    }
    // The script needs no bands, which would triple the size of the JSON.
    let mut lines = chart.clone();
    for series in &mut lines.series {
        (series.low, series.high) = (Vec::new(), Vec::new());
    }
    let _ = writeln!(
        out,
        "<script type=\"application/json\" class=\"figure\">{}</script>\n</figure>",
        escape::chart_json(&lines)
    );
}

/// Creates a table of the figures of a chart, unless it would be too long to read.
fn figures_table(chart: &Chart) -> Option<Table> {
    if chart.heat.is_some() {
        return None;
    }
    let drawn: Vec<&chart::Series> = chart
        .series
        .iter()
        .filter(|series| series.form != chart::Form::Guide)
        .collect();
    let is_named = |series: &&chart::Series| series.words.len() == series.x.len();
    // Several series of one point each are points with names as well.
    let is_one_list = match &drawn[..] {
        [] => false,
        [_] => true,
        several => several.iter().all(|series| series.x.len() == 1),
    };
    if is_one_list && chart.x.scale != Scale::Names && chart.x.ticks.is_empty() && drawn.iter().all(is_named) {
        let count: usize = drawn.iter().map(|series| series.x.len()).sum();
        return (count <= MAX_FIGURE_ROWS).then(|| named_points_table(chart, &drawn));
    }
    let mut rows: Vec<&X> = Vec::new();
    for x in drawn.iter().flat_map(|series| &series.x) {
        if !rows.contains(&x) {
            rows.push(x);
            if rows.len() > MAX_FIGURE_ROWS {
                return None;
            }
        }
    }
    if chart.x.scale != Scale::Names {
        rows.sort_by(|a, b| match (a, b) {
            (X::Number(a), X::Number(b)) => a.total_cmp(b),
            (X::Name(a), X::Name(b)) => a.cmp(b),
            (X::Number(_), X::Name(_)) => std::cmp::Ordering::Less,
            (X::Name(_), X::Number(_)) => std::cmp::Ordering::Greater,
        });
    }
    // With custom ticks only the values at ticks are listed, by their label: `p99` instead of 2.
    let tick = |x: &X| {
        let X::Number(number) = x else { return None };
        chart.x.ticks.iter().find(|tick| (tick.at - number).abs() < 1e-6)
    };
    if !chart.x.ticks.is_empty() {
        rows.retain(|x| tick(x).is_some());
    }
    let value = |series: &chart::Series, x: &X| {
        let at = series.x.iter().position(|value| value == x)?;
        series.y.get(at).copied().flatten()
    };
    let cells = rows.iter().map(|x| {
        let name = match x {
            X::Name(name) => name.clone(),
            X::Number(number) => tick(x).map_or_else(|| format_position(*number), |tick| tick.words.clone()),
        };
        let values = drawn.iter().map(|series| {
            let axis = chart.right.as_ref().filter(|_| series.right).unwrap_or(&chart.y);
            value(series, x).map_or("-".to_owned(), |value| format_figure(value, axis))
        });
        std::iter::once(name).chain(values).collect()
    });
    Some(Table {
        caption: format!("{}: {}", chart.title, chart.y.title_with_unit()),
        head: std::iter::once(chart.x.title_with_unit())
            .chain(drawn.iter().map(|series| series.name.clone()))
            .collect(),
        rows: cells.collect(),
    })
}

/// Creates a table of points that have names, such as the depths of a sweep. Several may share a
/// position.
fn named_points_table(chart: &Chart, drawn: &[&chart::Series]) -> Table {
    let points = drawn
        .iter()
        .flat_map(|series| series.words.iter().zip(&series.x).zip(&series.y));
    let cells = points.map(|((words, x), y)| {
        let x = match x {
            X::Name(name) => name.clone(),
            X::Number(number) => format_figure(*number, &chart.x),
        };
        let name = words.split(": ").next().unwrap_or_default().to_owned();
        vec![name, x, y.map_or("-".to_owned(), |y| format_figure(y, &chart.y))]
    });
    Table {
        caption: chart.title.clone(),
        head: vec![String::new(), chart.x.title_with_unit(), chart.y.title_with_unit()],
        rows: cells.collect(),
    }
}

/// Formats counts exactly and other figures with three significant digits.
fn format_figure(value: f64, axis: &chart::Axis) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    let digits = match value.abs() {
        size if size.fract() == 0.0 && axis.unit.is_empty() => count(size as u64),
        size if size >= 1.0 => trim_zeros(&format_rough(size)),
        size => trim_zeros(&format!(
            "{size:.*}",
            (2.0 - size.log10().floor()).clamp(0.0, 6.0) as usize
        )),
    };
    format!("{sign}{digits}")
}

/// Formats a value of a horizontal axis so that it differs from its neighbours.
fn format_position(value: f64) -> String {
    match value.fract() {
        0.0 => group_thousands(&format!("{value:.0}")),
        _ => trim_zeros(&format!("{value:.4}")),
    }
}

fn trim_zeros(digits: &str) -> String {
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    }
}

fn write_table(table: &Table, out: &mut String) {
    let _ = write!(
        out,
        "<div class=\"scrolls\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}</caption>",
        escape_text(&table.caption)
    );
    if !table.head.is_empty() {
        out.push_str("<thead><tr>");
        for (index, cell) in table.head.iter().enumerate() {
            let _ = write!(
                out,
                "<th scope=\"col\"{}>{}</th>",
                column_class(table, index),
                escape_with_nbsp(cell)
            );
        }
        out.push_str("</tr></thead>");
    }
    out.push_str("<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let _ = match index {
                0 => write!(
                    out,
                    "<th scope=\"row\"{}>{}</th>",
                    column_class(table, index),
                    escape_with_nbsp(cell)
                ),
                _ => write!(out, "<td{}>{}</td>", column_class(table, index), escape_with_nbsp(cell)),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// The class of a column of long text, whose lines may wrap.
fn column_class(table: &Table, index: usize) -> &'static str {
    const MAX_FIGURE_CHARS: usize = 30;
    let is_long = |row: &Vec<String>| {
        row.get(index)
            .is_some_and(|cell| cell.chars().count() > MAX_FIGURE_CHARS)
    };
    match table.rows.iter().any(is_long) {
        true => " class=\"words\"",
        false => "",
    }
}

fn write_path(path: &IoPath, tone: Tone, out: &mut String) {
    let _ = writeln!(
        out,
        "<figure class=\"path\">\n<h3>{}</h3>\n<ol>",
        escape_text(&path.title)
    );
    for layer in &path.layers {
        let class = if layer.binds { " class=\"binds\"" } else { "" };
        let hop = if layer.hop {
            "<span class=\"hop\">over a network</span>"
        } else {
            ""
        };
        let _ = write!(out, "<li{class}>{hop}<strong>{}</strong>", escape_text(&layer.name));
        if layer.binds {
            let _ = write!(out, "<em class=\"limit\">{}</em>", path::BOTTLENECK);
        }
        if let Some(percent) = layer.used_percent {
            // A full bar is red only if it is the bottleneck of a load that failed.
            let limits = if layer.binds && tone == Tone::Bad && layer.name != path::REQUESTED_RATE {
                " low=\"98\" high=\"99\" optimum=\"0\""
            } else {
                ""
            };
            let _ = write!(
                out,
                "<meter min=\"0\" max=\"100\"{limits} value=\"{:.1}\" aria-label=\"used\">{percent:.1} %</meter>",
                percent.clamp(0.0, 100.0)
            );
        }
        for fact in layer.facts.iter().filter(|fact| !fact.is_empty()) {
            let _ = write!(out, "<span>{}</span>", escape_with_nbsp(fact));
        }
        out.push_str("</li>\n");
    }
    let _ = writeln!(
        out,
        "</ol>\n<figcaption>{} {} {}</figcaption>\n</figure>",
        format_prose(&crate::diagnosis::format_sentence(&path.sentence)),
        escape_text(&path.hops),
        escape_text(&path.sources)
    );
}

fn write_code(title: &str, code: &str, notes: &[String], out: &mut String) {
    let _ = writeln!(
        out,
        "<div class=\"code\"><h3>{}</h3><pre tabindex=\"0\"><code>{}</code></pre><button type=\"button\" class=\"copy\" hidden>Copy</button>",
        escape_text(title),
        escape::format_code(code)
    );
    if !notes.is_empty() {
        out.push_str("<ul>");
        for note in notes {
            let _ = write!(out, "<li>{}</li>", escape_text(note));
        }
        out.push_str("</ul>");
    }
    out.push_str("</div>\n");
}

/// Compresses text to base64 of gzip, because an hour of intervals is long.
fn gzip_base64(text: &str) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let compressed = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    STANDARD.encode(compressed.expect("writing to memory does not fail"))
}

fn write_downloads(page: &Page, out: &mut String) {
    if page.downloads.is_empty() {
        return;
    }
    out.push_str("<section id=\"downloads\">\n<h2>Raw data</h2>\n<p class=\"about\">This file contains the data. With JavaScript enabled, buttons here save it.</p>\n<p>");
    for (number, download) in page.downloads.iter().enumerate() {
        let _ = write!(
            out,
            "<button type=\"button\" class=\"download\" hidden data-of=\"download-{number}\" data-file=\"{}\" data-media=\"{}\">{}</button> ",
            escape_text(&download.file),
            escape_text(&download.media),
            escape_text(&download.words)
        );
    }
    out.push_str("</p>\n");
    for (number, download) in page.downloads.iter().enumerate() {
        let _ = writeln!(
            out,
            "<script type=\"text/plain\" id=\"download-{number}\">{}</script>",
            gzip_base64(&download.text)
        );
    }
    out.push_str("</section>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_counts_all() {
        let rate = chart::Axis::linear("rate", "IOPS");
        let figures = [159_850.0, 12.34, 7.0, 0.145, 0.012_345, 0.0, -3.456].map(|value| format_figure(value, &rate));
        assert_eq!(figures, ["160,000", "12.3", "7", "0.145", "0.0123", "0", "-3.46"]);
        assert_eq!(
            format_figure(159_850.0, &chart::Axis::linear("operations", "")),
            "159,850"
        );
        assert_eq!([100.1, 0.1, 2.0].map(format_position), ["100.1", "0.1", "2"]);
    }
}
