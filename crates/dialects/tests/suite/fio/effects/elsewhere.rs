//! Options that other tests cover.

/// Options that affect the program and not the plan: the file and the test that cover them, then
/// their names.
pub const ELSEWHERE: &[(&str, &str, &[&str])] = &[
    (
        "crates/dialects/tests/suite/fio/effects.rs",
        "every_message_depends_on_its_option",
        &["num_range"],
    ),
    (
        "crates/fathom/tests/fleet/clients.rs",
        "file_names_follow_the_job",
        &["unique_filename"],
    ),
    (
        "crates/fathom/tests/fio/endings.rs",
        "commands_of_a_job_need_permission",
        &["exec_prerun", "exec_postrun"],
    ),
    (
        "crates/dialects/tests/suite/fio/lowering.rs",
        "files_must_have_the_given_type",
        &["filetype"],
    ),
    (
        "crates/fathom/tests/fio/endings.rs",
        "a_mounted_device_is_never_written_to",
        &["allow_mounted_write"],
    ),
    (
        "crates/fathom/tests/fio/logs.rs",
        "each_window_has_a_log_line",
        &["log_hist_coarseness", "log_window_value", "log_alternate_epoch"],
    ),
    (
        "crates/fathom/tests/fio/logs.rs",
        "each_operation_has_a_log_line",
        &["log_prio", "log_issue_time", "log_offset"],
    ),
    (
        "crates/fathom/tests/fio/logs.rs",
        "options_choose_the_log_files",
        &["per_job_logs", "disable_bw_measurement"],
    ),
    (
        "crates/fathom/tests/fio/logs.rs",
        "compressed_logs_can_be_inflated",
        &["log_store_compressed"],
    ),
    (
        "crates/fathom/tests/fio/logs.rs",
        "log_and_job_times_use_the_requested_clock",
        &["log_alternate_epoch_clock_id", "job_start_clock_id"],
    ),
];
