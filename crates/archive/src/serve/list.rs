//! The list of the history: a filter form and a table. It works without scripts.

use analysis::verdict::Outcome;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use report::html::{self, escape::escape_text};
use report::numbers;

use super::browse::Browse;
use super::{ErrorPage, html_response};
use crate::history::{Entry, EntryJob, EntryKind, Filter};

/// Upper limit of the entries of a page.
const ENTRIES_PER_PAGE: usize = 100;

/// Fields of the filter: key in the query, label, placeholder.
const FIELDS: [(&str, &str, &str); 6] = [
    ("label", "Label or name", ""),
    ("target", "Target", "/dev/nvme1n1"),
    ("device", "Device", "model or name"),
    ("host", "Host", ""),
    ("since", "Since", "2026-11-22, 7d"),
    ("until", "Until", "2026-11-23"),
];

/// Class and title of each column after the checkbox; narrow screens hide the `wide` ones.
const COLUMNS: [(&str, &str); 12] = [
    ("", "Entry"),
    ("words", "Started"),
    ("words wide", "Command"),
    ("words long", "Name"),
    ("words", "Load"),
    ("words wide", "Host"),
    ("words long", "Targets"),
    ("figure", "IOPS"),
    ("figure wide", "MiB/s"),
    ("figure wide", "p50"),
    ("figure", "p99"),
    ("words", "Verdict"),
];

/// The page for a query.
pub(super) fn render_page(browse: &Browse, pairs: &[(String, String)]) -> Result<Response<Body>, ErrorPage> {
    let filter = parse_filter(browse, pairs)?;
    let mut entries = match browse.history()? {
        None => Vec::new(),
        Some(history) => history.list(&filter).map_err(|error| browse.error_page(&error))?,
    };
    let has_next_page = entries.len() > ENTRIES_PER_PAGE;
    entries.truncate(ENTRIES_PER_PAGE);
    let mut body = running_section(browse);
    body += &filter_form(pairs);
    match entries.is_empty() {
        true if pairs.iter().all(|(_, value)| value.is_empty()) => {
            body += "<p>The history is empty. Every command that measures adds an entry, for example <code>fathom quick</code>.</p>\n";
        }
        true => body += "<p>No entry matches. <a href=\"/\">Show all</a></p>\n",
        false => body += &render_table(browse, &entries),
    }
    if let Some(last) = entries.last().filter(|_| has_next_page) {
        body += &format!(
            "<p><a href=\"/?{}\">Older entries</a></p>\n",
            escape_text(&older_query(pairs, last.id))
        );
    }
    Ok(html_response(html::render_plain(
        "History of measurements",
        &[],
        &body,
        "",
    )))
}

/// The runs in progress, with links to their pages.
fn running_section(browse: &Browse) -> String {
    let runs = browse.pages.running();
    if runs.is_empty() {
        return String::new();
    }
    let mut out = String::from("<section aria-label=\"Running now\"><h2>Running now</h2><ul>\n");
    for (address, words) in runs {
        out += &format!(
            "<li><a href=\"{}\">{}</a></li>\n",
            escape_text(&address),
            escape_text(&words)
        );
    }
    out + "</ul></section>\n"
}

fn parse_filter(browse: &Browse, pairs: &[(String, String)]) -> Result<Filter, ErrorPage> {
    let value = |name: &str| {
        let pair = pairs.iter().find(|(key, _)| key == name);
        pair.map(|(_, value)| value.trim().to_owned())
            .filter(|value| !value.is_empty())
    };
    let wrong = |what: String, help: &str| ErrorPage::new(StatusCode::BAD_REQUEST, what, help);
    let moment = |name: &str| {
        let moment = |text: String| {
            browse.pages.parse_time(&text, name == "until").ok_or_else(|| {
                let what = format!("`{text}` is not a date or an age");
                wrong(what, "for example 2026-11-22, 2026-11-22T18:00, 7d, 36h")
            })
        };
        value(name).map(moment).transpose()
    };
    let kind = |name: String| {
        EntryKind::from_name(&name)
            .ok_or_else(|| wrong(format!("unknown command `{name}`"), "choose one from the list"))
    };
    let before = |id: String| {
        id.parse()
            .map_err(|_| wrong("an entry is named by its number".into(), ""))
    };
    Ok(Filter {
        target: value("target"),
        device: value("device"),
        host: value("host"),
        label: value("label"),
        kind: value("kind").map(kind).transpose()?,
        verdict: value("verdict"),
        since_unix_ns: moment("since")?,
        until_unix_ns: moment("until")?,
        before: value("before").map(before).transpose()?,
        limit: Some(ENTRIES_PER_PAGE + 1),
        ..Filter::default()
    })
}

fn filter_form(pairs: &[(String, String)]) -> String {
    let value = |name: &str| pairs.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value);
    let mut out = String::from("<form class=\"filter\" method=\"get\" action=\"/\" role=\"search\">\n");
    for (name, words, example) in FIELDS {
        out += &format!(
            "<label>{words}<input name=\"{name}\" value=\"{}\" placeholder=\"{example}\"></label>\n",
            escape_text(value(name))
        );
    }
    let (kinds, verdicts) = (EntryKind::ALL.map(EntryKind::name), Outcome::ALL.map(Outcome::word));
    for (name, words, choices) in [("kind", "Command", &kinds[..]), ("verdict", "Verdict", &verdicts)] {
        out += &format!("<label>{words}<select name=\"{name}\"><option value=\"\">any</option>");
        for choice in choices {
            let chosen = if value(name) == *choice { " selected" } else { "" };
            out += &format!("<option{chosen}>{choice}</option>");
        }
        out += "</select></label>\n";
    }
    out + "<button type=\"submit\">Filter</button>\n</form>\n"
}

/// The query with the same filters, for entries before `before`.
fn older_query(pairs: &[(String, String)], before: u64) -> String {
    let is_unreserved = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    let encoded = |value: &str| value.bytes().map(is_unreserved).collect::<String>();
    let names = FIELDS.map(|(name, ..)| name);
    let filters = pairs.iter().filter(|(key, value)| {
        !value.is_empty() && ([&names[..], &["kind", "verdict"]].concat().contains(&key.as_str()))
    });
    let filters = filters.map(|(key, value)| format!("{key}={}", encoded(value)));
    filters
        .chain([format!("before={before}")])
        .collect::<Vec<_>>()
        .join("&")
}

/// The buttons for selected entries.
fn render_buttons(browse: &Browse) -> String {
    let mut out = String::from("<p class=\"actions\"><button type=\"submit\">Compare selected entries</button>\n");
    if browse.is_writable {
        let post = "type=\"submit\" formmethod=\"post\"";
        out += &format!(
            "<label>Label <input name=\"text\"></label> <button {post} formaction=\"/label\">Label selected entries</button>\n\
             <button {post} formaction=\"/remove\">Remove selected entries</button>\n"
        );
    }
    out + "</p>\n"
}

/// The page that asks for confirmation.
pub(super) fn confirm_removal(browse: &Browse, entries: &[Entry]) -> Response<Body> {
    let mut body = String::from(
        "<form method=\"post\" action=\"/remove\">\n<input type=\"hidden\" name=\"sure\" value=\"1\">\n<ul>\n",
    );
    for entry in entries {
        let id = entry.id;
        let words = [
            browse.pages.format_time(entry.started_unix_ns),
            entry.kind.name().into(),
            name(entry),
        ]
        .join(", ");
        body += &format!(
            "<li><input type=\"hidden\" name=\"entry\" value=\"{id}\"><a href=\"/entry/{id}\">{id}</a>: {}</li>\n",
            escape_text(&words)
        );
    }
    body += "</ul>\n<p>Removed entries cannot be restored; files written by --save remain.</p>\n\
             <p><button type=\"submit\">Remove</button> <a href=\"/\">Keep</a></p>\n</form>\n";
    html_response(html::render_plain(
        "Remove these entries?",
        &[("/", "History")],
        &body,
        "",
    ))
}

fn render_table(browse: &Browse, entries: &[Entry]) -> String {
    let mut out = String::from("<form method=\"get\" action=\"/compare\">\n") + &render_buttons(browse);
    out += "<div class=\"scrolls\" tabindex=\"0\" role=\"region\" aria-label=\"Entries\"><table class=\"whole\"><caption>Entries, the latest first</caption>\
         <thead><tr><th scope=\"col\">Select</th>";
    for (class, title) in COLUMNS {
        out += &format!("<th scope=\"col\" class=\"{class}\">{title}</th>");
    }
    out += "</tr></thead><tbody>\n";
    for entry in entries {
        out += &render_row(browse, entry);
    }
    out + "</tbody></table></div>\n</form>\n"
}

fn name(entry: &Entry) -> String {
    match &entry.label {
        Some(label) => format!("{label} ({})", entry.name),
        None => entry.name.clone(),
    }
}

/// The load of an entry with one job: `4 KiB random, 70 % reads, 8 in flight, 1,500 IOPS`.
fn load(entry: &Entry) -> String {
    let [job] = &entry.jobs[..] else { return String::new() };
    let fact = |name: &str| {
        let fact = job.facts.iter().find(|fact| fact.name == name);
        fact.map(|fact| fact.value.as_str())
    };
    let place = [fact("block size"), fact("pattern")];
    let place = place.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let parts = [
        Some(place).filter(|place| !place.is_empty()),
        fact("reads").map(|share| format!("{share} reads")),
        fact("in flight").map(|depth| format!("{depth} in flight")),
        fact("rate").map(str::to_owned),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn render_row(browse: &Browse, entry: &Entry) -> String {
    let figure = |value: fn(&EntryJob) -> Option<f64>, words: fn(f64) -> String| match &entry.jobs[..] {
        [job] if entry.runs < 2 => value(job).map_or("-".into(), words),
        _ => String::new(),
    };
    let iops = match (entry.runs, entry.jobs.len()) {
        (2.., _) => numbers::pluralize(entry.runs, "run"),
        (_, jobs @ 2..) => numbers::pluralize(jobs as u64, "job"),
        _ => figure(|job| job.iops, numbers::rate),
    };
    let mib = |rate: f64| numbers::throughput(rate / f64::from(1 << 20));
    let interrupted = if entry.interrupted { "interrupted" } else { "" };
    let verdict: Vec<&str> = [entry.verdict.as_deref().unwrap_or_default(), interrupted]
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect();
    let cells = [
        browse.pages.format_time(entry.started_unix_ns),
        entry.kind.name().to_owned(),
        name(entry),
        load(entry),
        entry.host.clone(),
        entry.targets.join(", "),
        iops,
        figure(|job| job.bytes_per_sec, mib),
        figure(|job| job.p50_ns, numbers::format_time),
        figure(|job| job.p99_ns, numbers::format_time),
        verdict.join(", "),
    ];
    let id = entry.id;
    let mut out = format!(
        "<tr><td><input type=\"checkbox\" name=\"entry\" value=\"{id}\" aria-label=\"Select entry {id}\"></td>\
         <th scope=\"row\"><a href=\"/entry/{id}\">{id}</a></th>"
    );
    for ((class, title), cell) in COLUMNS[1..].iter().zip(cells) {
        let tone = match cell.as_str() {
            "PASS" => " good",
            "FAIL" => " bad",
            "PARTLY PROVEN" | "INCONCLUSIVE" => " unsure",
            _ => "",
        };
        out += &format!(
            "<td class=\"{class}{tone}\" data-title=\"{title}\">{}</td>",
            escape_text(&cell)
        );
    }
    out + "</tr>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_to_older_entries_has_the_same_filters() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let pairs = [
            pair("label", "a&b c"),
            pair("host", ""),
            pair("before", "7"),
            pair("token", "x"),
            pair("kind", "run"),
        ];
        assert_eq!(older_query(&pairs, 3), "label=a%26b%20c&kind=run&before=3");
    }
}
