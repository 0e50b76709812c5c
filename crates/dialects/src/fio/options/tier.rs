//! How much an option matters: what a survey of 356 public job files and command lines met.

use super::row::{Row, Status};

/// Tiers: what nearly all of them need, what the rest of them needs, and what takes special devices or is hardly used.
impl Row {
    /// 1, 2 or 3. Options of an engine have that of their engine.
    pub fn tier(&self) -> u8 {
        let listed = |list: &str| list.split_whitespace().any(|name| name == self.name);
        match self.engines {
            [] if listed(SECOND) => 2,
            [] if listed(THIRD) => 3,
            [] => 1,
            _ if self.status == Status::Refused => 3,
            engines if engines.iter().all(|engine| SECOND_ENGINES.contains(engine)) => 2,
            _ => 1,
        }
    }
}

/// Engines of the second tier that have options of their own.
const SECOND_ENGINES: [&str; 8] = [
    "cpuio",
    "exec",
    "filestat",
    "filecreate",
    "filedelete",
    "dircreate",
    "dirstat",
    "dirdelete",
];

const SECOND: &str = "\
allow_mounted_write block_error_percentiles bs_is_seq_rand bs_unaligned buffer_compress_chunk cgroup
cgroup_nodelete cgroup_weight comm create_fsync dedupe_global dedupe_mode dedupe_working_set_percentage end_syncfs
exec_postrun exec_prerun experimental_verify filetype flow flow_id flow_sleep gid gtod_cpu hugepage-size
ioscheduler job_start_clock_id lockfile log_alternate_epoch log_alternate_epoch_clock_id log_compression
log_compression_cpus log_entries log_hist_coarseness log_issue_time log_prio log_store_compressed log_window_value
num_range numa_cpu_nodes numa_mem_policy offset_align opendir prio prioclass priohint ramp_size
random_sequence_stride rate_cycle rate_ignore_thinktime read_iolog read_iolog_chunked replay_align replay_no_stall
replay_redirect replay_scale replay_skip replay_time_scale serialize_overlap thinkcycles thinktime_blocks_type
thinktime_iotime thinktime_spin trim_backlog trim_backlog_batch trim_percentage trim_verify_zero uid
unique_filename verify_async_cpus verify_offset verify_pattern_interval verify_state_load write_barrier write_iolog
zonemode zonerange zonesize zoneskip";

const THIRD: &str = "\
dataplacement dp_scheme fdp gpu_dev_id ignore_zone_limits job_max_open_zones max_open_zones merge_blktrace_file
merge_blktrace_iters merge_blktrace_scalars plid_select plids profile read_beyond_wp recover_zbd_write_error spr_cs
spr_num_regions spr_op sprandom write_zone_remainder zone_reset_frequency zone_reset_threshold zonecapacity";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::options::{find, rows};

    #[test]
    fn lists_name_options_once() {
        let names: Vec<&str> = SECOND.split_whitespace().chain(THIRD.split_whitespace()).collect();
        for name in &names {
            assert!(find(name).is_some_and(|row| row.name == *name), "{name}");
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
    }

    #[test]
    fn what_is_refused_is_of_the_third_tier() {
        for row in rows() {
            assert!(row.status != Status::Refused || row.tier() == 3, "{}", row.name);
        }
    }
}
