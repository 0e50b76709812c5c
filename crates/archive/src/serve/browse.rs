//! The history as pages: a list, the report of an entry, the file of an entry, a comparison.

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::header::{CONTENT_DISPOSITION, HeaderValue};
use axum::http::{Response, StatusCode, Uri};
use axum::middleware;
use axum::routing::get;
use report::html;
use report::html::page::Page;

use super::auth::{self, AuthGuard};
use super::{MAX_CONNECTIONS, Trouble, answer_until, list, of_type, page, runtime};
use crate::Saved;
use crate::history::{Entry, History, HistoryError};

/// How often it is looked whether this is the end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// More cannot be distinguished on a page.
const MAX_COMPARED: usize = 8;

/// What makes the pages of results, and knows the calendar.
pub trait Pages: Send + Sync {
    /// The page of an entry; `None` if what it holds has none.
    fn of_entry(&self, entry: &Entry, saved: Saved) -> Option<Page>;

    /// The page that compares entries with the first of them. `force` says that different loads are
    /// meant.
    ///
    /// # Errors
    /// [`Trouble`], with the reason why they cannot be compared.
    fn compared(&self, entries: &[u64], force: bool) -> Result<Page, Trouble>;

    /// The moment of a date or an age, as users write it; `after` takes the end of a day.
    fn moment(&self, text: &str, after: bool) -> Option<u64>;

    /// Runs that go on and can be watched: address and words of each.
    fn running(&self) -> Vec<(String, String)>;

    /// A moment as users read it.
    fn local(&self, unix_ns: u64) -> String;

    /// What is wrong with a history, and what to do.
    fn trouble(&self, error: &HistoryError) -> Trouble;
}

/// What every page needs.
pub(super) struct Browse {
    history: PathBuf,
    pub(super) pages: Arc<dyn Pages>,
}

/// Serves the pages of a history until `stop` is raised.
///
/// # Errors
/// The system's, if the server cannot begin.
pub fn browse(
    listener: TcpListener,
    door: AuthGuard,
    history: PathBuf,
    pages: Arc<dyn Pages>,
    stop: &AtomicBool,
) -> io::Result<()> {
    let router = Router::new()
        .route("/", get(index))
        .route("/entry/{id}", get(entry))
        .route("/entry/{id}/file", get(file))
        .route("/compare", get(compare))
        .fallback(nothing)
        .with_state(Arc::new(Browse { history, pages }))
        .layer(middleware::from_fn_with_state(Arc::new(door), auth::pass));
    let runtime = runtime()?;
    let over = async {
        while !stop.load(Ordering::Relaxed) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    let outcome = runtime.block_on(answer_until(listener, MAX_CONNECTIONS, router, over));
    // A page that is still being made is not waited for.
    runtime.shutdown_background();
    outcome
}

impl Browse {
    /// The history; `None` if there is none yet. It is opened anew for each page, so that it is not
    /// held open in between.
    pub(super) fn history(&self) -> Result<Option<History>, Trouble> {
        match History::open_existing(&self.history) {
            Ok(history) => Ok(Some(history)),
            Err(HistoryError::Missing { .. }) => Ok(None),
            Err(error) => Err(self.trouble(&error)),
        }
    }

    pub(super) fn trouble(&self, error: &HistoryError) -> Trouble {
        let status = match error {
            HistoryError::NoEntry { .. } | HistoryError::Missing { .. } => StatusCode::NOT_FOUND,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Trouble {
            status: status.as_u16(),
            ..self.pages.trouble(error)
        }
    }

    fn there(&self) -> Result<History, Trouble> {
        let missing = HistoryError::Missing {
            path: self.history.clone(),
        };
        self.history()?.ok_or_else(|| self.trouble(&missing))
    }
}

/// Makes an answer beside the thread that answers: databases and long reports take their time.
async fn made(
    browse: Arc<Browse>,
    make: impl FnOnce(&Browse) -> Result<Response<Body>, Trouble> + Send + 'static,
) -> Response<Body> {
    match tokio::task::spawn_blocking(move || make(&browse)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(trouble)) => trouble.answer(),
        Err(_) => Trouble::new(StatusCode::INTERNAL_SERVER_ERROR, "this page could not be made", "").answer(),
    }
}

pub(super) fn pairs(uri: &Uri) -> Result<Vec<(String, String)>, Trouble> {
    let unreadable = |_| Trouble::new(StatusCode::BAD_REQUEST, "the address cannot be read", "");
    Ok(Query::try_from_uri(uri).map_err(unreadable)?.0)
}

fn number(text: &str) -> Result<u64, Trouble> {
    text.parse().map_err(|_| {
        Trouble::new(
            StatusCode::NOT_FOUND,
            "entries have numbers",
            "the list has a link to each",
        )
    })
}

async fn index(State(browse): State<Arc<Browse>>, uri: Uri) -> Response<Body> {
    made(browse, move |browse| list::page(browse, &pairs(&uri)?)).await
}

async fn entry(State(browse): State<Arc<Browse>>, Path(id): Path<String>) -> Response<Body> {
    made(browse, move |browse| {
        let history = browse.there()?;
        let id = number(&id)?;
        let failed = |error| browse.trouble(&error);
        let entry = history.get(id).map_err(failed)?;
        let saved = history.saved(id).map_err(failed)?;
        let made = browse.pages.of_entry(&entry, saved).ok_or_else(|| {
            let what = format!("entry {id} holds a study that has no page");
            Trouble::new(StatusCode::NOT_FOUND, what, "`fathom history show` shows it as text")
        })?;
        let file = format!("/entry/{id}/file");
        let links = [("/", "History"), (file.as_str(), "The saved file")];
        Ok(page(html::linked(&made, &links)))
    })
    .await
}

async fn file(State(browse): State<Arc<Browse>>, Path(id): Path<String>) -> Response<Body> {
    made(browse, move |browse| {
        let id = number(&id)?;
        let bytes = browse.there()?.document(id).map_err(|error| browse.trouble(&error))?;
        let mut answer = of_type("application/octet-stream", bytes.into());
        let name = HeaderValue::try_from(format!("attachment; filename=\"history-{id}.fathom\""));
        let name = name.expect("a number makes a plain name");
        answer.headers_mut().insert(CONTENT_DISPOSITION, name);
        Ok(answer)
    })
    .await
}

/// `a` and those after it in their order; entries that were ticked in the list begin with the
/// oldest.
async fn compare(State(browse): State<Arc<Browse>>, uri: Uri) -> Response<Body> {
    made(browse, move |browse| {
        let pairs = pairs(&uri)?;
        let mut entries = Vec::new();
        let ticked = pairs.iter().any(|(key, _)| key == "entry");
        for (_, text) in pairs
            .iter()
            .filter(|(key, _)| ["a", "b", "entry"].contains(&key.as_str()))
        {
            entries.push(number(text)?);
        }
        if ticked {
            entries.sort_unstable();
        }
        if !(2..=MAX_COMPARED).contains(&entries.len()) {
            let what = format!(
                "2 to {MAX_COMPARED} entries can be compared, and {} are named",
                entries.len()
            );
            let help = "tick them in the list, or name two: /compare?a=1&b=2";
            return Err(Trouble::new(StatusCode::BAD_REQUEST, what, help));
        }
        let history = browse.there()?;
        for id in &entries {
            history.get(*id).map_err(|error| browse.trouble(&error))?;
        }
        let force = pairs.iter().any(|(key, value)| key == "force" && value == "1");
        let made = browse.pages.compared(&entries, force)?;
        Ok(page(html::linked(&made, &[("/", "History")])))
    })
    .await
}

async fn nothing() -> Response<Body> {
    Trouble::new(
        StatusCode::NOT_FOUND,
        "there is no such page",
        "the list has a link to each",
    )
    .answer()
}
