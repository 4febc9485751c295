//! The host's view of a kernel: its name, its parameters, and the arguments of one launch.
//!
//! `#[kernel]` makes a [`KernelEntry`] for every kernel. An executor (the emulator here, the CUDA driver in
//! `simt-exec`) takes the entry and a list of [`Arg`]s, checks one against the other with
//! [`KernelEntry::check`], and runs it: a wrong argument is an error that names the parameter, not a
//! kernel that reads nonsense.

use std::fmt;

use crate::emulator;
use crate::global::{In, Out, Pointee, Pointers};
use crate::scalar::Scalar;
use crate::texture::{Texel, Texture1d, Texture2d};

/// Grid and block shape of a launch, and its dynamic shared memory in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks along x, y, z, each at least 1.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z; at most 1024 together.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// `blocks` blocks of `threads` threads in one dimension, without dynamic shared memory.
    pub fn linear(blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], shared_bytes: 0 }
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }
}

/// What kind of argument a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamType {
    /// A buffer of this element type that is only read.
    In(&'static str),
    /// A buffer of this element type that may be written.
    Out(&'static str),
    /// A buffer of pointers.
    Pointers {
        /// How many have to be followed one after the other, at least 1.
        steps: u8,
        /// The element type that the last one leads to.
        element: &'static str,
        /// Whether the kernel may write that.
        writable: bool,
    },
    /// A number of this type.
    Value(&'static str),
    /// A texture of this many dimensions.
    Texture(u8),
}

impl fmt::Display for ParamType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::In(element) => write!(f, "In<{element}>"),
            Self::Out(element) => write!(f, "Out<{element}>"),
            Self::Pointers { steps, element, writable } => {
                for _ in 0..*steps {
                    f.write_str("Pointers<")?;
                }
                write!(f, "{}<{element}>", if *writable { "Out" } else { "In" })?;
                f.write_str(&">".repeat(usize::from(*steps)))
            }
            Self::Value(number) => f.write_str(number),
            Self::Texture(dimensions) => write!(f, "Texture{dimensions}d"),
        }
    }
}

/// The compiled kernels of a crate, as a static `MODULE` at the crate's root: `#[kernel]` refers to it in every [`KernelEntry`], so that an
/// executor finds the PTX of whatever kernel it is given.
///
/// ```text
/// #[cfg(not(target_arch = "nvptx64"))]
/// pub static MODULE: simt::launch::Module = simt::launch::Module {
///     ptx: &[include_str!("../ptx/mine.sm_75.ptx"), include_str!("../ptx/mine.sm_90.ptx")],
///     resources: include_str!("../ptx/resources.json"),
/// };
/// ```
pub struct Module {
    /// PTX texts. A kernel is in the one that was made for the oldest architecture that has all of its instructions.
    pub ptx: &'static [&'static str],
    /// What `ptxas` reported of registers, shared memory and spills, as JSON; empty where there is no report.
    pub resources: &'static str,
}

impl Module {
    /// No PTX: the kernels run in the emulator and nowhere else.
    pub const EMULATED: Self = Self { ptx: &[], resources: "" };
}

// The texts are megabytes.
impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: usize = self.ptx.iter().map(|text| text.len()).sum();
        f.debug_struct("Module").field("ptx_bytes", &bytes).finish_non_exhaustive()
    }
}

/// A parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    /// Its name in the source.
    pub name: &'static str,
    /// What it takes.
    pub ty: ParamType,
}

/// The description of a kernel, made by `#[kernel]`.
#[derive(Debug, Clone, Copy)]
pub struct KernelEntry {
    /// The kernel's name, in Rust and as a PTX entry.
    pub name: &'static str,
    /// Its parameters, in order.
    pub params: &'static [Param],
    /// The most threads a block may have.
    pub max_threads: u32,
    /// The least compute capability that has the kernel's instructions: 10 · major + minor.
    pub arch: u32,
    /// The source file.
    pub file: &'static str,
    /// The line in it.
    pub line: u32,
    /// The compiled kernels of its crate.
    pub module: &'static Module,
    /// Calls the kernel as the current lane of the emulator.
    #[doc(hidden)]
    pub call: unsafe fn(&[Arg]),
}

/// An argument of a launch.
#[derive(Debug, Clone, Copy)]
pub enum Arg {
    /// A device buffer, as its executor identifies it.
    Buffer(BufferArg),
    /// A device buffer of pointers.
    Pointers {
        /// The buffer, of u64.
        array: BufferArg,
        /// The buffer that they lead into; and the one that the pointers in there lead into, if there are some.
        into: [Option<BufferArg>; 2],
    },
    /// A 32-bit unsigned number.
    U32(u32),
    /// A 32-bit signed number.
    I32(i32),
    /// A 64-bit unsigned number.
    U64(u64),
    /// A 32-bit floating-point number.
    F32(f32),
    /// A 64-bit floating-point number.
    F64(f64),
    /// A texture object, as its executor identifies it.
    Texture {
        /// The object.
        handle: u64,
        /// 1 or 2.
        dimensions: u8,
    },
}

/// A device buffer as an argument: elements of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferArg {
    /// Device address of the first element (in the emulator: see `emulator::Memory`).
    pub address: u64,
    /// Element type.
    pub element: &'static str,
    /// Length in bytes from the address on.
    pub bytes: usize,
    /// True when the kernel may write it.
    pub writable: bool,
}

/// A value for a variable in constant memory that the host sets (`constant!` without values), for one launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constant {
    /// The variable's name.
    pub name: &'static str,
    /// Its bytes, from the first element on.
    pub bytes: Vec<u8>,
}

/// An argument list that does not fit a kernel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// The number of arguments is wrong.
    #[error("kernel {kernel} takes {expected} arguments, not {got}")]
    Count {
        /// The kernel.
        kernel: &'static str,
        /// Parameters it has.
        expected: usize,
        /// Arguments there are.
        got: usize,
    },
    /// An argument's type is wrong.
    #[error("kernel {kernel} takes {expected} for {param}, not {got}")]
    Type {
        /// The kernel.
        kernel: &'static str,
        /// The parameter.
        param: &'static str,
        /// What it takes.
        expected: ParamType,
        /// What it was given.
        got: String,
    },
}

impl KernelEntry {
    /// Checks that `arguments` fit the parameters in number and type.
    pub fn check(&self, arguments: &[Arg]) -> Result<(), ArgumentError> {
        if arguments.len() != self.params.len() {
            return Err(ArgumentError::Count { kernel: self.name, expected: self.params.len(), got: arguments.len() });
        }
        for (param, argument) in self.params.iter().zip(arguments) {
            let fits = match (param.ty, argument) {
                (ParamType::In(element), Arg::Buffer(buffer)) => element == buffer.element,
                (ParamType::Out(element), Arg::Buffer(buffer)) => element == buffer.element && buffer.writable,
                (ParamType::Pointers { steps, element, writable }, Arg::Pointers { into, .. }) => {
                    let targets = || into.iter().flatten();
                    targets().count() == usize::from(steps)
                        && targets().last().is_some_and(|last| element == last.element && (last.writable || !writable))
                }
                (ParamType::Value("u32"), Arg::U32(_))
                | (ParamType::Value("i32"), Arg::I32(_))
                | (ParamType::Value("u64"), Arg::U64(_))
                | (ParamType::Value("f32"), Arg::F32(_))
                | (ParamType::Value("f64"), Arg::F64(_)) => true,
                (ParamType::Texture(expected), Arg::Texture { dimensions, .. }) => expected == *dimensions,
                _ => false,
            };
            if !fits {
                return Err(ArgumentError::Type {
                    kernel: self.name,
                    param: param.name,
                    expected: param.ty,
                    got: argument.describe(),
                });
            }
        }
        Ok(())
    }
}

impl Arg {
    fn describe(&self) -> String {
        match self {
            Self::Buffer(buffer) if buffer.writable => format!("Out<{}>", buffer.element),
            Self::Buffer(buffer) => format!("In<{}>", buffer.element),
            Self::Pointers { into, .. } => {
                let steps = into.iter().flatten().count() as u8;
                let last = into.iter().flatten().last();
                let (element, writable) = last.map_or(("nothing", false), |last| (last.element, last.writable));
                ParamType::Pointers { steps, element, writable }.to_string()
            }
            Self::U32(_) => "u32".into(),
            Self::I32(_) => "i32".into(),
            Self::U64(_) => "u64".into(),
            Self::F32(_) => "f32".into(),
            Self::F64(_) => "f64".into(),
            Self::Texture { dimensions, .. } => format!("Texture{dimensions}d"),
        }
    }
}

/// A type that a kernel's parameter may have.
pub trait KernelParam: Copy {
    /// The type of an argument for it.
    const TYPE: ParamType;
    /// The parameter from an argument that `KernelEntry::check` has passed.
    fn from_arg(argument: &Arg) -> Self;
}

macro_rules! value_params {
    ($($t:ident $variant:ident;)*) => {$(
        impl KernelParam for $t {
            const TYPE: ParamType = ParamType::Value(stringify!($t));
            fn from_arg(argument: &Arg) -> Self {
                match argument {
                    Arg::$variant(value) => *value,
                    _ => unreachable!("arguments are checked before a launch"),
                }
            }
        }
        impl From<$t> for Arg {
            fn from(value: $t) -> Self {
                Self::$variant(value)
            }
        }
    )*};
}
value_params! {
    u32 U32;
    i32 I32;
    u64 U64;
    f32 F32;
    f64 F64;
}

macro_rules! buffer_params {
    ($($handle:ident)*) => {$(
        impl<T: Scalar> KernelParam for $handle<T> {
            const TYPE: ParamType = ParamType::$handle(element_name::<T>());
            fn from_arg(argument: &Arg) -> Self {
                match argument {
                    Arg::Buffer(buffer) => Self::from_backend(emulator::backend::Global::from_arg(buffer)),
                    _ => unreachable!("arguments are checked before a launch"),
                }
            }
        }
    )*};
}
buffer_params!(In Out);

impl<H: Pointee> KernelParam for Pointers<H> {
    const TYPE: ParamType =
        ParamType::Pointers { steps: H::POINTEE.0 + 1, element: H::POINTEE.1, writable: H::POINTEE.2 };
    fn from_arg(argument: &Arg) -> Self {
        match argument {
            Arg::Pointers { array, .. } => Self::wrap(emulator::backend::Global::from_arg(array)),
            _ => unreachable!("arguments are checked before a launch"),
        }
    }
}

macro_rules! texture_params {
    ($($handle:ident $dimensions:literal;)*) => {$(
        impl<T: Texel> KernelParam for $handle<T> {
            const TYPE: ParamType = ParamType::Texture($dimensions);
            fn from_arg(argument: &Arg) -> Self {
                match argument {
                    Arg::Texture { handle, .. } => Self::from_backend(*handle),
                    _ => unreachable!("arguments are checked before a launch"),
                }
            }
        }
    )*};
}
texture_params! {
    Texture1d 1;
    Texture2d 2;
}

/// The name of an element type, as in a [`ParamType`].
pub const fn element_name<T: Scalar>() -> &'static str {
    T::NAME
}
