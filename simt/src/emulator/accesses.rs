//! Counts of a launch's warp accesses, as the hardware would serve them: the results. `tally` gathers them, `wavefronts` has the rules.

use std::ops::AddAssign;

use super::fault::{AccessKind, SourceLocation, Space};

/// The loads and stores of a launch, warp by warp, summed up by source location: wavefronts of shared memory (passes over its banks),
/// sectors of global memory. See [`Options::accesses`](super::Options::accesses).
///
/// An access of a warp consists of those lanes that reach the same source location for the same time since the warp's lanes
/// last synchronised: at a barrier, at a warp operation of all of its lanes, or at the beginning. Two things follow. Accesses that share
/// a location (written by one `macro_rules` macro, or in a function that is not `#[track_caller]` and is called twice) are told apart only by
/// their kind, their width and their order. And accesses that a compiler merges, splits or drops are counted as in the source.
///
/// Atomic operations, textures and constants are left out: other rules apply to them.
///
/// # Example
/// A column of a tile whose rows are as long as there are banks is in one bank.
/// ```
/// use simt::emulator::{AccessKind, Memory, Options, Space, launch};
/// use simt::launch::LaunchConfig;
/// use simt::{kernel, shared, thread};
///
/// shared! {
///     static TILE: [u32; 1024];
/// }
///
/// #[kernel]
/// unsafe fn column() {
///     shared::array::<TILE>().store(32 * thread::thread_idx_x(), 0);
/// }
///
/// # static MODULE: simt::launch::Module = simt::launch::Module::EMULATED;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let options = Options { accesses: true, ..Options::default() };
/// let report = launch(&mut Memory::new(None), &column::ENTRY, &LaunchConfig::linear(1, 32), &[], &options)?;
/// let stores = report.accesses.unwrap().sum(Space::Shared, AccessKind::Write);
/// assert_eq!((stores.accesses, stores.wavefronts, stores.bank_conflicts()), (1, 32, 31));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accesses {
    /// Every location, in the order of the source.
    pub sites: Vec<Site>,
}

/// A load or store in the source of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Its location.
    pub location: SourceLocation,
    /// [`Space::Shared`] or [`Space::Global`].
    pub space: Space,
    /// [`AccessKind::Read`] or [`AccessKind::Write`].
    pub access: AccessKind,
    /// Bytes that a lane moves: 1, 2, 4, 8 or 16.
    pub bytes: u32,
    /// Counts over its warps.
    pub totals: Totals,
}

/// Accesses of warps, and their cost. Wavefronts are those of shared memory, sectors those of global memory; the others' are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Accesses, each by at least one lane of a warp.
    pub accesses: u64,
    /// Wavefronts: passes over the banks.
    pub wavefronts: u64,
    /// Wavefronts without bank conflicts: for a warp 1, of 8 bytes a lane 2, of 16 bytes 4.
    pub ideal_wavefronts: u64,
    /// The most wavefronts of one access.
    pub max_wavefronts: u32,
    /// Sectors of 32 bytes.
    pub sectors: u64,
    /// The most sectors of one access.
    pub max_sectors: u32,
}

impl Totals {
    /// Wavefronts beyond those without bank conflicts, as Nsight Compute counts bank conflicts.
    pub fn bank_conflicts(&self) -> u64 {
        self.wavefronts - self.ideal_wavefronts
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.accesses += other.accesses;
        self.wavefronts += other.wavefronts;
        self.ideal_wavefronts += other.ideal_wavefronts;
        self.max_wavefronts = self.max_wavefronts.max(other.max_wavefronts);
        self.sectors += other.sectors;
        self.max_sectors = self.max_sectors.max(other.max_sectors);
    }
}

impl Accesses {
    /// All loads, or all stores, of a space together.
    pub fn sum(&self, space: Space, access: AccessKind) -> Totals {
        let mut sum = Totals::default();
        for site in self.sites.iter().filter(|site| site.space == space && site.access == access) {
            sum += site.totals;
        }
        sum
    }
}
