//! Escapes text from users, so that it cannot become markup or code.

use model::visible_lines;
use serde::Serialize;
use serde_json::Value;

/// Escapes text for an element or a quoted attribute.
pub fn escape_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for character in visible_lines(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}

/// Units that stay on the same line as their number.
const UNITS: [&str; 20] = [
    "%", "ns", "us", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB", "TiB", "PiB", "kB", "MB", "GB", "TB", "MB/s",
    "MiB/s", "IOPS",
];

/// Escapes text for an element, without line breaks between numbers and their units.
pub(super) fn escape_with_nbsp(plain: &str) -> String {
    let mut out = String::with_capacity(plain.len());
    let mut before = None;
    for (at, letter) in plain.char_indices() {
        out.push(match letter == ' ' && is_bound_together(before, &plain[at + 1..]) {
            true => '\u{a0}',
            false => letter,
        });
        before = Some(letter);
    }
    escape_text(&out)
}

/// True if lines must not break at a space: between a number and its unit, a sign and its number.
fn is_bound_together(before: Option<char>, after: &str) -> bool {
    // "QD 8", and a figure with its limit, "iops >= 100".
    if before == Some('D') && after.starts_with(|letter: char| letter.is_ascii_digit())
        || after.starts_with(">= ")
        || after.starts_with("<= ")
    {
        return true;
    }
    let end = after.find(|letter: char| !letter.is_alphanumeric() && !"%/".contains(letter));
    let next = &after[..end.unwrap_or(after.len())];
    match before {
        Some('0'..='9') => UNITS.contains(&next),
        Some('=' | '±' | '<' | '>' | '~') => after.starts_with(|letter: char| letter.is_ascii_digit()),
        _ => false,
    }
}

/// Formats code, without line breaks at the hyphens of options.
pub(super) fn format_code(code: &str) -> String {
    keep_options_whole(&escape_text(code))
}

/// Formats a command in a box of its own, which breaks lines only at spaces.
pub(super) fn format_command_box(code: &str) -> String {
    // Browsers also break lines at hyphens.
    let word = |(index, word): (usize, &str)| match index > 0 && word.contains('-') {
        true => format!("<span class=\"option\">{}</span>", escape_text(word)),
        false => escape_text(word),
    };
    let words: Vec<String> = code.split(' ').enumerate().map(word).collect();
    format!(
        "<div class=\"command\"><code>{}</code> <button type=\"button\" class=\"copy\" hidden>Copy</button></div>",
        words.join(" ")
    )
}

/// Formats a line of text, in which options stay whole.
pub(super) fn escape_phrase(plain: &str) -> String {
    keep_options_whole(&escape_with_nbsp(plain))
}

/// True for `2026-11-29`.
fn is_date(word: &str) -> bool {
    let is_digit_or_hyphen = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    word.len() == 10 && word.bytes().enumerate().all(is_digit_or_hyphen)
}

/// Keeps browsers from breaking lines at hyphens in escaped text: of options, dates and `warm-up`.
fn keep_options_whole(escaped: &str) -> String {
    let word = |word: &str| {
        let (bracket, option) = word.split_at(usize::from(word.starts_with('(')));
        let name = option.strip_prefix('-').unwrap_or_default();
        let is_option = name.starts_with(|letter: char| letter == '-' || letter.is_ascii_alphabetic());
        match is_option || option.starts_with("warm-up") || is_date(option) {
            true => format!("{bracket}<span class=\"option\">{option}</span>"),
            false => word.to_owned(),
        }
    };
    escaped.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Formats prose for an element: text between backticks becomes code, and other numbers get commas
/// between thousands.
pub(super) fn format_prose(sentence: &str) -> String {
    let escape_part =
        |plain_text: &str| keep_options_whole(&escape_with_nbsp(&crate::numbers::group_thousands(plain_text)));
    let parts: Vec<&str> = sentence.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escape_part(sentence);
    }
    let marked = parts.iter().enumerate().map(|(index, plain_text)| match index % 2 {
        0 => escape_part(plain_text),
        _ => format!("<code>{}</code>", format_code(plain_text)),
    });
    marked.collect()
}

/// Formats JSON for a script element: nothing in it can end the element or start a comment.
pub fn json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("plain values are valid JSON");
    escape_for_script(&json)
}

/// Significant digits of positions along an axis, which must differ from each other.
const POSITION_DIGITS: usize = 7;
/// Significant digits of values, as many as the tooltips show.
const VALUE_DIGITS: usize = 4;

/// Like [`json`], with rounded numbers. Positions in equal steps are written as `start` and `step`.
pub(super) fn chart_json(value: &impl Serialize) -> String {
    let mut tree = serde_json::to_value(value).expect("plain values are valid JSON");
    let series = tree.get_mut("series").and_then(Value::as_array_mut);
    for series in series.into_iter().flatten() {
        if let Some(steps) = series.get("x").and_then(as_equal_steps) {
            series["x"] = steps;
        }
        if let Some(values) = series.get_mut("y") {
            round_numbers(values, VALUE_DIGITS);
        }
    }
    if let Some(cells) = tree.pointer_mut("/heat/z") {
        round_numbers(cells, VALUE_DIGITS);
    }
    round_numbers(&mut tree, POSITION_DIGITS);
    json(&tree)
}

/// Writes positions in equal steps as their start and step; `None` if the steps differ.
fn as_equal_steps(positions: &Value) -> Option<Value> {
    const MIN_POSITIONS: usize = 5;
    let numbers: Vec<f64> = positions.as_array()?.iter().map(Value::as_f64).collect::<Option<_>>()?;
    let (start, count) = (*numbers.first()?, numbers.len());
    let step = (numbers.last()? - start) / (count.max(2) - 1) as f64;
    let is_in_place = |(at, number): (usize, &f64)| (start + at as f64 * step - number).abs() <= 1e-6 * step;
    let has_steps = count >= MIN_POSITIONS && step > 0.0 && numbers.iter().enumerate().all(is_in_place);
    has_steps.then(|| serde_json::json!({ "start": start, "step": step }))
}

fn round_numbers(tree: &mut Value, digits: usize) {
    match tree {
        Value::Array(values) => values.iter_mut().for_each(|value| round_numbers(value, digits)),
        Value::Object(fields) => fields.values_mut().for_each(|value| round_numbers(value, digits)),
        Value::Number(number) => {
            let rounded = number
                .as_f64()
                .and_then(|number| format!("{number:.*e}", digits - 1).parse::<f64>().ok());
            *tree = match rounded {
                Some(whole) if whole.fract() == 0.0 && whole.abs() < 1e15 => Value::from(whole as i64),
                Some(fraction) => Value::from(fraction),
                None => return,
            };
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Escapes JSON text for a script element. In JSON, the replaced characters occur only in strings.
pub(super) fn escape_for_script(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + 64);
    for character in json.chars() {
        match character {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each letter once searched the rest of its word: 33 s for a report of a hostile file.
    #[test]
    fn a_word_of_any_length_takes_linear_time() {
        let long = "x".repeat(100_000);
        let start = std::time::Instant::now();
        assert_eq!(format_prose(&long), long);
        assert!(
            start.elapsed() < std::time::Duration::from_secs(5),
            "{:?}",
            start.elapsed()
        );
    }

    #[test]
    fn markup_becomes_text() {
        let nasty = "</script><script>alert('1')</script> & \"x\"\u{7}";
        let shown = "&lt;/script&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot;\\u0007";
        assert_eq!(escape_text(nasty), shown);
    }

    #[test]
    fn text_between_backticks_is_code() {
        assert_eq!(
            format_prose("look with `iostat <x>`, & wait"),
            "look with <code>iostat &lt;x&gt;</code>, &amp; wait"
        );
        assert_eq!(format_prose("a ` alone"), "a ` alone");
    }

    /// Names of findings and other words with hyphens may be broken.
    #[test]
    fn options_stay_on_one_line() {
        assert_eq!(
            format_prose(
                "NOT-STEADY: measure for longer (--time 300s, or -Sh), a mixed-case word at -3 on 2026-11-29."
            ),
            "NOT-STEADY: measure for longer (<span class=\"option\">--time</span> 300s, or \
             <span class=\"option\">-Sh),</span> a mixed-case word at -3 on 2026-11-29."
        );
        assert_eq!(
            escape_phrase("2026-11-29 14:53 UTC, after warm-up"),
            "<span class=\"option\">2026-11-29</span> 14:53 UTC, after <span class=\"option\">warm-up</span>"
        );
        let of_command = "fathom <span class=\"option\">--path</span> a-b -";
        assert_eq!(format_code("fathom --path a-b -"), of_command);
    }

    #[test]
    fn json_cannot_end_its_script_element() {
        let nasty = "</script><!--\u{2028}&";
        let shown = json(&nasty);
        assert_eq!(shown, "\"\\u003c/script\\u003e\\u003c!--\\u2028\\u0026\"");
        let back: String = serde_json::from_str(&shown).unwrap();
        assert_eq!(back, nasty);
    }

    #[test]
    fn positions_have_seven_digits_and_values_four() {
        let numbers = [1.0, 0.1 + 0.2, 123_456.789_12, -2.5e-7, 987_654_321.0];
        let chart = serde_json::json!({ "at": 123_456.789, "series": [{ "x": numbers, "y": numbers, "name": "<" }] });
        assert_eq!(
            chart_json(&chart),
            "{\"at\":123456.8,\"series\":[{\"x\":[1,0.3,123456.8,-2.5e-7,987654300],\
             \"y\":[1,0.3,123500,-2.5e-7,987700000],\"name\":\"\\u003c\"}]}"
        );
    }

    #[test]
    fn positions_in_equal_steps_are_written_as_start_and_step() {
        let x = |numbers: &[f64]| {
            let json = chart_json(&serde_json::json!({ "series": [{ "x": numbers }] }));
            json.split_once("\"x\":").unwrap().1.trim_end_matches("}]}").to_owned()
        };
        assert_eq!(x(&[0.5, 1.5, 2.5, 3.5, 4.5]), "{\"start\":0.5,\"step\":1}");
        assert_eq!(x(&[0.5, 1.5, 2.5, 3.5, 4.6]), "[0.5,1.5,2.5,3.5,4.6]");
        assert_eq!(x(&[0.0, 0.0, 0.0, 0.0, 0.0]), "[0,0,0,0,0]");
    }
}
