//! Parses numbers as reports print them.

/// Parses digits only.
pub(super) fn parse_integer(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Parses digits of a number of 32 bits.
pub(super) fn parse_u32(text: &str) -> Option<u32> {
    parse_integer(text)?.try_into().ok()
}

/// Parses digits with at most one point. Reports print no sign and no exponent.
pub(super) fn parse_decimal(text: &str) -> Option<f64> {
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let some = text.bytes().any(|byte| byte.is_ascii_digit());
    (is_decimal && some).then(|| text.parse().ok()).flatten()
}

/// Parses a number with a decimal comma, which a spreadsheet or an editor put there. It must have
/// `decimals` digits after the comma, as the tool prints: otherwise the comma could separate
/// thousands.
pub(super) fn parse_decimal_comma(text: &str, decimals: usize) -> Option<f64> {
    let (before, after) = text.split_once(',')?;
    let sound = after.len() == decimals && parse_integer(after).is_some() && parse_integer(before).is_some();
    sound.then(|| parse_decimal(&format!("{before}.{after}"))).flatten()
}

/// Parses a number from fio's report with a decimal prefix: `85717k`, `12.3k`, `1363`.
pub(super) fn parse_prefixed(text: &str) -> Option<f64> {
    let text = text.trim();
    let last = text.chars().next_back()?;
    let factor = match last {
        'k' | 'K' => 1e3,
        'm' | 'M' => 1e6,
        'g' | 'G' => 1e9,
        't' | 'T' => 1e12,
        _ => return parse_decimal(text),
    };
    parse_decimal(&text[..text.len() - 1]).map(|number| number * factor)
}

/// Converts a percentage to a share without rounding noise: 99.99 is 0.9999.
pub(super) fn percent_to_share(percent: f64) -> f64 {
    (percent * 1e10).round() / 1e12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_figures_are_numbers() {
        assert_eq!(parse_decimal("8.914"), Some(8.914));
        for text in ["", ".", "-1", "1e5", "inf", "NaN", "1.2.3", "7,177.32"] {
            assert_eq!(parse_decimal(text), None, "{text}");
        }
        assert_eq!(parse_integer("215348"), Some(215_348));
        assert_eq!(parse_integer("99999999999999999999"), None);
        assert_eq!(parse_decimal_comma("8,914", 3), Some(8.914));
        assert_eq!(parse_decimal_comma("1,953", 2), None, "thousands, perhaps");
        assert_eq!(parse_prefixed("85717k"), Some(85_717_000.0));
        assert_eq!(parse_prefixed(" 12.3k"), Some(12_300.0));
        assert_eq!(parse_prefixed("µ"), None);
        assert_eq!(
            (
                percent_to_share(99.99),
                percent_to_share(99.9999999),
                percent_to_share(1.0)
            ),
            (0.9999, 0.999999999, 0.01)
        );
    }
}
