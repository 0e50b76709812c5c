//! Formats sizes as DiskSpd does.

/// Units, the largest first.
const UNITS: [(u64, &str); 4] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];

/// Number and unit. The unit is the largest up to the size; a fraction has two decimals.
fn scale_to_unit(bytes: u64) -> (String, &'static str) {
    let Some((unit, name)) = UNITS.into_iter().find(|(unit, _)| bytes >= *unit) else {
        return (bytes.to_string(), "");
    };
    match bytes.is_multiple_of(unit) {
        true => ((bytes / unit).to_string(), name),
        false => (format!("{:.2}", bytes as f64 / unit as f64), name),
    }
}

/// A size as version 2.2 writes it: `64KiB`, `1.50GiB`, `512`.
pub(super) fn size(bytes: u64) -> String {
    let (number, unit) = scale_to_unit(bytes);
    number + unit
}

/// A size with the number right-aligned in six columns, for lists of ranges.
pub(super) fn format_aligned(bytes: u64) -> String {
    let (number, unit) = scale_to_unit(bytes);
    format!("{number:>6}{unit}")
}

/// A size as versions up to 2.0.21 write it: a whole number in the largest unit that leaves more
/// than ten, such as `2048MiB`.
pub(super) fn format_legacy(bytes: u64) -> String {
    // Those versions had no TiB.
    match UNITS.into_iter().skip(1).find(|(unit, _)| bytes > 10 * unit) {
        Some((unit, name)) => format!("{}{name}", bytes / unit),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_use_the_largest_unit() {
        for (bytes, text) in [
            (0, "0"),
            (1023, "1023"),
            (1024, "1KiB"),
            (64 << 10, "64KiB"),
            (10_498_105, "10.01MiB"),
            (1536 << 20, "1.50GiB"),
            (1 << 40, "1TiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
        assert_eq!(format_aligned(1 << 20), "     1MiB");
        assert_eq!(format_aligned(10_506_240), " 10.02MiB");
    }

    #[test]
    fn the_old_form_counts_whole_units() {
        for (bytes, text) in [
            (2 << 30, "2048MiB"),
            (10 << 30, "10240MiB"),
            (11 << 30, "11GiB"),
            (10 << 20, "10240KiB"),
            (10_240, "10240B"),
            (10_241, "10KiB"),
            (20 << 40, "20480GiB"),
        ] {
            assert_eq!(format_legacy(bytes), text);
        }
    }
}
