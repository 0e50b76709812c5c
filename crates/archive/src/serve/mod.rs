//! A web server for the history ([`browse()`]) and for a run in progress ([`LiveServer`]). Only
//! this module uses an asynchronous runtime, on one thread.
//!
//! [`AuthGuard`] authorizes every request before anything else. The caller supplies the pages of
//! results ([`Pages`]).

mod auth;
mod browse;
mod connections;
mod list;
mod live;

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use axum::http::{Response, StatusCode};
use axum::middleware;
use report::html::{self, escape};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

pub use auth::{AuthGuard, Token};
pub use browse::{Pages, browse};
pub use live::LiveServer;

use connections::{LimitedListener, RequestConnection};

/// Upper limit of the connections of a server.
pub const MAX_CONNECTIONS: usize = 64;
/// Time for responses in progress when the server stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
/// Upper limit of the pages that are rendered at the same time.
const MAX_CONCURRENT_PAGES: usize = 4;

/// The content of an error page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorPage {
    /// HTTP status; 0 means 500.
    pub status: u16,
    /// The problem, in a sentence.
    pub what: String,
    /// The reasons, each a line.
    pub why: Vec<String>,
    /// The recommended action.
    pub help: Option<String>,
    /// A link to continue: address and text.
    pub link: Option<Box<(String, String)>>,
}

impl ErrorPage {
    fn new(status: StatusCode, what: impl Into<String>, help: &str) -> ErrorPage {
        ErrorPage {
            status: status.as_u16(),
            what: what.into(),
            why: Vec::new(),
            help: Some(help.into()).filter(|help: &String| !help.is_empty()),
            link: None,
        }
    }

    fn into_response(self) -> Response<Body> {
        let mut body = format!("<p>{}</p>\n", escape::escape_text(&self.what));
        if !self.why.is_empty() {
            let items = self
                .why
                .iter()
                .map(|why| format!("<li>{}</li>", escape::escape_text(why)));
            body += &format!("<ul>{}</ul>\n", items.collect::<String>());
        }
        if let Some(help) = &self.help {
            body += &format!("<p><em>What to do:</em> {}</p>\n", escape::escape_text(help));
        }
        if let Some((address, words)) = self.link.as_deref() {
            let (address, words) = (escape::escape_text(address), escape::escape_text(words));
            body += &format!("<p><a href=\"{address}\">{words}</a></p>\n");
        }
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let title = status.canonical_reason().unwrap_or("Error");
        let mut response = html_response(html::render_plain(title, &[("/", "Start page")], &body, ""));
        *response.status_mut() = status;
        response
    }
}

/// A complete HTML document. Its meta element restricts what it loads; this header only forbids
/// frames.
fn html_response(text: String) -> Response<Body> {
    let mut response = typed_response("text/html; charset=utf-8", text.into());
    let no_frames = HeaderValue::from_static("frame-ancestors 'none'");
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, no_frames);
    response
}

/// A response of any media type, which the browser must not cache.
fn typed_response(media: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nothing = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    headers.insert(CONTENT_SECURITY_POLICY, nothing);
    response
}

fn new_runtime() -> io::Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_CONCURRENT_PAGES)
        .build()
}

/// Serves until `over` resolves, then lets open responses finish for at most [`SHUTDOWN_GRACE`].
async fn serve_until(
    listener: TcpListener,
    max_connections: usize,
    router: Router,
    over: impl Future<Output = ()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = LimitedListener::new(tokio::net::TcpListener::from_std(listener)?, max_connections);
    let router = router.layer(middleware::from_fn(connections::track));
    let (end, ended) = oneshot::channel::<()>();
    let server = tokio::spawn(async move {
        let server = axum::serve(
            listener,
            router.into_make_service_with_connect_info::<RequestConnection>(),
        );
        server
            .with_graceful_shutdown(async {
                // Dropping the sender ends the wait; nothing is ever sent.
                let _ = ended.await;
            })
            .await
    });
    over.await;
    drop(end);
    // Do not wait for a client that does not read its response.
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, server).await;
    Ok(())
}
