//! Which entries are meant.

use rusqlite::ToSql;

use super::entry::EntryKind;

/// What a list is narrowed to; everything that is set has to hold. Words are looked for anywhere in
/// a text, whatever their case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Its number.
    pub id: Option<u64>,
    /// The path of a target holds this.
    pub target: Option<String>,
    /// The name or the model of a device below a target holds this.
    pub device: Option<String>,
    /// The name of the host is this.
    pub host: Option<String>,
    /// The label, or the name of the test, holds this.
    pub label: Option<String>,
    /// It was made by this command.
    pub kind: Option<EntryKind>,
    /// It came to this verdict.
    pub verdict: Option<String>,
    /// It is a run of this test: [`super::Entry::test`].
    pub test: Option<String>,
    /// It began then or later.
    pub since_unix_ns: Option<u64>,
    /// It began before.
    pub until_unix_ns: Option<u64>,
    /// Its number is below this one: the next page of a list.
    pub before: Option<u64>,
    /// This many entries at most.
    pub limit: Option<usize>,
}

/// What is to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// This many of the latest entries.
    Latest(usize),
    /// What began then or later.
    Since(u64),
}

/// A condition in SQL, and what stands for its question marks.
pub(super) struct Condition {
    pub(super) sql: String,
    pub(super) values: Vec<Box<dyn ToSql>>,
}

impl Filter {
    pub(super) fn condition(&self) -> Condition {
        let mut parts: Vec<&str> = Vec::new();
        let mut values: Vec<Box<dyn ToSql>> = Vec::new();
        let mut add = |part: &'static str, value: Option<Box<dyn ToSql>>| {
            if let Some(value) = value {
                parts.push(part);
                values.push(value);
            }
        };
        let text = |text: &Option<String>| {
            text.clone()
                .map(|text| Box::new(text.to_ascii_lowercase()) as Box<dyn ToSql>)
        };
        let number = |number: Option<u64>| number.map(|number| Box::new(number.cast_signed()) as Box<dyn ToSql>);
        add("id = ?", number(self.id));
        add("id < ?", number(self.before));
        add(
            "EXISTS (SELECT 1 FROM target WHERE entry = id AND instr(lower(path), ?))",
            text(&self.target),
        );
        add(
            "EXISTS (SELECT 1 FROM device WHERE entry = entry.id AND instr(lower(device.name || ' ' || coalesce(model, '')), ?))",
            text(&self.device),
        );
        add("lower(host) = ?", text(&self.host));
        add(
            "instr(lower(coalesce(label, '') || char(10) || name), ?)",
            text(&self.label),
        );
        let kind = self.kind.map(|kind| Box::new(kind.name()) as Box<dyn ToSql>);
        add("kind = ?", kind);
        add("lower(verdict) = ?", text(&self.verdict));
        let test = self.test.clone().map(|test| Box::new(test) as Box<dyn ToSql>);
        add("test = ?", test);
        add("started_unix_ns >= ?", number(self.since_unix_ns));
        add("started_unix_ns < ?", number(self.until_unix_ns));
        let mut sql = parts.join(" AND ");
        if sql.is_empty() {
            sql = "1".into();
        }
        Condition { sql, values }
    }
}
