//! Methods that tests add to texts and to values.

use std::fmt::Debug;

/// A text that a test examines; a failure shows the missing part and the text.
pub trait AssertContains {
    /// Asserts that the text has each of these parts.
    fn assert_contains(&self, parts: &[&str]);
    /// Asserts that the text has none of these parts.
    fn assert_lacks(&self, parts: &[&str]);
}

impl AssertContains for str {
    #[track_caller]
    fn assert_contains(&self, parts: &[&str]) {
        let missing: Vec<_> = parts.iter().filter(|part| !self.contains(**part)).collect();
        assert!(missing.is_empty(), "{missing:?} is missing: {self}");
    }

    #[track_caller]
    fn assert_lacks(&self, parts: &[&str]) {
        let found: Vec<_> = parts.iter().filter(|part| self.contains(**part)).collect();
        assert!(found.is_empty(), "{found:?} is there: {self}");
    }
}

/// A value that is compared with a long expected one.
pub trait AssertIs {
    /// Asserts that the value equals the expected one.
    #[track_caller]
    fn assert_is<E: Debug + ?Sized>(&self, expected: &E)
    where
        Self: Debug + PartialEq<E>,
    {
        assert_eq!(self, expected);
    }
}

impl<T: ?Sized> AssertIs for T {}

/// A value that differs from another one in few fields.
pub trait With: Sized {
    /// Applies a change, and returns the value.
    #[must_use]
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl<T> With for T {}
