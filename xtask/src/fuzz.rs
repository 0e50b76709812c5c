//! Runs the parsers on mutated inputs for a given time: a process for each target, in parallel on
//! all processors.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::command::{cargo, output, run, target_folder};

pub(crate) fn fuzz(arguments: &[String]) -> Result<(), String> {
    let (mut seconds, mut seed, mut wanted) = (60, 1, Vec::new());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("`{word}` needs a value"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{word} {value}: not a number"))
        };
        match word.as_str() {
            "--seconds" => seconds = number()?,
            "--seed" => seed = number()?,
            "--target" => wanted.push(value.clone()),
            _ => return Err(format!("there is no option `{word}`")),
        }
    }
    run(cargo().args(["build", "--package", "fathom-fuzz"]))?;
    let program = target_folder().join("debug/fathom-fuzz");
    let known = output(&mut Command::new(&program))?;
    let targets = known
        .lines()
        .filter(|name| wanted.is_empty() || wanted.iter().any(|wanted_name| wanted_name == name));
    let left = Mutex::new(targets);
    let folder = target_folder().join("fuzz");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let failed = Mutex::new(Vec::new());
    let work = || {
        let next = || left.lock().ok().and_then(|mut left| left.next());
        while let Some(target) = next() {
            let mut command = Command::new(&program);
            command
                .args([target, &seconds.to_string(), &seed.to_string()])
                .arg(&folder);
            if run(&mut command).is_err() {
                let line = describe_failure(&folder, target);
                failed
                    .lock()
                    .into_iter()
                    .for_each(|mut failed| failed.push(line.clone()));
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    match failed.into_inner().unwrap_or_default()[..] {
        [] => Ok(()),
        ref lines => Err(format!(
            "{} targets failed; `{} TARGET FILE` runs one input:\n{}",
            lines.len(),
            program.display(),
            lines.join("\n")
        )),
    }
}

/// Names the input that made a target fail.
fn describe_failure(folder: &Path, target: &str) -> String {
    match keep_input(folder, target) {
        Ok(kept) => format!("{target}: {}", kept.display()),
        Err(error) => format!("{target}: its input was not kept: {error}"),
    }
}

/// Renames the last input of a target, so that no later run overwrites it.
fn keep_input(folder: &Path, target: &str) -> std::io::Result<PathBuf> {
    let numbered = (1..).map(|number| folder.join(format!("{target}-failed-{number}.input")));
    let mut free = numbered.skip_while(|path| path.exists());
    let kept = free.next().unwrap_or_default();
    std::fs::rename(folder.join(format!("{target}.input")), &kept)?;
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_inputs_of_several_runs_are_kept() {
        let folder = std::env::temp_dir().join(format!("fathom-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for input in ["one", "two"] {
            std::fs::write(folder.join("policy.input"), input).unwrap();
            let line = describe_failure(&folder, "policy");
            let path = line.strip_prefix("policy: ").unwrap();
            assert_eq!(std::fs::read_to_string(path).unwrap(), input);
        }
        let first = std::fs::read_to_string(folder.join("policy-failed-1.input")).unwrap();
        assert_eq!(first, "one");
        assert!(describe_failure(&folder, "policy").contains("was not kept"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
