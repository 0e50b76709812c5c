//! Processor lists of `-a`, parsed like DiskSpd's state machine, quirks included.

use super::profile::Processor;
use super::validate::Processors;

/// Parses the value of `-a`. On an error the argument is repeated with a mark at the invalid
/// character.
///
/// # Errors
/// DiskSpd's error lines.
pub(super) fn read(value: &str) -> Result<Vec<Processor>, Vec<String>> {
    // The default is all processors, round-robin; an earlier list remains.
    if value.is_empty() || value == "g" {
        return Ok(Vec::new());
    }
    let mut reader = Reader::default();
    for (index, letter) in value.chars().enumerate() {
        if let Err(out_of_range) = reader.push(letter) {
            // Two columns for `-a`, so that the mark is under the character.
            let mark = format!("{}^", " ".repeat(index + 2));
            let head = "ERROR: syntax error parsing affinity at highlighted character".to_string();
            return Err(out_of_range
                .into_iter()
                .chain([head, format!("-a{value}"), mark])
                .collect());
        }
    }
    reader.finish()
}

/// Expands the list syntax of DiskSpd 2.3: ranges, and groups that mean all of their processors.
/// `None` on an error.
pub(super) fn expand(value: &str, machine: &Processors) -> Option<String> {
    let mut items = value.split(',').peekable();
    let mut list: Vec<String> = Vec::new();
    while let Some(item) = items.next() {
        list.push(item.to_string());
        if let Some(group) = item.strip_prefix('g').and_then(|group| group.parse::<u32>().ok()) {
            if items.peek().is_none_or(|next| next.starts_with('g')) {
                let group_cpus = machine.online.iter().filter(|cpu| **cpu / 64 == group);
                list.extend(group_cpus.map(|cpu| (cpu % 64).to_string()));
            }
        } else if let Some((first, last)) = item.split_once('-') {
            let (first, last): (u8, u8) = (first.parse().ok()?, last.parse().ok()?);
            list.pop();
            list.extend((first..=last).map(|number| number.to_string()));
        }
    }
    Some(list.join(","))
}

/// The state between two characters.
#[derive(Default)]
struct Reader {
    list: Vec<Processor>,
    group: u16,
    number: u64,
    /// There is a number. A group does not clear this, so `-ag0,` means processor 0 of group 0.
    have_number: bool,
    /// The number is a group number. Digits before the `g` are kept, so `-a1g2,3` names group 12.
    in_group: bool,
}

impl Reader {
    /// Processes a character. The error is an optional line before the syntax error.
    fn push(&mut self, letter: char) -> Result<(), Option<String>> {
        match letter {
            '0'..='9' => {
                self.number = (self.number * 10 + u64::from(letter as u8 - b'0')).min(u64::from(u32::MAX));
                self.have_number = true;
            }
            'g' if !self.in_group => self.in_group = true,
            ',' if self.have_number && self.in_group => {
                self.group = u16::try_from(self.number)
                    .map_err(|_| Some(format!("ERROR: group {} is out of range", self.number)))?;
                (self.number, self.in_group) = (0, false);
            }
            ',' if self.have_number => {
                self.end_processor().map_err(Some)?;
                (self.number, self.have_number) = (0, false);
            }
            _ => return Err(None),
        }
        Ok(())
    }

    fn end_processor(&mut self) -> Result<(), String> {
        let number = u8::try_from(self.number).map_err(|_| format!("ERROR: CPU {} is out of range", self.number))?;
        self.list.push(Processor {
            group: self.group,
            number,
        });
        Ok(())
    }

    /// The end of the argument ends the last processor.
    fn finish(mut self) -> Result<Vec<Processor>, Vec<String>> {
        let incomplete = "ERROR: incomplete affinity specification".to_string();
        if self.in_group || !self.have_number {
            return Err(vec![incomplete]);
        }
        self.end_processor()
            .map_err(|out_of_range| vec![out_of_range, incomplete])?;
        Ok(self.list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: &[(u16, u8)]) {
        let expected = expected
            .iter()
            .map(|&(group, number)| Processor { group, number })
            .collect();
        assert_eq!(read(value), Ok(expected), "-a{value}");
    }

    #[test]
    fn lists_are_read() {
        check("", &[]);
        check("g", &[]);
        check("0,1,2", &[(0, 0), (0, 1), (0, 2)]);
        check("g0,0,1,2", &[(0, 0), (0, 1), (0, 2)]);
        check("0,g1,2,3", &[(0, 0), (1, 2), (1, 3)]);
        check("255", &[(0, 255)]);
        check("g65535,1", &[(65535, 1)]);
    }

    #[test]
    fn quirks_of_the_state_machine_are_preserved() {
        check("g0,", &[(0, 0)]);
        check("g1,,2", &[(1, 0), (1, 2)]);
        check("1g2,3", &[(12, 3)]);
    }

    #[track_caller]
    fn check_refused(value: &str, expected: &[&str]) {
        assert_eq!(read(value).unwrap_err(), expected, "-a{value}");
    }

    #[test]
    fn mistakes_are_marked() {
        let head = "ERROR: syntax error parsing affinity at highlighted character";
        check_refused("0,x", &[head, "-a0,x", "    ^"]);
        check_refused(",0", &[head, "-a,0", "  ^"]);
        check_refused("0,,1", &[head, "-a0,,1", "    ^"]);
        check_refused("gg1,0", &[head, "-agg1,0", "   ^"]);
        check_refused("g,1", &[head, "-ag,1", "   ^"]);
        check_refused("1 ", &[head, "-a1 ", "   ^"]);
        check_refused("256,1", &["ERROR: CPU 256 is out of range", head, "-a256,1", "     ^"]);
        check_refused(
            "g65536,1",
            &["ERROR: group 65536 is out of range", head, "-ag65536,1", "        ^"],
        );
    }

    #[test]
    fn incomplete_lists_are_refused() {
        let incomplete = "ERROR: incomplete affinity specification";
        check_refused("g0", &[incomplete]);
        check_refused("0,", &[incomplete]);
        check_refused("1,256", &["ERROR: CPU 256 is out of range", incomplete]);
        check_refused(
            "99999999999999999999",
            &["ERROR: CPU 4294967295 is out of range", incomplete],
        );
    }
}
