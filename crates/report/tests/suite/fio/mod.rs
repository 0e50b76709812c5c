//! fio's reports from synthetic results: compared in form with every recorded run, in value with
//! figures worked out by hand, and parsed as fio's users parse them.

mod builder;
mod consumers;
mod forms;
mod logs;
mod masks;
mod recorded;
mod statistics;
mod tables;
