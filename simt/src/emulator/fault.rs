//! Faults of kernels: kind, location and message.
//!
//! A [`Fault`] names the kernel, the block and thread, the source line and the memory; for a race also
//! the other thread. Its message is one line, made for a terminal.

use std::fmt;
use std::panic::Location;

use crate::launch::ArgumentError;

/// A location in a source file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceLocation {
    /// The file, as the compiler was given it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl From<&Location<'_>> for SourceLocation {
    fn from(location: &Location<'_>) -> Self {
        Self { file: location.file().to_owned(), line: location.line(), column: location.column() }
    }
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Which memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// A buffer of the launch.
    Global,
    /// The block's shared memory.
    Shared,
    /// A constant table.
    Constant,
    /// A texture.
    Texture,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Constant => "constant",
            Self::Texture => "texture",
        })
    }
}

/// A piece of memory that a fault is about: a space, and the name of the parameter, array or table
/// where there is one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Region {
    /// The space.
    pub space: Space,
    /// The parameter, the shared array or the constant table; empty when unknown.
    pub name: String,
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            write!(f, "{} memory", self.space)
        } else {
            write!(f, "{} {}", self.space, self.name)
        }
    }
}

/// How memory was accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic read-modify-write.
    Atomic,
}

impl AccessKind {
    fn verb(self, past: bool) -> &'static str {
        match (self, past) {
            (Self::Read, false) => "reads",
            (Self::Read, true) => "read",
            (Self::Write, false) => "writes",
            (Self::Write, true) => "wrote",
            (Self::Atomic, false) => "updates atomically",
            (Self::Atomic, true) => "updated atomically",
        }
    }
}

/// A point at which lanes wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncPoint {
    /// `sync_threads`.
    Barrier,
    /// `sync_threads_count`.
    BarrierCount,
    /// `sync_warp`.
    SyncWarp,
    /// A vote.
    Ballot,
    /// `warp_shuffle_idx`.
    ShuffleIdx,
    /// `warp_shuffle_up`.
    ShuffleUp,
    /// `warp_shuffle_down`.
    ShuffleDown,
    /// `warp_shuffle_xor`.
    ShuffleXor,
    /// A matrix product.
    Mma,
    /// [`multiply_add_b1`](crate::mma::multiply_add_b1).
    MmaBits,
}

impl fmt::Display for SyncPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Barrier => "sync_threads",
            Self::BarrierCount => "sync_threads_count",
            Self::SyncWarp => "sync_warp",
            Self::Ballot => "a warp vote",
            Self::ShuffleIdx => "warp_shuffle_idx",
            Self::ShuffleUp => "warp_shuffle_up",
            Self::ShuffleDown => "warp_shuffle_down",
            Self::ShuffleXor => "warp_shuffle_xor",
            Self::Mma => "a matrix product",
            Self::MmaBits => "a matrix product of bits",
        })
    }
}

/// The access of another thread that a fault conflicts with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OtherAccess {
    /// The thread's block.
    pub block: [u32; 3],
    /// The thread's index in the block.
    pub thread: [u32; 3],
    /// How it accessed the memory.
    pub access: AccessKind,
    /// Its line.
    pub at: Option<SourceLocation>,
}

impl fmt::Display for OtherAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (thread, block) = (coordinates(&self.thread), coordinates(&self.block));
        write!(f, "thread {thread} of block {block} {}", self.access.verb(true))?;
        self.at.as_ref().map_or(Ok(()), |at| write!(f, " at {at}"))
    }
}

/// Why a lane does not reach a synchronisation point.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Absence {
    /// It has left the kernel.
    Left,
    /// It waits elsewhere.
    Waits {
        /// At what.
        sync_point: SyncPoint,
        /// For which lanes; `None` for the whole block.
        mask: Option<u32>,
        /// Where.
        at: SourceLocation,
    },
    /// The block has no such thread: it has too few for a full warp.
    Nonexistent,
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Left => f.write_str("has left the kernel"),
            Self::Waits { sync_point, mask: Some(mask), at } => {
                write!(f, "waits in {sync_point} with mask {mask:#010x} at {at}")
            }
            Self::Waits { sync_point, mask: None, at } => write!(f, "waits in {sync_point} at {at}"),
            Self::Nonexistent => f.write_str("does not exist in this block"),
        }
    }
}

fn coordinates([x, y, z]: &[u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

/// What an index counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Elements of the handle's type.
    Element,
    /// Bytes.
    Byte,
}

fn range(unit: Unit, index: u64, count: u64) -> String {
    match (unit, count) {
        (Unit::Element, 1) => format!("index {index} is"),
        (Unit::Element, _) => format!("indices {index}..{} are", u128::from(index) + u128::from(count)),
        (Unit::Byte, 1) => format!("byte {index} is"),
        (Unit::Byte, _) => format!("bytes {index}..{} are", u128::from(index) + u128::from(count)),
    }
}

fn noun(unit: Unit) -> &'static str {
    match unit {
        Unit::Element => "elements",
        Unit::Byte => "bytes",
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// An index beyond the end.
    #[error("{} outside the {len} {} of {memory}", range(*unit, *index, *count), noun(*unit))]
    OutOfBounds {
        /// The memory.
        memory: Region,
        /// What the numbers count.
        unit: Unit,
        /// The first index of the access.
        index: u64,
        /// How many it covers.
        count: u64,
        /// How many there are.
        len: u64,
    },
    /// A pointer to memory other than the argument's.
    #[error("pointer {index} of {memory} is {address:#x}, which is not in the buffer that its pointers lead into")]
    Pointer {
        /// The memory that holds it.
        memory: Region,
        /// Which of its pointers.
        index: u64,
        /// The pointer.
        address: u64,
    },
    /// A misaligned address.
    #[error(
        "an access of {bytes} bytes at byte {offset} of {memory}: its address {address:#x} is no multiple of {bytes}"
    )]
    Misaligned {
        /// The memory.
        memory: Region,
        /// Byte offset in it.
        offset: u64,
        /// The device address, or that in the shared window.
        address: u64,
        /// Bytes of the access.
        bytes: u64,
    },
    /// Two threads access the same byte, one of them writes, and nothing orders them.
    #[error("race at byte {offset} of {memory}: this thread {} what {other}, and nothing orders the two", access.verb(false))]
    Race {
        /// The memory.
        memory: Region,
        /// Byte offset in it.
        offset: u64,
        /// What this thread does.
        access: AccessKind,
        /// The other thread's.
        other: Box<OtherAccess>,
    },
    /// A read-only load (`In`, a texture) from memory that the launch writes.
    #[error("a read-only load at byte {offset} of {memory}, which {other} in the same launch")]
    ReadOnly {
        /// The memory.
        memory: Region,
        /// Byte offset in it.
        offset: u64,
        /// The write.
        other: Box<OtherAccess>,
    },
    /// A read of memory that nothing wrote.
    #[error("a read at byte {offset} of {memory}, which nothing has written")]
    Uninitialised {
        /// The memory.
        memory: Region,
        /// Offset of the first unwritten byte.
        offset: u64,
    },
    /// A barrier that a thread of the block never reaches.
    #[error("the thread waits in {sync_point}, and thread {} of the block {absence}", coordinates(thread))]
    Barrier {
        /// Which kind of barrier.
        sync_point: SyncPoint,
        /// The thread that does not come.
        thread: [u32; 3],
        /// Why.
        absence: Absence,
    },
    /// A warp operation that a lane of its mask never reaches.
    #[error("{sync_point} with mask {mask:#010x} names lane {lane}, which {absence}")]
    WarpMask {
        /// The operation.
        sync_point: SyncPoint,
        /// Its mask.
        mask: u32,
        /// The lane that does not come.
        lane: u32,
        /// Why.
        absence: Absence,
    },
    /// A warp operation whose mask leaves out the caller.
    #[error("{sync_point} with mask {mask:#010x}, which leaves out the calling lane")]
    NotInMask {
        /// The operation.
        sync_point: SyncPoint,
        /// Its mask.
        mask: u32,
    },
    /// A shuffle that reads a lane outside its mask.
    #[error("{sync_point} reads lane {source_lane}, which its mask {mask:#010x} leaves out")]
    ShuffleSource {
        /// The operation.
        sync_point: SyncPoint,
        /// Its mask.
        mask: u32,
        /// The lane that it reads.
        source_lane: u32,
    },
    /// A shuffle with an impossible segment.
    #[error("{sync_point} with width {width}, which is no power of two from 1 to 32")]
    ShuffleWidth {
        /// The operation.
        sync_point: SyncPoint,
        /// Its width.
        width: u32,
    },
    /// More shared memory than the device has.
    #[error("shared array {name} makes {bytes} bytes of shared memory a block, and the limit is {limit}")]
    SharedLimit {
        /// The array that went over it.
        name: String,
        /// Static and dynamic bytes together.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A lane that exceeds the limit of accesses.
    #[error(
        "the thread has made {accesses} accesses to memory without synchronising with another: it waits for what never comes"
    )]
    Spins {
        /// The limit that it passed.
        accesses: u64,
    },
    /// A Rust panic.
    #[error("panic: {message}")]
    Panic {
        /// Its message.
        message: String,
    },
}

/// An error in a kernel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel {kernel}, block {}, thread {} (warp {warp}, lane {lane}){}: {kind}", coordinates(block),
    coordinates(thread), at.as_ref().map(|at| format!(", {at}")).unwrap_or_default())]
pub struct Fault {
    /// The kernel.
    pub kernel: &'static str,
    /// The block.
    pub block: [u32; 3],
    /// The thread's index in the block.
    pub thread: [u32; 3],
    /// The warp in the block.
    pub warp: u32,
    /// The lane in the warp.
    pub lane: u32,
    /// The line.
    pub at: Option<SourceLocation>,
    /// What happened.
    pub kind: FaultKind,
}

/// Why a launch was not completed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The arguments do not fit the kernel.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// The launch configuration is impossible.
    #[error("kernel {kernel}: {reason}")]
    Config {
        /// The kernel.
        kernel: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// An argument is no live buffer or texture of this memory.
    #[error("kernel {kernel}: argument {param}: {reason}")]
    Argument {
        /// The kernel.
        kernel: &'static str,
        /// The parameter.
        param: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The kernel has an error.
    #[error(transparent)]
    Fault(Box<Fault>),
    /// The observer asked to stop.
    #[error("kernel {kernel} was stopped after {blocks} blocks")]
    Stopped {
        /// The kernel.
        kernel: &'static str,
        /// Blocks that had run.
        blocks: u64,
    },
    /// The host could not allocate stacks for the lanes.
    #[error("kernel {kernel}: no stack for a lane: {reason}")]
    Stack {
        /// The kernel.
        kernel: &'static str,
        /// The system's error.
        reason: String,
    },
}

impl LaunchError {
    /// The fault, if it is one.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Fault(fault) => Some(fault),
            _ => None,
        }
    }
}
