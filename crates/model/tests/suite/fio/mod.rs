//! What fio can say, said as plans: combinations that were never recorded keep what the rules say.
//! The recorded sequences are reproduced by the tests of its dialect, from the command lines on.

mod jobs;
mod parts;
mod positions;
