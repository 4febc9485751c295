//! Runs the kernel `selftest` on a device and gives what it wrote: the same words on every device, or the emulator is wrong.

use std::sync::Arc;

use anyhow::Result;
use halotile::exec::{Buffer, Device, TexelFormat, Texture, TextureShape};
use halotile_kernels::selftest::{SELFTEST_SET, TEXTURE_WIDTH, THREADS, WORDS, selftest};
use simt::constant::Symbol;
use simt::launch::{Constant, LaunchConfig};

/// Blocks of the launch.
const BLOCKS: u32 = 3;

/// The output and the counters.
pub fn run(device: &Arc<dyn Device>) -> Result<(Vec<u32>, Vec<u32>)> {
    let threads = (BLOCKS * THREADS) as usize;
    let input: Vec<u32> = (0..threads as u32).map(|i| i.wrapping_mul(2_654_435_761) ^ i >> 3).collect();
    let input = Buffer::from_slice(device, &input)?;
    let output = Buffer::from_slice(device, &vec![0xDEAD_BEEFu32; threads * WORDS])?;
    let counters = Buffer::from_slice(device, &[0u32; 6])?;
    let reals: Vec<f32> = (0..70).map(|i| i as f32 * 0.5 - 3.0).collect();
    let reals = Buffer::from_slice(device, &reals)?;
    let line = Texture::new(&reals, TexelFormat::F32, TextureShape::Line { width: 70 })?;
    // Five rows of 50, in rows of 64 bytes or 256.
    let small = Buffer::from_slice(device, &(0..5 * 64).map(|i| (i * 7) as u8).collect::<Vec<u8>>())?;
    let shape = |pitch| TextureShape::Plane { width: TEXTURE_WIDTH, height: 5, pitch };
    let plane = Texture::new(&small, TexelFormat::U8, shape(64))?;
    let large =
        Buffer::from_slice(device, &(0..5 * 64).map(|i: u32| i.wrapping_mul(0x0101_0101)).collect::<Vec<u32>>())?;
    let words_plane = Texture::new(&large, TexelFormat::U32, shape(256))?;
    // Six rows of 5 words; two arrays of three pointers each; two pointers to those.
    let data = Buffer::from_slice(device, &(0..30).map(|i: u32| i.wrapping_mul(0x0101_4259)).collect::<Vec<_>>())?;
    let arrays = Buffer::from_slice(device, &[5, 0, 3, 1, 4, 2].map(|row: u64| data.address() + row * 5 * 4))?;
    let matrices = Buffer::from_slice(device, &[arrays.address() + 3 * 8, arrays.address()])?;
    let args = [
        input.input::<u32>(),
        output.output::<u32>(),
        counters.output::<u32>(),
        matrices.pointers(&arrays.pointers(&data.input::<u32>())),
        line.arg(),
        plane.arg(),
        words_plane.arg(),
    ];
    let config = LaunchConfig { shared_bytes: 8 * THREADS, ..LaunchConfig::linear(BLOCKS, THREADS) };
    let set =
        Constant { name: SELFTEST_SET::NAME, bytes: bytemuck::cast_slice(&[0x1234_5678_9ABC_DEF0u64, 7]).to_vec() };
    // SAFETY: the buffers have the lengths and the launch the shape that the kernel asks for.
    unsafe { device.launch_with(&selftest::ENTRY, &config, &args, &[set])? };
    Ok((words(&output)?, words(&counters)?))
}

fn words(buffer: &Buffer) -> Result<Vec<u32>> {
    let mut words = vec![0u32; buffer.bytes() / 4];
    buffer.read(0, bytemuck::cast_slice_mut(&mut words))?;
    Ok(words)
}
