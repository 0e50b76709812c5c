//! Reference rules: DiskSpd's rules for positions, types and target choice, written a second time
//! and as simply as possible.
//!
//! The recorded sequences show that these are DiskSpd's rules; they then determine the expected
//! results of combinations for which no recording exists. They do not use the crate under test.

use std::collections::VecDeque;

/// A target as one thread uses it.
#[derive(Clone, Debug)]
pub struct Target {
    pub size: u64,
    pub base: u64,
    /// End of the area; 0 for the end of the target.
    pub end: u64,
    pub block: u64,
    /// Alignment or stride; 0 for the block size.
    pub alignment: u64,
    /// Random share in percent.
    pub random: u32,
    pub walk: Walk,
    /// Write share in percent.
    pub write: u32,
    /// Where a sequential thread starts.
    pub start: u64,
    /// Pairs of a share of the operations and a share of the area, or its length in bytes.
    pub ranges: Vec<(u64, u64)>,
    pub absolute: bool,
    pub buffer: Buffer,
    pub weight: u64,
    /// Requests of this target, if the thread has no common queue.
    pub requests: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Walk {
    Sequential,
    Interlocked,
    Parallel,
}

/// How many draws a write buffer costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    Fixed,
    Random,
    Source,
}

impl Default for Target {
    fn default() -> Target {
        Target {
            size: 1 << 20,
            base: 0,
            end: 0,
            block: 4096,
            alignment: 0,
            random: 0,
            walk: Walk::Sequential,
            write: 0,
            start: 0,
            ranges: Vec::new(),
            absolute: false,
            buffer: Buffer::Fixed,
            weight: 1,
            requests: 1,
        }
    }
}

/// An issued operation: number of the target, request, write or read, offset.
pub type Io = (usize, u32, bool, u64);

pub struct Thread {
    random: Random,
    targets: Vec<Live>,
    /// Requests in the order in which they are reissued, with the target of each.
    queue: VecDeque<(usize, u32)>,
    chooses: bool,
    routines: bool,
    fresh: usize,
}

struct Live {
    target: Target,
    is_write: bool,
    pointer: Vec<u64>,
    /// Cumulative share and effective range.
    ranges: Vec<(u64, u64, u64)>,
}

/// Bob Jenkins' small generator.
struct Random([u64; 4]);

impl Random {
    fn new(seed: u32) -> Random {
        let seed = u64::from(seed);
        let mut random = Random([0xf1ea_5eed, seed, seed, seed]);
        (0..20).for_each(|_| _ = random.next());
        random
    }

    fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.0;
        let e = a.wrapping_sub(b.rotate_left(7));
        let a = b ^ c.rotate_left(13);
        let b = c.wrapping_add(d.rotate_left(37));
        let c = d.wrapping_add(e);
        self.0 = [a, b, c, e.wrapping_add(a)];
        self.0[3]
    }

    fn percent(&mut self, percent: u32) -> bool {
        (self.next() as u32) % 100 < percent
    }
}

impl Target {
    fn step(&self) -> u64 {
        if self.alignment == 0 {
            self.block
        } else {
            self.alignment
        }
    }

    fn room(&self) -> u64 {
        let end = if self.end == 0 {
            self.size
        } else {
            self.size.min(self.end)
        };
        end - self.base
    }

    fn aligned_room(&self) -> u64 {
        let last = self.room() - self.block;
        last - last % self.step() + self.step()
    }

    /// (share, start, length) of the ranges that remain.
    fn effective(&self) -> Vec<(u64, u64, u64)> {
        let mut kept: Vec<(u64, u64, u64)> = Vec::new();
        let mut at = 0;
        if self.absolute {
            for (share, length) in &self.ranges {
                let left = self.room().saturating_sub(at);
                let length = if *length == 0 { left } else { *length };
                let length = if length > left { left } else { length };
                if length < self.block {
                    break;
                }
                if *share > 0 {
                    kept.push((*share, at, length));
                }
                at += length;
            }
            return kept;
        }
        let (area, step) = (self.aligned_room(), self.step());
        let mut carry = 0;
        for (share, percent) in &self.ranges {
            let (from, mut share) = (at, *share);
            at += percent;
            if share == 0 {
                continue;
            }
            let mut begin = from * area / 100;
            let end = if at == 100 { area } else { begin + percent * area / 100 };
            let end = end - end % step;
            if end < begin {
                match kept.last_mut() {
                    Some(last) if last.1 == end => last.0 += share,
                    _ => carry = share,
                }
                continue;
            }
            begin -= begin % step;
            if begin < end && kept.last().is_some_and(|last| last.1 == begin) {
                begin += step;
                let last = kept.last_mut().unwrap();
                last.2 += step;
                if begin == area {
                    carry = share;
                    continue;
                }
                if begin == end {
                    last.0 += share;
                    continue;
                }
            }
            if let Some(last) = kept.last_mut()
                && last.0 < share
            {
                last.0 += carry;
                carry = 0;
            }
            share += carry;
            carry = 0;
            kept.push((share, begin, end - begin));
        }
        if let Some(last) = kept.last_mut()
            && carry > 0
        {
            last.0 += carry;
            last.2 = area - last.1;
        }
        kept
    }
}

impl Thread {
    /// `common` is the number of requests that choose their target anew each time; absent if each
    /// has its own target.
    pub fn new(seed: u32, targets: Vec<Target>, common: Option<u32>, routines: bool) -> Thread {
        let mut random = Random::new(seed);
        let queue: VecDeque<_> = match common {
            Some(requests) => (0..requests).map(|request| (0, request)).collect(),
            None => (0..targets.len())
                .flat_map(|number| (0..targets[number].requests).map(move |request| (number, request)))
                .collect(),
        };
        let requests = common.unwrap_or(targets.iter().map(|target| target.requests).max().unwrap_or(1));
        let targets = targets.into_iter().map(|target| {
            let mut live = Live {
                is_write: target.write == 100,
                pointer: vec![target.start; requests as usize],
                ranges: target.effective(),
                target,
            };
            if (1..100).contains(&live.target.random) {
                live.pointer[0] = live.random_offset(&mut random);
            }
            if (1..100).contains(&live.target.write) {
                live.is_write = random.percent(live.target.write);
            }
            live
        });
        let targets = targets.collect();
        Thread {
            random,
            targets,
            fresh: queue.len(),
            queue,
            chooses: common.is_some(),
            routines,
        }
    }

    /// The next operation. `shared` holds the shared positions (`-si`) of all targets of the time
    /// span.
    pub fn next(&mut self, shared: &mut [u64]) -> Io {
        let (owner, request) = self.queue.pop_front().unwrap();
        self.queue.push_back((owner, request));
        let first = self.fresh > 0;
        self.fresh = self.fresh.saturating_sub(1);
        let number = match self.chooses {
            false => owner,
            true if first && self.routines => 0,
            true => self.choose(),
        };
        let live = &mut self.targets[number];
        let offset = live.next(&mut self.random, request, &mut shared[number]);
        if live.is_write {
            let words = live.target.block / 8;
            let draws = match live.target.buffer {
                Buffer::Fixed => 0,
                Buffer::Source => 1,
                Buffer::Random => {
                    let rounds = if words > 16 { (words - 1) / 16 } else { 0 };
                    rounds * 5 + words - rounds * 16
                }
            };
            (0..draws).for_each(|_| _ = self.random.next());
        }
        (number, request, live.is_write, live.target.base + offset)
    }

    fn choose(&mut self) -> usize {
        let weights: Vec<u64> = self.targets.iter().map(|live| live.target.weight).collect();
        if weights.len() == 1 {
            return 0;
        }
        if weights.windows(2).all(|pair| pair[0] == pair[1]) {
            return (self.random.next() as u32) as usize % weights.len();
        }
        let mut level = self.random.next() % weights.iter().sum::<u64>();
        let mut number = 0;
        while level >= weights[number] {
            level -= weights[number];
            number += 1;
        }
        number
    }
}

impl Live {
    fn random_offset(&mut self, random: &mut Random) -> u64 {
        let step = self.target.step();
        let word = random.next();
        let word = word - word % step;
        if self.ranges.is_empty() {
            return word % self.target.aligned_room();
        }
        let sum: u64 = self.ranges.iter().map(|range| range.0).sum();
        let mut level = random.next() % sum;
        for (share, start, length) in &self.ranges {
            if level < *share {
                return start + word % length;
            }
            level -= share;
        }
        unreachable!("the level is below the sum of the shares")
    }

    fn next(&mut self, random: &mut Random, request: u32, shared: &mut u64) -> u64 {
        let (step, block, room) = (self.target.step(), self.target.block, self.target.room());
        let jump = self.target.random == 100 || self.target.random > 0 && random.percent(self.target.random);
        let offset = if jump {
            let offset = self.random_offset(random);
            self.pointer[0] = offset + step;
            offset
        } else if self.target.random == 0 && self.target.walk == Walk::Interlocked {
            let offset = *shared % self.target.aligned_room();
            *shared += step;
            offset
        } else {
            let pointer = match self.target.walk {
                Walk::Parallel => &mut self.pointer[request as usize],
                _ => &mut self.pointer[0],
            };
            let offset = if *pointer + block > room {
                self.target.start % step
            } else {
                *pointer
            };
            *pointer = offset + step;
            offset
        };
        let keeps_type = self.target.random > 0 && !jump;
        if (1..100).contains(&self.target.write) && !keeps_type {
            self.is_write = random.percent(self.target.write);
        }
        offset
    }
}
