//! Numbers as reports print them.

/// Digits and nothing else.
pub(super) fn whole(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Digits with at most one point, no sign and no exponent: anything else would not be a figure of a
/// report.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let some = text.bytes().any(|byte| byte.is_ascii_digit());
    (plain && some).then(|| text.parse().ok()).flatten()
}

/// A number that a spreadsheet or an editor has given a decimal comma. `decimals` is how many
/// digits the tool prints behind the point: any other number of them would leave open whether the
/// comma separates thousands.
pub(super) fn with_comma(text: &str, decimals: usize) -> Option<f64> {
    let (before, behind) = text.split_once(',')?;
    let sound = behind.len() == decimals && whole(behind).is_some() && whole(before).is_some();
    sound.then(|| decimal(&format!("{before}.{behind}"))).flatten()
}

/// A number of fio's report: `85717k`, `12.3k`, `1363`, decimal prefixes.
pub(super) fn short(text: &str) -> Option<f64> {
    let text = text.trim();
    let last = text.chars().next_back()?;
    let factor = match last {
        'k' | 'K' => 1e3,
        'm' | 'M' => 1e6,
        'g' | 'G' => 1e9,
        't' | 'T' => 1e12,
        _ => return decimal(text),
    };
    decimal(&text[..text.len() - 1]).map(|number| number * factor)
}

/// A percentage as a share, without the noise of the division: 99.99 is 0.9999.
pub(super) fn share(percent: f64) -> f64 {
    (percent * 1e10).round() / 1e12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_figures_are_numbers() {
        assert_eq!(decimal("8.914"), Some(8.914));
        for text in ["", ".", "-1", "1e5", "inf", "NaN", "1.2.3", "7,177.32"] {
            assert_eq!(decimal(text), None, "{text}");
        }
        assert_eq!(whole("215348"), Some(215_348));
        assert_eq!(whole("99999999999999999999"), None);
        assert_eq!(with_comma("8,914", 3), Some(8.914));
        assert_eq!(with_comma("1,953", 2), None, "thousands, perhaps");
        assert_eq!(short("85717k"), Some(85_717_000.0));
        assert_eq!(short(" 12.3k"), Some(12_300.0));
        assert_eq!(short("µ"), None);
        assert_eq!(
            (share(99.99), share(99.9999999), share(1.0)),
            (0.9999, 0.999999999, 0.01)
        );
    }
}
