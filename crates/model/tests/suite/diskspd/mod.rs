//! What DiskSpd can say, said as plans: the recorded sequences are reproduced exactly, and
//! combinations that were never recorded follow the same rules.

mod hard;
mod parts;
mod recorded;
mod rules;
