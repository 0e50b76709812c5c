//! What happens to a test that this machine cannot run.

use std::fmt;
use std::io::Write;

/// Why this machine lacks something.
#[derive(Debug)]
pub struct Unavailable(String);

impl Unavailable {
    /// With the reason, in words that complete “skipped: …”.
    pub fn because(reason: impl Into<String>) -> Unavailable {
        Unavailable(reason.into())
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Unavailable {}

/// Says that a test, or part of one, is skipped, and why.
///
/// # Panics
/// With `FATHOM_CI=1` in the environment: there a test that does not run is a failure.
pub fn skip(reason: impl fmt::Display) {
    if std::env::var_os("FATHOM_CI").is_some_and(|value| value == "1") {
        panic!("FATHOM_CI=1 forbids to skip: {reason}");
    }
    say("skipped", &reason);
}

/// Prints a fact about this machine that the reader of a test run should know, and that is not a
/// reason to fail, even with `FATHOM_CI=1`.
pub fn note(what: impl fmt::Display) {
    say("note", &what);
}

/// The resource, or `None` after [`skip`].
pub fn need<T>(thing: Result<T, Unavailable>) -> Option<T> {
    match thing {
        Ok(thing) => Some(thing),
        Err(why) => {
            skip(why);
            None
        }
    }
}

/// What a test cannot do without: `None` if it is missing, and the reason is printed.
pub trait Needed {
    /// The resource.
    type Thing;
    /// The resource, or `None` after [`skip`].
    fn needed(self) -> Option<Self::Thing>;
}

impl<T> Needed for Result<T, Unavailable> {
    type Thing = T;
    fn needed(self) -> Option<T> {
        need(self)
    }
}

/// What a helper of the tests already asked for with [`need`].
impl<T> Needed for Option<T> {
    type Thing = T;
    fn needed(self) -> Option<T> {
        self
    }
}

/// The resource; without it, returns from the test after [`skip`].
#[macro_export]
macro_rules! need {
    ($thing:expr) => {
        match $crate::Needed::needed($thing) {
            Some(thing) => thing,
            None => return,
        }
    };
}

/// Prints past the test harness, which shows a test's output only if the test fails.
fn say(kind: &str, what: &dyn fmt::Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("test").to_owned();
    // In one call, because other tests write too.
    let _ = std::io::stderr().write_all(format!("{kind}: {test}: {what}\n").as_bytes());
}
