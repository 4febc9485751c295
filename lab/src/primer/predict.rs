//! What the hardware will make of a case's accesses, read off the kernel before any GPU has run it.
//!
//! The case runs once on an emulated device that counts (see [`Accesses`]): the passes that its warps' accesses to shared memory
//! take over the banks, and the sectors of global memory that they touch. Both follow from addresses alone, so that a small case tells
//! what a large one does, as long as its blocks do the same; blocks at an edge weigh more in a small one. Loads and stores stand apart,
//! since a kernel mostly has conflicts in one of them.
//!
//! [`Accesses`]: halotile::exec::emulator::Accesses

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Case;
use halotile::exec::emulator::{AccessKind, CountedLaunch, EmulatedDevice, Space, Totals};
use halotile::exec::{Device, DeviceError};

/// What the emulator counts of all kernels of a run. Null (`None`) where there are no such accesses.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Counted {
    /// Loads from shared memory.
    pub shared_loads: Option<Wavefronts>,
    /// Stores to shared memory.
    pub shared_stores: Option<Wavefronts>,
    /// Loads from global memory.
    pub global_loads: Option<Sectors>,
    /// Stores to global memory.
    pub global_stores: Option<Sectors>,
}

/// Passes over the banks of shared memory that accesses of warps take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Wavefronts {
    /// Accesses of a warp.
    pub accesses: u64,
    /// Passes that one takes, on average: without conflicts 1, of 8 bytes a lane 2, of 16 bytes 4.
    pub per_access: f64,
    /// Those of them that are conflicts, on average: what one takes beyond its passes without conflicts. Nsight Compute counts the same, over
    /// all accesses, in `l1tex__data_bank_conflicts_pipe_lsu_mem_shared`.
    pub conflicts_per_access: f64,
    /// The most that one takes.
    pub most: u32,
}

/// Sectors of 32 bytes of global memory that accesses of warps touch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sectors {
    /// Accesses of a warp.
    pub accesses: u64,
    /// Sectors that one touches, on average: of 4 bytes a lane, without gaps, 4.
    pub per_access: f64,
    /// The most that one touches.
    pub most: u32,
}

impl Wavefronts {
    fn of(totals: Totals) -> Option<Self> {
        let accesses = totals.accesses;
        let conflicts = totals.bank_conflicts();
        (accesses > 0).then(|| Self {
            accesses,
            per_access: totals.wavefronts as f64 / accesses as f64,
            conflicts_per_access: conflicts as f64 / accesses as f64,
            most: totals.max_wavefronts,
        })
    }
}

impl Sectors {
    fn of(totals: Totals) -> Option<Self> {
        let accesses = totals.accesses;
        let per_access = totals.sectors as f64 / accesses as f64;
        (accesses > 0).then_some(Self { accesses, per_access, most: totals.max_sectors })
    }
}

impl Counted {
    fn of(launches: &[CountedLaunch]) -> Self {
        let sum = |space, access| {
            let mut sum = Totals::default();
            launches.iter().for_each(|launch| sum += launch.accesses.sum(space, access));
            sum
        };
        Self {
            shared_loads: Wavefronts::of(sum(Space::Shared, AccessKind::Read)),
            shared_stores: Wavefronts::of(sum(Space::Shared, AccessKind::Write)),
            global_loads: Sectors::of(sum(Space::Global, AccessKind::Read)),
            global_stores: Sectors::of(sum(Space::Global, AccessKind::Write)),
        }
    }
}

/// Runs a case once in the emulator and counts. It should be a small one: a lane's access takes some 100 ns. An error is what keeps
/// it from running there.
///
/// ```
/// use halotile_lab::primer::{self, Ask, Elements};
///
/// let stride = primer::topic("stride").unwrap();
/// let ask = Ask { size: stride.sizes[1][0], elements: Elements::F32, seed: 0 };
/// let eighth = &(stride.cases)(&ask)[7];
/// // Every eighth number of 4 bytes: each lane has a sector for itself.
/// assert_eq!(primer::predict(eighth.as_ref())?.global_loads.unwrap().most, 32);
/// # Ok::<(), halotile::exec::DeviceError>(())
/// ```
pub fn predict(case: &dyn Case) -> Result<Counted, DeviceError> {
    let emulator = Arc::new(EmulatedDevice::new(0, None).counting());
    let device: Arc<dyn Device> = Arc::<EmulatedDevice>::clone(&emulator);
    let mut run = case.start(&device, 1)?;
    // What `start` launched is no part of a run.
    emulator.take_counted();
    run.run()?;
    Ok(Counted::of(&emulator.take_counted()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primer::{Ask, TOPICS, topic};

    fn cases(name: &str) -> Vec<Box<dyn Case>> {
        let topic = topic(name).unwrap();
        let ask = Ask { size: topic.sizes[1][0], elements: topic.elements[0], seed: 1 };
        (topic.cases)(&ask)
    }

    #[test]
    fn copies_touch_the_sectors_that_their_places_lie_in() {
        for (offset, case) in cases("copy").iter().enumerate() {
            let counted = predict(case.as_ref()).unwrap();
            let (loads, stores) = (counted.global_loads.unwrap(), counted.global_stores.unwrap());
            assert_eq!((loads.accesses, loads.most), (32, if offset % 8 == 0 { 4 } else { 5 }), "offset {offset}");
            assert_eq!(loads, stores, "offset {offset}");
            assert_eq!((counted.shared_loads, counted.shared_stores), (None, None));
        }
        let strided: Vec<u32> =
            cases("stride").iter().map(|case| predict(case.as_ref()).unwrap().global_loads.unwrap().most).collect();
        assert_eq!(strided[..9], [4, 8, 12, 16, 20, 24, 28, 32, 32]);
    }

    #[test]
    fn what_the_emulator_refuses_is_an_error() {
        #[derive(Debug)]
        struct Large(Box<dyn Case>);
        impl Case for Large {
            fn name(&self) -> &'static str {
                self.0.name()
            }
            fn idea(&self) -> &'static str {
                self.0.idea()
            }
            fn kernel(&self) -> Option<&'static simt::launch::KernelEntry> {
                self.0.kernel()
            }
            fn work(&self, limits: &halotile::exec::Limits) -> crate::primer::Work {
                self.0.work(limits)
            }
            fn bytes(&self, copies: usize) -> usize {
                self.0.bytes(copies)
            }
            fn start<'a>(
                &'a self,
                device: &Arc<dyn Device>,
                _: usize,
            ) -> Result<Box<dyn super::super::Run + 'a>, DeviceError> {
                halotile::exec::Buffer::new(device, 1 << 40)?;
                unreachable!("a tebibyte is more than the emulator has")
            }
        }
        let large = Large(cases("copy").remove(0));
        assert!(matches!(predict(&large), Err(DeviceError::OutOfMemory { .. })));
    }

    #[test]
    fn every_topic_has_an_emulator_size_that_runs_there() {
        for topic in TOPICS {
            let first = cases(topic.name).remove(0);
            predict(first.as_ref()).unwrap_or_else(|error| panic!("{}: {error}", topic.name));
        }
    }
}
