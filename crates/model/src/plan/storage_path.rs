//! What is known of the storage between a job and its disks.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known of the storage between a job and its disks. It changes nothing that is issued:
/// limits are held against the right part of a load with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoragePath {
    /// Whether the host's cache serves the job; absent: not stated, and limits of the uncached path
    /// apply.
    #[serde(default, rename = "path", skip_serializing_if = "Option::is_none")]
    pub cache: Option<CachePath>,
    /// What the data is for, such as `data` or `log`: limits can name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Copies of every block that the storage keeps: one client write causes as many device writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// Network crossings between the client and the disk that answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<u32>,
}

impl StoragePath {
    /// Nothing is stated.
    pub fn is_unknown(&self) -> bool {
        *self == StoragePath::default()
    }

    /// These statements, and those of `usual` where nothing is stated here.
    #[must_use]
    pub fn or(self, usual: &StoragePath) -> StoragePath {
        StoragePath {
            cache: self.cache.or(usual.cache),
            role: self.role.or_else(|| usual.role.clone()),
            replicas: self.replicas.or(usual.replicas),
            hops: self.hops.or(usual.hops),
        }
    }
}

/// The way that operations take through a virtual machine's host, which limits each way by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CachePath {
    /// The host's cache serves them.
    Cached,
    /// They go to the disks.
    #[default]
    Uncached,
}

impl CachePath {
    /// Both, in the order of reports.
    pub const ALL: [CachePath; 2] = [CachePath::Cached, CachePath::Uncached];

    /// The word of options and reports.
    pub fn word(self) -> &'static str {
        match self {
            CachePath::Cached => "cached",
            CachePath::Uncached => "uncached",
        }
    }
}
