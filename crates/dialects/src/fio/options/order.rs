//! The order in which fio lists its options: in `--cmdhelp=all`, among the candidates of an abbreviation, and for which of
//! two names that are equally near to a mistyped one is suggested.

use std::sync::LazyLock;

use super::{Row, find};

/// The rows that every job has, in that order.
pub(in crate::fio) fn in_order() -> impl Iterator<Item = &'static Row> {
    static ROWS: LazyLock<Vec<&Row>> = LazyLock::new(|| ORDER.split_whitespace().filter_map(find).collect());
    ROWS.iter().copied()
}

const ORDER: &str = "\
description name wait_for filename lockfile directory filename_format unique_filename opendir rw bs ba bsrange bssplit
bs_unaligned bs_is_seq_rand randrepeat randseed norandommap softrandommap ignore_error rw_sequencer ioengine iodepth
iodepth_batch iodepth_batch_complete_min iodepth_batch_complete_max iodepth_low serialize_overlap io_submit_mode size
io_size fill_device filesize filetype file_append offset offset_increment offset_align number_ios random_generator
random_distribution random_sequence_stride percentage_random percentage_sequential nrfiles file_service_type openfiles
fallocate fadvise_hint fsync fdatasync write_barrier sync_file_range direct atomic buffered overwrite loops numjobs
startdelay runtime time_based verify_only verify_policy verify_header_seed verify_write_sequence ramp_time ramp_size
clocksource mem iomem_align verify do_verify verifysort verifysort_nr verify_interval verify_offset verify_pattern
verify_pattern_interval verify_fatal verify_dump verify_async verify_async_cpus verify_backlog verify_backlog_batch
experimental_verify verify_state_load verify_state_save trim_percentage trim_verify_zero trim_backlog
trim_backlog_batch write_iolog read_iolog read_iolog_chunked replay_no_stall replay_redirect replay_scale replay_align
replay_time_scale replay_skip merge_blktrace_file merge_blktrace_scalars merge_blktrace_iters exec_prerun exec_postrun
comm ioscheduler zonemode zonesize zonecapacity zonerange zoneskip read_beyond_wp max_open_zones job_max_open_zones
ignore_zone_limits recover_zbd_write_error write_zone_remainder zone_reset_threshold zone_reset_frequency fdp
dataplacement plid_select plids dp_scheme sprandom spr_num_regions spr_op spr_cs lockmem rwmixread rwmixwrite
rwmixcycle nice prio prioclass priohint thinktime thinktime_spin thinktime_blocks thinktime_blocks_type
thinktime_iotime thinkcycles rate rate_min rate_process rate_cycle rate_ignore_thinktime rate_iops rate_iops_min
max_latency latency_target latency_window latency_percentile latency_run invalidate sync write_hint create_serialize
create_fsync create_on_open create_only allow_file_create allow_mounted_write pre_read cpumask cpus_allowed
cpus_allowed_policy numa_cpu_nodes numa_mem_policy end_fsync end_syncfs fsync_on_close unlink unlink_each_loop exitall
exit_what exitall_on_error stonewall new_group thread per_job_logs write_bw_log bwavgtime write_lat_log write_iops_log
iopsavgtime log_entries log_avg_msec log_hist_msec log_hist_coarseness write_hist_log log_window_value log_offset
log_prio log_issue_time log_compression log_compression_cpus log_store_compressed log_alternate_epoch
log_alternate_epoch_clock_id block_error_percentiles job_start_clock_id group_reporting stats zero_buffers
refill_buffers scramble_buffers buffer_pattern buffer_compress_percentage buffer_compress_chunk dedupe_percentage
dedupe_mode dedupe_working_set_percentage dedupe_global clat_percentiles lat_percentiles slat_percentiles
percentile_list significant_figures disk_util gtod_reduce disable_lat disable_clat disable_slat disable_bw_measurement
gtod_cpu unified_rw_reporting continue_on_error error_dump profile cgroup cgroup_nodelete cgroup_weight num_range
gpu_dev_id uid gid kb_base unit_base hugepage-size flow_id flow_watermark flow flow_sleep steadystate
steadystate_duration steadystate_ramp_time steadystate_check_interval";
