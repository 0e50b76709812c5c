//! Selection of entries.

use rusqlite::ToSql;

use super::entry::EntryKind;

/// Conditions that an entry must meet. Texts match anywhere, ignoring case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Number of the entry.
    pub id: Option<u64>,
    /// Part of the path of a target.
    pub target: Option<String>,
    /// Part of the name or the model of a device below a target.
    pub device: Option<String>,
    /// The whole name of the host.
    pub host: Option<String>,
    /// Part of the label or of the name of the test.
    pub label: Option<String>,
    /// The command that created the entry.
    pub kind: Option<EntryKind>,
    /// PASS, which includes PARTLY PROVEN, FAIL or INCONCLUSIVE.
    pub verdict: Option<String>,
    /// Digest of the test: [`super::Entry::test`].
    pub test: Option<String>,
    /// Started at this time or later.
    pub since_unix_ns: Option<u64>,
    /// Started before this time.
    pub until_unix_ns: Option<u64>,
    /// Number below this one, for the next page of a list.
    pub before: Option<u64>,
    /// Upper limit of the number of entries.
    pub limit: Option<usize>,
}

/// The entries that pruning retains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// This many of the latest entries.
    Latest(usize),
    /// Entries that started at this time or later.
    Since(u64),
}

/// A condition in SQL, and the values of its placeholders.
pub(super) struct Condition {
    pub(super) sql: String,
    pub(super) values: Vec<Box<dyn ToSql>>,
}

impl Filter {
    pub(super) fn to_condition(&self) -> Condition {
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
        let verdict = "lower(replace(verdict, 'PARTLY PROVEN', 'PASS')) = ?";
        add(verdict, text(&self.verdict));
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
