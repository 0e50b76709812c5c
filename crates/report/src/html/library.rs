//! The chart library, and how a page that must open offline in any browser carries it.

use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// plotly.js, compressed by gzip: 1.4 MB in place of 4.7.
pub const COMPRESSED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plotly.js.gz"));

/// The same as text that can stand in a page.
pub(super) fn as_text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| STANDARD.encode(COMPRESSED))
}
