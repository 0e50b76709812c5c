//! The pages of the history: the list, an entry's report and file, a comparison.

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::FormRejection;
use axum::extract::{DefaultBodyLimit, Form, Path, Query, State};
use axum::http::header::{CONTENT_DISPOSITION, HeaderValue, LOCATION};
use axum::http::{Response, StatusCode, Uri};
use axum::middleware;
use axum::routing::{get, post};
use report::html;
use report::html::page::Page;

use super::auth::{self, AuthGuard};
use super::{ErrorPage, MAX_CONNECTIONS, html_response, list, new_runtime, serve_until, typed_response};
use crate::Saved;
use crate::history::{Entry, History, HistoryError};

/// Interval between checks whether the server must stop.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Upper limit of compared entries: a page has no more colours that can be distinguished.
const MAX_COMPARED: usize = 8;
/// Upper limit of the bytes of a form: all entries of a list, and a label.
const MAX_FORM_BYTES: usize = 16 << 10;

/// Renders results, dates and errors for the pages.
pub trait Pages: Send + Sync {
    /// The page of an entry; `None` if it holds a study without a page.
    fn entry_page(&self, entry: &Entry, saved: Saved) -> Option<Page>;

    /// The page that compares entries with the first of them. `force` compares different loads,
    /// too.
    ///
    /// # Errors
    /// [`ErrorPage`], with the reason why they cannot be compared.
    fn comparison_page(&self, entries: &[u64], force: bool) -> Result<Page, ErrorPage>;

    /// The time that a user wrote as a date or an age, in Unix nanoseconds; `is_end` takes the end
    /// of a day.
    fn parse_time(&self, text: &str, is_end: bool) -> Option<u64>;

    /// Runs in progress with a server: address and description of each.
    fn running(&self) -> Vec<(String, String)>;

    /// A time in the words and the zone of the user.
    fn format_time(&self, unix_ns: u64) -> String;

    /// The error page for an error of the history.
    fn error_page(&self, error: &HistoryError) -> ErrorPage;
}

/// State of the handlers.
pub(super) struct Browse {
    history: PathBuf,
    /// Entries may be labelled and removed.
    pub(super) is_writable: bool,
    pub(super) pages: Arc<dyn Pages>,
}

/// Serves the pages of a history until `stop` is raised.
///
/// # Errors
/// If the server cannot be started.
pub fn browse(
    listener: TcpListener,
    guard: AuthGuard,
    history: PathBuf,
    pages: Arc<dyn Pages>,
    stop: &AtomicBool,
) -> io::Result<()> {
    let router = Router::new()
        .route("/", get(index))
        .route("/entry/{id}", get(show_entry))
        .route("/entry/{id}/file", get(download_file))
        .route("/compare", get(compare))
        .route("/label", post(set_label))
        .route("/remove", post(remove))
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
        .fallback(not_found)
        .with_state(Arc::new(Browse {
            history,
            is_writable: guard.permits_changes(),
            pages,
        }))
        .layer(middleware::from_fn_with_state(Arc::new(guard), auth::authorize));
    let runtime = new_runtime()?;
    let stopped = async {
        while !stop.load(Ordering::Relaxed) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    let outcome = runtime.block_on(serve_until(listener, MAX_CONNECTIONS, router, stopped));
    // Do not wait for pages in progress.
    runtime.shutdown_background();
    outcome
}

impl Browse {
    /// The history; `None` if there is none yet. Each page opens it again, so that the file is
    /// closed between requests.
    pub(super) fn history(&self) -> Result<Option<History>, ErrorPage> {
        match History::open_existing(&self.history) {
            Ok(history) => Ok(Some(history)),
            Err(HistoryError::Missing { .. }) => Ok(None),
            Err(error) => Err(self.error_page(&error)),
        }
    }

    pub(super) fn error_page(&self, error: &HistoryError) -> ErrorPage {
        let status = match error {
            HistoryError::NoEntry { .. } | HistoryError::Missing { .. } => StatusCode::NOT_FOUND,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        ErrorPage {
            status: status.as_u16(),
            ..self.pages.error_page(error)
        }
    }

    fn existing_history(&self) -> Result<History, ErrorPage> {
        let missing = HistoryError::Missing {
            path: self.history.clone(),
        };
        self.history()?.ok_or_else(|| self.error_page(&missing))
    }
}

/// Renders a response on another thread, because databases and long reports block.
async fn render(
    browse: Arc<Browse>,
    render: impl FnOnce(&Browse) -> Result<Response<Body>, ErrorPage> + Send + 'static,
) -> Response<Body> {
    match tokio::task::spawn_blocking(move || render(&browse)).await {
        Ok(Ok(response)) => response,
        Ok(Err(error_page)) => error_page.into_response(),
        Err(_) => ErrorPage::new(StatusCode::INTERNAL_SERVER_ERROR, "this page cannot be rendered", "").into_response(),
    }
}

pub(super) fn parse_query(uri: &Uri) -> Result<Vec<(String, String)>, ErrorPage> {
    let unreadable = |_| ErrorPage::new(StatusCode::BAD_REQUEST, "the address cannot be read", "");
    Ok(Query::try_from_uri(uri).map_err(unreadable)?.0)
}

fn parse_entry(text: &str) -> Result<u64, ErrorPage> {
    text.parse().map_err(|_| {
        ErrorPage::new(
            StatusCode::NOT_FOUND,
            "an entry is named by its number",
            "the list links to all pages",
        )
    })
}

async fn index(State(browse): State<Arc<Browse>>, uri: Uri) -> Response<Body> {
    render(browse, move |browse| list::render_page(browse, &parse_query(&uri)?)).await
}

async fn show_entry(State(browse): State<Arc<Browse>>, Path(id): Path<String>) -> Response<Body> {
    render(browse, move |browse| {
        let history = browse.existing_history()?;
        let id = parse_entry(&id)?;
        let failed = |error| browse.error_page(&error);
        let entry = history.get(id).map_err(failed)?;
        let saved = history.read_saved(id).map_err(failed)?;
        let report = browse.pages.entry_page(&entry, saved).ok_or_else(|| {
            let what = format!("entry {id} holds a study that has no page");
            ErrorPage::new(StatusCode::NOT_FOUND, what, "`fathom history show` shows it as text")
        })?;
        let file = format!("/entry/{id}/file");
        let links = [("/", "History"), (file.as_str(), "The saved file")];
        Ok(html_response(html::render_with_links(&report, &links)))
    })
    .await
}

async fn download_file(State(browse): State<Arc<Browse>>, Path(id): Path<String>) -> Response<Body> {
    render(browse, move |browse| {
        let id = parse_entry(&id)?;
        let bytes = browse
            .existing_history()?
            .read_document(id)
            .map_err(|error| browse.error_page(&error))?;
        let mut response = typed_response("application/octet-stream", bytes.into());
        let name = HeaderValue::try_from(format!("attachment; filename=\"history-{id}.fathom\""));
        let name = name.expect("a number makes a plain name");
        response.headers_mut().insert(CONTENT_DISPOSITION, name);
        Ok(response)
    })
    .await
}

/// Compares entries: those of the address in their order, or those selected in the list, the oldest
/// first.
async fn compare(State(browse): State<Arc<Browse>>, uri: Uri) -> Response<Body> {
    render(browse, move |browse| {
        let pairs = parse_query(&uri)?;
        let mut entries = Vec::new();
        let is_selected = pairs.iter().any(|(key, _)| key == "entry");
        for (_, text) in pairs
            .iter()
            .filter(|(key, _)| ["a", "b", "entry"].contains(&key.as_str()))
        {
            entries.push(parse_entry(text)?);
        }
        if is_selected {
            entries.sort_unstable();
        }
        if !(2..=MAX_COMPARED).contains(&entries.len()) {
            let what = format!("2 to {MAX_COMPARED} entries can be compared, not {}", entries.len());
            let help = "select them in the list, or name two: /compare?a=1&b=2";
            return Err(ErrorPage::new(StatusCode::BAD_REQUEST, what, help));
        }
        let history = browse.existing_history()?;
        for id in &entries {
            history.get(*id).map_err(|error| browse.error_page(&error))?;
        }
        let force = pairs.iter().any(|(key, value)| key == "force" && value == "1");
        let compared = browse.pages.comparison_page(&entries, force)?;
        Ok(html_response(html::render_with_links(&compared, &[("/", "History")])))
    })
    .await
}

/// Names and values of a form.
type Fields = Vec<(String, String)>;
/// A form, or why it cannot be parsed.
type ParsedForm = Result<Form<Fields>, FormRejection>;

/// The fields of a form and the selected entries.
fn selected_entries(form: ParsedForm) -> Result<(Fields, Vec<u64>), ErrorPage> {
    let unreadable = |error: FormRejection| ErrorPage::new(error.status(), "the form cannot be read", "");
    let Form(fields) = form.map_err(unreadable)?;
    let entries = fields.iter().filter(|(key, _)| key == "entry");
    let entries = entries
        .map(|(_, id)| parse_entry(id))
        .collect::<Result<Vec<u64>, ErrorPage>>()?;
    if entries.is_empty() {
        let help = "select entries in the list first";
        return Err(ErrorPage::new(StatusCode::BAD_REQUEST, "no entry is selected", help));
    }
    Ok((fields, entries))
}

/// Redirects to the list, so that reloading the page does not repeat the change.
fn redirect_to_list() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().insert(LOCATION, HeaderValue::from_static("/"));
    response
}

/// Labels the selected entries; an empty text removes their labels.
async fn set_label(State(browse): State<Arc<Browse>>, form: ParsedForm) -> Response<Body> {
    render(browse, move |browse| {
        let (fields, entries) = selected_entries(form)?;
        let text = fields
            .iter()
            .find(|(key, _)| key == "text")
            .map(|(_, text)| text.trim());
        let text = text.ok_or_else(|| ErrorPage::new(StatusCode::BAD_REQUEST, "the label is missing", ""))?;
        let history = browse.existing_history()?;
        for id in entries {
            history.set_label(id, text).map_err(|error| browse.error_page(&error))?;
        }
        Ok(redirect_to_list())
    })
    .await
}

/// Asks for confirmation, then removes the selected entries.
async fn remove(State(browse): State<Arc<Browse>>, form: ParsedForm) -> Response<Body> {
    render(browse, move |browse| {
        let (fields, entries) = selected_entries(form)?;
        let history = browse.existing_history()?;
        let failed = |error| browse.error_page(&error);
        if !fields.iter().any(|(key, value)| key == "sure" && value == "1") {
            let entries = entries
                .into_iter()
                .map(|id| history.get(id))
                .collect::<Result<Vec<Entry>, _>>();
            return Ok(list::confirm_removal(browse, &entries.map_err(failed)?));
        }
        for id in entries {
            history.remove(id).map_err(failed)?;
        }
        Ok(redirect_to_list())
    })
    .await
}

async fn not_found() -> Response<Body> {
    ErrorPage::new(
        StatusCode::NOT_FOUND,
        "there is no such page",
        "the list links to all pages",
    )
    .into_response()
}
