//! Takes over the terminal for the live view, and always restores it. A separate thread draws on
//! stderr and reads keys.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::probe::{CoreTimes, DeviceTimes};
use engine::sys::signals;
use engine::sys::terminal::{self, Keys};
use model::Nanos;
use model::event::Event;
use model::finding::Severity;
use model::plan::Plan;
use report::live::{Line, Machine, State, ViewOptions, draw};

/// How often to check for keys.
const KEY_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Shortest time between two redraws.
const MIN_REDRAW_GAP: Duration = Duration::from_millis(250);
/// Longest time between two redraws, so that a stall is visible.
const MAX_REDRAW_GAP: Duration = Duration::from_secs(1);
/// Time after which the view opens; a shorter run opens none.
const OPEN_AFTER: Duration = Duration::from_millis(300);
/// Shortest time over which machine counters are read.
const MIN_COUNTER_TIME: Duration = Duration::from_millis(700);

/// Enters the alternate screen, hides the cursor, and cuts lines at the right edge.
const ENTER_SEQUENCE: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?7l";
/// Undoes [`ENTER_SEQUENCE`].
const RESTORE_SEQUENCE: &[u8] = b"\x1b[?7h\x1b[?25h\x1b[?1049l";

/// True while the view owns the terminal.
static TERMINAL_TAKEN: AtomicBool = AtomicBool::new(false);

#[derive(Debug)]
pub struct View {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    view: Mutex<ViewState>,
    closing: Condvar,
    is_lost: AtomicBool,
}

#[derive(Debug, Default)]
struct ViewState {
    state: State,
    /// Something has changed since the last redraw.
    is_changed: bool,
    last_event_at: Option<Instant>,
    closing: bool,
}

impl Shared {
    fn view(&self) -> MutexGuard<'_, ViewState> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Columns and lines of a terminal that does not report its size.
const DEFAULT_SIZE: (usize, usize) = (80, 24);

pub fn size_of_stdout() -> Option<(usize, usize)> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(columns, lines)| (columns.0.into(), lines.0.into()))
}

pub fn size_of_stderr() -> Option<(usize, usize)> {
    terminal_size::terminal_size_of(std::io::stderr()).map(|(columns, lines)| (columns.0.into(), lines.0.into()))
}

/// Returns the reason why a view is impossible, if any.
pub fn unsupported_reason() -> Option<&'static str> {
    use std::io::IsTerminal;
    let dumb = match std::env::var_os("TERM") {
        Some(name) => name == "dumb",
        None => cfg!(unix),
    };
    if !std::io::stderr().is_terminal() {
        Some("standard error is not a terminal")
    } else if dumb {
        Some("TERM is unset or `dumb`, so the terminal cannot draw")
    } else if !terminal::is_in_foreground() {
        Some("the program runs in the background of its terminal")
    } else {
        None
    }
}

impl View {
    /// Starts a view that opens after [`OPEN_AFTER`]. `q` sets `interrupt`.
    pub fn new(interrupt: &'static AtomicBool) -> View {
        let shared = Arc::new(Shared::default());
        let thread_shared = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("view".into())
            .spawn(move || {
                run_view_loop(&thread_shared, interrupt);
                thread_shared.is_lost.store(true, Ordering::Release);
            })
            .ok();
        shared.is_lost.store(thread.is_none(), Ordering::Release);
        View { shared, thread }
    }

    pub fn begin(&self, plan: &Plan, run_label: Option<String>) {
        let mut view = self.shared.view();
        view.state.begin(plan, run_label);
        (view.is_changed, view.last_event_at) = (true, Some(Instant::now()));
    }

    pub fn handle_event(&self, event: &Event) {
        let mut view = self.shared.view();
        view.is_changed |= view.state.apply(event);
        view.last_event_at = Some(Instant::now());
    }

    pub fn message(&self, severity: Severity, text: &str) {
        let mut view = self.shared.view();
        view.state.push_message(severity, text);
        view.is_changed = true;
    }

    /// True if the view can no longer draw.
    pub fn is_lost(&self) -> bool {
        self.shared.is_lost.load(Ordering::Acquire)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.shared.view().closing = true;
        self.shared.closing.notify_all();
        if let Some(thread) = self.thread.take() {
            // The panic hook has already reported a panic of the thread.
            let _ = thread.join();
        }
        restore_terminal();
    }
}

/// The terminal while the view owns it; restored on drop.
struct LiveTerminal {
    keys: Keys,
    /// Columns and lines.
    size: (usize, usize),
    /// The lines on the screen; `None` if it must be cleared first.
    shown: Option<Vec<String>>,
}

/// A key with an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    /// Stop, and report.
    Quit,
    /// The action of Ctrl-C.
    Interrupt,
    /// The action of Ctrl-Z.
    Suspend,
    /// Draw everything again.
    Redraw,
}

/// Finds the first key with an action. Ignores escape sequences such as arrow keys, whose letters
/// are not keys.
fn parse_key(typed: &[u8]) -> Option<Key> {
    let keys = typed.iter().take_while(|byte| **byte != 0x1b);
    let key = |byte: &u8| match byte {
        b'q' | b'Q' => Some(Key::Quit),
        0x03 => Some(Key::Interrupt),
        // Windows has no job control.
        0x1a if cfg!(unix) => Some(Key::Suspend),
        0x0c => Some(Key::Redraw),
        _ => None,
    };
    keys.into_iter().find_map(key)
}

impl LiveTerminal {
    fn new() -> std::io::Result<LiveTerminal> {
        restore_on_panic();
        let keys = Keys::new()?;
        take_over()?;
        Ok(LiveTerminal {
            keys,
            size: size_of_stderr().unwrap_or(DEFAULT_SIZE),
            shown: None,
        })
    }

    /// Writes the lines that differ from those on the screen.
    fn draw(&mut self, state: &State, options: ViewOptions) -> std::io::Result<()> {
        let (width, height) = self.size;
        let mut lines: Vec<String> = draw(state, options, width, height)
            .iter()
            .map(Line::to_string)
            .collect();
        lines.resize(height, String::new());
        let out = redraw_sequence(self.shown.as_deref(), &lines);
        std::io::stderr().write_all(out.as_bytes())?;
        self.shown = Some(lines);
        Ok(())
    }
}

/// The bytes that turn the lines on a screen into others.
fn redraw_sequence(shown: Option<&[String]>, lines: &[String]) -> String {
    let mut out = String::new();
    if shown.is_none() {
        out += "\x1b[2J";
    }
    for (index, line) in lines.iter().enumerate() {
        let before = shown.map_or("", |shown| shown[index].as_str());
        if line != before {
            // Clear first: after a line as wide as the screen, its last character would be cleared.
            let _ = write!(out, "\x1b[{};1H\x1b[K{line}", index + 1);
        }
    }
    out
}

impl Drop for LiveTerminal {
    fn drop(&mut self) {
        restore_terminal();
    }
}

fn take_over() -> std::io::Result<()> {
    TERMINAL_TAKEN.store(true, Ordering::Release);
    terminal::take_over(ENTER_SEQUENCE, RESTORE_SEQUENCE).inspect_err(|_| restore_terminal())
}

/// Restores the terminal, once.
fn restore_terminal() {
    if TERMINAL_TAKEN.swap(false, Ordering::AcqRel) {
        terminal::restore();
    }
}

/// Restores the terminal before a panic of any thread is printed. The view does not reopen.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous_hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore_terminal();
            previous_hook(panic);
        }));
    });
}

/// Runs the loop of the thread: draws and reads keys until the view is dropped or the terminal is
/// lost.
fn run_view_loop(shared: &Shared, interrupt: &AtomicBool) {
    let is_open = |view: &mut ViewState| !view.closing;
    let waited = shared.closing.wait_timeout_while(shared.view(), OPEN_AFTER, is_open);
    let is_closing = |view: MutexGuard<'_, ViewState>| view.closing;
    if is_closing(waited.unwrap_or_else(PoisonError::into_inner).0) {
        return;
    }
    let Ok(mut terminal) = LiveTerminal::new() else { return };
    let mut counters = Counters::new();
    let (mut drawn, mut redraw_now) = (Instant::now(), true);
    loop {
        {
            let mut view = shared.view();
            // A panicking thread has restored the terminal: do not draw over its message.
            if view.closing || !TERMINAL_TAKEN.load(Ordering::Acquire) {
                return;
            }
            if interrupt.load(Ordering::Relaxed) {
                view.state.mark_stopping();
            }
            let due = drawn.elapsed()
                >= if view.is_changed {
                    MIN_REDRAW_GAP
                } else {
                    MAX_REDRAW_GAP
                };
            if redraw_now || due {
                counters.update(&mut view);
                let options = view_options(&view);
                if terminal.draw(&view.state, options).is_err() {
                    return;
                }
                (view.is_changed, redraw_now, drawn) = (false, false, Instant::now());
            }
        }
        match handle_input(&mut terminal, interrupt) {
            Ok(redraw) => redraw_now |= redraw,
            Err(_) => return,
        }
    }
}

fn view_options(view: &ViewState) -> ViewOptions {
    let silent_for = view
        .last_event_at
        .map_or(Duration::ZERO, |last_event_at| last_event_at.elapsed());
    ViewOptions {
        unicode: has_unicode(),
        colour: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        silent_for: Nanos(silent_for.as_nanos() as u64),
    }
}

/// True if the locale is UTF-8, and always on Windows.
pub fn has_unicode() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let set = names
        .iter()
        .filter_map(std::env::var_os)
        .find(|value| !value.is_empty());
    let utf8 = |value: std::ffi::OsString| {
        let value = value.to_string_lossy().to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    };
    cfg!(windows) || set.is_some_and(utf8)
}

/// Waits for a key or a new size. Returns true if the view must be redrawn immediately.
fn handle_input(terminal: &mut LiveTerminal, interrupt: &AtomicBool) -> std::io::Result<bool> {
    let key = parse_key(&terminal.keys.wait(KEY_POLL_INTERVAL)?);
    let size = size_of_stderr().unwrap_or(DEFAULT_SIZE);
    let resized = std::mem::replace(&mut terminal.size, size) != size;
    if resized {
        terminal.shown = None;
    }
    Ok(match key {
        None => resized,
        Some(key) => {
            handle_key(key, terminal, interrupt)?;
            true
        }
    })
}

fn handle_key(key: Key, terminal: &mut LiveTerminal, interrupt: &AtomicBool) -> std::io::Result<()> {
    match key {
        Key::Quit => interrupt.store(true, Ordering::Relaxed),
        Key::Redraw => terminal.shown = None,
        Key::Interrupt => {
            if interrupt.load(Ordering::Relaxed) {
                // A second Ctrl-C ends the process immediately.
                restore_terminal();
            }
            signals::request_stop();
        }
        Key::Suspend => {
            restore_terminal();
            terminal::suspend();
            // The stop signal may reach another thread first, so this thread waits instead of
            // drawing.
            std::thread::sleep(KEY_POLL_INTERVAL);
            // The process may continue in the background, where it cannot draw.
            while !terminal::is_in_foreground() && !interrupt.load(Ordering::Relaxed) {
                std::thread::sleep(KEY_POLL_INTERVAL);
            }
            take_over()?;
            terminal.shown = None;
        }
    }
    Ok(())
}

/// The machine's counters at the last update.
struct Counters {
    at: Instant,
    cores: CoreTimes,
    devices: DeviceTimes,
}

impl Counters {
    fn new() -> Counters {
        Counters {
            at: Instant::now(),
            cores: CoreTimes::read(),
            devices: DeviceTimes::read(),
        }
    }

    /// Passes the differences to the state, if at least [`MIN_COUNTER_TIME`] has passed.
    fn update(&mut self, view: &mut ViewState) {
        if view.state.take_step_begun() {
            *self = Counters::new();
        }
        if self.at.elapsed() < MIN_COUNTER_TIME {
            return;
        }
        let before = std::mem::replace(self, Counters::new());
        let names = view.state.devices();
        let devices = names
            .filter_map(|name| self.devices.since(&before.devices, name))
            .collect();
        view.state.set_machine(Machine {
            length: Nanos((self.at - before.at).as_nanos() as u64),
            cores: self.cores.since(&before.cores),
            devices,
        });
    }
}

/// Prints the messages of the closed view.
pub fn print_messages(lines: &[String]) {
    lines.iter().for_each(|line| crate::screen::note(line));
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn keys_have_actions_and_escape_sequences_none() {
        assert_eq!(parse_key(b"q"), Some(Key::Quit));
        assert_eq!(parse_key(b"xyQ"), Some(Key::Quit));
        assert_eq!(parse_key(b"\x03"), Some(Key::Interrupt));
        assert_eq!(parse_key(b"\x1a"), Some(Key::Suspend));
        assert_eq!(parse_key(b"\x0c"), Some(Key::Redraw));
        // The 1 of a keypad in application mode.
        assert_eq!(parse_key(b"\x1bOq"), None);
        assert_eq!(parse_key("ä\n".as_bytes()), None);
    }

    #[test]
    fn only_lines_that_changed_are_written() {
        let lines = |texts: [&str; 3]| texts.map(str::to_owned);
        let (first, second) = (lines(["a", "", "c"]), lines(["a", "b", ""]));
        assert_eq!(redraw_sequence(None, &first), "\x1b[2J\x1b[1;1H\x1b[Ka\x1b[3;1H\x1b[Kc");
        assert_eq!(
            redraw_sequence(Some(&first), &second),
            "\x1b[2;1H\x1b[Kb\x1b[3;1H\x1b[K"
        );
        assert_eq!(redraw_sequence(Some(&second), &second), "");
    }

    #[test]
    fn a_panic_of_any_thread_restores_the_terminal() {
        testbed::in_own_process("terminal::tests::a_panic_of_any_thread_restores_the_terminal", || {
            restore_on_panic();
            TERMINAL_TAKEN.store(true, Ordering::Release);
            let thread = std::thread::spawn(|| panic!("as a worker might"));
            assert!(thread.join().is_err());
            assert!(!TERMINAL_TAKEN.load(Ordering::Acquire));
        });
    }
}
