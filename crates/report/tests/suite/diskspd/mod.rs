//! DiskSpd's reports from synthetic results: compared in form with recorded reports, in value with
//! figures worked out by hand, and parsed as DiskSpd's users parse them.

mod builder;
mod consumers;
mod exact;
mod hidden;
mod identities;
mod recorded;
