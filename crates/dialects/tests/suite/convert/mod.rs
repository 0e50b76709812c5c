//! Plans in other dialects: read again, they are the same plans, and every difference is listed.

mod cross;
mod differential;
mod diskspd;
mod fio;
mod iometer;
mod losses;
mod native;
mod sources;
mod support;
mod vdbench;
