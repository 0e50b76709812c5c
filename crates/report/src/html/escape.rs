//! What users wrote, put into a page so that it stays text.

use model::visible_lines;
use serde::Serialize;
use serde_json::Value;

/// Text within an element or a quoted attribute.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for character in visible_lines(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// Prose within an element: what stands between backticks is code.
pub(super) fn prose(words: &str) -> String {
    let parts: Vec<String> = words.split('`').map(text).collect();
    if parts.len().is_multiple_of(2) {
        return text(words);
    }
    let marked = parts.iter().enumerate().map(|(index, part)| match index % 2 {
        0 => part.clone(),
        _ => format!("<code>{part}</code>"),
    });
    marked.collect()
}

/// JSON within a script element: nothing in it can end the element or begin a comment.
pub fn json(value: &impl Serialize) -> String {
    let plain = serde_json::to_string(value).expect("plain values are valid JSON");
    in_script(&plain)
}

/// The same with numbers of seven significant digits, which are more than a chart can show.
pub(super) fn rounded_json(value: &impl Serialize) -> String {
    let mut tree = serde_json::to_value(value).expect("plain values are valid JSON");
    round_numbers(&mut tree);
    json(&tree)
}

fn round_numbers(tree: &mut Value) {
    match tree {
        Value::Array(values) => values.iter_mut().for_each(round_numbers),
        Value::Object(fields) => fields.values_mut().for_each(round_numbers),
        Value::Number(number) => {
            let rounded = number
                .as_f64()
                .and_then(|number| format!("{number:.6e}").parse::<f64>().ok());
            *tree = match rounded {
                Some(whole) if whole.fract() == 0.0 && whole.abs() < 1e15 => Value::from(whole as i64),
                Some(fraction) => Value::from(fraction),
                None => return,
            };
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Any JSON text, likewise. The replaced characters stand only within strings there.
pub(super) fn in_script(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + 64);
    for character in json.chars() {
        match character {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        let nasty = "</script><script>alert('1')</script> & \"x\"\u{7}";
        let shown = "&lt;/script&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot;\\u0007";
        assert_eq!(text(nasty), shown);
    }

    #[test]
    fn backticks_mark_code() {
        assert_eq!(
            prose("look with `iostat <x>`, & wait"),
            "look with <code>iostat &lt;x&gt;</code>, &amp; wait"
        );
        assert_eq!(prose("a ` alone"), "a ` alone");
    }

    #[test]
    fn json_cannot_leave_its_element() {
        let nasty = "</script><!--\u{2028}&";
        let shown = json(&nasty);
        assert_eq!(shown, "\"\\u003c/script\\u003e\\u003c!--\\u2028\\u0026\"");
        let back: String = serde_json::from_str(&shown).unwrap();
        assert_eq!(back, nasty);
    }

    #[test]
    fn numbers_are_as_short_as_a_chart_needs_them() {
        let numbers = [1.0, 0.1 + 0.2, 123_456.789_12, -2.5e-7, 987_654_321.0];
        assert_eq!(rounded_json(&numbers), "[1,0.3,123456.8,-2.5e-7,987654300]");
        assert_eq!(rounded_json(&(None::<f64>, "<", true)), "[null,\"\\u003c\",true]");
    }
}
