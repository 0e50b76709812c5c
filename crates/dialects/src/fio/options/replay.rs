//! Traces of operations.

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replay {
    pub write_iolog: Option<String>,
    pub read_iolog: Option<String>,
    pub read_iolog_chunked: bool,
    pub merge_blktrace_file: Option<String>,
    pub merge_blktrace_scalars: Vec<f64>,
    pub merge_blktrace_iters: Vec<f64>,
    pub replay_no_stall: bool,
    pub replay_redirect: Option<String>,
    pub replay_scale: i64,
    pub replay_align: i64,
    pub replay_time_scale: i64,
    pub replay_skip: Vec<Skip>,
}

/// A kind of operation that a replay can leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// `read`.
    Reads,
    /// `write`.
    Writes,
    /// `trim`.
    Trims,
    /// `sync`, which does not include `datasync`.
    Syncs,
}
