//! Connections of a server: how many there are at a time, and how long each may take.
//!
//! A scan of ports, or a client that stalls, must cost neither the test its file descriptors nor
//! other clients their answers. So there is a limit; where it is reached, the connection closes
//! that has been without a request for longest.

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

/// From the first byte of a request, or the beginning of the connection, to the end of the headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// Between two requests; also while a client takes nothing of an answer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// While all connections have requests, it is checked this often whether one has ended.
const RECHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Pause after an error of the listener, such as too many open files.
const ERROR_PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections up to a limit.
pub(super) struct LimitedListener {
    listener: TcpListener,
    connections: Arc<Connections>,
}

impl LimitedListener {
    /// At most `max` connections; one more waits, accepted and unread.
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
    /// One of them has closed.
    closed: Notify,
}

impl Connections {
    fn list(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns once there is room for one more.
    async fn make_room(&self) {
        loop {
            {
                let list = self.list();
                if list.len() < self.max {
                    return;
                }
                let waiting = list.iter().filter_map(|one| Some((one.state().waiting_since()?, one)));
                if let Some((_, longest)) = waiting.min_by_key(|(since, _)| *since) {
                    longest.close();
                }
            }
            let _ = timeout(RECHECK_INTERVAL, self.closed.notified()).await;
        }
    }
}

/// What is known of a connection.
#[derive(Debug)]
pub(super) struct Connection {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The last progress: its beginning, the first byte of a request, a piece of an answer, the end
    /// of an answer.
    since: Instant,
    /// The headers of a request are due.
    awaits_headers: bool,
    /// Requests that are being answered.
    requests: u32,
    /// The client takes nothing of what is written.
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

    /// When it closes, unless something moves before.
    fn deadline(&self) -> Option<Instant> {
        match (self.stalled, self.requests, self.awaits_headers) {
            (true, _, _) => Some(self.since + IDLE_TIMEOUT),
            (false, 1.., _) => None,
            (false, 0, true) => Some(self.since + HEADER_TIMEOUT),
            (false, 0, false) => Some(self.since + IDLE_TIMEOUT),
        }
    }

    /// Since when it has had no request; `None` if it has one.
    fn waiting_since(&self) -> Option<Instant> {
        (self.requests == 0 && !self.stalled && !self.closing).then_some(self.since)
    }

    fn on_read(&mut self) {
        if self.requests == 0 && !self.awaits_headers {
            self.awaits_headers = true;
            self.since = Instant::now();
        }
    }

    /// The outcome of a write: whether the client took something.
    fn on_write(&mut self, is_taken: bool) {
        if is_taken || !self.stalled {
            self.since = Instant::now();
        }
        self.stalled = !is_taken;
    }
}

impl Connection {
    fn state(&self) -> MutexGuard<'_, State> {
        // What is within is whole after every change.
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

/// The connection that a request came over.
#[derive(Clone, Debug)]
pub(super) struct Tracked(Arc<Connection>);

impl Connected<IncomingStream<'_, LimitedListener>> for Tracked {
    fn connect_info(stream: IncomingStream<'_, LimitedListener>) -> Tracked {
        Tracked(Arc::clone(&stream.io().connection))
    }
}

impl Tracked {
    /// From now until this is dropped the connection has a request.
    pub(super) fn begin_request(&self) -> ActiveRequest {
        let mut state = self.0.state();
        state.requests += 1;
        state.awaits_headers = false;
        ActiveRequest(Arc::clone(&self.0))
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct ActiveRequest(Arc<Connection>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.requests -= 1;
        state.since = Instant::now();
    }
}

/// Wraps every service.
pub(super) async fn track(ConnectInfo(tracked): ConnectInfo<Tracked>, request: Request, next: Next) -> Response {
    let _active = tracked.begin_request();
    next.run(request).await
}

/// A connection that ends where it takes too long.
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

    /// Fails once the connection is over; wakes the task of this context when it will be.
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

    /// Notes the outcome of a write, and fails where the client has taken nothing for too long.
    fn note_write<T>(&mut self, outcome: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
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
            .retain(|one| !Arc::ptr_eq(one, &self.connection));
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
        // Bytes that come one by one do not lengthen the time.
        self.check_time(context)?;
        outcome
    }
}

impl AsyncWrite for LimitedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note_write(outcome, context)
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
        self.note_write(outcome, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_connection_waits_for_decides_how_long() {
        let check = |state: &State, limit: Option<u64>| {
            let left = state.deadline().map(|deadline| (deadline - state.since).as_secs());
            assert_eq!(left, limit, "{state:?}");
        };
        let mut state = State::new();
        check(&state, Some(5));
        // A byte of the headers gives no more time.
        let begun = state.since;
        state.on_read();
        assert_eq!(state.since, begun);
        let connection = Tracked(Arc::new(Connection {
            state: Mutex::new(state),
        }));
        let request = connection.begin_request();
        check(&connection.0.state(), None);
        assert_eq!(connection.0.state().waiting_since(), None);
        drop(request);
        // Between two requests, and once another one has begun.
        let mut state = connection.0.state();
        check(&state, Some(30));
        assert_eq!(state.waiting_since(), Some(state.since));
        state.on_read();
        check(&state, Some(5));
        // A client that takes nothing, and then something.
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
