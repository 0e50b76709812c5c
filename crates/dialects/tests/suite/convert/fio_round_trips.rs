//! The place for whole round trips through fio's words: plan → `to_fio` → `fio::read` → plan, once
//! jobs of fio become plans.
//!
//! Until then `fio` reads every text again with fio's own grammar. What has to be compared then is
//! the plan that is read with the plan that was written, by their parts: a conversion of the read
//! plan to the dialect it came from has to list nothing.
