//! DiskSpd's features as plans: combinations that were never recorded follow the same rules as the
//! recorded ones.

mod hard;
mod parts;
mod recorded;
mod rules;
