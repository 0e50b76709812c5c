//! How often small counts occurred: queue depths and batch sizes.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often each small count occurred, in classes that double. Queue depths have the classes 0, 1,
/// 2–3, 4–7, 8–15 and so on; batch sizes have 0, 1, 2, 3–4, 5–8, 9–16 and so on. fio shows both in
/// these classes, with 1–4 as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Distribution {
    /// Occurrences of each class. Entry 0 counts zeros. Of depths, entry k counts 2^(k−1) to 2^k −
    /// 1; of batches, entry 1 counts ones and entry k counts 2^(k−2) + 1 to 2^(k−1).
    pub classes: Vec<u64>,
}

impl Distribution {
    /// Counts a queue depth.
    #[inline(always)]
    pub fn record(&mut self, value: u32, times: u64) {
        self.count((32 - value.leading_zeros()) as usize, times);
    }

    /// Counts the size of a batch. Full batches are usually powers of two, so a power of two ends a
    /// class instead of beginning one.
    #[inline(always)]
    pub fn record_batch(&mut self, size: u32) {
        let class = match size {
            0 => 0,
            size => 33 - (size - 1).leading_zeros(),
        };
        self.count(class as usize, 1);
    }

    #[inline(always)]
    fn count(&mut self, class: usize, times: u64) {
        if let Some(slot) = self.classes.get_mut(class) {
            *slot += times;
        }
    }

    /// A distribution with room for all values.
    pub fn ready() -> Distribution {
        Distribution { classes: vec![0; 34] }
    }

    /// Adds another distribution.
    pub fn merge(&mut self, other: &Distribution) {
        if self.classes.len() < other.classes.len() {
            self.classes.resize(other.classes.len(), 0);
        }
        for (mine, theirs) in self.classes.iter_mut().zip(&other.classes) {
            *mine += theirs;
        }
    }

    /// Drops empty classes at the end.
    pub fn trim(&mut self) {
        while self.classes.last() == Some(&0) {
            self.classes.pop();
        }
    }
}
