//! `halotile occupancy`.

use std::path::PathBuf;

use clap::ValueHint;
use clap::builder::PossibleValuesParser;
use halotile::entropy::Kernel;
use halotile::occupancy::Architecture;
use halotile_lab::resources;

use super::one_of;

pub(super) const OCCUPANCY_HELP: &str = "\
No GPU is needed: registers and static shared memory are those that NVIDIA's assembler gave the kernel, which the \
library knows for most architectures; for the others it takes those of the newest before it, and says so. The driver of a \
GPU compiles kernels itself, and may give them other registers.

Without --block and --shared, blocks are those that halotile launches the kernel in for 5 x 5 windows of 16 levels. With \
--all-blocks and --svg, dynamic shared memory is the same for all sizes.

--json prints one object: kernel, arch, reported_for (the architecture of the report), block, threads, registers (a \
thread), max_threads, shared_static, shared_dynamic, shared_reserved (bytes), blocks, active_warps, occupancy (0 to 1), \
limits (blocks that each resource allows: warps, blocks, registers, shared_memory; null for any number), limited_by, \
misfit (null, or why there are 0 blocks) and all_blocks (null, or for every size what depends on it).

Examples:
  halotile occupancy sliding
  halotile occupancy naive --arch sm_75 --block 32,8 --shared 4096
  halotile occupancy columns --all-blocks --svg columns.svg";

#[derive(Debug, clap::Args)]
pub struct OccupancyArgs {
    /// A kernel: the name that --kernel of halotile entropy takes, or that of its PTX entry
    #[arg(value_parser = PossibleValuesParser::new(occupied()), hide_possible_values = true)]
    pub kernel: String,
    /// Threads of a block along x and y [default: what halotile launches]
    #[arg(long, value_name = "X[,Y]", value_parser = block)]
    pub block: Option<BlockArg>,
    /// Dynamic shared memory of a block in bytes [default: what halotile launches]
    #[arg(long, value_name = "BYTES")]
    pub shared: Option<u32>,
    /// The architecture of the GPU
    #[arg(long, default_value = "sm_90", value_parser = one_of(Architecture::ALL, |arch| arch.name))]
    pub arch: Architecture,
    /// Also print a chart of all sizes of blocks
    #[arg(long)]
    pub all_blocks: bool,
    /// Draw the chart of all sizes to this SVG file; - is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,
    /// Replace the SVG file if it exists
    #[arg(long, requires = "svg")]
    pub overwrite: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `--block`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockArg {
    pub x: u32,
    pub y: u32,
}

impl BlockArg {
    pub fn threads(self) -> u32 {
        self.x * self.y
    }

    /// In words: "32 x 8 threads".
    pub fn describe(self) -> String {
        match self {
            Self { x: 1, y: 1 } => "1 thread".to_owned(),
            Self { x, y: 1 } => format!("{x} threads"),
            Self { x, y } => format!("{x} x {y} threads"),
        }
    }
}

/// What `halotile occupancy` knows: every kernel of a device, and every entry of the PTX.
pub(super) fn occupied() -> Vec<&'static str> {
    let kernels = halotile_lab::entropy::kernels().filter(|kernel| kernel.entry().is_some()).map(Kernel::name);
    kernels.chain(resources::kernels()).collect()
}

pub(super) fn block(text: &str) -> Result<BlockArg, String> {
    let (x, y) = text.split_once(',').unwrap_or((text, "1"));
    let side = |text: &str| text.parse().ok().filter(|&threads| threads > 0);
    let block = side(x).zip(side(y)).filter(|(x, y): &(u32, u32)| x.checked_mul(*y).is_some());
    let block = block.map(|(x, y)| BlockArg { x, y });
    block.ok_or_else(|| "a block is X or X,Y threads, whole numbers of at least 1, 1024 together at most".to_owned())
}
