//! A run in progress, as it is seen from outside: figures for programs that scrape, a stream of
//! events, and a page that shows it.
//!
//! The server has a thread of its own. The run hands events over under a lock that is held only for
//! a copy; a thread that does not take the events as they come is left behind.

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
use axum::extract::{ConnectInfo, State};
use axum::http::{Response, StatusCode};
use axum::middleware;
use axum::routing::get;
use futures_core::Stream;
use model::event::Event;
use report::html;
use report::live::Metrics;
use tokio::sync::{mpsc, oneshot};

use super::auth::{self, AuthGuard};
use super::connections::{ActiveRequest, Tracked};
use super::{Trouble, answer_until, of_type, page, runtime};

/// The page's own script.
const SCRIPT: &str = include_str!("watched.js");
const BODY: &str = include_str!("watched.html");
/// Lines that those see who come late.
const RECENT: usize = 100;
/// Lines that a client may be behind.
const BEHIND: usize = 256;
/// Clients that take the stream at the same time.
const CLIENTS: usize = 32;
const MEDIA: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A server beside a run. It ends when this is dropped.
#[derive(Debug)]
pub struct Watched {
    shared: Arc<Shared>,
    over: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<Now>,
}

#[derive(Debug)]
struct Now {
    metrics: Metrics,
    recent: VecDeque<Bytes>,
    clients: Vec<mpsc::Sender<Bytes>>,
    ended: bool,
}

impl Shared {
    fn now(&self) -> MutexGuard<'_, Now> {
        // What is within is whole after every change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched {
    /// Starts serving over a limited number of connections. `metrics` is empty at first.
    ///
    /// # Errors
    /// The system's.
    pub fn begin(
        listener: TcpListener,
        max_connections: usize,
        door: AuthGuard,
        metrics: Metrics,
    ) -> io::Result<Watched> {
        let shared = Arc::new(Shared {
            state: Mutex::new(Now {
                metrics,
                recent: VecDeque::with_capacity(RECENT),
                clients: Vec::new(),
                ended: false,
            }),
        });
        let router = Router::new()
            .route("/", get(index))
            .route("/metrics", get(metrics_of))
            .route("/events", get(events))
            .fallback(nothing)
            .with_state(Arc::clone(&shared))
            .layer(middleware::from_fn_with_state(Arc::new(door), auth::pass));
        let runtime = runtime()?;
        let (over, ended) = oneshot::channel::<()>();
        let serve = move || {
            let over = async {
                // It is dropped, and nothing is ever sent.
                let _ = ended.await;
            };
            // Where the listener cannot be used any more the run continues without it.
            let _ = runtime.block_on(answer_until(listener, max_connections, router, over));
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("metrics".into()).spawn(serve)?;
        Ok(Watched {
            shared,
            over: Some(over),
            thread: Some(thread),
        })
    }

    /// Tells an event, with the line that it is in the stream.
    pub fn take(&self, event: &Event, line: &str) {
        self.shared.now().metrics.take(event);
        self.tell(line);
    }

    /// Tells a line of the stream.
    pub fn tell(&self, line: &str) {
        let bytes = Bytes::from(format!("data: {line}\n\n"));
        let mut now = self.shared.now();
        if now.recent.len() == RECENT {
            now.recent.pop_front();
        }
        now.recent.push_back(bytes.clone());
        // One whose queue is full loses the connection, and its browser comes again.
        now.clients.retain(|client| client.try_send(bytes.clone()).is_ok());
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        {
            let mut now = self.shared.now();
            now.ended = true;
            now.clients.clear();
        }
        drop(self.over.take());
        if let Some(thread) = self.thread.take() {
            // It takes no longer than answers are given time for.
            let _ = thread.join();
        }
    }
}

/// What is queued for a client.
struct Lines {
    queued: mpsc::Receiver<Bytes>,
    /// The response is a stream in progress.
    _request: ActiveRequest,
}

impl Stream for Lines {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.queued.poll_recv(context).map(|bytes| bytes.map(Ok))
    }
}

async fn index() -> Response<Body> {
    let links = [("/metrics", "Metrics"), ("/events", "Events")];
    page(html::plain("A run in progress", &links, BODY, SCRIPT))
}

async fn metrics_of(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let metrics = shared.now().metrics.clone();
    of_type(MEDIA, metrics.text().into())
}

async fn events(State(shared): State<Arc<Shared>>, ConnectInfo(tracked): ConnectInfo<Tracked>) -> Response<Body> {
    let (client, queued) = mpsc::channel(BEHIND);
    {
        let mut now = shared.now();
        now.clients.retain(|client| !client.is_closed());
        if now.clients.len() >= CLIENTS {
            let what = format!("{CLIENTS} others watch already");
            return Trouble::new(StatusCode::SERVICE_UNAVAILABLE, what, "close some of their pages").answer();
        }
        for line in &now.recent {
            // There is room for all of them.
            let _ = client.try_send(line.clone());
        }
        if !now.ended {
            now.clients.push(client);
        }
    }
    let lines = Lines {
        queued,
        _request: tracked.begin_request(),
    };
    of_type("text/event-stream", Body::from_stream(lines))
}

async fn nothing() -> Response<Body> {
    let help = "there are / (a page), /metrics (OpenMetrics) and /events (the stream)";
    Trouble::new(StatusCode::NOT_FOUND, "there is no such page", help).answer()
}
