//! Blocks and threads of every launch, and the launches.

use std::marker::PhantomData;
use std::sync::Arc;

use halotile_lab_kernels::primer::reduce::reduce7::REDUCE7_TILE_BYTES;
use halotile_lab_kernels::primer::reduce::{REDUCE_THREADS, REDUCE_THREADS_LEAST};
use simt::launch::{KernelEntry, LaunchConfig};

use super::{Number, Operation, Rung};
use halotile::exec::{Buffer, Device, DeviceError};

/// Numbers that one block of [`Rung::Reduce6`] takes rather than that there is another launch.
const ONE_BLOCK: usize = 16 * 2 * REDUCE_THREADS as usize;

/// A launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Numbers that it takes.
    pub count: usize,
    /// Blocks, and so numbers that it makes.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
}

impl Rung {
    /// Numbers that a thread joins when it loads them.
    fn loads(self) -> usize {
        if self < Self::Reduce3 { 1 } else { 2 }
    }

    fn step<T: Number>(self, count: usize, resident: u32) -> Step {
        let threads = match self {
            Self::Reduce5 | Self::Reduce6 | Self::Reduce7 => REDUCE_THREADS,
            // A block that is not full has fewer steps.
            _ => {
                let wanted = count.div_ceil(self.loads()).min(REDUCE_THREADS as usize);
                (wanted.next_power_of_two() as u32).max(REDUCE_THREADS_LEAST)
            }
        };
        let full = count.div_ceil(self.loads() * threads as usize);
        let blocks = match self {
            Self::Reduce6 if count <= ONE_BLOCK => 1,
            Self::Reduce6 => full.min(resident as usize),
            Self::Reduce7 => count.div_ceil(REDUCE7_TILE_BYTES / size_of::<T>()).min(resident as usize),
            _ => full,
        };
        // 2^31 - 1 blocks, the most of a grid, take 2^37 numbers even if they are of 64 threads: more than a memory holds.
        Step { count, blocks: blocks as u32, threads }
    }

    /// All launches, the largest first. None for no numbers.
    pub(super) fn steps<T: Number>(self, count: usize, resident: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut left = count;
        while left > 0 {
            let step = self.step::<T>(left, resident);
            steps.push(step);
            left = if step.blocks == 1 || self == Self::Reduce7 { 0 } else { step.blocks as usize };
        }
        steps
    }

    /// Additions that a number goes through in a launch at most. That of the identity is none, since it is exact.
    fn additions<T: Number>(self, step: Step) -> usize {
        let tree = step.threads.ilog2() as usize;
        let blocks = step.blocks as usize;
        match self {
            Self::Reduce0 | Self::Reduce1 | Self::Reduce2 => tree,
            Self::Reduce3 | Self::Reduce4 | Self::Reduce5 => 1 + tree,
            // In a round the two numbers join, and are joined to what the thread has, but in the first.
            Self::Reduce6 => step.count.div_ceil(blocks * 2 * REDUCE_THREADS as usize) + tree,
            Self::Reduce7 => {
                let vector = (16 / size_of::<T>()).ilog2() as usize;
                let rounds = (step.count / (REDUCE7_TILE_BYTES / size_of::<T>())).div_ceil(blocks).max(1);
                // The numbers of a vector; eight vectors; the rounds, the incomplete tile, a number ahead and one behind, all but the
                // first of them; the threads. Then the blocks' results, again all but a thread's first, and the threads.
                let last = blocks.div_ceil(REDUCE_THREADS as usize) - 1 + tree;
                vector + 3 + (rounds + 3 - 1) + tree + last
            }
        }
    }

    /// Bytes of a [`Reduction`], beside the numbers, if no more than so many blocks run at once.
    pub(super) fn bytes<T: Number>(self, count: usize, resident: u32) -> usize {
        let [first, second] = self.partial(&self.steps::<T>(count, resident));
        (first + second) * size_of::<T>() + size_of::<u32>()
    }

    /// Numbers that the two buffers between launches hold.
    fn partial(self, steps: &[Step]) -> [usize; 2] {
        [0, 1].map(|at| steps.get(at).map_or(1, |step| step.blocks as usize))
    }
}

/// A reduction of so many numbers, made ready on a device: it can run often, over numbers in any buffer there.
///
/// ```
/// use std::sync::Arc;
/// use halotile::exec::{Buffer, Device, emulator::EmulatedDevice};
/// use halotile_lab::primer::reduce::{Operation, Reduction, Rung};
///
/// let device: Arc<dyn Device> = Arc::new(EmulatedDevice::new(0, None));
/// let buffer = Buffer::from_slice(&device, &[3i32, 1, 4, 1, 5, 9, 2, 6])?;
/// let mut reduction = Reduction::<i32>::new(&device, Rung::Reduce7, Operation::Max, 4)?;
/// let seconds = reduction.run(&buffer, 1)?; // 1, 4, 1, 5
/// assert_eq!(reduction.result()?, 5);
/// # let _ = seconds;
/// # Ok::<(), halotile::exec::DeviceError>(())
/// ```
pub struct Reduction<T> {
    device: Arc<dyn Device>,
    rung: Rung,
    operation: Operation,
    kernel: &'static KernelEntry,
    count: usize,
    steps: Vec<Step>,
    /// What launches make, in turn.
    partial: [Buffer; 2],
    /// Of [`Rung::Reduce7`]: 0 between launches.
    ticket: Buffer,
    numbers: PhantomData<T>,
}

/// The kernel of a rung.
pub(super) fn kernel<T: Number>(rung: Rung, operation: Operation) -> &'static KernelEntry {
    let name = format!("primer_{}_{}_{}", rung.name(), operation.name(), T::ELEMENTS);
    halotile_lab_kernels::find(&name).expect("every rung has a kernel for every operation and type")
}

impl<T: Number> Reduction<T> {
    /// Chooses blocks and threads for `count` numbers, and takes the memory for the results of blocks: for the first rungs an element for
    /// every 64 to 512 numbers, for the last two one for each block that runs at once.
    ///
    /// # Errors
    /// The device's: out of memory, or failed.
    pub fn new(device: &Arc<dyn Device>, rung: Rung, operation: Operation, count: usize) -> Result<Self, DeviceError> {
        let kernel = kernel::<T>(rung, operation);
        let shared = if rung == Rung::Reduce7 { 0 } else { REDUCE_THREADS * size_of::<T>() as u32 };
        let steps = rung.steps::<T>(count, device.resident_blocks(kernel, REDUCE_THREADS, shared)?);
        let [first, second] = rung.partial(&steps).map(|numbers| Buffer::new(device, numbers * size_of::<T>()));
        let ticket = Buffer::from_slice(device, &[0u32])?;
        let partial = [first?, second?];
        Ok(Self {
            device: Arc::clone(device),
            rung,
            operation,
            kernel,
            count,
            steps,
            partial,
            ticket,
            numbers: PhantomData,
        })
    }

    /// Reduces numbers `first..first + count` of a buffer. Returns the seconds that the kernels took, by the device's clock.
    ///
    /// # Errors
    /// The device's.
    ///
    /// # Panics
    /// When the buffer has no such numbers.
    pub fn run(&mut self, numbers: &Buffer, first: usize) -> Result<f64, DeviceError> {
        let end = first.checked_add(self.count).and_then(|end| end.checked_mul(size_of::<T>()));
        assert!(
            end.is_some_and(|end| end <= numbers.bytes()),
            "{} numbers from {first} on are not in a buffer of {} bytes",
            self.count,
            numbers.bytes()
        );
        let mut seconds = 0.0;
        for (turn, step) in self.steps.iter().enumerate() {
            let to = &self.partial[turn % 2];
            let (from, first) = if turn == 0 { (numbers, first) } else { (&self.partial[(turn + 1) % 2], 0) };
            let mut config = LaunchConfig::linear(step.blocks, step.threads);
            let (first, count) = (first as u64, step.count as u64);
            seconds += if self.rung == Rung::Reduce7 {
                let out = self.partial[1].output::<T>();
                let args =
                    [from.input::<T>(), to.output::<T>(), self.ticket.output::<u32>(), out, first.into(), count.into()];
                // SAFETY: the numbers are in the buffer, as checked above; `partial` has an element for each block, the ticket is 0.
                unsafe { self.device.launch(self.kernel, &config, &args) }?
            } else {
                config.shared_bytes = step.threads * size_of::<T>() as u32;
                let args = [from.input::<T>(), to.output::<T>(), first.into(), count.into()];
                // SAFETY: the numbers are in the buffer, as checked above, or as many as the step before made; `to` has an element for
                // each block, since steps become smaller; blocks are as the rung wants them.
                unsafe { self.device.launch(self.kernel, &config, &args) }?
            };
        }
        Ok(seconds)
    }

    /// What the last run made; of no numbers, the operation's identity.
    ///
    /// # Errors
    /// The device's.
    pub fn result(&self) -> Result<T, DeviceError> {
        let mut result = [T::identity(self.operation)];
        let from = match self.rung {
            Rung::Reduce7 => &self.partial[1],
            _ => &self.partial[self.steps.len().saturating_sub(1) % 2],
        };
        if !self.steps.is_empty() {
            from.read(0, bytemuck::cast_slice_mut(&mut result))?;
        }
        Ok(result[0])
    }

    /// Additions d that a number goes through at most, over all launches. With p bits of precision (24 in f32, 53 in f64) and u = 2^-p, a sum
    /// is then within d u / (1 - d u) of the sum of magnitudes (Higham, "Accuracy and Stability of Numerical Algorithms", 4.2).
    ///
    /// ```text
    /// reduce0 to reduce2:  log2(threads) a launch
    /// reduce3 to reduce5:  log2(threads) + 1 a launch
    /// reduce6:             log2(threads) + rounds a launch, rounds = numbers / (2 x threads x blocks), rounded up
    /// reduce7:             log2(numbers in 16 bytes) + 3 + rounds + 2 + log2(threads), rounds = whole tiles of 32 KiB / blocks, rounded up,
    ///                      at least 1; and blocks / threads, rounded up, - 1 + log2(threads) for the blocks
    /// ```
    pub fn additions(&self) -> usize {
        self.steps.iter().map(|&step| self.rung.additions::<T>(step)).sum()
    }
}
