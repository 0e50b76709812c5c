//! The cells of `fathom quick`, compared with fio at the same settings: on a disk both tools must
//! get the same figures.

use super::ratio;
use crate::bench::BenchError;
use crate::bench::contest::{Bench, compare, ours, per_second, theirs};
use crate::bench::figure::{Figure, Wanted};
use crate::bench::work::{Access, Work};

struct Cell {
    name: &'static str,
    access: Access,
    block: u64,
    read_percent: u32,
    depth: u32,
    /// On all processors.
    wide: bool,
}

const READ: Cell = Cell {
    name: "random read, depth 1",
    access: Access::Random,
    block: 4 << 10,
    read_percent: 100,
    depth: 1,
    wide: false,
};

const CELLS: [Cell; 7] = [
    READ,
    Cell {
        name: "random write, depth 1",
        read_percent: 0,
        ..READ
    },
    Cell {
        name: "random read, depth 32",
        depth: 32,
        wide: true,
        ..READ
    },
    Cell {
        name: "random write, depth 32",
        read_percent: 0,
        depth: 32,
        wide: true,
        ..READ
    },
    Cell {
        name: "sequential read",
        access: Access::Sequential,
        block: 1 << 20,
        depth: 8,
        ..READ
    },
    Cell {
        name: "sequential write",
        access: Access::Sequential,
        block: 1 << 20,
        read_percent: 0,
        depth: 8,
        ..READ
    },
    Cell {
        name: "random 70/30, depth 32",
        block: 8 << 10,
        read_percent: 70,
        depth: 32,
        wide: true,
        ..READ
    },
];

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    let file = bench.places.file()?;
    let path = file.display().to_string();
    let mut figures = Vec::new();
    for cell in CELLS {
        let workers = if cell.wide {
            bench.machine.cores.min(8) as u32
        } else {
            1
        };
        let mut work = Work {
            access: cell.access,
            block: cell.block,
            read_percent: cell.read_percent,
            depth: cell.depth,
            workers,
            ..Work::reads(Some(file), bench.places.size, "io_uring", bench.time()).direct()
        };
        if cell.read_percent < 100 {
            work = work.ours(&["--allow-overwrite", &path]);
        }
        let found = bench.run_rounds(&[ours(work.clone()), theirs(work)])?;
        let comparison = compare(&found[0].iops(), &found[1].iops(), per_second);
        figures.push(ratio(
            row,
            &format!("IOPS, {}", cell.name),
            Wanted::Between(0.9, 1.1),
            comparison,
        ));
    }
    Ok(figures)
}
