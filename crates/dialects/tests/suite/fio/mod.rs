//! fio's job files and command line, compared with the observed behaviour of fio 3.42 and with the
//! rules of its grammar.

pub mod effects;
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
pub mod support;
mod values;
