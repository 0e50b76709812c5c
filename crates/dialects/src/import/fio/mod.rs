//! Shared by both of fio's report formats: derives the load from the job options. `iodepth` and
//! `rate_iops` are per clone; `numjobs` is the number of clones.

pub(super) mod json;
mod json_flows;
pub mod logs;
pub(super) mod normal;
mod normal_lines;

use model::finding::{Finding, Severity};
use model::observation::Load;
use model::{Bytes, Nanos};

use crate::fio::engines::ENGINES;
use crate::fio::values::{Unit, parse_number, split_at_separators, split_names};

/// True if the engine runs one operation at a time, regardless of the queue depth. A path may
/// follow its name.
fn is_synchronous(engine: &str) -> bool {
    let name = engine.split(':').next().unwrap_or(engine);
    let engine = ENGINES.iter().find(|engine| engine.name == name);
    engine.is_some_and(|engine| !engine.asynchronous)
}

/// Reports an entry that covers several jobs.
fn merged_jobs_finding(entry: &str) -> Finding {
    let message = "the entry covers several jobs, so their depth, rate and mix are unknown";
    let finding = Finding::new("JOBS-MERGED", Severity::Warning, message).at(entry);
    let finding = finding.why("group_reporting merges all jobs of a group into one entry");
    finding.help("omit group_reporting, or set new_group for each job")
}

/// Reports that the mean and the percentiles of an entry are of different latencies.
fn completion_percentiles_finding(entry: &str) -> Finding {
    let message = "percentiles are of the completion latency (clat), but the mean is of the total latency (lat)";
    let finding = Finding::new("PCT-COMPLETION", Severity::Note, message).at(entry);
    let finding = finding.why("clat is measured from submission, lat from the creation of the operation");
    finding.help("set lat_percentiles=1, so that fio reports percentiles of the total latency")
}

/// Reports the error of a failed job; `None` if it succeeded.
fn failed_job_finding(entry: &str, error: u64) -> Option<Finding> {
    let message = format!("the job ended with error {error}");
    let finding = Finding::new("JOB-FAILED", Severity::Error, message).at(entry);
    (error != 0).then(|| finding.help("the figures cover only the time before the error"))
}

/// Returns the deviation of one clone's rate; `None` if a sample covers more than a second. With
/// `group_reporting`, fio pools the samples of all clones. The deviation of the clones' sum is
/// unknown, but at most the sum of their deviations.
fn clone_deviation((deviation, samples): (f64, u64), measured: Nanos, clones: u32) -> Option<f64> {
    (samples > 1 && samples as f64 >= measured.as_secs() * f64::from(clones)).then_some(deviation)
}

/// Options by name, as a report lists them.
#[derive(Clone, Debug, Default)]
struct Options(Vec<(String, String)>);

impl Options {
    /// The last value of an option.
    fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .rev()
            .find(|(option_name, _)| option_name == name)
            .map(|(_, value)| value.as_str())
    }

    /// A flag: set if it has no value, or a number other than 0.
    fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|value| value.trim() != "0")
    }

    fn kb_base(&self) -> u64 {
        match self.get("kb_base") {
            Some("1000") => 1000,
            _ => 1024,
        }
    }

    fn parse_bytes(&self, text: &str) -> Option<u64> {
        let read = parse_number(text.trim(), Unit::Bytes, self.kb_base())?;
        (!read.percent).then_some(read.raw)
    }

    fn count(&self, name: &str) -> Option<u64> {
        self.parse_bytes(self.get(name)?)
    }

    /// The values for reads and writes; a single value applies to both.
    fn get_read_write(&self, name: &str) -> Option<[Option<u64>; 2]> {
        let values = split_at_separators(self.get(name)?, &[',']);
        let read = self.parse_bytes(values.first()?);
        let write = match values.get(1) {
            Some(text) => self.parse_bytes(text),
            None => read,
        };
        Some([read, write])
    }

    /// Number of clones of the section.
    fn clones(&self) -> u32 {
        self.count("numjobs")
            .filter(|count| *count > 0)
            .unwrap_or(1)
            .min(u64::from(u32::MAX)) as u32
    }

    /// The block size, if there is only one.
    fn block(&self) -> Option<u64> {
        if ["bsrange", "bssplit", "blocksize_range"]
            .iter()
            .any(|name| self.get(name).is_some())
        {
            return None;
        }
        match self.get_read_write("bs").or_else(|| self.get_read_write("blocksize")) {
            Some([read, write]) if read == write => read,
            Some(_) => None,
            None => Some(4096),
        }
    }

    /// The access pattern; `None` if the options have no readable one.
    fn access(&self) -> Option<AccessKind> {
        AccessKind::parse(self.get("rw").or_else(|| self.get("readwrite"))?)
    }

    /// The requested percentage of reads.
    fn read_percent(&self) -> Option<f64> {
        let kind = self.access()?;
        match (kind.reads, kind.writes) {
            (true, true) => match self.get_read_write("rate_iops").or_else(|| self.get_read_write("rate")) {
                // The rates of the directions determine the mix.
                Some([reads, writes]) => {
                    let positive_rate = |rate: Option<u64>| rate.filter(|rate| *rate > 0).map(|rate| rate as f64);
                    let (reads, writes) = (positive_rate(reads)?, positive_rate(writes)?);
                    let has_operation_rates = self.get("rate_iops").is_some() || self.block().is_some();
                    has_operation_rates.then(|| 100.0 * reads / (reads + writes))
                }
                None => Some(match (self.count("rwmixread"), self.count("rwmixwrite")) {
                    (Some(reads), _) => reads.min(100) as f64,
                    (None, Some(writes)) => 100.0 - writes.min(100) as f64,
                    (None, None) => 50.0,
                }),
            },
            (true, false) => Some(100.0),
            (false, _) => Some(0.0),
        }
    }

    /// The queue depth of a clone. The default engine is synchronous.
    fn depth(&self) -> u64 {
        match self.get("ioengine") {
            Some(engine) if !is_synchronous(engine) => self.count("iodepth").filter(|depth| *depth > 0).unwrap_or(1),
            Some(_) | None => 1,
        }
    }

    /// The requested operations per second of a clone; `None` without a rate.
    fn rate(&self) -> Option<f64> {
        let read_percent = self.read_percent()?;
        let applies = [read_percent > 0.0, read_percent < 100.0];
        let sum = |pair: [Option<u64>; 2], unit: f64| {
            let mut sum = 0.0;
            for (value, applies) in pair.into_iter().zip(applies) {
                sum += if applies { value.unwrap_or(0) as f64 / unit } else { 0.0 };
            }
            (sum > 0.0).then_some(sum)
        };
        match (self.get_read_write("rate_iops"), self.get_read_write("rate")) {
            (Some(pair), _) => sum(pair, 1.0),
            (None, Some(pair)) => sum(pair, self.block()? as f64),
            (None, None) => None,
        }
    }

    fn is_paced(&self) -> bool {
        let pacing_options = ["rate_iops", "rate", "thinktime", "latency_target"];
        pacing_options
            .iter()
            .any(|name| self.get(name).is_some_and(|value| value != "0"))
    }

    fn targets(&self, job: &str) -> Vec<String> {
        match (self.get("filename"), self.get("directory")) {
            (Some(files), _) => split_names(files),
            (None, Some(directory)) => vec![format!("{directory}/{job}")],
            (None, None) => vec![job.to_owned()],
        }
    }

    /// A time, in seconds unless it has a unit; 0 if absent.
    fn time(&self, name: &str) -> Nanos {
        let time = self.get(name).and_then(|text| parse_number(text, Unit::Seconds, 1024));
        time.map_or(Nanos(0), |time| Nanos(time.raw.saturating_mul(1000)))
    }

    /// The start of the measured window, from the start of the group.
    fn window_start(&self) -> Nanos {
        self.time("startdelay") + self.time("ramp_time")
    }

    /// The combined load of `clones` clones.
    fn load(&self, job: &str, clones: u32) -> Load {
        // A report without any options was written or changed by another program; assuming defaults
        // would be guessing.
        if self.0.iter().all(|(name, _)| name == "name") {
            return Load::default();
        }
        let warm_up = self.time("ramp_time");
        Load {
            targets: self.targets(job),
            workers: Some(clones),
            depth: Some(self.depth().saturating_mul(u64::from(clones))),
            block: self.block().map(Bytes),
            read_percent: self.read_percent(),
            random: self.access().map(|kind| kind.random),
            closed_loop: Some(!self.is_paced()),
            rate_iops: self.rate().map(|rate| rate * f64::from(clones)),
            direct: Some(match (self.flag("direct"), self.flag("buffered")) {
                (Some(direct), _) => direct,
                (None, Some(buffered)) => !buffered,
                (None, None) => false,
            }),
            warm_up_ns: Some(warm_up),
            no_io: self.get("ioengine") == Some("null"),
            size: self.get("size").and_then(|text| self.parse_bytes(text)).map(Bytes),
            ..Load::default()
        }
    }
}

/// The access pattern of a value of `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AccessKind {
    reads: bool,
    writes: bool,
    random: bool,
}

impl AccessKind {
    fn parse(text: &str) -> Option<AccessKind> {
        // A number after a colon sets how often positions are drawn.
        let word = text.split(':').next()?.trim();
        let (reads, writes, random) = match word {
            "read" => (true, false, false),
            "write" => (false, true, false),
            "randread" => (true, false, true),
            "randwrite" => (false, true, true),
            "rw" | "readwrite" => (true, true, false),
            "randrw" => (true, true, true),
            "trim" => (false, false, false),
            "randtrim" => (false, false, true),
            "trimwrite" => (false, true, false),
            "randtrimwrite" => (false, true, true),
            _ => return None,
        };
        Some(AccessKind { reads, writes, random })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Options {
        let pairs = text
            .split_whitespace()
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        Options(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    #[test]
    fn depths_and_rates_apply_to_each_clone() {
        let job_options =
            options("ioengine=windowsaio iodepth=1 numjobs=4 rate_iops=700,300 bs=32k rw=randrw direct=1 ramp_time=5");
        let load = job_options.load("random", job_options.clones());
        assert_eq!(
            (load.depth, load.rate_iops, load.closed_loop),
            (Some(4), Some(4000.0), Some(false))
        );
        assert_eq!(load.warm_up_ns, Some(Nanos::secs(5)));
        let job_options = options("iodepth=64 numjobs=2 rw=randread");
        let load = job_options.load("job", job_options.clones());
        assert_eq!(load.depth, Some(2), "the default engine is synchronous");
        assert_eq!((load.direct, load.block), (Some(false), Some(Bytes(4096))));
    }

    #[test]
    fn missing_options_are_not_assumed_to_be_defaults() {
        assert_eq!(options("").load("job", 1), Load::default());
    }

    #[test]
    fn mixes_are_read() {
        assert_eq!(options("rw=randrw rwmixwrite=20").read_percent(), Some(80.0));
        assert_eq!(options("rw=randrw:8 ").read_percent(), Some(50.0));
        assert_eq!(options("rw=randrw rate_iops=700,300").read_percent(), Some(70.0));
        assert_eq!(
            options("rw=randrw rate=1m,").read_percent(),
            None,
            "writes have no rate"
        );
        assert_eq!(options("rw=write").read_percent(), Some(0.0));
        assert_eq!(options("rw=${RW}").read_percent(), None);
        assert_eq!(options("bs=4k,64k rw=rw").block(), None);
        assert_eq!(options("rate=1m bs=4k rw=read").rate(), Some(256.0));
    }
}
