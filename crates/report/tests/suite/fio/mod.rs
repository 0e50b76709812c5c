//! fio's reports from results that are made here: against every recorded run by shape, against
//! figures worked out by hand, and as the programs around fio read them.

mod builder;
mod consumers;
mod forms;
mod logs;
mod masks;
mod recorded;
mod statistics;
mod tables;
