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
    file.write_line(VERSION);
    file.write_section(Section::TestSetup, |file| file.write_setup(&config.setup));
    file.write_section(Section::AccessSpecifications, |file| {
        config.specs.iter().for_each(|spec| file.write_spec(spec));
    });
    file.write_section(Section::ManagerList, |file| {
        let numbered = (1..).zip(&config.managers);
        numbered.for_each(|(number, manager)| file.write_manager(number, manager));
    });
    file.write_line(VERSION);
    file.0
}

/// The keyword of a value.
fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words
        .iter()
        .find(|(_, candidate)| candidate == value)
        .map_or("", |(word, _)| word)
}

fn flag(is_on: bool) -> &'static str {
    if is_on { "ENABLED" } else { "DISABLED" }
}

/// The text so far.
struct File(String);

impl File {
    fn write_line(&mut self, text: &str) {
        self.0 += text;
        self.0.push('\n');
    }

    fn write_section(&mut self, section: Section, body: impl FnOnce(&mut File)) {
        let words = section.heading();
        self.write_line(&format!("{:=<HEAD_WIDTH$}", format!("'{words} ")));
        body(self);
        self.write_line(&format!("'END {}", words.to_lowercase()));
    }

    fn write_key(&mut self, id: Id) {
        if let Some(Key { name, rest, .. }) = Key::with_id(id) {
            self.write_line(&format!("'{name}{rest}"));
        }
    }

    fn write_value(&mut self, text: &str) {
        self.write_line(&format!("\t{text}"));
    }

    fn write_key_value(&mut self, id: Id, text: &str) {
        self.write_key(id);
        self.write_value(text);
    }

    /// A value in columns, with their titles.
    fn columns<const N: usize>(&mut self, id: Id, titles: [&str; N], values: [&str; N]) {
        let padded = |cells: [&str; N]| cells.map(|cell| format!("{cell:<11}")).concat();
        self.write_key(id);
        self.write_line(&format!("'\t{}", padded(titles).trim_end()));
        self.write_value(padded(values).trim_end());
    }

    fn write_steps(&mut self, id: Id, steps: Steps, has_end: bool) {
        let [start, end, step] = [steps.start, steps.end, steps.step].map(|number| number.to_string());
        let growth = if steps.exponential { "EXPONENTIAL" } else { "LINEAR" };
        match has_end {
            true => self.columns(id, STEPS_WITH_END, [&start, &end, &step, growth]),
            false => self.columns(id, STEPS, [&start, &step, growth]),
        }
    }

    fn write_setup(&mut self, setup: &TestSetup) {
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
        self.write_key_value(Id::Description, description);
        let time = [run_seconds / 3600, run_seconds / 60 % 60, run_seconds % 60].map(|part| part.to_string());
        self.columns(
            Id::RunTime,
            ["hours", "minutes", "seconds"],
            time.each_ref().map(|part| &**part),
        );
        self.write_key_value(Id::RampUp, &ramp_up_seconds.to_string());
        let count = disk_workers.map_or("NUMBER_OF_CPUS".to_owned(), |count| count.to_string());
        self.write_key_value(Id::DiskWorkers, &count);
        self.write_key_value(Id::NetworkWorkers, "0");
        self.write_key_value(Id::Record, word(&Record::WORDS, record));
        self.write_steps(Id::WorkerCycling, *workers, false);
        self.write_steps(Id::TargetCycling, *targets, false);
        self.write_steps(Id::DepthCycling, *depth, true);
        self.write_key_value(Id::TestType, word(&TestType::WORDS, test_type));
    }

    fn write_spec(&mut self, spec: &AccessSpec) {
        let assignment = word(&Assignment::WORDS, &spec.assignment);
        self.write_key_value(Id::AccessName, &format!("{},{assignment}", spec.name));
        self.write_key(Id::AccessLines);
        spec.lines.iter().for_each(|line| self.write_value(&format_line(line)));
    }

    fn write_manager(&mut self, number: usize, manager: &Manager) {
        self.write_key_value(Id::Manager, &format!("{number},{}", manager.name));
        self.write_key_value(Id::Address, &manager.address);
        manager.workers.iter().for_each(|worker| self.write_worker(worker));
        self.write_line("'End manager");
    }

    fn write_worker(&mut self, worker: &Worker) {
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
        let pattern = DataPattern::ALL.iter().position(|listed| listed == pattern);
        self.write_key_value(Id::Worker, name);
        self.write_key_value(Id::WorkerType, "DISK");
        self.write_key(Id::SettingsBegin);
        let (tests, transactions) = (flag(connection.is_some()), connection.unwrap_or(1));
        let (is_fixed, seed) = (flag(seed.is_some()), seed.unwrap_or(0));
        let outstanding = format!("{outstanding},{tests},{transactions},{is_fixed},{seed}");
        self.write_key_value(Id::Outstanding, &outstanding);
        self.write_key_value(
            Id::Disk,
            &format!("{maximum_size},{starting_sector},{}", pattern.unwrap_or_default()),
        );
        self.end(Id::SettingsBegin);
        self.write_key(Id::AssignedSpecs);
        specs.iter().for_each(|spec| self.write_value(spec));
        self.end(Id::AssignedSpecs);
        self.write_key(Id::TargetsBegin);
        for target in targets {
            self.write_key_value(Id::Target, target);
            self.write_key_value(Id::TargetType, "DISK");
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
            self.write_line(&format!("'End {name}"));
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
