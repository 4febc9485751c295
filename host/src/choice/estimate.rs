//! Whether a GPU is likely to be faster.
//!
//! A GPU is faster at everything here, and it has to be started, and fed over a bus. So the seconds of both are estimated from the work,
//! and a GPU is worth it where they are fewer. The estimates were fitted to measurements and are right within a factor of two there;
//! a choice that is wrong by as much costs little.

use halotile_kernels::entropy::COLUMNS_SIZE;

use crate::codes::BYTE_LEVELS;

/// What is likely to be faster, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recommendation {
    /// Whether it is a GPU, if there is one.
    pub gpu: bool,
    /// Why, for people.
    pub why: String,
}

/// Seconds that it takes to start a GPU. Measured on an H200.
const STARTUP: f64 = 0.25;

/// Seconds to copy a byte to or from a GPU, with what the host has to do for it. Measured on an H200.
const COPY: f64 = 0.12e-9;

/// A grid and what is to be done with it, as far as it decides how long that takes.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// Cells of the grid.
    pub cells: usize,
    /// The longer side of the window, in cells.
    pub size: usize,
    /// Levels.
    pub levels: usize,
    /// Bytes of a cell's results.
    pub bytes: usize,
    /// Whether [measures come from sums](crate::entropy::Entropy::comes_from_sums): what GPUs compute of more than 256 classes.
    pub sums: bool,
}

impl Workload {
    /// Cells below which no estimate is needed: the CPU is done before a GPU is ready.
    const WORTH_AN_ESTIMATE: usize = 1 << 20;

    /// Seconds in the CPU engine. Fitted to one core of an AMD EPYC (Zen 5), sizes 5 to 255, 16 and 256 levels.
    fn on_cpu(self, threads: usize) -> f64 {
        let nanoseconds = 4.0 + 0.6 * self.size.min(self.levels) as f64;
        self.cells as f64 * nanoseconds * 1e-9 / threads as f64
    }

    /// Seconds on a GPU: to move the cells there and the results back takes so much longer than any kernel that it hides it.
    fn on_gpu(self) -> f64 {
        self.cells as f64 * self.bytes as f64 * COPY
    }

    /// Where the work is likely to be done sooner: on so many threads, or on a GPU that is `open` already or has to be started.
    ///
    /// ```
    /// use halotile::choice::Workload;
    /// let workload = Workload { cells: 1 << 30, size: 5, levels: 16, bytes: 4, sums: true };
    /// assert!(workload.recommend(2, false).gpu && !workload.recommend(64, false).gpu);
    /// ```
    pub fn recommend(self, threads: usize, open: bool) -> Recommendation {
        if self.levels > BYTE_LEVELS && !(self.sums && self.size <= COLUMNS_SIZE as usize) {
            let why = format!(
                "GPUs count more than {BYTE_LEVELS} classes in squares of up to {COLUMNS_SIZE} x {COLUMNS_SIZE} alone, and for no renyi or hill of \
                 orders other than 0, 1 and 2"
            );
            return Recommendation { gpu: false, why };
        }
        if self.cells < Self::WORTH_AN_ESTIMATE {
            return Recommendation { gpu: false, why: format!("{} cells are too few to start a GPU for", self.cells) };
        }
        compare(self.on_cpu(threads), self.on_gpu(), open)
    }
}

/// A graph of so many vertices, whose shortest paths are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Vertices(pub usize);

impl Vertices {
    /// Vertices below which no estimate is needed.
    const WORTH_AN_ESTIMATE: usize = 1024;

    /// Relaxations in a second of one core: AVX-512, 32-bit integers, both threads of a machine of two cores at work.
    const OF_A_CORE: f64 = 80e9;

    /// Relaxations in a second of a GPU: an H200, 32-bit integers, somewhat less than its best.
    const OF_A_GPU: f64 = 7e12;

    fn on_cpu(self, threads: usize) -> f64 {
        (self.0 as f64).powi(3) / (Self::OF_A_CORE * threads as f64)
    }

    /// The matrix goes there and back.
    fn on_gpu(self) -> f64 {
        let vertices = self.0 as f64;
        2.0 * 4.0 * vertices.powi(2) * COPY + vertices.powi(3) / Self::OF_A_GPU
    }

    /// Where the paths are likely to be found sooner: on so many threads, or on a GPU that is `open` already or has to be started.
    ///
    /// ```
    /// use halotile::choice::Vertices;
    /// assert!(!Vertices(2048).recommend(2, false).gpu && Vertices(24_000).recommend(16, false).gpu);
    /// ```
    pub fn recommend(self, threads: usize, open: bool) -> Recommendation {
        if self.0 < Self::WORTH_AN_ESTIMATE {
            return Recommendation { gpu: false, why: format!("{} vertices are too few to start a GPU for", self.0) };
        }
        compare(self.on_cpu(threads), self.on_gpu(), open)
    }
}

fn compare(cpu: f64, gpu: f64, open: bool) -> Recommendation {
    let gpu = gpu + if open { 0.0 } else { STARTUP };
    let why = if cpu <= gpu {
        format!("it may take {cpu:.1} s, and a GPU with all copies {gpu:.1} s")
    } else {
        format!("it may take {gpu:.1} s with all copies, and the CPU {cpu:.1} s")
    };
    Recommendation { gpu: cpu > gpu, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_of_entropy_are_within_reach_of_what_was_measured() {
        let of = |size, levels, bytes| Workload { cells: 10240 * 10240, size, levels, bytes, sums: true };
        // Seconds of a run with 16 threads beside an H200.
        for (workload, cpu, gpu) in
            [(of(5, 16, 4), 0.033, 0.25), (of(21, 16, 4), 0.055, 0.33), (of(5, 16, 8), 0.067, 0.35)]
        {
            assert!((0.5..2.0).contains(&(workload.on_cpu(16) / cpu)), "{workload:?}: {}", workload.on_cpu(16));
            assert!((0.5..2.0).contains(&((STARTUP + workload.on_gpu()) / gpu)), "{workload:?}: {}", workload.on_gpu());
        }
    }

    #[test]
    fn estimates_of_paths_are_within_reach_of_what_was_measured() {
        // A machine of two cores with AVX-512; an H200, 1.2 s for the kernels and both copies of 2.3 GB.
        let (small, large) = (Vertices(2048), Vertices(24_000));
        assert!((0.5..2.0).contains(&(small.on_cpu(2) / 0.052)), "{}", small.on_cpu(2));
        assert!(STARTUP + small.on_gpu() > small.on_cpu(2) && STARTUP + large.on_gpu() < large.on_cpu(16));
        assert!((0.5..3.0).contains(&((STARTUP + large.on_gpu()) / 1.6)), "{}", large.on_gpu());
    }

    #[test]
    fn what_gpus_do_not_count_is_for_the_cpu() {
        let workload = Workload { cells: 1 << 30, size: 21, levels: 257, bytes: 4, sums: false };
        assert!(!workload.recommend(1, true).gpu && Workload { levels: 256, ..workload }.recommend(1, true).gpu);
        let sums = Workload { sums: true, ..workload };
        assert!(sums.recommend(1, true).gpu && !Workload { size: 257, ..sums }.recommend(1, true).gpu);
    }

    #[test]
    fn a_gpu_that_is_open_is_worth_it_sooner() {
        let workload = Workload { cells: 1 << 26, size: 5, levels: 16, bytes: 4, sums: true };
        assert!(!workload.recommend(4, false).gpu && workload.recommend(4, true).gpu);
    }
}
