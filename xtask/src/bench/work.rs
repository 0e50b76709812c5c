//! A workload, as command lines of each tool.

use std::path::{Path, PathBuf};

/// A workload that both tools can run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Work {
    /// `None`: the null engine.
    pub(crate) target: Option<PathBuf>,
    /// Bytes of the target.
    pub(crate) size: u64,
    /// The tool creates the file.
    pub(crate) made: bool,
    /// The engine; its name is the same in both tools.
    pub(crate) engine: &'static str,
    /// Bypassing the page cache.
    pub(crate) direct: bool,
    pub(crate) access: Access,
    pub(crate) read_percent: u32,
    pub(crate) block: u64,
    pub(crate) depth: u32,
    pub(crate) workers: u32,
    pub(crate) until: Until,
    /// Operations per second.
    pub(crate) rate: Option<u32>,
    /// More arguments for fathom.
    pub(crate) ours: Vec<String>,
    /// More arguments for fio.
    pub(crate) theirs: Vec<String>,
}

/// The pattern of the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Random, with repetition.
    Random,
    /// Random, each block once.
    Once,
    Sequential,
}

/// The stop condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Until {
    Seconds(f64),
    Operations(u64),
}

impl Work {
    /// Random reads of 4 KiB, one at a time.
    pub(crate) fn reads(target: Option<&Path>, size: u64, engine: &'static str, until: Until) -> Work {
        Work {
            target: target.map(Path::to_owned),
            size,
            made: false,
            engine,
            direct: false,
            access: Access::Random,
            read_percent: 100,
            block: 4096,
            depth: 1,
            workers: 1,
            until,
            rate: None,
            ours: Vec::new(),
            theirs: Vec::new(),
        }
    }

    pub(crate) fn direct(self) -> Work {
        Work { direct: true, ..self }
    }

    pub(crate) fn depth(self, depth: u32) -> Work {
        Work { depth, ..self }
    }

    pub(crate) fn made(self) -> Work {
        Work { made: true, ..self }
    }

    pub(crate) fn workers(self, workers: u32) -> Work {
        Work { workers, ..self }
    }

    pub(crate) fn until(self, until: Until) -> Work {
        Work { until, ..self }
    }

    /// Adds arguments for fathom.
    pub(crate) fn ours(mut self, arguments: &[&str]) -> Work {
        self.ours.extend(words(arguments));
        self
    }

    /// Adds arguments for fio.
    pub(crate) fn theirs(mut self, arguments: &[&str]) -> Work {
        self.theirs.extend(words(arguments));
        self
    }

    /// fathom's arguments.
    pub(crate) fn fathom(&self) -> Vec<String> {
        let target = self
            .target
            .as_ref()
            .map_or("null".into(), |path| path.display().to_string());
        let mut line = words(&["run", "--out", "json", "--quiet", "--seed", "1", "--target"]);
        line.push(target);
        let cache = if self.direct { "direct" } else { "buffered" };
        let access = match self.access {
            Access::Random => "random",
            Access::Once => "random-once",
            Access::Sequential => "sequential",
        };
        let mut say = |name: &str, value: String| line.extend([format!("--{name}"), value]);
        // With a size, fathom would lay out a file again that it has not created.
        if self.made || self.target.is_none() {
            say("size", self.size.to_string());
        }
        say("engine", self.engine.to_owned());
        if self.target.is_some() {
            say("cache", cache.to_owned());
        }
        say("access", access.to_owned());
        say("read", self.read_percent.to_string());
        say("block", self.block.to_string());
        say("depth", self.depth.to_string());
        say("workers", self.workers.to_string());
        match self.until {
            Until::Seconds(seconds) => {
                say("time", format!("{seconds}s"));
                say("warm-up", "0s".to_owned());
            }
            Until::Operations(operations) => say("operations", operations.to_string()),
        }
        if let Some(rate) = self.rate {
            say("rate", rate.to_string());
        }
        line.extend(self.ours.iter().cloned());
        line
    }

    /// fio's equivalent arguments.
    pub(crate) fn fio(&self) -> Vec<String> {
        let mut line = words(&[
            "--name=bench", "--output-format=json", "--randrepeat=1", "--group_reporting=1",
        ]);
        let mut say = |name: &str, value: String| line.push(format!("--{name}={value}"));
        if let Some(path) = &self.target {
            say("filename", path.display().to_string());
            say("direct", u32::from(self.direct).to_string());
            // By default fio drops the file from the page cache first, and fathom does not.
            say("invalidate", "0".to_owned());
        }
        say("size", self.size.to_string());
        say("ioengine", self.engine.to_owned());
        let random = self.access != Access::Sequential;
        let pattern = match (random, self.read_percent) {
            (true, 100) => "randread",
            (true, 0) => "randwrite",
            (true, _) => "randrw",
            (false, 100) => "read",
            (false, 0) => "write",
            (false, _) => "rw",
        };
        say("rw", pattern.to_owned());
        if !matches!(self.read_percent, 0 | 100) {
            say("rwmixread", self.read_percent.to_string());
        }
        if self.read_percent < 100 {
            // New content for each write, as in fathom.
            say("refill_buffers", "1".to_owned());
        }
        if self.access == Access::Random {
            // fathom draws with repetition here, so fio does not need its block map either.
            say("norandommap", "1".to_owned());
        }
        say("bs", self.block.to_string());
        say("iodepth", self.depth.to_string());
        say("numjobs", self.workers.to_string());
        match self.until {
            Until::Seconds(seconds) => {
                say("time_based", "1".to_owned());
                // fio takes whole seconds.
                say("runtime", seconds.ceil().to_string());
            }
            Until::Operations(operations) => {
                say("number_ios", operations.to_string());
                // By default fio ends after as many bytes as the target has.
                say("io_size", (operations * self.block).to_string());
            }
        }
        if let Some(rate) = self.rate {
            say("rate_iops", rate.to_string());
        }
        line.extend(self.theirs.iter().cloned());
        line
    }

    /// DiskSpd's arguments; it chooses the engine itself. A single operation becomes a rate of 1/s.
    pub(crate) fn diskspd(&self) -> Vec<String> {
        let (seconds, rate) = match self.until {
            Until::Seconds(seconds) => (seconds.ceil(), None),
            Until::Operations(_) => (1.0, Some("-g1i".to_owned())),
        };
        let cache = if self.direct { "-Su" } else { "-Sb" };
        let mut line = words(&["-r", "-W0", "-L", cache]);
        line.extend([
            format!("-b{}", self.block),
            format!("-o{}", self.depth),
            format!("-d{seconds}"),
        ]);
        line.extend(rate);
        line.extend(self.target.iter().map(|path| path.display().to_string()));
        line
    }

    /// The arguments of the bare loop.
    pub(crate) fn floor(&self) -> Vec<String> {
        let batch = self.ours.iter().skip_while(|word| *word != "--batch").nth(1);
        let until = match self.until {
            Until::Seconds(seconds) => format!("{seconds}s"),
            Until::Operations(operations) => operations.to_string(),
        };
        let mut line: Vec<String> = self.target.iter().map(|path| path.display().to_string()).collect();
        let cache = if self.direct { "direct" } else { "buffered" };
        line.extend([
            self.size.to_string(),
            self.engine.to_owned(),
            cache.to_owned(),
            self.depth.to_string(),
        ]);
        line.extend([batch.cloned().unwrap_or_else(|| "1".into()), until]);
        line
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tools_get_the_same_workload() {
        let work = Work::reads(Some(Path::new("/x")), 4096, "libaio", Until::Seconds(4.0))
            .direct()
            .depth(32);
        let ours = work.fathom().join(" ");
        for part in [
            "--target /x", "--cache direct", "--depth 32", "--time 4s", "--engine libaio",
        ] {
            assert!(ours.contains(part), "{part} in {ours}");
        }
        let theirs = work.fio().join(" ");
        for part in [
            "--filename=/x", "--direct=1", "--iodepth=32", "--runtime=4", "--rw=randread", "--norandommap=1",
        ] {
            assert!(theirs.contains(part), "{part} in {theirs}");
        }
    }

    #[test]
    fn the_floor_has_the_same_depth_and_batch() {
        let work = Work::reads(Some(Path::new("/x")), 8192, "io_uring", Until::Seconds(4.0)).depth(32);
        let batched = work.clone().ours(&["--batch", "8"]).floor().join(" ");
        assert_eq!(batched, "/x 8192 io_uring buffered 32 8 4s");
        assert_eq!(work.diskspd().join(" "), "-r -W0 -L -Sb -b4096 -o32 -d4 /x");
    }

    #[test]
    fn mixed_work_draws_its_direction() {
        let work = Work {
            read_percent: 70,
            ..Work::reads(None, 4096, "null", Until::Operations(1))
        };
        let theirs = work.fio().join(" ");
        assert!(theirs.contains("--rw=randrw --rwmixread=70"), "{theirs}");
        assert!(
            theirs.contains("--number_ios=1") && !theirs.contains("filename"),
            "{theirs}"
        );
    }
}
