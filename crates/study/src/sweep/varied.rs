//! Parses varied parameters: `depth=1..512`, `block=4k,64k`, `access=random,sequential`.

use model::Bytes;
use model::study::{Parameter, Setting, VariedParameter};

/// Upper limit of the values of one parameter.
const MAX_VALUES: usize = 200;

/// Names of the parameters in other tools.
const ALIASES: [(&str, Parameter); 5] = [
    ("threads", Parameter::Workers),
    ("qd", Parameter::Depth),
    ("iodepth", Parameter::Depth),
    ("bs", Parameter::Block),
    ("numjobs", Parameter::Workers),
];

/// Parses a parameter and its values: a list (`1,8,32`), a range that doubles (`1..512`), or one
/// with a step (`0..100+25`). Ranges include their end.
///
/// # Errors
/// A sentence with the mistake and the correct form.
pub fn parse_varied(text: &str) -> Result<VariedParameter, String> {
    let (name, values) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` has no values; write for example depth=1..512 or block=4k,64k"))?;
    let name = name.trim();
    let parameters = || {
        Parameter::ALL
            .into_iter()
            .map(|parameter| (parameter.name(), parameter))
            .chain(ALIASES)
    };
    let parameter = parameters()
        .find(|(candidate, _)| *candidate == name)
        .map(|(_, parameter)| parameter);
    let parameter = parameter.ok_or_else(|| {
        let names: Vec<&str> = Parameter::ALL.map(Parameter::name).to_vec();
        format!("`{name}` cannot be varied; these can: {}", names.join(", "))
    })?;
    let mut settings: Vec<Setting> = Vec::new();
    for item in values.split(',') {
        let parsed = match (parameter, item.split_once("..")) {
            (Parameter::Access, _) => vec![word_setting(parameter, item.trim())],
            (_, Some((from, to))) => parse_range(parameter, from, to)?,
            (_, None) => vec![setting(parameter, parse_value(parameter, item)?)],
        };
        for setting in parsed {
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
    }
    if settings.len() > MAX_VALUES {
        return Err(format!(
            "{} values of {name} are too many; the maximum is {MAX_VALUES}",
            settings.len()
        ));
    }
    Ok(VariedParameter {
        parameter,
        values: settings,
    })
}

/// The setting for a word, which the option of that name checks.
fn word_setting(parameter: Parameter, word: &str) -> Setting {
    Setting {
        name: parameter.name().into(),
        value: word.into(),
        number: None,
    }
}

/// The setting for a number. The command-line option of that name can parse its text.
pub(super) fn setting(parameter: Parameter, number: f64) -> Setting {
    let value = match parameter {
        Parameter::Block => Bytes(number as u64).to_string(),
        _ => format!("{number}"),
    };
    Setting {
        number: Some(number),
        ..word_setting(parameter, &value)
    }
}

fn parse_value(parameter: Parameter, text: &str) -> Result<f64, String> {
    let text = text.trim();
    let name = parameter.name();
    if parameter == Parameter::Block {
        let bytes: Bytes = text
            .parse()
            .map_err(|error: model::units::UnitError| error.to_string())?;
        // The text of the setting must parse to the same size.
        return match bytes.0 > 0 && bytes.to_string().parse() == Ok(bytes) {
            true => Ok(bytes.0 as f64),
            false => Err(format!(
                "{text} is not a block size that can be varied; use whole units, such as 4KiB"
            )),
        };
    }
    let lower = text.to_ascii_lowercase().replace('_', "");
    let canonical = match parameter {
        Parameter::Rate => lower.strip_suffix("iops").unwrap_or(&lower).trim().to_owned(),
        Parameter::Read => lower.trim_end_matches('%').trim().to_owned(),
        _ => lower.clone(),
    };
    let (digits, factor) = match canonical.strip_suffix('k') {
        Some(digits) => (digits, 1000.0),
        None => (&*canonical, 1.0),
    };
    let value = digits
        .parse::<f64>()
        .map_err(|_| format!("`{text}` is not a value of {name}"))?
        * factor;
    let (min, max) = match parameter {
        Parameter::Read => (0.0, 100.0),
        Parameter::Workers | Parameter::Targets => (1.0, 4096.0),
        Parameter::Depth => (1.0, 1_048_576.0),
        _ => (1.0, 1e12),
    };
    let is_allowed = value.fract() == 0.0 || parameter == Parameter::Read;
    match is_allowed && (min..=max).contains(&value) {
        true => Ok(value),
        false => Err(format!("{name} must be {min} to {max}, not {text}")),
    }
}

fn parse_range(parameter: Parameter, from: &str, to: &str) -> Result<Vec<Setting>, String> {
    let (to, step) = match to.split_once('+') {
        Some((to, step)) => (to, Some(step)),
        None => (to, None),
    };
    let (from, to) = (parse_value(parameter, from)?, parse_value(parameter, to)?);
    let name = parameter.name();
    if from >= to {
        return Err(format!("the range of {name} is empty: it goes from {from} to {to}"));
    }
    let step = match step {
        None if from <= 0.0 => {
            return Err(format!(
                "a range that doubles cannot begin at 0; specify a step: {name}={from}..{to}+25"
            ));
        }
        None => None,
        Some(step) => Some(parse_value(parameter, step)?).filter(|step| *step > 0.0),
    };
    let mut values = Vec::new();
    let mut value = from;
    while value < to && values.len() <= MAX_VALUES {
        values.push(value);
        value = step.map_or(value * 2.0, |step| value + step);
    }
    values.push(to);
    Ok(values.into_iter().map(|value| setting(parameter, value)).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]
mod tests {
    use super::*;

    #[test]
    fn values_are_lists_and_ranges() {
        let check = |text: &str, parameter: Parameter, expected: &str| {
            let varied = parse_varied(text).unwrap();
            let values: Vec<String> = varied.values.into_iter().map(|setting| setting.value).collect();
            assert_eq!((varied.parameter, &*values.join(" ")), (parameter, expected), "{text}");
        };
        check("depth=1..512", Parameter::Depth, "1 2 4 8 16 32 64 128 256 512");
        check("qd=1..100", Parameter::Depth, "1 2 4 8 16 32 64 100");
        check("threads=1,4,2..8", Parameter::Workers, "1 4 2 8");
        check("block=4k,8KiB,64k", Parameter::Block, "4 KiB 8 KiB 64 KiB");
        check("block=4k..32k", Parameter::Block, "4 KiB 8 KiB 16 KiB 32 KiB");
        check("read=0..100+25", Parameter::Read, "0 25 50 75 100");
        check("read=0, 70%", Parameter::Read, "0 70");
        check("rate=1k..8k", Parameter::Rate, "1000 2000 4000 8000");
        check("rate=500iops", Parameter::Rate, "500");
        check("targets=1,2,4,8,16", Parameter::Targets, "1 2 4 8 16");
        check(
            "access=random, sequential,random",
            Parameter::Access,
            "random sequential",
        );
    }

    #[test]
    fn errors_suggest_the_correct_form() {
        let check = |text: &str, part: &str| {
            let error = parse_varied(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        check("depth", "write for example depth=1..512");
        check(
            "deep=1",
            "these can: depth, workers, block, read, rate, targets, access",
        );
        check("depth=", "not a value of depth");
        check("depth=0..8", "depth must be 1");
        check("depth=8..1", "empty");
        check("depth=1.5", "depth must be 1");
        check("read=0..100", "specify a step: read=0..100+25");
        check("read=101", "read must be 0 to 100");
        check("block=4x", "not a unit");
        check("block=4097", "whole units");
        check("rate=10MiB/s", "not a value of rate");
        check("depth=1..1000+1", "too many");
    }
}
