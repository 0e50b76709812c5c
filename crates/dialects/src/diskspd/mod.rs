//! DiskSpd's command line and XML profiles, as of version 2.2.
//!
//! Arguments → [`Profile`], which is what the user wrote → lowering → [`model::plan::Plan`], which is what it means. The
//! profile can be printed as DiskSpd prints it, as text and as XML.

pub mod distribution;
mod lower;
mod paths;
pub mod profile;
pub mod text;
pub mod xml;

pub use lower::{Here, Lowered, Use, lower, origin, threads};
pub use profile::Profile;
