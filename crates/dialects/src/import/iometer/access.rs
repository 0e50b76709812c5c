//! Iometer's access specifications, which define the requested load of a result by name.

use model::Bytes;
use model::observation::Load;

use super::percent;
use crate::import::numbers::{parse_decimal, parse_integer};

/// An access specification.
#[derive(Clone, Debug, Default)]
pub(super) struct AccessSpec {
    pub(super) name: String,
    titles: Vec<String>,
    lines: Vec<Line>,
}

/// A line of the specification: one kind of operation.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    size: u64,
    /// Percentage of bursts of this kind.
    share: f64,
    /// Operations in a burst.
    burst: f64,
    reads: f64,
    random: f64,
    /// Milliseconds between bursts; 0 for no pause.
    delay: Option<f64>,
}

impl AccessSpec {
    pub(super) fn new(name: &str) -> AccessSpec {
        AccessSpec {
            name: name.to_owned(),
            ..AccessSpec::default()
        }
    }

    /// `'size,% of size,% reads,% random,delay,burst,align,reply`.
    pub(super) fn set_titles(&mut self, cells: &[String]) {
        let title = |cell: &String| cell.trim_start_matches('\'').trim().to_ascii_lowercase();
        self.titles = cells.iter().map(title).collect();
    }

    /// Adds a line, read by the titles.
    ///
    /// # Errors
    /// The line is unreadable. The specification is then unknown as a whole.
    pub(super) fn add_line(&mut self, cells: &[String]) -> Result<(), String> {
        let cell = |title: &str| {
            let place = self.titles.iter().position(|listed_title| listed_title == title)?;
            cells.get(place).map(String::as_str)
        };
        let line = || {
            Some(Line {
                size: cell("size").and_then(parse_integer)?,
                share: cell("% of size").and_then(percent)?,
                reads: cell("% reads").and_then(percent)?,
                random: cell("% random").and_then(percent)?,
                burst: cell("burst")
                    .and_then(parse_decimal)
                    .filter(|burst| *burst >= 1.0)
                    .unwrap_or(1.0),
                delay: cell("delay").and_then(parse_decimal),
            })
        };
        match line() {
            Some(line) => {
                self.lines.push(line);
                Ok(())
            }
            None => {
                // A part of a specification would describe a different load.
                self.titles.clear();
                self.lines.clear();
                let message = format!(
                    "cannot read this line of the access specification `{}`: expected numbers under \
                    size, % of size, % reads and % random",
                    self.name
                );
                Err(message)
            }
        }
    }

    /// Fills in the load of the specification.
    pub(super) fn apply_to(&self, load: Load) -> Load {
        let used = || self.lines.iter().filter(|line| line.share > 0.0);
        let shares: f64 = used().map(|line| line.share).sum();
        if (shares - 100.0).abs() > 0.01 {
            return load;
        }
        let operations: f64 = used().map(|line| line.share * line.burst).sum();
        let reads: f64 = used().map(|line| line.share * line.burst * line.reads).sum();
        let mut sizes = used().map(|line| line.size);
        let first = sizes.next().filter(|size| *size > 0);
        let has_one_size = sizes.all(|size| Some(size) == first);
        let all_equal = |get: fn(&Line) -> f64, value: f64| used().all(|line| get(line) == value);
        Load {
            block: first.filter(|_| has_one_size).map(Bytes),
            read_percent: Some(reads / operations),
            random: match (all_equal(|line| line.random, 100.0), all_equal(|line| line.random, 0.0)) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                // A mix of random and sequential is neither.
                _ => None,
            },
            closed_loop: used()
                .map(|line| line.delay)
                .collect::<Option<Vec<f64>>>()
                .map(|delays| delays.iter().all(|delay| *delay == 0.0)),
            ..load
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(lines: &[&str]) -> Load {
        let cells = |line: &&str| line.split(',').map(str::to_owned).collect::<Vec<String>>();
        let mut access = AccessSpec::new("x");
        access.set_titles(&cells(&"'size,% of size,% reads,% random,delay,burst,align,reply"));
        for line in lines {
            let _ = access.add_line(&cells(line));
        }
        access.apply_to(Load::default())
    }

    #[test]
    fn lines_are_one_load_where_they_agree() {
        let access = asked(&["8192,100,70,100,0,1,4096,0"]);
        assert_eq!((access.block, access.read_percent), (Some(Bytes(8192)), Some(70.0)));
        assert_eq!((access.random, access.closed_loop), (Some(true), Some(true)));
        // 25 % are reads of 4 KiB; 75 % are of 64 KiB, of which 20 % are reads: 25 + 15 = 40 %.
        let two = asked(&["4096,25,100,100,0,1,0,0", "65536,75,20,0,5,1,0,0"]);
        assert_eq!((two.block, two.read_percent), (None, Some(40.0)));
        assert_eq!((two.random, two.closed_loop), (None, Some(false)));
        // Of 220 operations in 100 bursts 60 are reads.
        let bursts = asked(&["4096,60,100,100,0,1,0,0", "65536,40,0,0,0,4,0,0"]);
        assert!((bursts.read_percent.unwrap() - 27.27).abs() < 0.01, "{bursts:?}");
        assert_eq!(asked(&["4096,60,100,100,0,1,0,0"]), Load::default(), "40 % are missing");
        let spoiled = asked(&["4096,100,100,100,0,1,0,0", "4096,x,100,100,0,1,0,0"]);
        assert_eq!(spoiled, Load::default(), "a part would be a different load");
    }
}
