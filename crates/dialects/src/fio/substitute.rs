//! Variables and keywords in the options of a job file.

use super::expression;
use super::table::ParseEnv;

/// An option with its variables and keywords replaced. Arithmetic happens only where a keyword was.
pub(super) fn option(text: &str, env: &dyn ParseEnv) -> String {
    let text = variables(text, env);
    // The machine is asked only for a keyword that is there: its answers take long, and a job file
    // has many options.
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
    compute(&replaced).unwrap_or(replaced)
}

/// `${NAME}` becomes the variable, or nothing.
fn variables(text: &str, env: &dyn ParseEnv) -> String {
    let mut all = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else {
            break;
        };
        all.push_str(before);
        all.push_str(&env.variable(name).unwrap_or_default());
        rest = behind;
    }
    all + rest
}

fn compute(option: &str) -> Option<String> {
    let (name, value) = option.split_once('=')?;
    if !value.contains(['+', '-', '*', '/']) || value.contains('\'') {
        return None;
    }
    Some(format!("{name}={}", expression::integers(value)?))
}
