//! DiskSpd's command line, compared with the observed behaviour of DiskSpd 2.2 and with the rules
//! of its grammar.

mod deviations;
mod golden;
mod hints;
mod lines;
mod page;
mod processors;
mod profiles;
mod properties;
mod rejected;
pub mod support;
mod switches;
mod validation;
