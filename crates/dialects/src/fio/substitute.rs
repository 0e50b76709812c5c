//! Replaces variables and keywords in the options of a job file.

use super::expression;
use super::table::ParseEnv;

/// Replaces variables and keywords in an option. Arithmetic is evaluated only if there was a
/// keyword.
pub(super) fn substitute_option(text: &str, env: &dyn ParseEnv) -> String {
    let text = substitute_variables(text, env);
    // Queries the machine only if a keyword occurs: queries are slow, and a job file has many
    // options.
    let keywords: [(&str, &dyn Fn() -> u64); 3] = [
        ("$pagesize", &|| env.page_size()),
        ("$mb_memory", &|| env.memory_mib()),
        ("$ncpus", &|| env.processors()),
    ];
    let replaced = keywords
        .iter()
        .fold(text.clone(), |text, (keyword, value)| match text.contains(keyword) {
            true => text.replace(keyword, &value().to_string()),
            false => text,
        });
    if replaced == text {
        return text;
    }
    evaluate_arithmetic(&replaced).unwrap_or(replaced)
}

/// Replaces `${NAME}` by the variable, or by nothing.
fn substitute_variables(text: &str, env: &dyn ParseEnv) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after_name)) = after.split_once('}') else {
            break;
        };
        replaced.push_str(before);
        replaced.push_str(&env.variable(name).unwrap_or_default());
        rest = after_name;
    }
    replaced + rest
}

fn evaluate_arithmetic(option: &str) -> Option<String> {
    let (name, value) = option.split_once('=')?;
    if !value.contains(['+', '-', '*', '/']) || value.contains('\'') {
        return None;
    }
    Some(format!("{name}={}", expression::evaluate_integers(value)?))
}
