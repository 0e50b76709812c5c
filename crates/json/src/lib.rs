//! Plans, events, results and studies as JSON.
//!
//! serde derives several hundred kilobytes of code for each of them. Here it is compiled once, and
//! for size; in every crate that needs it, it would be compiled again.

#![forbid(unsafe_code)]

use model::event::Event;
use model::fleet::Share;
use model::plan::Plan;
use model::results::{Results, StepResults};
use model::study::Study;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// A type with its JSON code in this crate.
pub trait Json: Sized {
    /// Serializes the value.
    ///
    /// # Errors
    /// Plain data always serializes.
    fn to_json(&self) -> serde_json::Result<Box<RawValue>>;

    /// Deserializes a value.
    ///
    /// # Errors
    /// The bytes are not JSON of this type.
    fn from_json(bytes: &[u8]) -> serde_json::Result<Self>;
}

macro_rules! impl_json {
    ($($kind:ty),*) => {$(
        impl Json for $kind {
            fn to_json(&self) -> serde_json::Result<Box<RawValue>> {
                to_raw_value(self)
            }

            fn from_json(bytes: &[u8]) -> serde_json::Result<$kind> {
                serde_json::from_slice(bytes)
            }
        }
    )*};
}

impl_json!(Event, Plan, Results, Share, StepResults, Study);

impl<T: Json> Json for Box<T> {
    fn to_json(&self) -> serde_json::Result<Box<RawValue>> {
        T::to_json(self)
    }

    fn from_json(bytes: &[u8]) -> serde_json::Result<Box<T>> {
        T::from_json(bytes).map(Box::new)
    }
}

/// Serializes a field with `#[serde(with = "json")]`; only to JSON.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<T: Json, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.to_json().map_err(S::Error::custom)?.serialize(serializer)
}

/// Deserializes a field with `#[serde(with = "json")]`; only from JSON in memory.
///
/// # Errors
/// Those of the deserializer.
pub fn deserialize<'de, T: Json, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    T::from_json(raw.get().as_bytes()).map_err(D::Error::custom)
}
