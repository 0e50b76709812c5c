//! Commands in advice about a load of another tool, with its target and settings.

use model::observation::Observation;
use model::shell_word;
use report::html::run::{complete_sweep, permit_overwrite};
use study::explain::ExplainedLoad;

/// Formats target, block size and mix of a load as arguments.
pub(super) fn format_load_arguments(observation: &Observation) -> Option<String> {
    let load = &observation.load;
    let [target] = &load.targets[..] else { return None };
    let block = load.block?.to_string().replace(' ', "");
    let order = if load.random? { "" } else { " --sequential" };
    let (target, size) = match directory_of_created_file(observation) {
        Some(directory) => {
            let size = load.size.map(|size| size.to_string().replace(' ', ""));
            (
                directory,
                size.map_or_else(String::new, |size| format!(" --file-size {size}")),
            )
        }
        None => (target.as_str(), String::new()),
    };
    let target = shell_word(target);
    Some(format!(
        "{target}{size} --block {block} --read {:.0}{order}",
        load.read_percent?
    ))
}

/// The directory in which fio created a file named after the job. That file has another name, and
/// may be gone.
fn directory_of_created_file(observation: &Observation) -> Option<&str> {
    let [target] = &observation.load.targets[..] else {
        return None;
    };
    let directory = target.strip_suffix(observation.name.as_str())?.strip_suffix('/')?;
    (observation.tool == "fio" && !directory.is_empty()).then_some(directory)
}

/// Permits the command in advice to write to a target of another tool, and states what is lost.
pub(super) fn permit_writes(advice: &str, observation: &Observation) -> String {
    match (&observation.load.targets[..], observation.load.read_percent) {
        ([target], Some(reads)) if reads < 100.0 && directory_of_created_file(observation).is_none() => {
            permit_overwrite(advice, target)
        }
        _ => advice.to_owned(),
    }
}

/// The advice of the diagnosis, with the target and the load in its commands.
pub fn complete_advice(load: &ExplainedLoad) -> Vec<String> {
    // `verify` has other names for the order and for the size of a file.
    let words = format_load_arguments(&load.observation).map(|words| {
        let words = words.replace(" --sequential", " --access sequential");
        words.replace(" --file-size ", " --size ")
    });
    let depth = load.observation.load.depth;
    let depth = depth.map_or_else(String::new, |depth| format!(" --depth {depth}"));
    let advice = load.diagnosis.advice.iter();
    let run = words
        .as_ref()
        .map(|words| format!("`fathom run --target {words}{depth} --confirm`"));
    let with_run = |advice: String| match &run {
        Some(run) => advice.replace("`fathom run --confirm`", run),
        None => advice,
    };
    advice
        .map(|advice| with_run(complete_sweep(advice, words.as_deref())))
        .map(|advice| permit_writes(&advice, &load.observation))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Bytes;
    use model::observation::Load;

    /// The file has another name, so no command can use it.
    #[test]
    fn a_file_that_fio_created_is_replaced_by_its_directory() {
        let observed = |target: &str| Observation {
            tool: "fio".into(),
            name: "oltp".into(),
            load: Load {
                targets: vec![target.to_owned()],
                block: Some(Bytes::kib(8)),
                read_percent: Some(70.0),
                random: Some(true),
                size: Some(Bytes::mib(128)),
                ..Load::default()
            },
            ..Observation::default()
        };
        let arguments = |target: &str| format_load_arguments(&observed(target)).unwrap();
        assert_eq!(
            arguments("/data/oltp"),
            "/data --file-size 128MiB --block 8KiB --read 70"
        );
        assert_eq!(arguments("/dev/sdb"), "/dev/sdb --block 8KiB --read 70");
        assert_eq!(
            permit_writes("`fathom verify`", &observed("/data/oltp")),
            "`fathom verify`"
        );
    }
}
