//! Decides how many operations a turn submits, and how many completions it awaits.

use model::plan::Batching as Options;

/// Consecutive turns after which the target counts as inline. All operations of these turns must
/// complete inside the submitting call.
const INLINE_TURNS: u32 = 16;

/// The first turns submit without waiting, to detect completion inside the call.
const PROBE_TURNS: u32 = 64;

/// The sizes of batches, adapted to the target if the plan leaves them open.
#[derive(Debug)]
pub(crate) struct Batching {
    /// The current maximum number of operations in a turn.
    pub(crate) submit: usize,
    default_submit: usize,
    /// Completions to wait for when the queue is full.
    pub(crate) complete_min: u32,
    /// Once full, the queue is refilled only at this depth or below (fio `iodepth_low`).
    pub(crate) refill_below: Option<u32>,
    refilling: bool,
    /// Take a stamp between submitting and waiting in each turn.
    pub(crate) split_stamps: bool,
    /// The size of a batch may change. The plan leaves it open, and the engine may complete
    /// operations inside the call.
    pub(crate) adapts: bool,
    pub(crate) inline: InlineDetector,
    /// The pool that submits next, if the worker submits one operation at a time.
    pub(crate) next_pool: usize,
}

/// Detects a target that completes operations inside the submitting call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InlineDetector {
    /// The number of consecutive turns in which all operations completed inside the call.
    consecutive_turns: u32,
    probes_left: u32,
    pub(crate) is_detected: bool,
}

impl Batching {
    /// Batches of at most `submit` operations; `adapts` lets the worker shrink them.
    pub(crate) fn new(options: &Options, submit: usize, adapts: bool, split_stamps: bool) -> Batching {
        Batching {
            submit,
            default_submit: submit,
            complete_min: options.complete_min.unwrap_or(1),
            refill_below: options.refill_below,
            refilling: true,
            split_stamps,
            adapts,
            inline: InlineDetector {
                probes_left: if adapts { PROBE_TURNS } else { 0 },
                ..InlineDetector::default()
            },
            next_pool: 0,
        }
    }

    /// True if the next turn submits without waiting, to detect completion inside the call.
    #[inline(always)]
    pub(crate) fn is_probing(&self) -> bool {
        self.inline.probes_left > 0
    }

    /// True if a queue that was full has not drained enough to be refilled.
    #[inline(always)]
    pub(crate) fn defers_refill(&mut self, in_flight: u32, has_room: bool) -> bool {
        let Some(low) = self.refill_below else {
            return false;
        };
        if in_flight <= low {
            self.refilling = true;
        } else if !has_room {
            self.refilling = false;
        }
        !self.refilling
    }

    /// Adapts to a turn that did not wait. If operations complete inside the call, the size of the
    /// batch *is* their latency, so each is submitted separately.
    #[inline(never)]
    pub(crate) fn adapt_batch(&mut self, submitted: u32, completed: u32) {
        if submitted == 0 {
            return;
        }
        let inline = &mut self.inline;
        inline.probes_left = inline.probes_left.saturating_sub(1);
        if completed >= submitted {
            inline.consecutive_turns = inline.consecutive_turns.saturating_add(1);
        } else {
            inline.consecutive_turns = 0;
        }
        let works_inline = inline.consecutive_turns >= INLINE_TURNS;
        if works_inline != inline.is_detected && (works_inline || inline.consecutive_turns == 0) {
            inline.is_detected = works_inline;
            self.submit = if works_inline { 1 } else { self.default_submit };
        }
    }
}
