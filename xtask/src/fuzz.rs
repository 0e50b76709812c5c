//! Runs the parsers on mutated inputs for a given time: a process for each target, in parallel on
//! all processors.

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
                failed.lock().into_iter().for_each(|mut failed| failed.push(target));
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    match failed.into_inner().unwrap_or_default()[..] {
        [] => Ok(()),
        ref names => Err(format!(
            "the inputs that fail are in {}: {}",
            folder.display(),
            names.join(", ")
        )),
    }
}
