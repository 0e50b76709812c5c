//! fio's features as plans: combinations that were never recorded follow the rules. The tests of
//! its dialect reproduce the recorded sequences, from their command lines.

mod jobs;
mod parts;
mod positions;
