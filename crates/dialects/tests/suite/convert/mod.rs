//! Plans in other dialects: read again, they are the same plans, and what is not the same has been
//! listed.

mod cross;
mod diskspd;
mod fio;
mod fio_round_trips;
mod losses;
mod native;
mod support;
mod vdbench;
