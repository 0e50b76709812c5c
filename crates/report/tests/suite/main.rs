//! Reports for people and programs, compared with golden files and recorded reports, and parsed as
//! their readers do.

#![allow(clippy::unwrap_used, reason = "all of this is test code, including helpers")]

mod diskspd;
mod fio;
mod golden;
mod live;
mod openings;
mod openmetrics;
mod page_markup;
mod pages;

use insta::{Settings, assert_snapshot};

/// Compares a text with the golden file of this name.
fn check(name: &str, text: &str) {
    let mut settings = Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| assert_snapshot!(name, text));
}

/// What most of these files use.
mod prelude {
    pub use model::environment::DeviceUse;
    pub use model::event::EndReason;
    pub use model::finding::{Finding, Severity};
    pub use model::plan::{Control, Dialect, EngineKind};
    pub use model::results::{Point, Results, Series, StepResults};
    pub use model::testing::assert_contains;
    pub use model::{Bytes, Direction, Nanos, PerDirection, testing};
    pub use serde_json::Value;
    pub use std::fs;
    pub use std::path::Path;
    pub use testbed::{AssertContains, AssertIs, With};
}
