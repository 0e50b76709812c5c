//! Limits the number and the duration of the connections of a server.
//!
//! A port scan or a stalled client must neither use up the file descriptors of the test nor block
//! other clients. At the limit, the connection that has been idle for longest is closed.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::Response;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};

/// Maximum time until the end of the headers. It starts with the first byte of a request, or with
/// the connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time between two requests, or without progress of a response.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval between checks for a free connection while all have requests.
const RECHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Pause after an error of the listener, such as too many open files.
const ERROR_PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections up to a limit.
pub(super) struct LimitedListener {
    listener: TcpListener,
    connections: Arc<Connections>,
}

impl LimitedListener {
    /// Allows `max` connections; one more is accepted but not read.
    pub(super) fn new(listener: TcpListener, max: usize) -> LimitedListener {
        LimitedListener {
            listener,
            connections: Arc::new(Connections {
                max: max.max(1),
                list: Mutex::default(),
                closed: Notify::new(),
            }),
        }
    }
}

impl Listener for LimitedListener {
    type Io = LimitedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (LimitedStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    self.connections.make_room().await;
                    return (LimitedStream::new(stream, &self.connections), address);
                }
                Err(_) => sleep(ERROR_PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

struct Connections {
    max: usize,
    list: Mutex<Vec<Arc<Connection>>>,
    /// Notified when a connection closes.
    closed: Notify,
}

impl Connections {
    fn list(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room for one more connection.
    async fn make_room(&self) {
        loop {
            {
                let list = self.list();
                if list.len() < self.max {
                    return;
                }
                let idle = list
                    .iter()
                    .filter_map(|connection| Some((connection.state().idle_since()?, connection)));
                if let Some((_, longest)) = idle.min_by_key(|(since, _)| *since) {
                    longest.close();
                }
            }
            let _ = timeout(RECHECK_INTERVAL, self.closed.notified()).await;
        }
    }
}

/// A connection of the server.
#[derive(Debug)]
pub(super) struct Connection {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Time of the last progress: start of the connection, first byte of a request, part or end of
    /// a response.
    since: Instant,
    /// The headers of a request are due.
    awaits_headers: bool,
    /// Number of requests in progress.
    requests: u32,
    /// The client does not read the response.
    stalled: bool,
    closing: bool,
    /// Wakes the task that reads it.
    waker: Option<Waker>,
}

impl State {
    fn new() -> State {
        State {
            since: Instant::now(),
            awaits_headers: true,
            requests: 0,
            stalled: false,
            closing: false,
            waker: None,
        }
    }

    /// The time to close the connection if there is no progress.
    fn deadline(&self) -> Option<Instant> {
        match (self.stalled, self.requests, self.awaits_headers) {
            (true, _, _) => Some(self.since + IDLE_TIMEOUT),
            (false, 1.., _) => None,
            (false, 0, true) => Some(self.since + HEADER_TIMEOUT),
            (false, 0, false) => Some(self.since + IDLE_TIMEOUT),
        }
    }

    /// The time since which the connection is idle; `None` if it has a request.
    fn idle_since(&self) -> Option<Instant> {
        (self.requests == 0 && !self.stalled && !self.closing).then_some(self.since)
    }

    fn on_read(&mut self) {
        if self.requests == 0 && !self.awaits_headers {
            self.awaits_headers = true;
            self.since = Instant::now();
        }
    }

    /// Records a write; `is_taken` if the client accepted data.
    fn on_write(&mut self, is_taken: bool) {
        if is_taken || !self.stalled {
            self.since = Instant::now();
        }
        self.stalled = !is_taken;
    }
}

impl Connection {
    fn state(&self) -> MutexGuard<'_, State> {
        // The state is consistent after every change, even if a thread panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut state = self.state();
        state.closing = true;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct RequestConnection(Arc<Connection>);

impl Connected<IncomingStream<'_, LimitedListener>> for RequestConnection {
    fn connect_info(stream: IncomingStream<'_, LimitedListener>) -> RequestConnection {
        RequestConnection(Arc::clone(&stream.io().connection))
    }
}

impl RequestConnection {
    /// Marks the connection as busy until the guard is dropped.
    pub(super) fn begin_request(&self) -> ActiveRequest {
        let mut state = self.0.state();
        state.requests += 1;
        state.awaits_headers = false;
        ActiveRequest(Arc::clone(&self.0))
    }
}

/// Guard of a request in progress.
#[derive(Debug)]
pub(super) struct ActiveRequest(Arc<Connection>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.requests -= 1;
        state.since = Instant::now();
    }
}

/// Middleware that marks the connection as busy during a request.
pub(super) async fn track(
    ConnectInfo(tracked): ConnectInfo<RequestConnection>,
    request: Request,
    next: Next,
) -> Response {
    let _active = tracked.begin_request();
    next.run(request).await
}

/// A stream that fails when its connection is too slow.
pub(super) struct LimitedStream {
    stream: TcpStream,
    connection: Arc<Connection>,
    connections: Arc<Connections>,
    sleep: Pin<Box<Sleep>>,
}

impl LimitedStream {
    fn new(stream: TcpStream, connections: &Arc<Connections>) -> LimitedStream {
        let state = State::new();
        let sleep = Box::pin(sleep_until(state.since + HEADER_TIMEOUT));
        let connection = Arc::new(Connection {
            state: Mutex::new(state),
        });
        connections.list().push(Arc::clone(&connection));
        LimitedStream {
            stream,
            connection,
            connections: Arc::clone(connections),
            sleep,
        }
    }

    /// Fails once the connection must close; otherwise wakes the task at its deadline.
    fn check_time(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let mut state = self.connection.state();
        state.waker = Some(context.waker().clone());
        if state.closing {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let Some(deadline) = state.deadline() else {
            return Ok(());
        };
        drop(state);
        if self.sleep.deadline() != deadline {
            self.sleep.as_mut().reset(deadline);
        }
        match self.sleep.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(()),
        }
    }

    /// Records the outcome of a write; fails if the client accepted nothing for too long.
    fn record_write<T>(&mut self, outcome: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        self.connection.state().on_write(outcome.is_ready());
        match outcome {
            Poll::Pending => match self.check_time(context) {
                Ok(()) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            },
            ready => ready,
        }
    }
}

impl Drop for LimitedStream {
    fn drop(&mut self) {
        self.connections
            .list()
            .retain(|connection| !Arc::ptr_eq(connection, &self.connection));
        self.connections.closed.notify_one();
    }
}

impl AsyncRead for LimitedStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = bytes.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, bytes);
        if bytes.filled().len() > before {
            self.connection.state().on_read();
        }
        // Bytes that arrive one by one do not extend the deadline.
        self.check_time(context)?;
        outcome
    }
}

impl AsyncWrite for LimitedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.record_write(outcome, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.record_write(outcome, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_connection_decides_its_timeout() {
        let check = |state: &State, limit: Option<u64>| {
            let seconds_left = state.deadline().map(|deadline| (deadline - state.since).as_secs());
            assert_eq!(seconds_left, limit, "{state:?}");
        };
        let mut state = State::new();
        check(&state, Some(5));
        // A byte of the headers does not extend the time.
        let since = state.since;
        state.on_read();
        assert_eq!(state.since, since);
        let connection = RequestConnection(Arc::new(Connection {
            state: Mutex::new(state),
        }));
        let request = connection.begin_request();
        check(&connection.0.state(), None);
        assert_eq!(connection.0.state().idle_since(), None);
        drop(request);
        // Between two requests, and after the next request has begun.
        let mut state = connection.0.state();
        check(&state, Some(30));
        assert_eq!(state.idle_since(), Some(state.since));
        state.on_read();
        check(&state, Some(5));
        // A client that first reads nothing, then something.
        state.requests = 1;
        state.on_write(false);
        check(&state, Some(30));
        let stalled = state.since;
        state.on_write(false);
        assert_eq!(state.since, stalled);
        state.on_write(true);
        check(&state, None);
    }
}
