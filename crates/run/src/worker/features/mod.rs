//! What a worker does per operation only where its plan asks for it.

pub(super) mod block_lifetimes;
pub(super) mod file_locks;
pub(super) mod file_set;
pub(super) mod issue_trace;
pub(super) mod operation_log;
pub(super) mod overlap;
pub(super) mod priorities;
pub(super) mod read_back;
pub(super) mod replay;
pub(super) mod verify;
