//! What to do after a verdict: sentences, and commands ready to paste.

use model::diagnosis::Answer;
use model::results::Results;
use model::{Nanos, shell_word};

use super::PageContext;
use super::repetition::{Name, name_of_repetition, repeat_command, repeat_command_as};
use crate::diagnosis::format_sentence;
use crate::html::page::{JudgeCommand, Lead, Line, Page, Tone, Verdict};
use crate::numbers::format_rough;
use crate::words;

/// Advice after a PASS.
pub const KEEP_AND_REPEAT: &str =
    "Keep this page, and repeat the test after every change of the storage or its neighbours.";
/// The topic whose commands the reader runs next.
const TOPIC: &str = "What next";

pub(super) fn next_step(context: &PageContext, results: &Results) -> Option<Lead> {
    let verdict = &context.verdict;
    let arguments = &results.plan.origin.arguments;
    if verdict.word.is_empty() || arguments.is_empty() && verdict.actions.is_empty() {
        return None;
    }
    let has_options = takes_options(arguments) && !verdict.options.is_empty();
    let time = verdict.options.iter().find(|(name, _)| name == "--time");
    let time = time.map(|(_, value)| {
        value
            .parse::<Nanos>()
            .map_or_else(|_| value.clone(), |time| time.to_string())
    });
    let stop = context
        .other_programs
        .as_ref()
        .map(|others| format!("Stop {others}, then run"));
    let stop = stop.as_deref().unwrap_or("Run");
    let default: &str = &match (verdict.tone, time) {
        (tone, Some(time)) if tone.is_pass() => format!("{stop} it again for {time}, which a reliable verdict needs."),
        (Tone::Good, None) if results.findings.iter().any(|finding| finding.rule == "STALLS") => {
            "Find the cause of the stalls (see Findings), then repeat the test.".to_owned()
        }
        (Tone::Good, None) => KEEP_AND_REPEAT.to_owned(),
        (Tone::Partly, None) => format!("{stop} it again, or prove the open promises as follows."),
        (Tone::Bad, time) => {
            let time = time.map_or(String::new(), |time| {
                format!(" for {time}, which a reliable verdict needs")
            });
            let cap = match arguments.iter().any(|word| word.starts_with("--cap")) {
                true => " A limit is the one that you gave with `--cap`: adjust or drop it if you change the disk.",
                false => "",
            };
            let cap = format!("{}{cap}", describe_gap(context).unwrap_or_default());
            match words::describe_simulation(&results.plan) {
                Some(_) => format!("Change what limits it, and repeat{time}.{cap}"),
                None => format!(
                    "Send this page to the provider of the storage; or change what limits it, and repeat{time}.{cap}"
                ),
            }
        }
        _ if has_options => "Repeat it with this command, which follows the advice above.".to_owned(),
        _ => "Follow the advice above, and repeat.".to_owned(),
    };
    // The command below has the time.
    let shorten = |action: &String| match action.split_once(": --time ") {
        Some((start, time)) if has_options && !arguments.is_empty() && !time.contains(' ') => format_sentence(start),
        _ => format_sentence(action),
    };
    let mut actions: Vec<String> = verdict.actions.iter().map(shorten).collect();
    actions.extend(best_time(context).filter(|_| !verdict.tone.is_pass()));
    // The default of a PASS advises that already.
    let mut is_stated = default.starts_with("Stop ");
    // Several clauses may advise to stop the same programs.
    actions.retain(|action| !(action.starts_with("Stop ") && std::mem::replace(&mut is_stated, true)));
    if let Some(others) = context.other_programs.as_ref().filter(|_| verdict.tone == Tone::Unsure)
        && !actions.is_empty()
        && !actions.iter().any(|action| action.starts_with("Stop "))
    {
        actions.insert(0, format!("Stop {others}."));
    }
    let sentence = match (verdict.tone, actions.is_empty()) {
        (tone, false) if tone.is_pass() => format!("{default} {}", actions.join(" ")),
        (_, true) => default.to_owned(),
        (_, false) => actions.join(" "),
    };
    Some(Lead::new(TOPIC, sentence, list_commands(verdict, arguments)))
}

/// True if a command line of this program takes the options that a verdict advises.
fn takes_options(arguments: &[String]) -> bool {
    matches!(arguments.get(1).map(String::as_str), Some("run" | "verify"))
}

/// The commands that repeat and judge a test: one for each case that the reader has to tell apart.
fn list_commands(verdict: &Verdict, arguments: &[String]) -> Vec<String> {
    if !takes_options(arguments) {
        let repetition = (!arguments.is_empty()).then(|| format!("`{}`", repeat_command(arguments, &[])));
        return repetition.into_iter().collect();
    }
    let mut options = verdict.options.clone();
    let judge = verdict.judged_by.as_ref();
    options.extend(judge.map(|judge| ("--save".to_owned(), name_of_repetition(&judge.file))));
    let alternatives = verdict.alternatives.iter().map(|(case, option)| {
        let options: Vec<_> = options.iter().chain([option]).cloned().collect();
        format!("{case}: `{}`", repeat_command(arguments, &options))
    });
    let mut commands: Vec<String> = alternatives.collect();
    if commands.is_empty() {
        commands.push(format!("`{}`", repeat_command(arguments, &options)));
    }
    commands.extend(judge.map(|judge| format!("`{}`", judge_again(judge))));
    if let Some((name, option)) = &verdict.untested {
        let time = verdict.options.iter().filter(|(name, _)| name == "--time");
        let options: Vec<_> = time.chain([option]).cloned().collect();
        let command = repeat_command_as(arguments, &options, Name::Part(name));
        commands.push(format!("to test the {name} as well: `{command}`"));
    }
    commands
}

/// How much more than the reached limit the missed rate needs: ` 100,000 IOPS need 25 % more than
/// disk allows.`
fn describe_gap(context: &PageContext) -> Option<String> {
    let caps = context.diagnoses.iter().map(|diagnosis| &diagnosis.diagnosis);
    let mut reached = caps
        .filter(|diagnosis| diagnosis.answer == Answer::Cap)
        .flat_map(|diagnosis| &diagnosis.layers);
    let layer = reached.find(|layer| layer.binds && layer.met && layer.unit == "IOPS")?;
    let mut clauses = context.verdict.clauses.iter();
    let target = clauses.find_map(|clause| match clause.line {
        Some(Line::Iops(target)) if clause.promised.starts_with("iops") => Some(target),
        _ => None,
    })?;
    (target > layer.limit).then(|| {
        format!(
            " {} IOPS need {:.0} % more than {} allows.",
            format_rough(target),
            100.0 * (target / layer.limit - 1.0),
            layer.layer
        )
    })
}

/// The time at which to repeat, if a diagnosis advises one.
fn best_time(context: &PageContext) -> Option<String> {
    let advice = context
        .diagnoses
        .iter()
        .flat_map(|diagnosis| &diagnosis.diagnosis.advice);
    let times = advice.filter_map(|advice| advice.split(':').next().filter(|start| start.starts_with("repeat at ")));
    times.map(format_sentence).next()
}

/// The command that judges the repetition of a saved result.
fn judge_again(judge: &JudgeCommand) -> String {
    let words = judge.arguments.iter().map(|word| match *word == judge.file {
        true => name_of_repetition(word),
        false => word.clone(),
    });
    repeat_command(&words.collect::<Vec<_>>(), &[])
}

/// States where the commands of a page run, and names this program as it was called.
pub fn locate_commands(page: &mut Page, results: &Results) {
    if let Some(place) = describe_place(results) {
        name_place(&mut page.lead, &place);
    }
    name_program(page, &results.plan.origin.arguments);
}

/// States where the commands of a page run, before the first of them: their paths may be relative,
/// and a page may be read elsewhere.
pub fn name_place(lead: &mut [Lead], place: &str) {
    let has_command = |lead: &&mut Lead| {
        lead.advice
            .iter()
            .any(|advice| advice.contains('`') && advice.contains("fathom "))
    };
    let first = lead
        .iter_mut()
        .filter(has_command)
        .min_by_key(|lead| lead.topic != TOPIC);
    if let Some(first) = first {
        if first.sentence.ends_with(':') {
            first.sentence.pop();
            first.sentence.push('.');
        }
        first.sentence = format!("{} {place}", first.sentence).trim_start().to_owned();
    }
}

/// Describes where a command ran: `On host vm, in /data:`.
pub(super) fn describe_place(results: &Results) -> Option<String> {
    let host = &results.hosts.first()?.environment.host.name;
    let directory = results.plan.origin.directory.as_ref()?;
    Some(format!("On host {host}, in {directory}:"))
}

/// Names this program in every command as it was called, so that the commands work as they are.
pub fn name_program(page: &mut Page, arguments: &[String]) {
    let called = arguments.first().filter(|word| word.ends_with("/fathom"));
    let Some(called) = called else { return };
    let with_name = |text: &mut String| *text = text.replace("`fathom ", &format!("`{} ", shell_word(called)));
    with_name(&mut page.verdict.sentence);
    for lead in &mut page.lead {
        lead.advice.iter_mut().for_each(with_name);
    }
    let findings = page.findings.iter_mut();
    findings.filter_map(|finding| finding.help.as_mut()).for_each(with_name);
}
