//! fio's job files and command line, against what fio 3.42 was seen to do and against the rules of
//! its grammar.

mod effects;
mod engines;
mod errors;
mod golden;
mod job_files;
mod lines;
mod lowering;
mod offsets;
mod page;
mod profiles;
mod properties;
mod shown;
mod support;
mod values;
