//! Writes a configuration as a file of version 1.1.0, with the keys of the reader's table.

use super::config::{
    AccessSpec, Assignment, Config, DataPattern, Manager, Record, SpecLine, Steps, TestSetup, TestType, Worker,
};
use super::keys::{Id, Key, Section};

/// The first and the last line. Iometer itself writes the blank.
const VERSION: &str = "Version 1.1.0 ";
/// Length of the line that begins a section.
const HEAD_WIDTH: usize = 80;
/// Titles of the columns of steps.
const STEPS: [&str; 3] = ["start", "step", "step type"];
const STEPS_WITH_END: [&str; 4] = ["start", "end", "step", "step type"];

/// Writes a configuration.
pub(crate) fn write(config: &Config) -> String {
    let mut file = File(String::new());
    file.line(VERSION);
    file.section(Section::TestSetup, |file| file.setup(&config.setup));
    file.section(Section::AccessSpecifications, |file| {
        config.specs.iter().for_each(|spec| file.spec(spec));
    });
    file.section(Section::ManagerList, |file| {
        let numbered = (1..).zip(&config.managers);
        numbered.for_each(|(number, manager)| file.manager(number, manager));
    });
    file.line(VERSION);
    file.0
}

/// The keyword of a value.
fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, one)| one == value).map_or("", |(word, _)| word)
}

fn flag(is_on: bool) -> &'static str {
    if is_on { "ENABLED" } else { "DISABLED" }
}

/// The text so far.
struct File(String);

impl File {
    fn line(&mut self, text: &str) {
        self.0 += text;
        self.0.push('\n');
    }

    fn section(&mut self, section: Section, body: impl FnOnce(&mut File)) {
        let words = section.heading();
        self.line(&format!("{:=<HEAD_WIDTH$}", format!("'{words} ")));
        body(self);
        self.line(&format!("'END {}", words.to_lowercase()));
    }

    fn key(&mut self, id: Id) {
        if let Some(Key { name, rest, .. }) = Key::with_id(id) {
            self.line(&format!("'{name}{rest}"));
        }
    }

    fn value(&mut self, text: &str) {
        self.line(&format!("\t{text}"));
    }

    fn key_value(&mut self, id: Id, text: &str) {
        self.key(id);
        self.value(text);
    }

    /// A value in columns, with their titles.
    fn columns<const N: usize>(&mut self, id: Id, titles: [&str; N], values: [&str; N]) {
        let padded = |cells: [&str; N]| cells.map(|cell| format!("{cell:<11}")).concat();
        self.key(id);
        self.line(&format!("'\t{}", padded(titles).trim_end()));
        self.value(padded(values).trim_end());
    }

    fn steps(&mut self, id: Id, steps: Steps, has_end: bool) {
        let [start, end, step] = [steps.start, steps.end, steps.step].map(|number| number.to_string());
        let growth = if steps.exponential { "EXPONENTIAL" } else { "LINEAR" };
        match has_end {
            true => self.columns(id, STEPS_WITH_END, [&start, &end, &step, growth]),
            false => self.columns(id, STEPS, [&start, &step, growth]),
        }
    }

    fn setup(&mut self, setup: &TestSetup) {
        let TestSetup {
            description,
            run_seconds,
            ramp_up_seconds,
            disk_workers,
            record,
            workers,
            targets,
            depth,
            test_type,
        } = setup;
        self.key_value(Id::Description, description);
        let time = [run_seconds / 3600, run_seconds / 60 % 60, run_seconds % 60].map(|part| part.to_string());
        self.columns(
            Id::RunTime,
            ["hours", "minutes", "seconds"],
            time.each_ref().map(|part| &**part),
        );
        self.key_value(Id::RampUp, &ramp_up_seconds.to_string());
        let count = disk_workers.map_or("NUMBER_OF_CPUS".to_owned(), |count| count.to_string());
        self.key_value(Id::DiskWorkers, &count);
        self.key_value(Id::NetworkWorkers, "0");
        self.key_value(Id::Record, word(&Record::WORDS, record));
        self.steps(Id::WorkerCycling, *workers, false);
        self.steps(Id::TargetCycling, *targets, false);
        self.steps(Id::DepthCycling, *depth, true);
        self.key_value(Id::TestType, word(&TestType::WORDS, test_type));
    }

    fn spec(&mut self, spec: &AccessSpec) {
        let assignment = word(&Assignment::WORDS, &spec.assignment);
        self.key_value(Id::AccessName, &format!("{},{assignment}", spec.name));
        self.key(Id::AccessLines);
        spec.lines.iter().for_each(|line| self.value(&format_line(line)));
    }

    fn manager(&mut self, number: usize, manager: &Manager) {
        self.key_value(Id::Manager, &format!("{number},{}", manager.name));
        self.key_value(Id::Address, &manager.address);
        manager.workers.iter().for_each(|worker| self.worker(worker));
        self.line("'End manager");
    }

    fn worker(&mut self, worker: &Worker) {
        let Worker {
            name,
            network: _,
            outstanding,
            connection,
            seed,
            maximum_size,
            starting_sector,
            pattern,
            specs,
            targets,
            line: _,
        } = worker;
        let pattern = match pattern {
            DataPattern::Repeating => 0,
            DataPattern::Once => 1,
            DataPattern::Random => 2,
        };
        self.key_value(Id::Worker, name);
        self.key_value(Id::WorkerType, "DISK");
        self.key(Id::SettingsBegin);
        let (tests, transactions) = (flag(connection.is_some()), connection.unwrap_or(1));
        let (is_fixed, seed) = (flag(seed.is_some()), seed.unwrap_or(0));
        let outstanding = format!("{outstanding},{tests},{transactions},{is_fixed},{seed}");
        self.key_value(Id::Outstanding, &outstanding);
        self.key_value(Id::Disk, &format!("{maximum_size},{starting_sector},{pattern}"));
        self.end(Id::SettingsBegin);
        self.key(Id::AssignedSpecs);
        specs.iter().for_each(|spec| self.value(spec));
        self.end(Id::AssignedSpecs);
        self.key(Id::TargetsBegin);
        for target in targets {
            self.key_value(Id::Target, target);
            self.key_value(Id::TargetType, "DISK");
            self.end(Id::Target);
        }
        self.end(Id::TargetsBegin);
        self.end(Id::Worker);
    }

    /// The line that ends what a key began.
    fn end(&mut self, id: Id) {
        if let Some(key) = Key::with_id(id) {
            let mut name = key.name.to_owned();
            name[..1].make_ascii_lowercase();
            self.line(&format!("'End {name}"));
        }
    }
}

/// A line of a specification; results echo it in the same form.
pub(super) fn format_line(line: &SpecLine) -> String {
    let SpecLine {
        size,
        percent,
        reads,
        random,
        delay,
        burst,
        align,
        reply,
    } = line;
    format!("{size},{percent},{reads},{random},{delay},{burst},{align},{reply}")
}
