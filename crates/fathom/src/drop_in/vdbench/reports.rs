//! The files of an output directory, with their headers and links.

use std::fs;

use dialects::vdbench::{CopiedLines, Parameters, Run};
use report::formats::vdbench::{FLAT_COMMENT, format_file_flat_header, format_flat_header};

use super::output::STANDARD;
use super::run_printer::RowStyle;
use super::{Drive, Failure};

/// Width of the text before a link.
const LINK: usize = 33;

impl Drive<'_> {
    /// Writes the copy of the parameter files.
    pub(super) fn write_parmfile(&mut self, parameters: &Parameters) -> Result<(), Failure> {
        self.output.create("parmfile", &[])?;
        for CopiedLines { heading, file, lines } in &parameters.copies {
            let full_path = fs::canonicalize(file).ok().filter(|_| heading.starts_with("Contents"));
            let file = full_path.map_or(file.clone(), |path| path.display().to_string());
            let head = [String::new(), format!("* {heading}: {file}"), String::new()];
            self.output.write_lines("parmfile", &head);
            self.output.write_lines("parmfile", lines);
        }
        Ok(())
    }

    pub(super) fn create_linked(&mut self, name: &str, title: &str, links: &[String]) -> Result<(), Failure> {
        let runs = if self.run_links.is_empty() {
            &[][..]
        } else {
            &[String::new()]
        };
        let head = [
            &[title.to_owned(), String::new()][..],
            links,
            runs,
            &self.run_links,
            runs,
        ]
        .concat();
        Ok(self.output.create(name, &head)?)
    }

    /// Creates the files of runs and simulations. `items` are links of the summary to other files.
    pub(super) fn create_common(&mut self, items: &[String]) -> Result<(), Failure> {
        let mut links = vec![
            format_link("Link to logfile:", "logfile"),
            format_link("Run totals:", "totals"),
            format_link("Vdbench status:", "status"),
            format_link("Copy of input parameter files:", "parmfile"),
            format_link("Link to errorlog:", "errorlog"),
            format_link("Link to flatfile:", "flatfile"),
        ];
        links.extend_from_slice(items);
        let title = format!("\nVdbench summary report, created {}", header_time());
        self.create_linked("summary", &title, &links)?;
        self.create_linked("totals", "Run totals", &[])?;
        self.output.create(
            "status",
            &[
                "* Vdbench status: one line for each change, separated by tabs.".into(),
                String::new(),
            ],
        )?;
        let comment: Vec<String> = FLAT_COMMENT.iter().map(ToString::to_string).collect();
        self.output.create("flatfile", &comment)?;
        Ok(())
    }

    /// Creates the files of runs.
    ///
    /// `labels` are all labels of `hd=`. If all are this machine, one process does their work, and
    /// their pages only name its page.
    pub(super) fn create_reports(&mut self, runs: &[&Run], labels: &[String]) -> Result<(), Failure> {
        let on_files = runs.iter().any(|run| run.files.is_some());
        let sds = distinct(runs.iter().flat_map(|run| storage_names(run)));
        let wds = distinct(runs.iter().flat_map(|run| workload_names(run)));
        let hosts = self.style.hosts.clone();
        let other_labels: Vec<String> = labels.iter().filter(|label| !hosts.contains(label)).cloned().collect();
        self.check_names(&sds, &wds, &other_labels)?;
        let links =
            |title: &str, names: &[String]| names.iter().map(|name| format_link(title, name)).collect::<Vec<_>>();
        let mut items = vec![
            String::new(),
            format!(
                "{:<LINK$}{}",
                "Link to HOST reports:",
                html_anchors(&[&hosts[..], &other_labels].concat())
            ),
            format_link("Link to response time histogram:", "histogram"),
            format_link("Link to workload skew report:", "skew"),
        ];
        let (of_storage, of_workloads) = match on_files {
            true => ("Link to FSD reports:", "Link to FWD reports:"),
            false => ("Link to SD reports:", "Link to workload report:"),
        };
        items.push(format!("{of_storage:<LINK$}{}", html_anchors(&sds)));
        if on_files {
            items.push(format_link("Link to anchor status:", "anchors"));
        }
        items.push(String::new());
        items.extend(links(of_workloads, &wds));
        self.run_links = format_run_links(runs);
        self.create_common(&items)?;
        let header = match &self.style.files {
            Some(_) => format_file_flat_header(),
            None => format_flat_header(self.style.layout),
        };
        self.output.write("flatfile", &header);
        self.create_linked("histogram", "Total response time histogram.", &[])?;
        let rules = "Workload skew report: where a run has several SDs or several workloads.\n\
                     Counts reported below are for non-warmup intervals.";
        self.create_linked("skew", rules, &[])?;
        for host in &hosts {
            let slave = format!("{host}-0");
            let mut to_slave = vec![format_link("Link to slave summary report:", &slave)];
            if hosts.len() > 1 {
                to_slave.insert(0, link_to_histogram(host));
            }
            self.create_linked(host, &format!("Host summary report(s) for host={host}"), &to_slave)?;
            self.create_linked(&slave, &format!("Slave summary report for slave={slave}"), &[])?;
        }
        for host in hosts.iter().filter(|_| hosts.len() > 1) {
            let title = format!("Response time histogram of {host}");
            self.create_linked(&format!("{host}.histogram"), &title, &[])?;
        }
        for label in other_labels.iter().flat_map(|label| RowStyle::page_names(label)) {
            let to = format_link("Link to HOST reports:", &hosts[0]);
            let title = format!("{label} is this machine, whose only process did the work of all hosts");
            self.create_linked(&label, &title, &[to])?;
        }
        if on_files {
            self.create_anchors_page(runs)?;
        }
        let titles = match on_files {
            true => ["Report for fsd ", "Report for fwd "],
            false => ["SD report for sd=", "Workload Report for wd="],
        };
        for (title, names) in titles.into_iter().zip([&sds, &wds]) {
            for name in names {
                self.create_linked(name, &format!("{title}{name}"), &[link_to_histogram(name)])?;
                let title = format!("Response time histogram of {name}");
                self.create_linked(&format!("{name}.histogram"), &title, &[])?;
            }
        }
        Ok(())
    }

    /// Refuses SD and WD names that would need the same file.
    fn check_names(&self, sds: &[String], wds: &[String], other_labels: &[String]) -> Result<(), Failure> {
        let others = other_labels.iter().flat_map(|label| RowStyle::page_names(label));
        let pages: Vec<String> = self.style.pages().into_iter().chain(others).collect();
        for (number, name) in pages.iter().chain(sds).chain(wds).enumerate() {
            let is_standard = STANDARD.contains(&name.as_str());
            let mut earlier_pages = pages.iter().take(number);
            let is_taken = is_standard || name.ends_with(".histogram") || earlier_pages.any(|page| page == name);
            if is_taken || name.is_empty() || name.contains(['/', '\\', '\0']) {
                let text = format!("cannot create a report file named `{name}`");
                return Err(Failure::with_help(text, "rename the SD, WD or host"));
            }
        }
        match sds.iter().find(|name| wds.contains(name)) {
            Some(both) => {
                let text = format!("cannot create two report files `{both}`: an SD and a WD have that name");
                Err(Failure::with_help(text, "rename one of them"))
            }
            None => Ok(()),
        }
    }
}

fn html_anchor(to: &str, text: &str) -> String {
    format!("<A HREF=\"{to}\">{text}</A>")
}

/// Formats links to files in one line.
fn html_anchors(names: &[String]) -> String {
    let links: Vec<String> = names
        .iter()
        .map(|name| html_anchor(&format!("{name}.html"), name))
        .collect();
    links.join("      ")
}

/// Formats the link to the histogram of an SD, a workload or a host.
fn link_to_histogram(name: &str) -> String {
    let link = html_anchor(&format!("{name}.histogram.html"), "histogram");
    format!("{:<LINK$}{link}", "Link to response time histogram:")
}

fn format_link(title: &str, name: &str) -> String {
    format!("{title:<LINK$}{}", html_anchor(&format!("{name}.html"), name))
}

/// Formats `Link to Run Definitions:` with links to all runs in order. A run that differs from the
/// previous run only in its last loop shows only that loop.
fn format_run_links(runs: &[&Run]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut previous: Option<&Run> = None;
    for run in runs {
        let points = run.points.iter().map(|percent| run.point(*percent, 0.0).name);
        for (index, name) in std::iter::once(run.name.clone()).chain(points).enumerate() {
            let title = if lines.is_empty() {
                "Link to Run Definitions:"
            } else {
                ""
            };
            let text = format!("{name} {}", run.loops_text());
            let last = run
                .loops
                .split_last()
                .filter(|(_, others)| index == 0 && !others.is_empty());
            let shared = last.filter(|(_, others)| {
                previous.is_some_and(|previous| previous.name == run.name && previous.loops.starts_with(others))
            });
            let (indent, text) = match shared {
                Some(((name, value), _)) => {
                    let shown = format!("{name}={value}");
                    (text.len() - shown.len(), shown)
                }
                None => (0, text),
            };
            let to = html_anchor(&format!("#_{}", lines.len()), &text);
            lines.push(format!("{title:<width$}{to}", width = LINK + indent));
        }
        previous = Some(run);
    }
    lines
}

/// Returns the current time for headers.
pub(super) fn header_time() -> String {
    jiff::Zoned::now().strftime("%H:%M:%S %b %d %Y %Z").to_string()
}

/// Returns names in order without duplicates.
fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for name in names {
        if !labels.contains(&name) {
            labels.push(name);
        }
    }
    labels
}

/// Returns the names of a run's SDs or FSDs.
fn storage_names(run: &Run) -> Vec<String> {
    match &run.files {
        Some(files) => files.fsds.iter().map(|fsd| fsd.name.clone()).collect(),
        None => run.sds.iter().map(|sd| sd.name.clone()).collect(),
    }
}

/// Returns the names of a run's WDs or FWDs.
fn workload_names(run: &Run) -> Vec<String> {
    match &run.files {
        Some(files) => files.fwds.iter().map(|(fwd, _)| fwd.name.clone()).collect(),
        None => run.workloads.iter().map(|(wd, _)| wd.name.clone()).collect(),
    }
}

pub(super) fn report_files(run: &Run, style: &RowStyle) -> Vec<String> {
    let standard = ["summary", "totals", "histogram", "skew", "anchors", "logfile"].map(str::to_owned);
    let items = storage_names(run).into_iter().chain(workload_names(run));
    let items = items.chain(style.hosts.clone());
    let items = items.flat_map(|name| [name.clone(), format!("{name}.histogram")]);
    let slaves = style.hosts.iter().map(|host| format!("{host}-0"));
    standard.into_iter().chain(slaves).chain(items).collect()
}
