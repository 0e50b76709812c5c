//! Reports for readers and programs, held against golden files, recorded reports and their readers.

#![allow(clippy::unwrap_used, reason = "all of this is test code, helpers too")]

mod diskspd;
mod fio;
mod golden;
mod live;
mod openmetrics;
mod pages;

use insta::{Settings, assert_snapshot};

/// Holds a text against the golden file of this name.
fn check(name: &str, text: &str) {
    let mut settings = Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| assert_snapshot!(name, text));
}
