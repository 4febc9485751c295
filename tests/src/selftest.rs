//! Runs the kernel `selftest` on a device and gives what it wrote: the same words on every device, or the emulator is wrong.

use std::sync::Arc;

use anyhow::Result;
use halotile::exec::{Buffer, Device};
use halotile_kernels::selftest::{THREADS, WORDS, selftest};
use simt::launch::LaunchConfig;

/// Blocks of the launch.
const BLOCKS: u32 = 3;

/// The output and the counters.
pub fn run(device: &Arc<dyn Device>) -> Result<(Vec<u32>, Vec<u32>)> {
    let threads = (BLOCKS * THREADS) as usize;
    let input: Vec<u32> = (0..threads as u32).map(|i| i.wrapping_mul(2_654_435_761) ^ i >> 3).collect();
    let input = Buffer::from_slice(device, &input)?;
    let output = Buffer::from_slice(device, &vec![0xDEAD_BEEFu32; threads * WORDS])?;
    let counters = Buffer::from_slice(device, &[0u32; 4])?;
    let args = [input.input::<u32>(), output.output::<u32>(), counters.output::<u32>()];
    let config = LaunchConfig { shared_bytes: 8 * THREADS, ..LaunchConfig::linear(BLOCKS, THREADS) };
    // SAFETY: the buffers have the lengths and the launch the shape that the kernel asks for.
    unsafe { device.launch(&selftest::ENTRY, &config, &args)? };
    Ok((words(device, &output)?, words(device, &counters)?))
}

fn words(device: &Arc<dyn Device>, buffer: &Buffer) -> Result<Vec<u32>> {
    let mut words = vec![0u32; buffer.bytes() / 4];
    let bytes = buffer.bytes();
    device.download(buffer, bytes, bytemuck::cast_slice_mut(&mut words), bytes, bytes, 1)?;
    Ok(words)
}
