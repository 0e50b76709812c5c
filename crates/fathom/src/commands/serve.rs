//! `fathom serve`.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use analysis::compare::MARGIN;
use analysis::verdict::Outcome;
use archive::Saved;
use archive::history::{Entry, HistoryError};
use archive::serve::{self, AuthGuard, ErrorPage, Pages, Token};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::shell_word;
use report::html::page::{Page, Tone, Verdict};
use study::verify::PARTLY_PROVEN;

use super::{compare, history as listed};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::session::Session;
use crate::{address, history, pages, running, screen};

/// Show the history in a browser
#[derive(clap::Args)]
#[command(
    long_about = "Shows the history in a browser: a list with filters, the report of each entry, its saved file, and \
        comparisons. With a token you can also label and remove entries there. Ctrl-C stops it.\n\nOn the loopback \
        address every user of this machine may read; other addresses require a token: --token, or a random one that \
        is printed with the address. There is no encryption: across an untrusted network, keep the loopback address and \
        use `ssh -L 7744:127.0.0.1:7744 HOST`. To watch a run, use `fathom run --metrics PORT`.",
    after_help = "Examples:\n  fathom serve\n  fathom serve --listen 0.0.0.0:7744"
)]
pub struct Args {
    /// Address and port; a port alone listens on loopback, port 0 picks a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7744")]
    listen: String,
    /// Require this token, and permit changes: at least 16 letters, digits, `-`, `_`, `.`; or set
    /// FATHOM_TOKEN, which others cannot see
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
}

/// Serves until it is asked to stop.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    let wanted = address::parse("--listen", &args.listen)?;
    let path = history::path()?;
    let token = read_token(args.token.clone(), wanted)?;
    let (listener, bound) = address::bind("--listen", wanted)?;
    screen::put(&format!(
        "{}\npress Ctrl-C to stop\n",
        format_address(bound, token.as_ref())
    ))?;
    let guard = AuthGuard::new(bound, token);
    engine::sys::signals::set_examining(false);
    serve(listener, guard, path, session)?;
    Ok(Exit::Done)
}

fn serve(listener: TcpListener, guard: AuthGuard, path: std::path::PathBuf, session: &Session) -> Result<(), Faults> {
    let ended = serve::browse(
        listener,
        guard,
        path,
        Arc::new(CommandPages),
        session.process.interrupt_flag(),
    );
    ended.map_err(|error| Faults::one(Fault::new(format!("the server ended: {error}")), Exit::Internal))
}

/// Formats the address to open: no browser can open the address of all interfaces.
fn format_address(bound: SocketAddr, token: Option<&Token>) -> String {
    let query = token.map_or(String::new(), |token| format!("?token={}", token.word()));
    match bound.ip().is_unspecified() {
        false => format!("http://{bound}/{query}"),
        true => format!(
            "http://127.0.0.1:{0}/{query}\nfrom elsewhere: http://ADDRESS-OF-THIS-MACHINE:{0}/{query}",
            bound.port()
        ),
    }
}

fn read_token(word: Option<String>, wanted: SocketAddr) -> Result<Option<Token>, Faults> {
    let word = word.or_else(|| std::env::var("FATHOM_TOKEN").ok().filter(|word| !word.is_empty()));
    match word {
        Some(word) => match Token::parse(&word) {
            Some(token) => Ok(Some(token)),
            None => {
                let fault = Fault::new("a token has 16 to 128 letters, digits, `-`, `_`, `.`");
                Err(fault
                    .at("--token")
                    .into_usage("remove --token to get a random one where it is needed"))
            }
        },
        None if wanted.ip().is_loopback() => Ok(None),
        None => random_token().map(Some),
    }
}

fn random_token() -> Result<Token, Faults> {
    let mut bytes = [0; 16];
    let failed = |error| {
        let fault = Fault::new(format!("cannot get random numbers from the system: {error}"));
        fault.into_refusal("set a token: --token TOKEN")
    };
    getrandom::fill(&mut bytes).map_err(failed)?;
    let word: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Token::parse(&word).expect("32 digits are a token"))
}

/// Builds pages with the code of the commands.
struct CommandPages;

impl Pages for CommandPages {
    fn entry_page(&self, entry: &Entry, saved: Saved) -> Option<Page> {
        let mut page = match saved {
            Saved::Run(results) => pages::run(&results, saved_verdict(entry, &results.plan.origin.arguments)),
            Saved::Study(study) => pages::study(&study, MARGIN)?,
        };
        page.about
            .extend(entry.label.as_ref().map(|label| format!("Label: {label}")));
        Some(page)
    }

    fn comparison_page(&self, entries: &[u64], force: bool) -> Result<Page, ErrorPage> {
        let files: Vec<String> = entries.iter().map(|id| format!("history:{id}")).collect();
        compare::build_page_of_files(&files, MARGIN, force).map_err(|faults| {
            let fault = faults.into_first();
            // The page has a link in place of the option --force.
            let forced = !force && compare::build_page_of_files(&files, MARGIN, true).is_ok();
            let ids: Vec<String> = entries.iter().map(u64::to_string).collect();
            ErrorPage {
                status: 422,
                what: fault.what,
                why: fault.why,
                help: fault.help.filter(|_| !forced),
                link: forced.then(|| {
                    let address = format!("/compare?a={}&force=1", ids.join("&b="));
                    Box::new((address, "Compare them anyway".into()))
                }),
            }
        })
    }

    fn parse_time(&self, text: &str, is_end: bool) -> Option<u64> {
        listed::parse_moment(text, is_end, Timestamp::now(), &TimeZone::system())
    }

    fn running(&self) -> Vec<(String, String)> {
        let runs = running::list().into_iter();
        runs.map(|run| {
            (
                format!("http://{}/", run.address),
                format!("{}, since {}", run.name, listed::format_local_time(run.started_unix_ns)),
            )
        })
        .collect()
    }

    fn format_time(&self, unix_ns: u64) -> String {
        listed::format_local_time(unix_ns)
    }

    fn error_page(&self, error: &HistoryError) -> ErrorPage {
        let fault = history::fault(error);
        ErrorPage {
            status: 0,
            what: fault.what,
            why: fault.why,
            help: fault.help,
            link: None,
        }
    }
}

/// The options of `verify` that state a promise; `report` has the same.
const PROMISE_OPTIONS: [&str; 13] = [
    "--require", "--policy", "--catalogue", "--size", "--iops", "--mbps", "--tier", "--set", "--vm", "--disk",
    "--disks", "--replicas", "--hops",
];

/// Describes the verdict at the time of the measurement. The history stores the command line, not
/// the clauses.
fn saved_verdict(entry: &Entry, arguments: &[String]) -> Verdict {
    let Some(word) = &entry.verdict else {
        return Verdict::default();
    };
    let tone = match word {
        word if word == Outcome::Pass.word() => Tone::Good,
        word if word == PARTLY_PROVEN => Tone::Partly,
        word if word == Outcome::Fail.word() => Tone::Bad,
        word if word == Outcome::Inconclusive.word() => Tone::Unsure,
        _ => Tone::Plain,
    };
    let promised = arguments.iter().enumerate().filter_map(|(at, word)| {
        let name = word.split('=').next().filter(|name| PROMISE_OPTIONS.contains(name))?;
        match name == word {
            true => Some(format!("{name} {}", shell_word(arguments.get(at + 1)?))),
            false => Some(shell_word(word).into_owned()),
        }
    });
    let mut promise: Vec<String> = promised.collect();
    if promise.is_empty() {
        promise.push("--require 'iops>=4000,p99<=3ms'".into());
    }
    Verdict {
        word: match arguments.iter().any(|argument| argument == "--quick") {
            true => format!("{word}, short test"),
            false => word.clone(),
        },
        tone,
        sentence: format!(
            "was the verdict of `fathom {}` when this was measured. The history does not keep its clauses; to see \
             them, run `fathom report history:{} {}`.",
            entry.kind.name(),
            entry.id,
            promise.join(" ")
        ),
        ..Verdict::default()
    }
}
