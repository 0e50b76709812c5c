//! Formats fio's lines that introduce the jobs.

use dialects::fio::options::JobOptions;
use dialects::fio::options::pattern::Rw;
use dialects::fio::{Job, Jobs};
use model::Direction;
use report::formats::fio::numbers::{Style, Unit};

pub(super) fn format_lines(jobs: &Jobs) -> Vec<Vec<String>> {
    let mut group = 0;
    let banners = jobs.jobs.iter().enumerate().map(|(number, job)| {
        group += usize::from(number > 0 && (job.waits() || job.options.job.new_group));
        // fio does not introduce jobs without I/O this way.
        if matches!(job.options.queue.ioengine.as_str(), "cpuio" | "exec") {
            return Vec::new();
        }
        let mut lines = vec![format_job(job, group)];
        if job.options.job.numjobs > 1 {
            lines.push("...".into());
        }
        lines
    });
    banners.collect()
}

fn format_job(job: &Job, group: usize) -> String {
    let options = &job.options;
    let (name, mode) = (job.name(), mode_name(options.pattern.rw));
    let size = |direction: Direction| {
        let (low, high) = size_range(options, direction);
        let style = Style {
            binary: options.kb_base() == 1024,
            unit: Unit::Bytes,
            ..Style::plain(4)
        };
        format!("{}-{}", style.write(low), style.write(high))
    };
    let (read, write) = (size(Direction::Read), size(Direction::Write));
    let sizes = match options.pattern.bs_is_seq_rand {
        true => format!("bs=(R) {read}, (W) {write}, bs_is_seq_rand, "),
        false => format!("bs=(R) {read}, (W) {write}, (T) {}, ", size(Direction::Trim)),
    };
    format!(
        "{name}: (g={group}): rw={mode}, {sizes}ioengine={}, iodepth={}",
        options.queue.ioengine, options.queue.iodepth
    )
}

fn size_range(options: &JobOptions, direction: Direction) -> (u64, u64) {
    let pattern = &options.pattern;
    let split = &pattern.bssplit[direction];
    let range = pattern.bsrange[direction];
    if let (Some(low), Some(high)) = (
        split.iter().map(|entry| entry.bytes).min(),
        split.iter().map(|entry| entry.bytes).max(),
    ) {
        return (low, high);
    }
    match range.low {
        0 => (pattern.bs[direction], pattern.bs[direction]),
        low => (low, range.high),
    }
}

fn mode_name(rw: Rw) -> &'static str {
    match rw {
        Rw::Read => "read",
        Rw::Write => "write",
        Rw::Trim => "trim",
        Rw::RandRead => "randread",
        Rw::RandWrite => "randwrite",
        Rw::RandTrim => "randtrim",
        Rw::ReadWrite => "rw",
        Rw::RandReadWrite => "randrw",
        Rw::TrimWrite => "trimwrite",
        Rw::RandTrimWrite => "randtrimwrite",
    }
}
