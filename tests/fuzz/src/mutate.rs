//! Nearly valid inputs.

use crate::MAX_BYTES;

/// Makes inputs from other inputs. The same seed makes the same inputs.
#[derive(Debug)]
pub struct Mutator(u64);

/// Tokens that expose mistakes with numbers and nesting.
const TOKENS: &[&str] = &[
    "0", "-1", "1", "4294967295", "4294967296", "9223372036854775807", "18446744073709551615", "18446744073709551616",
    "1e999", "nan", "-inf", "0x", "%", "((((((((((((((((", "[[[[[[[[[[[[", "<a><a><a><a><a><a>", "\"", "\\", "\0",
    "\u{202e}", ",", ":", "=", "\n[", "${a}", "4k-",
];

impl Mutator {
    /// Starts with a seed.
    pub fn new(seed: u64) -> Mutator {
        Mutator(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end` (xorshift64).
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end.max(1)
    }

    /// The next input.
    pub fn next(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds.get(self.below(seeds.len())).cloned().unwrap_or_default();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, seeds);
        }
        bytes.truncate(MAX_BYTES);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let (from, to) = (self.below(bytes.len() + 1), self.below(bytes.len() + 1));
        let (from, to) = (from.min(to), from.max(to));
        match self.below(8) {
            0 if !bytes.is_empty() => {
                let place = self.below(bytes.len());
                bytes[place] ^= 1 << self.below(8);
            }
            1 => drop(bytes.drain(from..to.min(from + 64))),
            2 => {
                let piece = bytes[from..to.min(from + 256)].to_vec();
                let times = 1 + self.below(64);
                bytes.splice(from..from, piece.repeat(times));
            }
            3 => {
                let other = &seeds[self.below(seeds.len())];
                let start = self.below(other.len() + 1);
                let end = other.len().min(start + self.below(512));
                bytes.splice(from..from, other[start..end].iter().copied());
            }
            4 => bytes.truncate(from),
            5 => self.replace_number(bytes),
            6 => {
                let token = TOKENS[self.below(TOKENS.len())];
                let times = [1, 1, 1, 1000][self.below(4)];
                bytes.splice(from..from, token.repeat(times).into_bytes());
            }
            _ => {
                let token = TOKENS[self.below(TOKENS.len())].as_bytes();
                bytes.splice(from..to.min(from + 8), token.iter().copied());
            }
        }
        bytes.truncate(MAX_BYTES);
    }

    /// Replaces a number by another one.
    fn replace_number(&mut self, bytes: &mut Vec<u8>) {
        let start = self.below(bytes.len() + 1);
        let Some(first) = bytes[start..].iter().position(u8::is_ascii_digit) else {
            return;
        };
        let first = start + first;
        let length = bytes[first..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = TOKENS[self.below(8)].as_bytes();
        bytes.splice(first..first + length, number.iter().copied());
    }
}
