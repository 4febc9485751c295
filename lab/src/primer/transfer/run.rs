//! A transfer on a device.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use halotile_lab_kernels::primer::transfer::{TRANSFER_THREADS, TRANSFER_WIDTH, primer_transfer};
use rayon::prelude::*;
use simt::launch::LaunchConfig;

use super::{PIECES, Transfer, Way};
use crate::primer::data::{Turns, random};
use crate::primer::{Reading, Run};
use halotile::exec::queue::{Readable, Source, Target, Writable, scope};
use halotile::exec::staged;
use halotile::exec::{Buffer, Device, DeviceError, HostKind, HostMemory, Mapped, Rows};

/// Bytes of a row, where memory is copied by rows.
const ROW: usize = 64 << 10;
/// Bytes that the CPU writes or reads to see how fast it does.
const SAMPLE: usize = 4 << 20;
/// Bytes that are compared at a time.
const COMPARED: usize = 64 << 10;
/// Blocks of the kernel for each multiprocessor.
const BLOCKS: u32 = 8;

/// Where bytes come from and where they go.
pub(super) enum Set {
    /// By copies, either way or both.
    Copied { up: Option<Path>, down: Option<Path> },
    /// By a kernel.
    Reached { host: Mapped, device: Buffer },
}

/// The two ends of a copy.
pub(super) struct Path {
    pub host: HostMemory,
    pub device: Buffer,
}

pub(super) struct Started<'a> {
    case: &'a Transfer,
    device: Arc<dyn Device>,
    pub(super) sets: Turns<Set>,
    /// Of the kernel alone, by the device's clock.
    kernel: Vec<f64>,
}

impl<'a> Started<'a> {
    pub(super) fn new(case: &'a Transfer, device: &Arc<dyn Device>, copies: usize) -> Result<Self, DeviceError> {
        let data = case.data();
        let set = |_| if case.way == Way::ZeroCopy { case.reached(device, &data) } else { case.copied(device, &data) };
        let sets = Turns::new((0..copies).map(set).collect::<Result<_, _>>()?);
        Ok(Self { case, device: Arc::clone(device), sets, kernel: Vec::new() })
    }
}

impl Transfer {
    /// What is moved.
    fn data(&self) -> Vec<u8> {
        let mut data = vec![0; self.bytes];
        let words = data.par_chunks_mut(8).with_min_len(1 << 12).enumerate();
        words.for_each(|(i, word)| word.copy_from_slice(&random(self.seed, i).to_le_bytes()[..word.len()]));
        data
    }

    fn copied(&self, device: &Arc<dyn Device>, data: &[u8]) -> Result<Set, DeviceError> {
        let kind = match self.way {
            Way::Pageable | Way::Staged => HostKind::Pageable,
            Way::WriteCombined => HostKind::WriteCombined,
            _ => HostKind::Pinned,
        };
        let up = || -> Result<Path, DeviceError> {
            let mut host = device.host_memory_of(kind, data.len())?;
            host.copy_from_slice(data);
            Ok(Path { host, device: filled(device, data.len())? })
        };
        let down = || -> Result<Path, DeviceError> {
            let mut host = device.host_memory_of(kind, data.len())?;
            host.fill(0xFF);
            Ok(Path { host, device: Buffer::from_slice(device, data)? })
        };
        let (goes_up, comes_down) = (self.direction.up(), self.direction.down());
        Ok(Set::Copied { up: goes_up.then(up).transpose()?, down: comes_down.then(down).transpose()? })
    }

    fn reached(&self, device: &Arc<dyn Device>, data: &[u8]) -> Result<Set, DeviceError> {
        let mut host = Mapped::new(device, data.len())?;
        let device = if self.direction.up() {
            host.write(|bytes| bytes.copy_from_slice(data))?;
            filled(device, data.len())?
        } else {
            host.write(|bytes| bytes.fill(0xFF))?;
            Buffer::from_slice(device, data)?
        };
        Ok(Set::Reached { host, device })
    }
}

/// A buffer that holds nothing of the data.
fn filled(device: &Arc<dyn Device>, bytes: usize) -> Result<Buffer, DeviceError> {
    let buffer = Buffer::new(device, bytes)?;
    device.fill(&buffer, 0xFF)?;
    Ok(buffer)
}

impl Run for Started<'_> {
    fn run(&mut self) -> Result<f64, DeviceError> {
        let bytes = self.case.bytes;
        match self.sets.next_mut() {
            Set::Reached { host, device } => {
                let (input, out) = match self.case.direction.up() {
                    true => (host.input::<u8>(), device.output::<u8>()),
                    false => (device.input::<u8>(), host.output::<u8>()),
                };
                let blocks = bytes.div_ceil(TRANSFER_WIDTH * TRANSFER_THREADS as usize);
                let most = (self.device.limits().multiprocessors * BLOCKS) as usize;
                let config = LaunchConfig::linear(blocks.min(most) as u32, TRANSFER_THREADS);
                let args = [input, out, (bytes as u64).into()];
                let start = Instant::now();
                // SAFETY: both sides have so many bytes, and `host` is ours until the kernel has ended.
                let seconds = unsafe { self.device.launch(&primer_transfer::ENTRY, &config, &args) }?;
                let elapsed = start.elapsed().as_secs_f64();
                self.kernel.push(seconds);
                Ok(elapsed)
            }
            Set::Copied { up, down } => match self.case.way {
                Way::Pageable => plain(up.as_ref(), down.as_mut()),
                Way::Staged => in_stages(up.as_ref(), down.as_mut()),
                Way::Pieces => on_queues(&self.device, PIECES, up.as_ref(), down.as_mut()),
                _ => on_queues(&self.device, 1, up.as_ref(), down.as_mut()),
            },
        }
    }

    fn check(&mut self) -> Result<Result<String, String>, DeviceError> {
        let data = self.case.data();
        let (there, back) = match self.sets.current_mut() {
            Set::Copied { up, down } => {
                let there = up.as_ref().map(|path| path.device.to_vec()).transpose()?;
                (there, down.as_ref().map(|path| &*path.host))
            }
            Set::Reached { device, .. } if self.case.direction.up() => (Some(device.to_vec()?), None),
            Set::Reached { host, .. } => (None, Some(host.read()?)),
        };
        let there = there.as_deref().map(|got| ("on the device", got));
        let back = back.map(|got| ("on the host", got));
        for (place, got) in there.into_iter().chain(back) {
            if let Some(at) = difference(got, &data) {
                return Ok(Err(format!("byte {at} {place} is {:#x}, not {:#x}", got[at], data[at])));
            }
        }
        Ok(Ok("every byte".to_owned()))
    }

    fn readings(&mut self) -> Result<Vec<Reading>, DeviceError> {
        let reading = |name: &str, value, unit: &str| Reading { name: name.to_owned(), value, unit: unit.to_owned() };
        let pace = |(bytes, seconds): (usize, f64)| bytes as f64 / seconds / 1e9;
        let kernel = self.kernel.iter().copied().reduce(f64::min);
        Ok(match (self.case.way, self.sets.current_mut()) {
            (Way::Pinned | Way::WriteCombined, Set::Copied { up: Some(path), down: None }) => {
                vec![reading("CPU writes", pace(written(&mut path.host)), "GB/s")]
            }
            (Way::Pinned | Way::WriteCombined, Set::Copied { up: None, down: Some(path) }) => {
                vec![reading("CPU reads", pace(read(&path.host)), "GB/s")]
            }
            _ => kernel.map(|seconds| reading("kernel", seconds * 1e3, "ms")).into_iter().collect(),
        })
    }
}

/// One call of the driver.
fn plain(up: Option<&Path>, down: Option<&mut Path>) -> Result<f64, DeviceError> {
    let start = Instant::now();
    if let Some(Path { host, device: buffer }) = up {
        buffer.write(0, host)?;
    }
    if let Some(Path { host, device: buffer }) = down {
        buffer.read(0, host)?;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Through our own page-locked pieces, whether there are enough bytes for it to be worth it or not.
fn in_stages(up: Option<&Path>, down: Option<&mut Path>) -> Result<f64, DeviceError> {
    let start = Instant::now();
    if let Some(Path { host, device }) = up {
        for rows in rows_of(host.len()) {
            staged::upload(device, rows, &host[rows.start..], rows.width)?;
        }
    }
    if let Some(Path { host, device }) = down {
        for rows in rows_of(host.len()) {
            staged::download(device, rows, &mut host[rows.start..], rows.width)?;
        }
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Bytes as rows, which threads share out; those at the end that make no whole row are one by themselves.
fn rows_of(bytes: usize) -> impl Iterator<Item = Rows> {
    let (rows, rest) = (bytes / ROW, bytes % ROW);
    let row = |start, width, rows| Rows { start, pitch: width, width, rows };
    [row(0, ROW, rows), row(rows * ROW, rest, usize::from(rest > 0))].into_iter().filter(|rows| rows.rows > 0)
}

/// As so many copies each way, each way on a queue. The queues are there when the clock starts.
fn on_queues(
    device: &Arc<dyn Device>,
    pieces: usize,
    up: Option<&Path>,
    down: Option<&mut Path>,
) -> Result<f64, DeviceError> {
    let size = |bytes: usize| bytes.div_ceil(pieces).max(1);
    scope(device, 0, 2, |queues| {
        let start = Instant::now();
        if let Some(Path { host, device }) = up {
            for (i, piece) in host.chunks(size(host.len())).enumerate() {
                let (width, memory) = (piece.len(), Readable::Borrowed(piece));
                let source = Source { memory, pitch: width, width, rows: 1 };
                queues[0].upload(device, i * size(host.len()), width, source)?;
            }
        }
        if let Some(Path { host, device }) = down {
            let size = size(host.len());
            for (i, piece) in host.chunks_mut(size).enumerate() {
                let width = piece.len();
                let target = Target { memory: Writable::Borrowed(piece), pitch: width, width, rows: 1 };
                queues[1].download(device, i * size, width, target)?;
            }
        }
        queues.iter_mut().try_for_each(|queue| queue.wait().result)?;
        Ok(start.elapsed().as_secs_f64())
    })?
}

/// The first byte that is not as it should be.
fn difference(got: &[u8], wanted: &[u8]) -> Option<usize> {
    let parts = got.par_chunks(COMPARED).zip(wanted.par_chunks(COMPARED)).enumerate();
    parts.find_map_first(|(i, (got, wanted))| {
        // Write-combined memory is read only once, in accesses as wide as they come.
        let got = got.to_vec();
        let at = got.iter().zip(wanted).position(|(got, wanted)| got != wanted)?;
        Some(i * COMPARED + at)
    })
}

/// Has one thread of the CPU write what a copy is to read: bytes, and the seconds at best.
fn written(memory: &mut [u8]) -> (usize, f64) {
    let bytes = memory.len().min(SAMPLE);
    let data = vec![1u8; bytes];
    (bytes, at_best(|| black_box(&mut memory[..bytes]).copy_from_slice(&data)))
}

/// Has one thread of the CPU read what a copy has written.
fn read(memory: &[u8]) -> (usize, f64) {
    let bytes = memory.len().min(SAMPLE);
    let mut data = vec![0u8; bytes];
    (bytes, at_best(|| black_box(&mut data).copy_from_slice(&memory[..bytes])))
}

/// The shortest of three times.
fn at_best(mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..3).map(time).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::super::{TRANSFER, transfers};
    use super::*;
    use crate::primer::{Ask, Case, Elements};
    use halotile::exec::emulator::EmulatedDevice;

    fn all(bytes: usize) -> impl Iterator<Item = Transfer> {
        transfers(&Ask { size: [bytes, 0, 0], elements: Elements::U8, seed: 3 })
    }

    fn emulator() -> Arc<dyn Device> {
        Arc::new(EmulatedDevice::new(0, None))
    }

    #[test]
    fn bytes_arrive_every_way() {
        let device = emulator();
        for bytes in [1, 15, 16, 17, 63, 64, 65, 4099, ROW, ROW + 1, 2 * ROW + 4097] {
            for case in all(bytes) {
                let mut run = Started::new(&case, &device, 2).unwrap();
                for _ in 0..3 {
                    assert!(run.run().unwrap() > 0.0, "{case:?}");
                    assert_eq!(run.check().unwrap(), Ok("every byte".to_owned()), "{case:?}");
                }
            }
        }
    }

    #[test]
    fn bytes_that_did_not_arrive_are_told() {
        let device = emulator();
        for case in all(5000) {
            let mut started = Started::new(&case, &device, 1).unwrap();
            let told = started.check().unwrap().unwrap_err();
            let place = if case.direction.up() { "device" } else { "host" };
            assert!(told.starts_with(&format!("byte 0 on the {place} is 0xff, not ")), "{case:?}: {told}");
            started.run().unwrap();
            spoil(started.sets.current_mut());
            assert!(started.check().unwrap().unwrap_err().starts_with("byte 4321 "), "{case:?}");
        }
    }

    /// Makes a byte at every end be another.
    fn spoil(set: &mut Set) {
        let on_device = |buffer: &Buffer| {
            let mut bytes: Vec<u8> = buffer.to_vec().unwrap();
            bytes[4321] ^= 1;
            buffer.write(0, &bytes[..5000]).unwrap();
        };
        match set {
            Set::Copied { up, down } => {
                up.iter().for_each(|path| on_device(&path.device));
                down.iter_mut().for_each(|path| path.host[4321] ^= 1);
            }
            Set::Reached { host, device } => {
                on_device(device);
                let mut bytes = host.read().unwrap().to_vec();
                bytes[4321] ^= 1;
                host.write(|memory| memory.copy_from_slice(&bytes)).unwrap();
            }
        }
    }

    #[test]
    fn both_ways_at_once_are_checked_at_both_ends() {
        let device = emulator();
        let case = all(100).find(|case| case.moved() == 200).unwrap();
        let mut started = Started::new(&case, &device, 1).unwrap();
        started.run().unwrap();
        let Set::Copied { up: Some(_), down: Some(down) } = started.sets.current_mut() else { panic!("both ways") };
        down.host[99] ^= 1;
        assert!(started.check().unwrap().unwrap_err().starts_with("byte 99 on the host "));
    }

    #[test]
    fn what_the_cpu_and_the_kernel_do_is_told_beside() {
        let device = emulator();
        for case in all(300) {
            let mut started = Started::new(&case, &device, 1).unwrap();
            started.run().unwrap();
            let readings = started.readings().unwrap();
            let names: Vec<&str> = readings.iter().map(|reading| reading.name.as_str()).collect();
            let expected: &[&str] = match (case.way, case.direction.name()) {
                (Way::Pinned | Way::WriteCombined, "up") => &["CPU writes"],
                (Way::Pinned | Way::WriteCombined, "down") => &["CPU reads"],
                (Way::ZeroCopy, _) => &["kernel"],
                _ => &[],
            };
            assert_eq!(names, expected, "{case:?}");
            assert!(readings.iter().all(|reading| reading.value > 0.0));
        }
    }

    #[test]
    fn the_cases_are_every_way_in_its_directions() {
        assert_eq!(all(1).count(), 13);
        let names: Vec<&str> = all(1).map(|case| case.name()).collect();
        assert!((TRANSFER.rungs)().iter().all(|rung| names.contains(rung)));
        assert!(all(1).all(|case| case.before().is_none_or(|before| names.contains(&before))));
    }

    #[test]
    fn rows_cover_all_bytes_once() {
        for bytes in [1, ROW - 1, ROW, ROW + 1, 5 * ROW + 3] {
            let mut next = 0;
            for rows in rows_of(bytes) {
                assert_eq!(rows.start, next);
                next += rows.width * rows.rows;
            }
            assert_eq!(next, bytes);
        }
    }
}
