//! How often blocks were trimmed before an operation on them failed (`block_error_percentiles`).

use std::io::{self, Write};

use model::block_lifetimes::{BlockLifetimes, BlockState};

use super::entries::Member;
use super::markup::Object;

/// Maximum length of a line.
const MAX_LINE: usize = 75;

/// Block lifetimes of all members; `None` if no member counted them.
pub(super) fn add_lifetimes(members: &[Member]) -> Option<BlockLifetimes> {
    let workers = members.iter().filter_map(|member| member.worker);
    let lives = workers.filter_map(|worker| worker.block_lifetimes.as_ref());
    lives.cloned().reduce(|mut sum, lives| {
        sum.merge(&lives);
        sum
    })
}

fn state_name(state: BlockState) -> &'static str {
    match state {
        BlockState::Untouched => "unwritten",
        BlockState::Trimmed => "trimmed",
        BlockState::Written => "written",
        BlockState::TrimFailed => "trim failure",
        BlockState::WriteFailed => "write failure",
    }
}

/// Writes the lines of the normal report.
pub(super) fn write(out: &mut dyn Write, lifetimes: &BlockLifetimes, percentiles: &[f64]) -> io::Result<()> {
    write!(out, "  block lifetime percentiles :\n   |")?;
    let mut column = 0;
    for (index, percent) in percentiles.iter().enumerate() {
        let Some(trims) = lifetimes.percentile(*percent) else {
            continue;
        };
        let end = if index + 1 == percentiles.len() { '\n' } else { ',' };
        let piece = format!(" {percent:3.2}th={trims}{end}");
        if column + piece.len() > MAX_LINE {
            write!(out, "\n   |")?;
            column = 0;
        }
        column += piece.len();
        write!(out, "{piece}")?;
    }
    let states = BlockState::ALL.map(|state| format!("{}={}", state_name(state), lifetimes.count(state)));
    writeln!(out, "        states               : {}", states.join(", "))
}

/// Creates the object of the JSON report.
pub(super) fn lifetimes_to_object<'a>(lifetimes: &BlockLifetimes, percentiles: &[f64]) -> Object<'a> {
    let (mut percentile_object, mut states) = (Object::new(), Object::new());
    for percent in percentiles {
        if let Some(trims) = lifetimes.percentile(*percent) {
            percentile_object.integer(format!("{percent:.6}"), trims.into());
        }
    }
    for state in BlockState::ALL {
        states.integer(state_name(state), lifetimes.count(state));
    }
    let mut object = Object::new();
    object.object("percentiles", percentile_object);
    object.object("states", states);
    object
}

#[cfg(test)]
mod tests {
    use model::block_lifetimes::BlockLife;

    use super::*;

    fn lifetimes() -> BlockLifetimes {
        let mut lifetimes = BlockLifetimes::default();
        for (state, trims, blocks) in [
            (BlockState::Untouched, 0, 5),
            (BlockState::Written, 12, 90),
            (BlockState::TrimFailed, 7, 10),
        ] {
            lifetimes.add(BlockLife { state, trims, blocks });
        }
        lifetimes
    }

    #[test]
    fn lines_match_fio() {
        let percentiles = [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 95.0, 99.99];
        let mut text = Vec::new();
        write(&mut text, &lifetimes(), &percentiles).unwrap();
        let expected = "  block lifetime percentiles :\n   | 1.00th=12, 5.00th=12, 10.00th=12, 20.00th=12, 30.00th=12, \
                        40.00th=12,\n   | 50.00th=12, 60.00th=12, 95.00th=7, 99.99th=7\n        states               : \
                        unwritten=5, trimmed=0, written=90, trim failure=10, write failure=0\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        // fio 3.33 prints this if no block was written or trimmed.
        let mut text = Vec::new();
        write(&mut text, &BlockLifetimes::default(), &percentiles).unwrap();
        let expected = "  block lifetime percentiles :\n   |        states               : unwritten=0, trimmed=0, \
                        written=0, trim failure=0, write failure=0\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
