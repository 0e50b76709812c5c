//! Data files of databases, recognised by the format of their pages.

use super::{Signature, SignatureKind, View};

/// Returns `None` if the file is too short for the rule.
type Rule = fn(&View) -> Option<bool>;

const RULES: [(&str, Rule); 5] = [
    ("InnoDB", is_innodb),
    ("PostgreSQL", is_postgres_table),
    ("PostgreSQL log", is_postgres_log),
    ("SQL Server", is_sql_server),
    ("Oracle", is_oracle),
];

pub(super) fn find(view: &View, signatures: &mut Vec<Signature>) {
    for (name, rule) in RULES {
        if rule(view).unwrap_or(false) {
            signatures.push(Signature::new(SignatureKind::Database, name, 0, None));
        }
    }
}

/// Checks the first page of a tablespace (MySQL, `fil0types.h`, `fsp0types.h`). It has page number
/// 0, type 8, the tablespace's number twice, and the low half of the log position at both ends of
/// the page. Numbers are big-endian.
fn is_innodb(view: &View) -> Option<bool> {
    const PAGE_TYPE_SPACE_HEADER: u16 = 8;
    let header = view.big_u32(4)? == 0
        && view.big_u16(24)? == PAGE_TYPE_SPACE_HEADER
        && view.big_u32(34)? == view.big_u32(38)?
        && !view.is_zero(16, 8);
    let low_half = view.big_u32(20)?;
    let closed = |page: u64| view.big_u32(page - 4) == Some(low_half);
    Some(header && [4096, 8192, 16384, 32768, 65536].into_iter().any(closed))
}

/// Checks the header of each page of a table or index (PostgreSQL, `bufpage.h`). It has the size of
/// the page, layout version 4, and ascending bounds. Pages may be empty, except for the first.
fn is_postgres_table(view: &View) -> Option<bool> {
    const PAGE: u64 = 8192;
    if view.size == 0 || !view.size.is_multiple_of(PAGE) {
        return Some(false);
    }
    let header = |page: u64| {
        let (lower, upper, special) = (
            view.little_u16(page + 12)?,
            view.little_u16(page + 14)?,
            view.little_u16(page + 16)?,
        );
        let ordered = 24 <= lower && lower <= upper && upper <= special && u64::from(special) <= PAGE;
        Some(view.has(page + 18, &[0x04, 0x20]) && view.little_u16(page + 10)? <= 7 && ordered)
    };
    let later_pages = (1..4)
        .map(|number| number * PAGE)
        .take_while(|page| page + PAGE <= view.size);
    let fits = |page: u64| header(page).unwrap_or(false) || view.is_zero(page, PAGE as usize);
    Some(header(0)? && later_pages.into_iter().all(fits))
}

/// Checks the long header of a segment of the write-ahead log (PostgreSQL, `xlog_internal.h`). It
/// has magic 0xD1xx (0xD0xx before version 14), the flag for a long header, the segment's size and
/// the page size.
fn is_postgres_log(view: &View) -> Option<bool> {
    let (magic, flags) = (view.little_u16(0)?, view.little_u16(2)?);
    let (segment, page) = (view.little_u32(32)?, view.little_u32(36)?);
    Some(
        matches!(magic >> 8, 0xd0 | 0xd1)
            && flags & 2 != 0
            && page == 8192
            && segment.is_power_of_two()
            && u64::from(segment) == view.size,
    )
}

/// Checks the first page of a data or log file. It has header version 1, type 15, page 0 of its
/// file, and no neighbours (described in "Inside the Storage Engine: Anatomy of a page").
fn is_sql_server(view: &View) -> Option<bool> {
    let header = view.has(0, &[1, 15]) && view.size.is_multiple_of(8192) && view.size > 0;
    let is_single_file = view.is_zero(8, 6) && view.is_zero(16, 6) && view.little_u32(32)? == 0;
    let file = view.little_u16(36)?;
    let free = view.little_u16(30)?;
    Some(header && is_single_file && (1..=32767).contains(&file) && (96..=8192).contains(&free))
}

/// Checks block 0 of a data file. It has the block size at byte 20 and the letters `}|{z` at byte
/// 28.
fn is_oracle(view: &View) -> Option<bool> {
    let block = view.little_u32(20)?;
    Some(matches!(block, 2048 | 4096 | 8192 | 16384 | 32768) && view.has(28, b"}|{z"))
}
