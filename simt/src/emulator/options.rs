//! How a launch is run, and what it reports.

use std::ops::ControlFlow;

use super::accesses::Accesses;
use crate::launch::Constant;

/// An order of blocks or of lanes. A correct kernel gives the same result in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// By rising index.
    #[default]
    Forward,
    /// By falling index.
    Reverse,
    /// Shuffled by this seed.
    Shuffled(u64),
}

impl Order {
    /// The `len` indices in this order.
    pub(super) fn indices(self, len: u64) -> Box<dyn Iterator<Item = u64>> {
        match self {
            Self::Forward => Box::new(0..len),
            Self::Reverse => Box::new((0..len).rev()),
            Self::Shuffled(mut state) => {
                let mut list: Vec<u64> = (0..len).collect();
                for i in (1..list.len()).rev() {
                    // SplitMix64; the bias of the remainder does not matter here.
                    state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                    let mut z = state;
                    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
                    list.swap(i, ((z ^ z >> 31) % (i as u64 + 1)) as usize);
                }
                Box::new(list.into_iter())
            }
        }
    }
}

/// Called after each block with the blocks done and the blocks in all; `Break` stops the launch.
pub type Observer<'a> = &'a dyn Fn(u64, u64) -> ControlFlow<()>;

/// How a launch is run.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Report races on shared memory and on buffers that the launch may write.
    pub races: bool,
    /// Report reads of shared and global memory that was not written.
    pub uninitialised: bool,
    /// Report what warps do to shared and global memory, in [`Report::accesses`]. A launch takes several times as long, and some 260
    /// bytes for each access of a warp between two of its synchronisation points.
    pub accesses: bool,
    /// The order in which blocks run.
    pub block_order: Order,
    /// The order in which the warps of a block, and the lanes of a warp, run between two synchronisation points.
    pub lane_order: Order,
    /// Static and dynamic shared memory that a block may have, in bytes.
    pub shared_limit: u32,
    /// Stack of a lane, in bytes. A lane that needs more hits a guard page, which ends the process.
    pub stack_bytes: usize,
    /// Accesses to shared memory and to buffers that may be written which a lane may make between two synchronisation points. One that
    /// makes more is taken to wait for something that no other lane can do in the meantime.
    pub spin_limit: u64,
    /// Constants that the host sets for this launch.
    pub constants: &'a [Constant],
    /// Notified of progress.
    pub observer: Option<Observer<'a>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            races: true,
            uninitialised: true,
            accesses: false,
            block_order: Order::Forward,
            lane_order: Order::Forward,
            // The limit of an H100 or H200.
            shared_limit: 227 * 1024,
            stack_bytes: 128 * 1024,
            // Some seconds.
            spin_limit: 1 << 30,
            constants: &[],
            observer: None,
        }
    }
}

/// What a launch did. Operations are counted per thread, a vector access as one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Blocks.
    pub blocks: u64,
    /// Threads, over all blocks.
    pub threads: u64,
    /// Loads from buffers.
    pub global_loads: u64,
    /// Stores to buffers.
    pub global_stores: u64,
    /// Loads from shared memory.
    pub shared_loads: u64,
    /// Stores to shared memory.
    pub shared_stores: u64,
    /// Atomic operations, global and shared.
    pub atomics: u64,
    /// Loads from constant tables.
    pub constant_loads: u64,
    /// Texture fetches.
    pub texture_fetches: u64,
    /// Barriers that threads waited at.
    pub barriers: u64,
    /// Warp operations that threads took part in; a 64-bit shuffle is two.
    pub warp_operations: u64,
    /// Bytes of the static shared arrays that the kernel used.
    pub static_shared_bytes: u32,
    /// Counts of warps' accesses, where [`Options::accesses`] is set.
    pub accesses: Option<Accesses>,
}
