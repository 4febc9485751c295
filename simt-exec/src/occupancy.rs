//! How many blocks of a kernel run on a multiprocessor at once, and what keeps it from running more.
//!
//! A multiprocessor hides the time that memory takes by having other warps to run. It has room for so many warps and blocks,
//! and a pool each of registers and of shared memory; a block moves in when there is room for all of it in all four:
//!
//! ```text
//! warps      = ⌊warps of a multiprocessor / warps of a block⌋
//! blocks     = a number of its own
//! registers  = ⌊partitions · ⌊registers of a partition / registers of a warp⌋ / warps of a block⌋
//! shared     = ⌊shared memory of a multiprocessor / (shared memory of a block + what the driver reserves)⌋
//! active blocks = the least of the four;  occupancy = active warps / warps of a multiprocessor
//! ```
//!
//! Three things keep this from being plain division. What a warp gets of registers and a block of shared memory is rounded up
//! to units of allocation. A multiprocessor has four partitions, and a warp's registers lie in one of them, so that what
//! is unused in each cannot be combined. And from compute capability 8.0 on every block pays 1 KiB of shared memory to the driver.
//!
//! The shared memory is the largest that a multiprocessor can set aside from its first-level cache: the driver gives a kernel
//! that much when it needs it to. Barriers, of which no kernel here uses more than one a block, are left out.
//!
//! Sources: NVIDIA, CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", for the limits; NVIDIA's
//! `cuda_occupancy.h` (CUDA 13) for units and partitions. `cargo xtask occupancy-check` compares the two calculators over
//! a wide sweep, `cargo xtask gpu-test` ours with what the driver says of the GPU at hand.
//!
//! ```
//! use simt_exec::occupancy::{Architecture, Demand, Resource};
//!
//! let hopper = Architecture::named("sm_90").unwrap();
//! let found = hopper.occupancy(Demand { threads: 256, registers: 96, shared_bytes: 33_024 })?;
//! assert_eq!((found.blocks, found.active_warps), (2, 16));
//! assert_eq!(found.fraction(), 0.25);
//! assert_eq!(found.limited_by().collect::<Vec<_>>(), [Resource::Registers]);
//! # Ok::<(), simt_exec::occupancy::OccupancyError>(())
//! ```

use std::fmt;

/// Threads of a warp.
pub const WARP: u32 = 32;

const KIB: u32 = 1024;

/// What a multiprocessor of an architecture has, and in which units it gives it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architecture {
    /// Its name as compilers take it: "sm_90".
    pub name: &'static str,
    /// Compute capability: major, minor.
    pub compute_capability: (u32, u32),
    /// The most threads of a block.
    pub threads_per_block: u32,
    /// The most warps of a multiprocessor.
    pub warps: u32,
    /// The most blocks of a multiprocessor.
    pub blocks: u32,
    /// Registers of a multiprocessor, of 32 bits. A single block may have them all.
    pub registers: u32,
    /// The most registers of a thread.
    pub registers_per_thread: u32,
    /// A warp's registers are rounded up to a multiple of this.
    pub register_unit: u32,
    /// Partitions of a multiprocessor, each with its share of the registers.
    pub partitions: u32,
    /// Shared memory of a multiprocessor in bytes, at most.
    pub shared_bytes: u32,
    /// Shared memory of a block in bytes, at most; more than 48 KiB after asking the driver for it.
    pub shared_per_block: u32,
    /// Bytes of shared memory that the driver takes for itself in every block.
    pub shared_reserved: u32,
    /// A block's shared memory is rounded up to a multiple of this many bytes.
    pub shared_unit: u32,
}

impl Architecture {
    /// The architectures that halotile's kernels run on, oldest first.
    pub const ALL: &'static [Self] = &[
        // Turing gives shared memory out in larger units, and its driver keeps none.
        Self {
            shared_per_block: 64 * KIB,
            shared_reserved: 0,
            shared_unit: 256,
            ..modern("sm_75", (7, 5), 32, 16, 64)
        },
        modern("sm_80", (8, 0), 64, 32, 164),
        modern("sm_86", (8, 6), 48, 16, 100),
        modern("sm_87", (8, 7), 48, 16, 164),
        modern("sm_89", (8, 9), 48, 24, 100),
        modern("sm_90", (9, 0), 64, 32, 228),
        modern("sm_100", (10, 0), 64, 32, 228),
        modern("sm_103", (10, 3), 64, 32, 228),
        modern("sm_110", (11, 0), 48, 24, 228),
        modern("sm_120", (12, 0), 48, 24, 100),
        modern("sm_121", (12, 1), 48, 24, 100),
    ];

    /// The first GPU that ran CUDA (2006), for the textbooks' examples, which divide without units of allocation.
    ///
    /// ```
    /// use simt_exec::occupancy::{Architecture, Demand, Resource};
    ///
    /// let found = Architecture::G80.occupancy(Demand { threads: 64, registers: 8, shared_bytes: 256 })?;
    /// assert_eq!(found.limit(Resource::SharedMemory), Some(64));
    /// assert_eq!(found.limit(Resource::Registers), Some(16));
    /// assert_eq!(found.limit(Resource::Warps), Some(12));
    /// assert_eq!(found.limit(Resource::Blocks), Some(8));
    /// assert_eq!(found.blocks, 8);
    /// # Ok::<(), simt_exec::occupancy::OccupancyError>(())
    /// ```
    pub const G80: Self = Self {
        name: "G80",
        compute_capability: (1, 0),
        threads_per_block: 512,
        warps: 24,
        blocks: 8,
        registers: 8192,
        registers_per_thread: 128,
        register_unit: 1,
        partitions: 1,
        shared_bytes: 16 * KIB,
        shared_per_block: 16 * KIB,
        shared_reserved: 0,
        shared_unit: 1,
    };

    /// The one of this name among [`ALL`](Self::ALL).
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|architecture| architecture.name == name)
    }

    /// The one of this compute capability (major, minor) among [`ALL`](Self::ALL).
    pub fn of_capability(capability: (u32, u32)) -> Option<Self> {
        Self::ALL.iter().copied().find(|architecture| architecture.compute_capability == capability)
    }

    /// How many blocks run on a multiprocessor at once, at least one.
    ///
    /// # Errors
    /// [`OccupancyError`] when not even one does, or when there can be no such block.
    pub fn occupancy(&self, demand: Demand) -> Result<Occupancy, OccupancyError> {
        let arch = self.name;
        let Demand { threads, registers, shared_bytes } = demand;
        if threads == 0 {
            return Err(OccupancyError::NoThreads);
        }
        if threads > self.threads_per_block {
            return Err(OccupancyError::Threads { threads, most: self.threads_per_block, arch });
        }
        if registers == 0 {
            return Err(OccupancyError::NoRegisters);
        }
        if registers > self.registers_per_thread {
            return Err(OccupancyError::Registers { registers, most: self.registers_per_thread, arch });
        }
        if shared_bytes > self.shared_per_block {
            return Err(OccupancyError::SharedMemory { bytes: shared_bytes, most: self.shared_per_block, arch });
        }
        // All of these are small now: nothing below can overflow.
        let warps = threads.div_ceil(WARP);
        let registers_of_warp = (registers * WARP).next_multiple_of(self.register_unit);
        // The hardware checks a launch as if every partition got as many warps as the fullest.
        let checked = registers_of_warp * warps.next_multiple_of(self.partitions);
        if checked > self.registers {
            return Err(OccupancyError::RegistersOfBlock { registers: checked, most: self.registers, arch });
        }
        let warps_with_registers = self.registers / self.partitions / registers_of_warp * self.partitions;
        let shared_of_block = (shared_bytes + self.shared_reserved).next_multiple_of(self.shared_unit);
        let limits = [
            Some(self.warps / warps),
            Some(self.blocks),
            Some(warps_with_registers / warps),
            self.shared_bytes.checked_div(shared_of_block),
        ];
        let blocks = limits.into_iter().flatten().min().unwrap_or(0);
        Ok(Occupancy {
            blocks,
            active_warps: blocks * warps,
            warps: self.warps,
            warps_of_block: warps,
            registers_of_block: registers_of_warp * warps,
            shared_of_block,
            limits,
        })
    }
}

/// What all architectures since Ampere have in common.
const fn modern(
    name: &'static str,
    compute_capability: (u32, u32),
    warps: u32,
    blocks: u32,
    shared_kib: u32,
) -> Architecture {
    Architecture {
        name,
        compute_capability,
        threads_per_block: 1024,
        warps,
        blocks,
        registers: 64 * KIB,
        registers_per_thread: 255,
        register_unit: 256,
        partitions: 4,
        shared_bytes: shared_kib * KIB,
        shared_per_block: (shared_kib - 1) * KIB,
        shared_reserved: KIB,
        shared_unit: 128,
    }
}

/// What a block of a kernel needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Threads of the block.
    pub threads: u32,
    /// Registers a thread.
    pub registers: u32,
    /// Bytes of shared memory, static and dynamic together, without what the driver reserves.
    pub shared_bytes: u32,
}

/// What there is a limit to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Warps that a multiprocessor keeps.
    Warps,
    /// Blocks that a multiprocessor keeps.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
}

impl Resource {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Warps, Self::Blocks, Self::Registers, Self::SharedMemory];

    /// Its name: "shared memory".
    pub fn name(self) -> &'static str {
        match self {
            Self::Warps => "warps",
            Self::Blocks => "blocks",
            Self::Registers => "registers",
            Self::SharedMemory => "shared memory",
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What runs on a multiprocessor at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Occupancy {
    /// Active blocks, at least one.
    pub blocks: u32,
    /// Warps of the active blocks.
    pub active_warps: u32,
    /// Warps that the multiprocessor could have.
    pub warps: u32,
    /// Warps of a block.
    pub warps_of_block: u32,
    /// Registers that a block is given.
    pub registers_of_block: u32,
    /// Bytes of shared memory that a block is given, with what the driver reserves.
    pub shared_of_block: u32,
    limits: [Option<u32>; 4],
}

impl Occupancy {
    /// The occupancy: active warps over those that there could be, above 0 and at most 1.
    pub fn fraction(&self) -> f64 {
        f64::from(self.active_warps) / f64::from(self.warps)
    }

    /// How many blocks there would be if nothing but this resource were limited; `None` when a block needs none of it.
    pub fn limit(&self, resource: Resource) -> Option<u32> {
        self.limits[resource as usize]
    }

    /// The resources that allow no more blocks than there are: one, or several that run out together.
    pub fn limited_by(&self) -> impl Iterator<Item = Resource> + use<> {
        let Self { blocks, limits, .. } = *self;
        Resource::ALL.iter().copied().filter(move |&resource| limits[resource as usize] == Some(blocks))
    }
}

/// Why no block runs at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OccupancyError {
    /// A block without threads.
    #[error("a block has at least one thread")]
    NoThreads,
    /// More threads than a block may have.
    #[error("a block of {threads} threads is larger than the {most} that {arch} takes")]
    Threads {
        /// Threads asked for.
        threads: u32,
        /// The most there may be.
        most: u32,
        /// The architecture.
        arch: &'static str,
    },
    /// No kernel does without registers.
    #[error("a thread has at least one register")]
    NoRegisters,
    /// More registers than a thread may have.
    #[error("{registers} registers a thread are more than the {most} of {arch}")]
    Registers {
        /// Registers asked for.
        registers: u32,
        /// The most there may be.
        most: u32,
        /// The architecture.
        arch: &'static str,
    },
    /// More registers than there are, for a single block.
    #[error("a block needs {registers} registers, and a multiprocessor of {arch} has {most}")]
    RegistersOfBlock {
        /// Registers that the hardware checks for.
        registers: u32,
        /// What a multiprocessor has.
        most: u32,
        /// The architecture.
        arch: &'static str,
    },
    /// More shared memory than a block may have.
    #[error("a block needs {bytes} bytes of shared memory, and {arch} gives it {most} at most")]
    SharedMemory {
        /// Bytes asked for.
        bytes: u32,
        /// The most there may be.
        most: u32,
        /// The architecture.
        arch: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(found: &Occupancy) -> Vec<Option<u32>> {
        Resource::ALL.iter().map(|&resource| found.limit(resource)).collect()
    }

    fn hopper(threads: u32, registers: u32, shared_bytes: u32) -> Result<Occupancy, OccupancyError> {
        Architecture::named("sm_90").expect("it is there").occupancy(Demand { threads, registers, shared_bytes })
    }

    #[test]
    fn the_textbooks_example() {
        let found = Architecture::G80.occupancy(Demand { threads: 64, registers: 8, shared_bytes: 256 }).unwrap();
        assert_eq!(limits(&found), [Some(12), Some(8), Some(16), Some(64)]);
        assert_eq!((found.blocks, found.active_warps, found.warps), (8, 16, 24));
        assert!(found.limited_by().eq([Resource::Blocks]));
    }

    // These are what `cuda_occupancy.h` says, which `cargo xtask occupancy-check` asks of many more.
    #[test]
    fn allocation_is_in_units_and_partitions() {
        // 33 registers are 1056 a warp, which is 1280: 12 warps to a partition, 48 in all.
        assert_eq!(limits(&hopper(32, 33, 0).unwrap()), [Some(64), Some(32), Some(48), Some(228)]);
        // 255 registers: 2 warps to a partition, so 1 block of 5 warps though 8 warps have room.
        assert_eq!(hopper(160, 255, 0).unwrap().limit(Resource::Registers), Some(1));
        // 1024 bytes are reserved, and 1 more takes a unit of 128.
        let found = hopper(32, 16, 1).unwrap();
        assert_eq!((found.shared_of_block, found.limit(Resource::SharedMemory)), (1152, Some(202)));
        // A warp that is not full is a warp.
        assert_eq!(hopper(33, 16, 0).unwrap().warps_of_block, 2);
        // Where nothing is reserved, a block that uses nothing is not limited by it.
        let turing = Architecture::named("sm_75").unwrap();
        let found = turing.occupancy(Demand { threads: 1024, registers: 64, shared_bytes: 0 }).unwrap();
        assert_eq!(limits(&found), [Some(1), Some(16), Some(1), None]);
        assert!(found.limited_by().eq([Resource::Warps, Resource::Registers]));
        assert_eq!(found.fraction(), 1.0);
    }

    #[test]
    fn what_does_not_fit_says_why() {
        assert_eq!(hopper(0, 16, 0), Err(OccupancyError::NoThreads));
        assert_eq!(hopper(32, 0, 0), Err(OccupancyError::NoRegisters));
        let why = |result: Result<Occupancy, OccupancyError>| result.unwrap_err().to_string();
        assert_eq!(why(hopper(1025, 16, 0)), "a block of 1025 threads is larger than the 1024 that sm_90 takes");
        assert_eq!(why(hopper(32, 256, 0)), "256 registers a thread are more than the 255 of sm_90");
        assert_eq!(why(hopper(1024, 65, 0)), "a block needs 73728 registers, and a multiprocessor of sm_90 has 65536");
        // Registers of 9 warps are checked as if there were 12.
        assert!(hopper(256, 255, 0).is_ok() && hopper(257, 255, 0).is_err());
        assert_eq!(
            why(hopper(32, 16, 227 * 1024 + 1)),
            "a block needs 232449 bytes of shared memory, and sm_90 gives it 232448 at most"
        );
        assert!(hopper(u32::MAX, u32::MAX, u32::MAX).is_err() && hopper(1, u32::MAX, u32::MAX).is_err());
        assert!(hopper(1, 1, u32::MAX).is_err());
    }

    #[test]
    fn whatever_fits_has_a_block_and_a_limit() {
        for arch in Architecture::ALL.iter().copied().chain([Architecture::G80]) {
            for threads in 1..=1100 {
                for registers in [1, 8, 24, 32, 33, 64, 65, 128, 129, 255, 256] {
                    for shared_bytes in [0, 1, 128, 16 * KIB, arch.shared_per_block, arch.shared_per_block + 1] {
                        let demand = Demand { threads, registers, shared_bytes };
                        if let Ok(found) = arch.occupancy(demand) {
                            assert!(found.blocks >= 1 && found.active_warps <= arch.warps, "{arch:?} {demand:?}");
                            assert!(found.limited_by().count() >= 1, "{arch:?} {demand:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn architectures_are_found_by_name_and_capability() {
        for &arch in Architecture::ALL {
            assert_eq!(Architecture::named(arch.name), Some(arch));
            let (major, minor) = arch.compute_capability;
            assert_eq!(arch.name, format!("sm_{major}{minor}"));
            assert_eq!(Architecture::of_capability((major, minor)), Some(arch));
        }
        assert!(Architecture::ALL.is_sorted_by_key(|arch| arch.compute_capability));
        assert_eq!(Architecture::named("G80"), None);
    }
}
