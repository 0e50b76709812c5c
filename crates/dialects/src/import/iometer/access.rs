//! Iometer's access specifications: what a result of that name was asked to do.

use model::Bytes;
use model::observation::Load;

use super::percent;
use crate::import::numbers::{decimal, whole};

/// One specification.
#[derive(Clone, Debug, Default)]
pub(super) struct Access {
    pub(super) name: String,
    titles: Vec<String>,
    lines: Vec<Line>,
}

/// One kind of operation in it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    size: u64,
    /// Percent of the bursts that are of this kind.
    share: f64,
    /// Operations in a burst.
    burst: f64,
    reads: f64,
    random: f64,
    /// Milliseconds between bursts; 0: none.
    delay: Option<f64>,
}

impl Access {
    pub(super) fn new(name: &str) -> Access {
        Access {
            name: name.to_owned(),
            ..Access::default()
        }
    }

    /// `'size,% of size,% reads,% random,delay,burst,align,reply`.
    pub(super) fn set_titles(&mut self, cells: &[String]) {
        let title = |cell: &String| cell.trim_start_matches('\'').trim().to_ascii_lowercase();
        self.titles = cells.iter().map(title).collect();
    }

    /// Takes a line under these titles.
    ///
    /// # Errors
    /// What cannot be read. The specification then says nothing.
    pub(super) fn take(&mut self, cells: &[String]) -> Result<(), String> {
        let cell = |title: &str| {
            let place = self.titles.iter().position(|known| known == title)?;
            cells.get(place).map(String::as_str)
        };
        let line = || {
            Some(Line {
                size: cell("size").and_then(whole)?,
                share: cell("% of size").and_then(percent)?,
                reads: cell("% reads").and_then(percent)?,
                random: cell("% random").and_then(percent)?,
                burst: cell("burst")
                    .and_then(decimal)
                    .filter(|burst| *burst >= 1.0)
                    .unwrap_or(1.0),
                delay: cell("delay").and_then(decimal),
            })
        };
        match line() {
            Some(line) => {
                self.lines.push(line);
                Ok(())
            }
            None => {
                // A part of a specification would be another one.
                self.titles.clear();
                self.lines.clear();
                let what = format!(
                    "this line of the access specification `{}` cannot be read: expected numbers under size, % of size, % reads and % random",
                    self.name
                );
                Err(what)
            }
        }
    }

    /// Adds what the specification asks for.
    pub(super) fn ask(&self, load: Load) -> Load {
        let used = || self.lines.iter().filter(|line| line.share > 0.0);
        let shares: f64 = used().map(|line| line.share).sum();
        if (shares - 100.0).abs() > 0.01 {
            return load;
        }
        let operations: f64 = used().map(|line| line.share * line.burst).sum();
        let reads: f64 = used().map(|line| line.share * line.burst * line.reads).sum();
        let mut sizes = used().map(|line| line.size);
        let first = sizes.next().filter(|size| *size > 0);
        let same = sizes.all(|size| Some(size) == first);
        let all = |of: fn(&Line) -> f64, value: f64| used().all(|line| of(line) == value);
        Load {
            block: first.filter(|_| same).map(Bytes),
            read_percent: Some(reads / operations),
            random: match (all(|line| line.random, 100.0), all(|line| line.random, 0.0)) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                // Some of each: neither.
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
        let mut access = Access::new("x");
        access.set_titles(&cells(&"'size,% of size,% reads,% random,delay,burst,align,reply"));
        for line in lines {
            let _ = access.take(&cells(line));
        }
        access.ask(Load::default())
    }

    #[test]
    fn lines_make_one_load_where_they_agree() {
        let one = asked(&["8192,100,70,100,0,1,4096,0"]);
        assert_eq!((one.block, one.read_percent), (Some(Bytes(8192)), Some(70.0)));
        assert_eq!((one.random, one.closed_loop), (Some(true), Some(true)));
        // A quarter of 4 KiB that all read, three quarters of 64 KiB of which a fifth reads: 25 +
        // 15 = 40 %.
        let two = asked(&["4096,25,100,100,0,1,0,0", "65536,75,20,0,5,1,0,0"]);
        assert_eq!((two.block, two.read_percent), (None, Some(40.0)));
        assert_eq!((two.random, two.closed_loop), (None, Some(false)));
        // Of 220 operations in 100 bursts 60 are reads.
        let bursts = asked(&["4096,60,100,100,0,1,0,0", "65536,40,0,0,0,4,0,0"]);
        assert!((bursts.read_percent.unwrap() - 27.27).abs() < 0.01, "{bursts:?}");
        assert_eq!(asked(&["4096,60,100,100,0,1,0,0"]), Load::default(), "40 % are missing");
        let spoiled = asked(&["4096,100,100,100,0,1,0,0", "4096,x,100,100,0,1,0,0"]);
        assert_eq!(spoiled, Load::default(), "a part would be another load");
    }
}
