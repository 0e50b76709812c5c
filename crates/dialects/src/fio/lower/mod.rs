//! Lowers options: each function here writes the values of one or a few options to the parts of a
//! clone. The rows of the option table name these functions.

pub(in crate::fio) mod data;
pub(in crate::fio) mod job;
pub(in crate::fio) mod pace;
pub(in crate::fio) mod pattern;
pub(in crate::fio) mod priorities;
pub(in crate::fio) mod queue;
pub(in crate::fio) mod report;
pub(in crate::fio) mod special;
pub(in crate::fio) mod system;
pub(in crate::fio) mod verify;
