//! Reports for people and programs, compared with golden files and recorded reports, and parsed as
//! their readers do.

#![allow(clippy::unwrap_used, reason = "all of this is test code, including helpers")]

mod diskspd;
mod fio;
mod golden;
mod live;
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
