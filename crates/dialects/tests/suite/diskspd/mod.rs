//! DiskSpd's command line, against what DiskSpd 2.2 was seen to do and against the rules of its
//! grammar.

mod deviations;
mod golden;
mod hints;
mod lines;
mod page;
mod processors;
mod profiles;
mod properties;
mod rejected;
mod support;
mod switches;
mod validation;
