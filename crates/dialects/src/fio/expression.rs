//! Evaluates arithmetic in values: `(2*30)`, and `8*$mb_memory` after the keyword was replaced by
//! its number.

use super::values::{Unit, size_factor, time_factor};

/// The maximum nesting of parentheses; deeper ones are refused.
const MAX_DEPTH: usize = 60;

/// Evaluates a value in parentheses. `None` if it is not a single expression.
pub fn evaluate(text: &str, unit: Unit, kb_base: u64) -> Option<u64> {
    let value = evaluate_all(text, Some((unit, kb_base)))?;
    let value = value.trunc() as i128;
    let factor = if unit == Unit::Seconds { 1_000_000 } else { 1 };
    Some(value.wrapping_mul(factor) as u64)
}

/// Evaluates integer arithmetic with truncated divisions, for a value in which a keyword was
/// replaced.
pub fn evaluate_integers(text: &str) -> Option<i64> {
    evaluate_all(text, None).map(|value| value as i64)
}

fn evaluate_all(text: &str, units: Option<(Unit, u64)>) -> Option<f64> {
    let mut parser = Parser { text, units, depth: 0 };
    let value = parser.sum()?;
    parser.skip_blanks();
    (parser.text.is_empty() && value.is_finite()).then_some(value)
}

/// The text that is still to be parsed.
struct Parser<'a> {
    text: &'a str,
    /// How suffixes are interpreted; absent: plain integers only.
    units: Option<(Unit, u64)>,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn sum(&mut self) -> Option<f64> {
        let mut value = self.product()?;
        loop {
            match self.take(&['+', '-']) {
                Some('+') => value += self.product()?,
                Some(_) => value -= self.product()?,
                None => return Some(value),
            }
        }
    }

    fn product(&mut self) -> Option<f64> {
        let mut value = self.signed()?;
        loop {
            let operator = self.take(&['*', '/', '%']);
            value = match operator {
                Some('*') => value * self.signed()?,
                Some('/') => self.quotient(value)?,
                Some(_) => self.remainder(value)?,
                None => return Some(value),
            };
        }
    }

    fn quotient(&mut self, value: f64) -> Option<f64> {
        let quotient = value / self.signed()?;
        let quotient = if self.units.is_none() {
            quotient.trunc()
        } else {
            quotient
        };
        quotient.is_finite().then_some(quotient)
    }

    fn remainder(&mut self, value: f64) -> Option<f64> {
        let divisor = self.signed()?.trunc();
        (divisor != 0.0).then(|| value.trunc() % divisor)
    }

    fn signed(&mut self) -> Option<f64> {
        let mut negative = false;
        while self.take(&['-']).is_some() {
            negative = !negative;
        }
        let value = self.power()?;
        Some(if negative { -value } else { value })
    }

    fn power(&mut self) -> Option<f64> {
        let base = self.operand()?;
        match self.take(&['^']) {
            Some(_) => {
                self.depth += 1;
                let exponent = (self.depth < MAX_DEPTH).then(|| self.signed()).flatten()?;
                self.depth -= 1;
                Some(base.powf(exponent))
            }
            None => Some(base),
        }
    }

    fn operand(&mut self) -> Option<f64> {
        if self.take(&['(']).is_none() {
            return self.number();
        }
        self.depth += 1;
        let value = (self.depth < MAX_DEPTH).then(|| self.sum()).flatten()?;
        self.depth -= 1;
        self.take(&[')']).map(|_| value)
    }

    /// Digits, an optional fraction, and an optional suffix. Before a suffix the fraction is
    /// ignored.
    fn number(&mut self) -> Option<f64> {
        self.skip_blanks();
        let digits = self.take_while(|letter| letter.is_ascii_digit())?;
        let whole: f64 = digits.parse().ok()?;
        let Some((unit, kb_base)) = self.units else {
            return Some(whole);
        };
        if digits == "0" && self.text.starts_with(['x', 'X']) {
            let hexadecimal = self.text[1..].to_string();
            self.text = &self.text[1..];
            let length = self.take_while(|letter| letter.is_ascii_hexdigit())?.len();
            return i64::from_str_radix(&hexadecimal[..length], 16)
                .ok()
                .map(|value| value as f64);
        }
        let mut value = whole;
        if let Some(fraction) = self.text.strip_prefix('.') {
            self.text = fraction;
            let decimals = self.take_while(|letter| letter.is_ascii_digit()).unwrap_or_default();
            value = format!("{digits}.{decimals}0").parse().ok()?;
        }
        let Some(suffix) = self.take_while(|letter| letter.is_ascii_alphabetic()) else {
            return Some(value);
        };
        Some(match unit {
            Unit::Bytes => whole * size_factor(suffix, kb_base) as f64,
            Unit::Microseconds => whole * time_factor(suffix, unit) as f64,
            Unit::Seconds => (whole * time_factor(suffix, unit) as f64 / 1e6).trunc(),
        })
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> Option<&'a str> {
        let end = self
            .text
            .find(|letter: char| !belongs(letter))
            .unwrap_or(self.text.len());
        let (run, rest) = self.text.split_at(end);
        self.text = rest;
        (!run.is_empty()).then_some(run)
    }

    fn take(&mut self, any: &[char]) -> Option<char> {
        self.skip_blanks();
        let first = self.text.chars().next().filter(|first| any.contains(first))?;
        self.text = &self.text[first.len_utf8()..];
        Some(first)
    }

    fn skip_blanks(&mut self) {
        self.text = self.text.trim_start();
    }
}
