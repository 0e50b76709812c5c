//! What to do after a verdict: sentences, and commands ready to paste.

use model::results::Results;

use super::PageContext;
use super::repetition::{Name, name_of_repetition, repeat_command, repeat_command_as};
use crate::diagnosis::sentence;
use crate::html::page::{JudgeCommand, Lead, Tone};

/// Advice after a PASS.
pub const KEEP_AND_REPEAT: &str =
    "Keep this page, and repeat the test after every change of the storage or its neighbours.";
/// Topics whose commands the reader runs next.
const TOPICS: [&str; 2] = ["What next", "Is it good?"];

/// The next step after a verdict, with its commands.
pub(super) fn next_step(context: &PageContext, results: &Results) -> Option<Lead> {
    let verdict = &context.verdict;
    let arguments = &results.plan.origin.arguments;
    if verdict.word.is_empty() || arguments.is_empty() && verdict.actions.is_empty() {
        return None;
    }
    let takes_options = matches!(arguments.get(1).map(String::as_str), Some("run" | "verify"));
    let mut options = if takes_options {
        verdict.options.clone()
    } else {
        Vec::new()
    };
    let has_options = !options.is_empty();
    let judge = verdict.judged_by.as_ref().filter(|_| takes_options);
    options.extend(judge.map(|judge| ("--save".to_owned(), name_of_repetition(&judge.file))));
    let mut advice = Vec::new();
    if !arguments.is_empty() {
        advice.push(format!("`{}`", repeat_command(arguments, &options)));
    }
    advice.extend(judge.map(|judge| format!("`{}`", judge_again(judge))));
    if let Some((name, option)) = verdict.untested.as_ref().filter(|_| takes_options) {
        let command = repeat_command_as(arguments, std::slice::from_ref(option), Name::Part(name));
        advice.push(format!("to test the {name} as well: `{command}`"));
    }
    let default = match (verdict.tone, has_options) {
        (Tone::Good, true) => "Repeat it for as long as a reliable verdict needs.",
        (Tone::Good, false) => KEEP_AND_REPEAT,
        (Tone::Bad, _) => "Check what limits it, change that, and repeat.",
        (Tone::Unsure | Tone::Plain, true) => "Repeat it with this command, which follows the advice above.",
        (Tone::Unsure | Tone::Plain, false) => "Follow the advice above, and repeat.",
    };
    let mut actions: Vec<String> = verdict.actions.iter().map(|action| sentence(action)).collect();
    actions.extend(best_time(context).filter(|_| verdict.tone != Tone::Good));
    let sentence = match (verdict.tone, actions.is_empty()) {
        (Tone::Good, false) => format!("{default} {}", actions.join(" ")),
        (_, true) => default.to_owned(),
        (_, false) => actions.join(" "),
    };
    Some(Lead {
        topic: TOPICS[0].into(),
        sentence,
        advice,
    })
}

/// The time at which to repeat, if a diagnosis advises one.
fn best_time(context: &PageContext) -> Option<String> {
    let advice = context.diagnoses.iter().flat_map(|one| &one.diagnosis.advice);
    let found = advice.filter_map(|advice| advice.split(':').next().filter(|start| start.starts_with("repeat at ")));
    found.map(sentence).next()
}

/// The command that judges the repetition of a saved result.
fn judge_again(judge: &JudgeCommand) -> String {
    let words = judge.arguments.iter().map(|word| match *word == judge.file {
        true => name_of_repetition(word),
        false => word.clone(),
    });
    repeat_command(&words.collect::<Vec<_>>(), &[])
}

/// States where the commands of a page run, before the first of them: their paths may be relative,
/// and a page may be read elsewhere.
pub fn name_place(lead: &mut [Lead], results: &Results) {
    let host = results.hosts.first().map(|host| &host.environment.host.name);
    let (Some(host), Some(directory)) = (host, &results.plan.origin.directory) else {
        return;
    };
    let has_command = |lead: &&mut Lead| {
        lead.advice
            .iter()
            .any(|advice| advice.contains('`') && advice.contains("fathom "))
    };
    let first = lead
        .iter_mut()
        .filter(has_command)
        .min_by_key(|lead| !TOPICS.contains(&&*lead.topic));
    if let Some(first) = first {
        first.sentence += &format!(" On host {host}, in {directory}:");
    }
}
