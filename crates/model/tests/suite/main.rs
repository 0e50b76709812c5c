//! Plans, their sequences of operations, and results, through the crate's public interface alone.

#![allow(clippy::unwrap_used, reason = "all of this is test code, including helpers")]

mod diskspd;
mod drive;
mod fio;
mod observation;
mod plan_check;
mod results;
mod sequences;

/// What most of these files use.
mod prelude {
    pub use model::access::{Access, AtEnd, Mixed, Once, Placement, PositionSharing, RangeBasis, Sequential, Uniform};
    pub use model::block_size::{BlockSizes, SizeShare};
    pub use model::content::Content;
    pub use model::draws::{GeneratorChoice, Reduction};
    pub use model::mix::{Mix, MixRule};
    pub use model::plan::{
        DepthScope, Extent, Grid, GridScope, Job, Pacing, Phases, Plan, Rate, Region, Stop, Stream, StreamTarget,
        TargetId, Think, ThinkCount, Worker,
    };
    pub use model::{Bytes, Direction, Nanos, PerDirection, testing};
    pub use testbed::With;
}
