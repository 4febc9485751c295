//! A launch from beginning to end: check it, bind its arguments, run its blocks.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::block::{self, Schedule};
use super::fault::{LaunchError, Space};
use super::lane::Lanes;
use super::machine::{Bound, BoundTexture, Machine, Parts, quiet_kernel_panics};
use super::memory::{Buffer, Memory};
use super::options::{Options, Report};
use super::shared::{Arena, Window};
use crate::launch::{Arg, BufferArg, KernelEntry, LaunchConfig};

/// Runs a kernel to its end, or to the first error.
///
/// It is a safe function although kernels are unsafe ones: what a kernel may rely on (how long its buffers are, how
/// they are aligned, the shape of the launch) is checked at each access. A kernel whose body has `unsafe` of its
/// own must not rely on its arguments there.
pub fn launch(
    memory: &mut Memory,
    kernel: &KernelEntry,
    config: &LaunchConfig,
    arguments: &[Arg],
    options: &Options<'_>,
) -> Result<Report, LaunchError> {
    kernel.check(arguments)?;
    check_config(kernel, config, options)?;
    let (buffers, textures) = bind(memory, kernel, arguments, options)?;
    quiet_kernel_panics();

    if memory.shared.as_ref().is_none_or(|arena| arena.bytes() < options.shared_limit as usize) {
        memory.shared = Some(Box::new(Arena::new(options.shared_limit)));
    }
    let arena = memory.shared.as_mut().expect("made above");
    let parts = Parts {
        kernel: *kernel,
        arguments: arguments.to_vec(),
        config: *config,
        buffers,
        textures,
        constants: options.constants.to_vec(),
        shared: Window::new(arena, options.shared_limit, config.shared_bytes),
        first_phase: memory.phase,
    };
    let machine = Machine::new(parts, options);
    let result = run_blocks(&machine, config, options);
    memory.phase = machine.phase() + 1;
    result
}

fn run_blocks(machine: &Machine, config: &LaunchConfig, options: &Options<'_>) -> Result<Report, LaunchError> {
    let [width, height, depth] = config.grid;
    let total = u64::from(width) * u64::from(height) * u64::from(depth);
    let schedule = Schedule::new(options.lane_order, config.threads());
    let mut lanes = Lanes::new(machine, options.stack_bytes);
    for (done, index) in (1..).zip(options.block_order.indices(total)) {
        let row = index / u64::from(width);
        let block = [index % u64::from(width), row % u64::from(height), row / u64::from(height)];
        machine.begin_block(block.map(|coordinate| coordinate as u32));
        let run = || block::run(machine, &mut lanes, &schedule);
        match machine.run_lanes(|| catch_unwind(AssertUnwindSafe(run))) {
            Ok(result) => result?,
            Err(payload) => return Err(LaunchError::Fault(Box::new(machine.take_fault(&*payload)))),
        }
        if options.observer.is_some_and(|observer| matches!(observer(done, total), ControlFlow::Break(()))) {
            return Err(LaunchError::Stopped { kernel: machine.kernel.name, blocks: done });
        }
    }
    Ok(machine.report(total))
}

fn check_config(kernel: &KernelEntry, config: &LaunchConfig, options: &Options<'_>) -> Result<(), LaunchError> {
    let refuse = |reason: String| Err(LaunchError::Config { kernel: kernel.name, reason });
    let ([x, y, z], [width, height, depth]) = (config.grid, config.block);
    if config.grid.contains(&0) {
        return refuse(format!("a grid of {x} x {y} x {z} blocks has none"));
    }
    if x > i32::MAX as u32 || y > 65535 || z > 65535 {
        return refuse(format!("a grid of {x} x {y} x {z} blocks exceeds 2147483647 x 65535 x 65535"));
    }
    let threads = config.block.iter().map(|&n| u128::from(n)).product::<u128>();
    if threads == 0 || threads > 1024 || depth > 64 {
        return refuse(format!(
            "a block of {width} x {height} x {depth} threads: it takes 1 to 1024, and at most 64 along z"
        ));
    }
    if threads > u128::from(kernel.max_threads) {
        return refuse(format!("a block of {threads} threads, and the kernel's bounds allow {}", kernel.max_threads));
    }
    if config.shared_bytes > options.shared_limit {
        let (bytes, limit) = (config.shared_bytes, options.shared_limit);
        return refuse(format!("{bytes} bytes of dynamic shared memory, and the limit is {limit}"));
    }
    Ok(())
}

/// Finds the buffers and textures that the arguments name. A buffer that some argument may write is watched
/// for races through all of them, textures too.
fn bind(
    memory: &mut Memory,
    kernel: &KernelEntry,
    arguments: &[Arg],
    options: &Options<'_>,
) -> Result<(Vec<Bound>, Vec<BoundTexture>), LaunchError> {
    let refuse = |param, reason: &str| LaunchError::Argument { kernel: kernel.name, param, reason: reason.into() };
    let mut buffers = Vec::new();
    let mut images = Vec::new();
    let mut watched = Vec::new();
    for (name, argument) in kernel.params.iter().map(|param| param.name).zip(arguments) {
        // A buffer of pointers includes those that they lead into.
        let several = match *argument {
            Arg::Buffer(buffer) => [Some(buffer), None, None],
            Arg::Pointers { array, into: [first, second] } => [Some(array), first, second],
            _ => [None; 3],
        };
        for (step, buffer) in several.into_iter().enumerate() {
            let Some(buffer) = buffer else { break };
            let (allocation, _) = memory
                .find_mut(Buffer { address: buffer.address, bytes: buffer.bytes })
                .ok_or_else(|| refuse(name, "it is no live buffer of this memory"))?;
            if !buffer.address.is_multiple_of(element_bytes(buffer.element)) {
                return Err(refuse(name, &format!("its address is not aligned for {}", buffer.element)));
            }
            if buffer.writable && options.races {
                watched.push(allocation.address());
            }
            buffers.push((name, buffer, several.get(step + 1).copied().flatten()));
        }
        if let Arg::Texture { handle, .. } = *argument {
            let image = *memory.image(handle).ok_or_else(|| refuse(name, "it is no live texture of this memory"))?;
            memory.find_mut(image.buffer).ok_or_else(|| refuse(name, "the buffer of the texture was freed"))?;
            images.push((name, handle, image));
        }
    }
    let mut bound = |space, name, argument: BufferArg, pointee| {
        let part = Buffer { address: argument.address, bytes: argument.bytes };
        let (allocation, start) = memory.find_mut(part).expect("found above");
        let is_watched = watched.contains(&allocation.address());
        let (data, written, shadow) = allocation.pointers(is_watched);
        Bound { space, name, argument, pointee, data: data.wrapping_add(start), start, written, shadow }
    };
    let textures = images.into_iter().map(|(name, handle, image)| {
        let Buffer { address, bytes } = image.buffer;
        let argument = BufferArg { address, element: "u8", bytes, writable: false };
        BoundTexture { handle, image, bound: bound(Space::Texture, name, argument, None) }
    });
    let textures = textures.collect();
    let buffers = buffers.into_iter().map(|(name, buffer, pointee)| bound(Space::Global, name, buffer, pointee));
    Ok((buffers.collect(), textures))
}

/// The size of an element type, by its name.
fn element_bytes(element: &str) -> u64 {
    match element.trim_start_matches(|c: char| c.is_ascii_alphabetic()) {
        "8" => 1,
        "16" => 2,
        "32" => 4,
        _ => 8,
    }
}
