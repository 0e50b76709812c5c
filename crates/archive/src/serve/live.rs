//! The server of a run in progress: metrics to scrape, a stream of events, and a page that shows
//! them.
//!
//! It has its own thread. The run holds the lock only while it copies an event, and disconnects
//! clients that read too slowly.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread::JoinHandle;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, State as AxumState};
use axum::http::{Response, StatusCode};
use axum::middleware;
use axum::routing::get;
use futures_core::Stream;
use model::event::Event;
use report::html::{self, escape};
use report::live::Metrics;
use tokio::sync::{mpsc, oneshot};

use super::auth::{self, AuthGuard};
use super::connections::{ActiveRequest, RequestConnection};
use super::{ErrorPage, html_response, new_runtime, serve_until, typed_response};

/// The page's own script.
const SCRIPT: &str = include_str!("live.js");
const BODY: &str = include_str!("live.html");
/// Number of past lines that a new client receives.
const HISTORY_LINES: usize = 100;
/// A client that has this many lines queued is disconnected.
const QUEUE_LINES: usize = 256;
/// Maximum number of clients of the stream.
const MAX_CLIENTS: usize = 32;
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The server of a run in progress. It stops when this is dropped.
#[derive(Debug)]
pub struct LiveServer {
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    page: String,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    metrics: Metrics,
    history: VecDeque<Bytes>,
    clients: Vec<mpsc::Sender<Bytes>>,
    has_ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic cannot leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveServer {
    /// Starts the server with at most `max_connections` connections. `metrics` has no figures yet;
    /// the page shows `title` and the lines of `about`.
    ///
    /// # Errors
    /// If the thread or its runtime cannot be started.
    pub fn start(
        listener: TcpListener,
        max_connections: usize,
        guard: AuthGuard,
        metrics: Metrics,
        title: &str,
        about: &[String],
    ) -> io::Result<LiveServer> {
        let shared = Arc::new(Shared {
            page: render(title, about),
            state: Mutex::new(State {
                metrics,
                history: VecDeque::with_capacity(HISTORY_LINES),
                clients: Vec::new(),
                has_ended: false,
            }),
        });
        let router = Router::new()
            .route("/", get(index))
            .route("/metrics", get(metrics_text))
            .route("/events", get(stream_events))
            .fallback(not_found)
            .with_state(Arc::clone(&shared))
            .layer(middleware::from_fn_with_state(Arc::new(guard), auth::authorize));
        let runtime = new_runtime()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let serve = move || {
            let stopped = async {
                // Dropping the sender ends the wait; nothing is ever sent.
                let _ = stopped.await;
            };
            // If the listener fails, the run continues without its server.
            let _ = runtime.block_on(serve_until(listener, max_connections, router, stopped));
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("metrics".into()).spawn(serve)?;
        Ok(LiveServer {
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Applies an event to the metrics and sends its line to all clients.
    pub fn send_event(&self, event: &Event, line: &str) {
        self.shared.lock().metrics.apply(event);
        self.send_line(line);
    }

    /// Sends a line to all clients.
    pub fn send_line(&self, line: &str) {
        let bytes = Bytes::from(format!("data: {line}\n\n"));
        let mut state = self.shared.lock();
        if state.history.len() == HISTORY_LINES {
            state.history.pop_front();
        }
        state.history.push_back(bytes.clone());
        // A client whose queue is full is disconnected; its browser connects again.
        state.clients.retain(|client| client.try_send(bytes.clone()).is_ok());
    }
}

impl Drop for LiveServer {
    fn drop(&mut self) {
        {
            let mut state = self.shared.lock();
            state.has_ended = true;
            state.clients.clear();
        }
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Open responses have a time limit, so this wait is short.
            let _ = thread.join();
        }
    }
}

/// The body of a response: the lines queued for a client.
struct Lines {
    queue: mpsc::Receiver<Bytes>,
    /// The connection is not idle while the stream is open.
    _request: ActiveRequest,
}

impl Stream for Lines {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.queue.poll_recv(context).map(|bytes| bytes.map(Ok))
    }
}

fn render(title: &str, about: &[String]) -> String {
    let links = [("/metrics", "Metrics"), ("/events", "Events")];
    let about: Vec<String> = about.iter().map(|line| escape::escape_text(line).to_string()).collect();
    let body = format!("<p class=\"about\">{}</p>\n{BODY}", about.join("<br>\n"));
    html::render_plain(title, &links, &body, SCRIPT)
}

async fn index(AxumState(shared): AxumState<Arc<Shared>>) -> Response<Body> {
    html_response(shared.page.clone())
}

async fn metrics_text(AxumState(shared): AxumState<Arc<Shared>>) -> Response<Body> {
    let metrics = shared.lock().metrics.clone();
    typed_response(METRICS_TYPE, metrics.text().into())
}

async fn stream_events(
    AxumState(shared): AxumState<Arc<Shared>>,
    ConnectInfo(tracked): ConnectInfo<RequestConnection>,
) -> Response<Body> {
    let (client, queue) = mpsc::channel(QUEUE_LINES);
    {
        let mut state = shared.lock();
        state.clients.retain(|client| !client.is_closed());
        if state.clients.len() >= MAX_CLIENTS {
            let what = format!("{MAX_CLIENTS} clients read this stream already");
            return ErrorPage::new(StatusCode::SERVICE_UNAVAILABLE, what, "close some of their pages").into_response();
        }
        for line in &state.history {
            // The queue is longer than the history.
            let _ = client.try_send(line.clone());
        }
        if !state.has_ended {
            state.clients.push(client);
        }
    }
    let lines = Lines {
        queue,
        _request: tracked.begin_request(),
    };
    typed_response("text/event-stream", Body::from_stream(lines))
}

async fn not_found() -> Response<Body> {
    let help = "use / (the page), /metrics (OpenMetrics) or /events (the stream)";
    ErrorPage::new(StatusCode::NOT_FOUND, "there is no such page", help).into_response()
}
