//! Reads lines of the `Input parameters:` section, in the wording of DiskSpd 2.0 and of 2.1 and
//! later.

use super::{Settings, TargetSettings, Throttle};
use crate::import::numbers::{parse_decimal, parse_integer, parse_u32};

impl Settings {
    /// Reads a line; `false` if it is not a settings line.
    pub(super) fn read_line(&mut self, line: &str) -> bool {
        self.read_time_span_line(line) || self.read_target_line(line)
    }

    fn read_time_span_line(&mut self, line: &str) -> bool {
        let seconds = |rest: &str| rest.trim().strip_suffix('s').and_then(parse_integer);
        if let Some(rest) = line.strip_prefix("duration:") {
            self.duration_s = seconds(rest);
        } else if let Some(rest) = line.strip_prefix("warm up time:") {
            self.warm_up_s = seconds(rest);
        } else if line.starts_with("measuring latency") {
            self.measures_latency = true;
        } else if let Some(rest) = line.strip_prefix("thread pool with ") {
            self.pool_threads = rest.split(' ').next().and_then(parse_u32);
        } else if let Some(rest) = line.strip_prefix("path:") {
            self.targets.push(TargetSettings {
                path: rest.trim().trim_matches(['\'', '\u{2018}', '\u{2019}']).to_owned(),
                ..TargetSettings::default()
            });
            self.complete = false;
        } else if let (Some(rest), true) = (outstanding(line), self.targets.is_empty()) {
            self.pool_requests = parse_u32(rest);
        } else {
            let prefixes = ["cool down time:", "random seed:", "affinity disabled", "gathering IOPS"];
            return prefixes.iter().any(|start| line.starts_with(start));
        }
        true
    }

    fn read_target_line(&mut self, line: &str) -> bool {
        let Some(target) = self.targets.last_mut() else {
            return false;
        };
        if line.starts_with("IO priority:") {
            self.complete = true;
            return true;
        }
        target.read_line(line)
    }
}

/// The queue depth: of a target after its `path:` line, of the thread pool before the first such
/// line.
fn outstanding(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("number of outstanding I/O operations")?;
    let rest = rest.strip_prefix(" per thread").unwrap_or(rest);
    rest.strip_prefix(':').map(str::trim)
}

impl TargetSettings {
    fn read_line(&mut self, line: &str) -> bool {
        if let Some(rest) = outstanding(line) {
            self.requests = parse_u32(rest);
        } else if let Some(rest) = line.strip_prefix("threads per file:") {
            self.threads = parse_u32(rest.trim());
        } else if let Some(rest) = line.strip_prefix("block size:") {
            self.block = parse_size(rest);
        } else if let Some(rest) = line.strip_prefix("throughput rate-limited to ") {
            self.limit = parse_limit(rest);
        } else if let Some(rest) = line.strip_prefix("think time:") {
            self.pauses = rest.trim().trim_end_matches("ms") != "0";
        } else {
            return self.read_mix_line(line) || self.read_cache_line(line) || self.read_pattern_line(line);
        }
        true
    }

    fn read_mix_line(&mut self, line: &str) -> bool {
        let Some(rest) = line.strip_prefix("performing ") else {
            return false;
        };
        self.read_percent = match rest {
            "read test" => Some(100.0),
            "write test" => Some(0.0),
            mix => mix
                .split_once("ratio: ")
                .and_then(|(_, ratio)| parse_decimal(ratio.split('/').next()?)),
        };
        true
    }

    fn read_cache_line(&mut self, line: &str) -> bool {
        match line {
            "using software cache" => self.bypasses_cache = Some(false),
            "software cache disabled" => self.bypasses_cache = Some(true),
            "local software cache disabled, remote cache enabled" => self.bypasses_cache = Some(false),
            "using hardware write cache, writethrough off" => self.writes_through = Some(false),
            "hardware write cache disabled, writethrough on"
            | "hardware and software write caches disabled, writethrough on" => self.writes_through = Some(true),
            // Before 2.0.17, one line covered both caches.
            "hardware and software cache disabled" => {
                (self.bypasses_cache, self.writes_through) = (Some(true), Some(true));
            }
            "using hardware and software caches" => {
                (self.bypasses_cache, self.writes_through) = (Some(false), Some(false));
            }
            _ => return false,
        }
        true
    }

    fn read_pattern_line(&mut self, line: &str) -> bool {
        let random = ["using random I/O", "using mixed random/sequential I/O"];
        let sequential = ["using sequential I/O", "using interlocked sequential I/O"];
        if random.iter().any(|start| line.starts_with(start)) {
            self.random = Some(true);
        } else if sequential.iter().any(|start| line.starts_with(start)) {
            self.random = Some(false);
        } else {
            let prefixes = [
                "burst size:",
                "using I/O Completion Ports",
                "using completion routines",
                "using I/O Ring",
                "thread stride size:",
                "using parallel async",
                "memory mapped",
            ];
            return prefixes.iter().any(|start| line.starts_with(start));
        }
        true
    }
}

/// `65536`, `64KiB`, `1.50GiB`.
pub(super) fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let units = [
        ("TiB", 40),
        ("GiB", 30),
        ("MiB", 20),
        ("KiB", 10),
        ("TB", 40),
        ("GB", 30),
        ("MB", 20),
        ("KB", 10),
        ("B", 0),
        ("", 0),
    ];
    let (digits, shift) = units
        .iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)))?;
    let bytes = parse_decimal(digits.trim())? * (1u64 << shift) as f64;
    (bytes <= 2f64.powi(62)).then_some(bytes.round() as u64)
}

fn parse_limit(rest: &str) -> Option<Throttle> {
    let (number, unit) = rest.split_once(' ')?;
    let number = parse_decimal(number)?;
    Some(match unit.trim() {
        "IOPS" => Throttle::Iops(number),
        _ => Throttle::BytesPerMs(number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_all_versions_are_read() {
        assert_eq!(parse_size(" 65536"), Some(65_536));
        assert_eq!(parse_size("64KiB"), Some(65_536));
        assert_eq!(parse_size("1.50GiB"), Some(3 << 29));
        assert_eq!(parse_size("2048MiB"), Some(2 << 30));
        assert_eq!(parse_size("10GB"), Some(10 << 30), "a power of 1024 before 2.0.18 too");
        assert_eq!(parse_size("KiB"), None);
        assert_eq!(parse_size("-1"), None);
    }

    #[test]
    fn the_queue_depth_before_targets_belongs_to_the_pool() {
        let mut settings = Settings::default();
        for line in [
            "thread pool with 3 threads",
            "number of outstanding I/O operations per thread: 4",
            "path: 'a'",
            "performing mix test (read/write ratio: 50/50)",
            "IO priority: normal",
        ] {
            assert!(settings.read_line(line), "{line}");
        }
        let load = settings.load(Some(3));
        assert_eq!(
            (load.depth, load.workers, load.read_percent),
            (Some(12), Some(3), Some(50.0))
        );
        assert!(!settings.read_line("Następna część to już wyniki"));
    }
}
