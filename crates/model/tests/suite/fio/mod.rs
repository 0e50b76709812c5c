//! What fio can say, said as plans: every recorded sequence that is promised is reproduced exactly,
//! and combinations that were never recorded keep what the rules say.

mod jobs;
mod parts;
mod positions;
mod recorded;
