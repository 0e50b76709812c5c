//! DiskSpd's command line, against what DiskSpd 2.2 was seen to do and against the rules of its grammar.

mod hints;
mod lines;
mod processors;
mod profiles;
mod rejected;
mod support;
mod switches;
mod validation;
