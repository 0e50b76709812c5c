//! Reports as one file that opens offline in any browser: a [`Page`] becomes text here.
//!
//! Everything that matters is in the markup: verdict, sentences, tables, charts (`svg`) and, where
//! they are not too many, the figures of the charts. `page.js` only adds what a reader can do with
//! it. The page contacts no host: its content security policy allows its own script by its digest,
//! and nothing else. What users wrote passes through [`escape`].

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
use escape::{prose, text, words};
use page::{Block, Lead, Page, Section, Table, Verdict, by_weight, class_of};
use path::IoPath;

use crate::numbers::group_thousands;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// A chart's figures stand in a table as well if they have at most that many rows.
const MAX_ROWS: usize = 100;
/// Findings that are open when the page opens.
const OPEN_FINDINGS: usize = 5;

/// Letters, digits and `-` of a name, for identifiers and names of files.
pub fn id_of(name: &str) -> String {
    let kept: String = name
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
    let kept = kept.trim_matches('-');
    if kept.is_empty() {
        "report".into()
    } else {
        kept.to_owned()
    }
}

/// The page as a file that needs nothing else.
pub fn file(page: &Page) -> String {
    linked(page, &[])
}

/// The same with links above everything: addresses and words.
pub fn linked(page: &Page, links: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(1 << 16);
    head(page, &mut out);
    out.push_str("<main>\n");
    write_links(links, &mut out);
    let terms = terms::on_page(page);
    first_screen(page, !terms.is_empty(), &mut out);
    if !page.findings.is_empty() {
        findings(&page.findings, &mut out);
    }
    for (number, section) in page.sections.iter().enumerate() {
        write_section(number, section, &mut out);
    }
    downloads(page, &mut out);
    terms::write(&terms, &mut out);
    let _ = write!(
        out,
        "<footer id=\"provenance\">{}</footer>\n</main>\n",
        text(&page.provenance)
    );
    let _ = writeln!(out, "<script>{SCRIPT}</script>");
    out.push_str("</body>\n</html>\n");
    out
}

/// A page of a server that is no report: `body` is markup, and `script` may be empty. It may ask
/// its own server only.
pub fn plain(title: &str, links: &[(&str, &str)], body: &str, script: &str) -> String {
    let scripts = match script {
        "" => "'none'".to_owned(),
        script => digest(script.as_bytes()),
    };
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{0}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        text(title)
    );
    write_links(links, &mut out);
    let _ = write!(out, "<header>\n<h1>{}</h1>\n</header>\n{body}</main>\n", text(title));
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
    out.push_str("<nav aria-label=\"Where to go\"><p class=\"about\">");
    for (address, words) in links {
        let _ = write!(out, "<a href=\"{}\">{}</a> ", text(address), text(words));
    }
    out.push_str("</p></nav>\n");
}

/// The digest of a script as content security policies name it.
fn digest(script: &[u8]) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script)))
}

fn head(page: &Page, out: &mut String) {
    let scripts = digest(SCRIPT.as_bytes());
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"{}\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        text(&page.provenance),
        text(&full_title(page)),
    );
}

/// The name of the test, and what came of it.
fn full_title(page: &Page) -> String {
    match page.verdict.headline.as_str() {
        "" => page.title.clone(),
        headline => format!("{}: {}", page.title, group_thousands(headline)),
    }
}

fn first_screen(page: &Page, has_terms: bool, out: &mut String) {
    out.push_str("<header>\n");
    let _ = writeln!(out, "<h1>{}</h1>", words(&full_title(page)));
    for (number, line) in page.about.iter().enumerate() {
        let is_last = has_terms && number + 1 == page.about.len();
        let link = if is_last {
            " · <a href=\"#terms\">What the words mean</a>"
        } else {
            ""
        };
        let _ = writeln!(out, "<p class=\"about\">{}{link}</p>", words(line));
    }
    out.push_str("</header>\n<section id=\"answer\" aria-label=\"The answer\">\n");
    verdict(&page.verdict, out);
    if !page.lead.is_empty() {
        out.push_str("<div class=\"leads\">\n");
        page.lead.iter().for_each(|one| lead(one, out));
        out.push_str("</div>\n");
    }
    if !page.tiles.is_empty() {
        out.push_str("<dl class=\"tiles\">\n");
        for tile in &page.tiles {
            let _ = writeln!(
                out,
                "<div><dt>{}</dt><dd><strong>{}</strong><span>{}</span></dd></div>",
                text(&tile.name),
                words(&tile.value),
                words(&tile.note)
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

fn verdict(verdict: &Verdict, out: &mut String) {
    if verdict.word.is_empty() && verdict.sentence.is_empty() {
        return;
    }
    let class = verdict.tone.class();
    let _ = write!(out, "<div class=\"verdict {class}\" id=\"verdict\">\n<p>");
    if !verdict.word.is_empty() {
        let _ = write!(out, "<strong class=\"word\">{}</strong> ", text(&verdict.word));
    }
    let _ = writeln!(out, "{}</p>", prose(&verdict.sentence));
    if !verdict.clauses.is_empty() {
        out.push_str("<ul class=\"clauses\">\n");
        for clause in &verdict.clauses {
            let _ = writeln!(
                out,
                "<li class=\"{}\"><strong>{}</strong> <b>{}</b> {}</li>",
                clause.tone.class(),
                text(&clause.word),
                prose(&clause.promised),
                prose(&clause.sentence)
            );
        }
        out.push_str("</ul>\n");
    }
    for note in &verdict.notes {
        let _ = writeln!(out, "<p>{}</p>", prose(note));
    }
    out.push_str("</div>\n");
}

fn lead(one: &Lead, out: &mut String) {
    let _ = writeln!(
        out,
        "<div class=\"lead\"><h2>{}</h2><p>{}</p>",
        text(&one.topic),
        prose(&one.sentence)
    );
    if !one.advice.is_empty() {
        out.push_str("<ul>");
        for advice in &one.advice {
            let _ = write!(out, "<li>{}</li>", prose(advice));
        }
        out.push_str("</ul>");
    }
    out.push_str("</div>\n");
}

fn findings(all: &[Finding], out: &mut String) {
    let sorted = by_weight(all);
    let _ = writeln!(
        out,
        "<section id=\"findings\">\n<h2>What the checks found ({})</h2>\n<ul class=\"findings\">",
        all.len()
    );
    let (open, rest) = sorted.split_at(sorted.len().min(OPEN_FINDINGS));
    open.iter().for_each(|one| finding(one, out));
    out.push_str("</ul>\n");
    if !rest.is_empty() {
        let _ = writeln!(
            out,
            "<details><summary>{} more</summary><ul class=\"findings\">",
            rest.len()
        );
        rest.iter().for_each(|one| finding(one, out));
        out.push_str("</ul></details>\n");
    }
    out.push_str("</section>\n");
}

fn finding(one: &Finding, out: &mut String) {
    let class = class_of(one.severity);
    let at = one.at.as_ref().map(|at| format!(" {}", text(at)));
    let _ = write!(
        out,
        "<li class=\"{class}\"><p><strong>{class}</strong> {} <span class=\"at\"><code>{}</code>{}</span></p>",
        prose(&crate::diagnosis::sentence(&one.what)),
        text(&one.rule),
        at.unwrap_or_default()
    );
    for (word, sentence) in [("Why it matters", &one.why), ("What to do", &one.help)] {
        if let Some(sentence) = sentence {
            let _ = write!(
                out,
                "<p class=\"{}\"><em>{word}:</em> {}</p>",
                id_of(word).to_lowercase(),
                prose(sentence)
            );
        }
    }
    out.push_str("</li>\n");
}

fn write_section(number: usize, section: &Section, out: &mut String) {
    let (open, close) = match section.folded {
        true => (
            format!("<details><summary><h2>{}</h2></summary>", text(&section.title)),
            "</details>",
        ),
        false => (format!("<h2>{}</h2>", text(&section.title)), ""),
    };
    let _ = writeln!(out, "<section id=\"part-{number}\">\n{open}");
    if !section.about.is_empty() {
        let _ = writeln!(out, "<p class=\"about\">{}</p>", words(&section.about));
    }
    let is_chart = |block: &Block| matches!(block, Block::Chart(_));
    for (index, block) in section.blocks.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| &section.blocks[before]);
        if is_chart(block) && !before.is_some_and(is_chart) {
            out.push_str("<div class=\"charts\">\n");
        }
        match block {
            Block::Text(sentence) => {
                let _ = writeln!(out, "<p>{}</p>", prose(sentence));
            }
            Block::Chart(chart) => write_chart(chart, out),
            Block::Table(table) => write_table(table, out),
            Block::Path(path) => write_path(path, out),
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
        text(&chart.title),
        svg::draw(chart),
        svg::legend(chart),
        words(&chart.about)
    );
    if let Some(table) = figures_of(chart) {
        out.push_str("<details class=\"figures\"><summary>Figures</summary>\n");
        write_table(&table, out);
        out.push_str("</details>\n");
    }
    // The script needs no bands, which are as many numbers again as the lines.
    let mut lines = chart.clone();
    for series in &mut lines.series {
        (series.low, series.high) = (Vec::new(), Vec::new());
    }
    let _ = writeln!(
        out,
        "<script type=\"application/json\" class=\"figure\">{}</script>\n</figure>",
        escape::rounded_json(&lines)
    );
}

/// The figures of a chart as a table, if they are not too many to be read.
fn figures_of(chart: &Chart) -> Option<Table> {
    if chart.heat.is_some() {
        return None;
    }
    let drawn: Vec<&chart::Series> = chart
        .series
        .iter()
        .filter(|series| series.form != chart::Form::Guide)
        .collect();
    // Charts over nines and logarithms name their values in words.
    let mut rows: Vec<&X> = Vec::new();
    for x in drawn.iter().flat_map(|series| &series.x) {
        if !rows.contains(&x) {
            rows.push(x);
            if rows.len() > MAX_ROWS {
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
    // An axis with words of its own is read by them: percentiles, not numbers of nines.
    let tick = |x: &X| {
        let X::Number(number) = x else { return None };
        chart.x.ticks.iter().find(|tick| (tick.at - number).abs() < 1e-6)
    };
    if !chart.x.ticks.is_empty() {
        rows.retain(|x| tick(x).is_some());
    }
    let value = |series: &chart::Series, x: &X| {
        let at = series.x.iter().position(|one| one == x)?;
        series.y.get(at).copied().flatten()
    };
    let cells = rows.iter().map(|x| {
        let name = match x {
            X::Name(name) => name.clone(),
            X::Number(number) => tick(x).map_or_else(|| shown(*number), |tick| tick.words.clone()),
        };
        let values = drawn
            .iter()
            .map(|series| value(series, x).map_or("-".to_owned(), shown));
        std::iter::once(name).chain(values).collect()
    });
    Some(Table {
        caption: format!("{}: {}", chart.title, chart.y.words()),
        head: std::iter::once(chart.x.words())
            .chain(drawn.iter().map(|series| series.name.clone()))
            .collect(),
        rows: cells.collect(),
    })
}

/// A figure with as many digits as a reader takes in.
fn shown(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 || size.fract() == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.3}"),
        _ => format!("{value:.5}"),
    }
}

fn write_table(table: &Table, out: &mut String) {
    let _ = write!(
        out,
        "<div class=\"scrolls\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}</caption>",
        text(&table.caption)
    );
    if !table.head.is_empty() {
        out.push_str("<thead><tr>");
        for (index, cell) in table.head.iter().enumerate() {
            let _ = write!(
                out,
                "<th scope=\"col\"{}>{}</th>",
                class_of_column(table, index),
                text(cell)
            );
        }
        out.push_str("</tr></thead>");
    }
    out.push_str("<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let _ = match index {
                0 => write!(out, "<th scope=\"row\">{}</th>", words(cell)),
                _ => write!(out, "<td{}>{}</td>", class_of_column(table, index), words(cell)),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// Sentences begin at the left; figures end at the right.
fn class_of_column(table: &Table, index: usize) -> &'static str {
    const LONGEST_FIGURE: usize = 30;
    let is_long = |row: &Vec<String>| row.get(index).is_some_and(|cell| cell.chars().count() > LONGEST_FIGURE);
    match index > 0 && table.head.len() > 2 && table.rows.iter().any(is_long) {
        true => " class=\"words\"",
        false => "",
    }
}

fn write_path(path: &IoPath, out: &mut String) {
    let _ = writeln!(out, "<figure class=\"path\">\n<h3>{}</h3>\n<ol>", text(&path.title));
    for layer in &path.layers {
        let class = if layer.binds { " class=\"binds\"" } else { "" };
        let hop = if layer.hop {
            "<span class=\"hop\">over a network</span>"
        } else {
            ""
        };
        let _ = write!(out, "<li{class}>{hop}<strong>{}</strong>", text(&layer.name));
        if layer.binds {
            out.push_str("<em class=\"limit\">Bottleneck</em>");
        }
        if let Some(percent) = layer.used_percent {
            let _ = write!(
                out,
                "<meter min=\"0\" max=\"100\" value=\"{:.1}\" aria-label=\"used\">{percent:.1} %</meter>",
                percent.clamp(0.0, 100.0)
            );
        }
        for fact in layer.facts.iter().filter(|fact| !fact.is_empty()) {
            let _ = write!(out, "<span>{}</span>", words(fact));
        }
        out.push_str("</li>\n");
    }
    let _ = writeln!(
        out,
        "</ol>\n<figcaption>{} {}</figcaption>\n</figure>",
        prose(&crate::diagnosis::sentence(&path.sentence)),
        text(&path.hops)
    );
}

fn write_code(title: &str, code: &str, notes: &[String], out: &mut String) {
    let _ = writeln!(
        out,
        "<div class=\"code\"><h3>{}</h3><pre tabindex=\"0\"><code>{}</code></pre><button type=\"button\" class=\"copy\" hidden>Copy</button>",
        text(title),
        text(code)
    );
    if !notes.is_empty() {
        out.push_str("<ul>");
        for note in notes {
            let _ = write!(out, "<li>{}</li>", text(note));
        }
        out.push_str("</ul>");
    }
    out.push_str("</div>\n");
}

/// Text as gzip in base64: an hour of intervals is long.
fn packed(text: &str) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let packed = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    STANDARD.encode(packed.expect("writing to memory does not fail"))
}

fn downloads(page: &Page, out: &mut String) {
    if page.downloads.is_empty() {
        return;
    }
    out.push_str("<section id=\"downloads\">\n<h2>Raw figures</h2>\n<p class=\"about\">They are in this file: with scripts on, buttons save them.</p>\n<p>");
    for (number, one) in page.downloads.iter().enumerate() {
        let _ = write!(
            out,
            "<button type=\"button\" class=\"download\" hidden data-of=\"download-{number}\" data-file=\"{}\" data-media=\"{}\">{}</button> ",
            text(&one.file),
            text(&one.media),
            text(&one.words)
        );
    }
    out.push_str("</p>\n");
    for (number, one) in page.downloads.iter().enumerate() {
        let _ = writeln!(
            out,
            "<script type=\"text/plain\" id=\"download-{number}\">{}</script>",
            packed(&one.text)
        );
    }
    out.push_str("</section>\n");
}
