//! Blocks of a parameter file: a definition with its parameters, and the defaults before it.

use std::fmt::Display;

use super::hosts::has_host_word;
use super::scan::Item;
use super::table::{Kind, Row, Section, Status};
use crate::{Diagnostic, Location};

/// Maximum number of definitions from one `count=`.
const MAX_COUNT: f64 = 10_000.0;

/// An unparsed definition: its parameters, defaults first.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub section: Section,
    pub name: String,
    pub params: Vec<(&'static Row, Item)>,
    /// The number of parameters that are defaults.
    pub default_count: usize,
    pub at: Location,
}

/// Groups items into blocks, each with the defaults of its kind in front.
pub(super) fn group(items: Vec<Item>) -> Result<Vec<Block>, Diagnostic> {
    let mut blocks = vec![Block {
        section: Section::General,
        name: String::new(),
        params: Vec::new(),
        default_count: 0,
        at: items.first().map(|item| item.at.clone()).unwrap_or_default(),
    }];
    let mut defaults: Vec<(Section, Vec<(&'static Row, Item)>)> = Vec::new();
    for item in items {
        let present = blocks.last().map_or(Section::General, |block| block.section);
        let begins = Section::from_keyword(&item.keyword).filter(|section| {
            section.rank() > present.rank()
                || section.rank() == present.rank() && *section == present
                || section.rank() == present.rank() && present.rank() == 2
        });
        if let Some(section) = begins {
            let name = item.single_value();
            if name.is_empty() {
                return Err(item.error(invalid(&item.keyword, "it is empty")).help("add a name"));
            }
            if let Some(before) = blocks.last().filter(|block| block.name == "default") {
                defaults.retain(|(default_section, _)| *default_section != before.section);
                defaults.push((before.section, before.params.clone()));
            }
            let params = defaults
                .iter()
                .find(|(default_section, _)| *default_section == section)
                .map_or(Vec::new(), |(_, params)| params.clone());
            blocks.push(Block {
                section,
                name,
                default_count: params.len(),
                params,
                at: item.at,
            });
            continue;
        }
        let Some(row) = item.row(present) else {
            return Err(unknown_keyword(&item, present));
        };
        let block = blocks.last_mut().expect("the general block always exists");
        if row.section == Section::Rd
            && row.canonical_name == "wd"
            && block.params.iter().any(|(row, _)| row.canonical_name == "wd")
        {
            let name = &block.name;
            let message = format!(
                "rd={name}: the 'wd=' parameter may be specified only once per RD, but you may specify it as follows: \
                 'rd={name},wd=(w1,w2,w3)', etc."
            );
            return Err(item.error(message));
        }
        // Numbers are checked here, even if they are not used. Those that depend on the host are
        // not known yet.
        if row.kind == Kind::Numbers && !item.values.iter().any(|value| has_host_word(&value.text)) {
            item.numbers(row.name)?;
            refuse_negative(row, &item)?;
        }
        block.params.push((row, item));
    }
    Ok(blocks)
}

fn unknown_keyword(item: &Item, section: Section) -> Diagnostic {
    let message = match section {
        Section::Host => format!("HostParms.ReadParms(): invalid keyword: {}", item.keyword),
        _ => format!("Unknown keyword: {}", item.keyword),
    };
    let rows = super::ROWS.iter().filter(|row| row.section == section);
    let error = item.error(message);
    match crate::nearest(&item.keyword, rows.map(|row| row.name)) {
        Some(name) => error.help(format!("did you mean `{name}`?")),
        None => error,
    }
}

/// Refuses a negative number where none has a meaning. Percentages are negative numbers too, but
/// have no sign in the text.
fn refuse_negative(row: &Row, item: &Item) -> Result<(), Diagnostic> {
    // A percentage of the last rate may have a sign.
    let is_rate = row.section == Section::Rd && ["iorate", "fwdrate"].contains(&row.name);
    match { item.values.iter() }.find(|value| value.text.starts_with('-') && !value.quoted) {
        Some(value) if !is_rate => {
            let error = item.error(invalid(row.name, &value.text));
            Err(error.help("use a number without a sign"))
        }
        _ => Ok(()),
    }
}

/// Records reasons to refuse a run with this definition.
pub(super) fn refuse(block: &Block, refusals: &mut Vec<Diagnostic>) {
    for (row, item) in &block.params {
        let value = item.expanded_values().join(",");
        let harmless = ["no", "off", "none"].contains(&value.as_str()) || row.name == "dedupratio" && value == "1";
        let refusal = match row.status {
            Status::Refused(why) if !harmless => Some(why),
            // Words are commands, or remove the SD from the run.
            _ if row.name == "data_errors" && item.numbers(row.name).is_ok_and(|numbers| numbers.is_none()) => {
                Some("commands of parameter files are not run, and no SD is removed from a run")
            }
            _ => None,
        };
        if let Some(why) = refusal {
            let message = format!("`{}={value}` is not supported: {why}", row.name);
            let help = match row.name {
                "data_errors" => "set the number of errors that ends a run, such as `data_errors=50`".to_owned(),
                name => format!("remove `{name}=`"),
            };
            refusals.push(item.error(message).help(help));
        }
    }
}

/// The message for a value that a parameter does not take.
pub(super) fn invalid(field: &str, value: impl Display) -> String {
    format!("Invalid contents for '{field}=': {value}")
}

impl Block {
    pub(super) fn error(&self, what: impl Into<String>) -> Diagnostic {
        Diagnostic::new(what).at(self.at.clone())
    }

    pub(super) fn invalid(&self, field: &str, value: impl Display) -> Diagnostic {
        self.error(invalid(field, value))
    }

    /// True for a parameter whose value is `yes`, or begins like it.
    pub(super) fn is_yes(&self, field: &str) -> bool {
        self.item(field)
            .is_some_and(|item| item.single_value().starts_with('y'))
    }

    /// The last item of a parameter, which takes effect.
    pub(super) fn item(&self, field: &str) -> Option<&Item> {
        let parameter = self.params.iter().rev().find(|(row, _)| row.canonical_name == field);
        parameter.map(|(_, item)| item)
    }

    pub(super) fn expanded_values(&self, field: &str) -> Vec<String> {
        self.item(field).map(Item::expanded_values).unwrap_or_default()
    }

    pub(super) fn numbers(&self, field: &str) -> Result<Vec<f64>, Diagnostic> {
        let Some((row, item)) = self.params.iter().rev().find(|(row, _)| row.canonical_name == field) else {
            return Ok(Vec::new());
        };
        let error = || item.error(invalid(row.name, item.single_value()));
        item.numbers(row.name)?.ok_or_else(|| error().help("specify a number"))
    }

    /// A parameter that has only one value.
    pub(super) fn number(&self, field: &str) -> Result<Option<f64>, Diagnostic> {
        match self.numbers(field)?[..] {
            [] => Ok(None),
            [number] => Ok(Some(number)),
            _ => {
                let error = self.invalid(field, self.expanded_values(field).join(","));
                Err(error.help("specify one number"))
            }
        }
    }

    /// The place of the last item of a parameter, which takes effect.
    pub(super) fn position(&self, field: &str) -> Option<usize> {
        self.params.iter().rposition(|(row, _)| row.canonical_name == field)
    }

    /// The numbers of the definitions that `count=` makes from this one.
    pub(super) fn counted(&self) -> Result<Vec<Option<u64>>, Diagnostic> {
        match self.numbers("count")?[..] {
            [] => Ok(vec![None]),
            [_, count] if count > MAX_COUNT => Err(self
                .invalid("count", format!("{count} definitions"))
                .help(format!("use at most {MAX_COUNT}"))),
            [start, count] => Ok((0..count as u64).map(|number| Some(start as u64 + number)).collect()),
            _ => Err(self.error("'count=(start,count)' parameter requires two values")),
        }
    }

    /// A number; of `(total,n)`, the n-th part.
    pub(super) fn part(&self, field: &str) -> Result<Option<f64>, Diagnostic> {
        Ok(match self.numbers(field)?[..] {
            [] => None,
            [value] => Some(value),
            [total, parts, ..] => Some((total / parts.max(1.0)).floor()),
        })
    }
}
