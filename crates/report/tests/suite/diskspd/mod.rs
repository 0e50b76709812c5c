//! DiskSpd's reports from results that are made here: against recorded reports by shape, against
//! figures worked out by hand, and as the scripts around DiskSpd read them.

mod builder;
mod consumers;
mod exact;
mod hidden;
mod identities;
mod recorded;
