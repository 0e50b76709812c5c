//! Contents of writes.

use super::typed::Piece;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Data {
    pub zero_buffers: bool,
    pub refill_buffers: bool,
    pub scramble_buffers: bool,
    pub buffer_pattern: Vec<Piece>,
    pub buffer_compress_percentage: i64,
    pub buffer_compress_chunk: i64,
    pub dedupe_percentage: i64,
    pub dedupe_mode: DedupeMode,
    pub dedupe_working_set_percentage: i64,
    pub dedupe_global: bool,
    pub trim_percentage: i64,
    pub trim_verify_zero: bool,
    pub trim_backlog: u64,
    pub trim_backlog_batch: i64,
}

choices! {
    /// Which earlier buffer to repeat.
    DedupeMode at data.dedupe_mode {
        #[default] Repeat: "repeat" "the previous one";
        WorkingSet: "working_set" "one of a set";
    }
}
