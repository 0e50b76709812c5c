//! The storage between a job and its disks.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// The storage between a job and its disks, as the user states it. It does not affect the I/O, only
/// which limits apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoragePath {
    /// Whether the host's cache serves the job; absent: not stated, so limits of the uncached path
    /// apply.
    #[serde(default, rename = "path", skip_serializing_if = "Option::is_none")]
    pub cache: Option<CachePath>,
    /// The purpose of the data, such as `data` or `log`, which limits can name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The number of replicas: each client write causes that many device writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// Network hops between the client and the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<u32>,
}

impl StoragePath {
    /// True if nothing is stated.
    pub fn is_unknown(&self) -> bool {
        *self == StoragePath::default()
    }

    /// Returns these statements; `default` supplies absent ones.
    #[must_use]
    pub fn or(self, default: &StoragePath) -> StoragePath {
        StoragePath {
            cache: self.cache.or(default.cache),
            role: self.role.or_else(|| default.role.clone()),
            replicas: self.replicas.or(default.replicas),
            hops: self.hops.or(default.hops),
        }
    }
}

/// The path of I/O through a virtual machine's host, which limits each path separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CachePath {
    /// The host's cache serves the I/O.
    Cached,
    /// The I/O goes to the disks.
    #[default]
    Uncached,
}

impl CachePath {
    /// Both paths, in the order of reports.
    pub const ALL: [CachePath; 2] = [CachePath::Cached, CachePath::Uncached];

    /// The word of options and reports.
    pub fn word(self) -> &'static str {
        match self {
            CachePath::Cached => "cached",
            CachePath::Uncached => "uncached",
        }
    }
}
