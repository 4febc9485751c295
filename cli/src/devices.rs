//! `halotile devices`: what `--device` can be on this machine.

use std::sync::Arc;

use halotile::exec::cuda::{self, CudaDevice};
use halotile::exec::emulator::EmulatedDevice;
use halotile::exec::{Device, DeviceError};
use serde_json::{Value, json};

use crate::args::DevicesArgs;
use crate::machine::cores;
use crate::outcome::Done;
use crate::stdout;

/// A GPU and, if it was asked for, the bytes it copies in a second.
struct Gpu {
    device: Arc<CudaDevice>,
    copy: Option<Result<f64, DeviceError>>,
}

pub fn run(args: &DevicesArgs) -> anyhow::Result<Done> {
    let gpus: Result<Vec<_>, _> = cuda::count().map(|count| (0..count).map(|i| open(i, args.measure)).collect());
    let text = if args.json { json(&gpus).to_string() + "\n" } else { text(&gpus) };
    stdout::print(text.as_bytes())?;
    Ok(Done::Success)
}

fn open(ordinal: usize, measure: bool) -> Result<Gpu, DeviceError> {
    let device = Arc::new(CudaDevice::new(ordinal)?);
    let copy = measure.then(|| device.measure_copy());
    Ok(Gpu { device, copy })
}

type Gpus = Result<Vec<Result<Gpu, DeviceError>>, DeviceError>;

fn gib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

fn text(gpus: &Gpus) -> String {
    let mut lines = vec![format!("cpu: {} threads", cores())];
    match gpus {
        Err(error) => lines.push(format!("cuda: {error}")),
        Ok(gpus) => {
            if let Ok((major, minor)) = cuda::driver_version() {
                lines.push(format!("cuda: the driver supports CUDA {major}.{minor}"));
            }
            for (ordinal, gpu) in gpus.iter().enumerate() {
                match gpu {
                    Ok(gpu) => lines.extend(describe(gpu)),
                    Err(error) => lines.push(format!("cuda:{ordinal}: it cannot be used: {error}")),
                }
            }
        }
    }
    lines.push("emulator: runs every kernel on the CPU, lane by lane, with every access checked; for tests".to_owned());
    lines.join("\n") + "\n"
}

fn describe(gpu: &Gpu) -> Vec<String> {
    let d = gpu.device.description();
    let (major, minor) = d.compute_capability;
    let mut lines = vec![
        format!("cuda:{}: {}, compute capability {major}.{minor}", d.ordinal, d.name),
        format!("  memory: {:.1} GiB, {:.1} GiB free", gib(d.memory), gib(d.memory_free)),
        format!(
            "  multiprocessors: {} at up to {} MHz, {} KiB shared memory a block",
            d.multiprocessors,
            d.clock_khz / 1000,
            d.shared_per_block / 1024
        ),
    ];
    lines.extend(gpu.copy.as_ref().map(|copy| match copy {
        Ok(rate) => format!("  copy within its memory: {:.0} GB/s read + written", rate / 1e9),
        Err(error) => format!("  copy within its memory: not measured: {error}"),
    }));
    lines
}

fn json(gpus: &Gpus) -> Value {
    let off = gpus.as_ref().err().map(ToString::to_string);
    let version = cuda::driver_version().ok().map(|(major, minor)| format!("{major}.{minor}"));
    let list: Vec<Value> = gpus.iter().flatten().enumerate().map(|(ordinal, gpu)| one(ordinal, gpu)).collect();
    let emulator = EmulatedDevice::new(0, None).limits();
    json!({
        "cpu": { "threads": cores() },
        "cuda": { "off": off, "version": version, "devices": list },
        "emulator": { "shared_per_block": emulator.shared_per_block, "memory": emulator.memory },
    })
}

fn one(ordinal: usize, gpu: &Result<Gpu, DeviceError>) -> Value {
    let gpu = match gpu {
        Ok(gpu) => gpu,
        Err(error) => return json!({ "ordinal": ordinal, "error": error.to_string() }),
    };
    let d = gpu.device.description();
    let (major, minor) = d.compute_capability;
    json!({
        "ordinal": ordinal,
        "name": d.name,
        "compute_capability": format!("{major}.{minor}"),
        "multiprocessors": d.multiprocessors,
        "memory": d.memory,
        "memory_free": d.memory_free,
        "shared_per_block": d.shared_per_block,
        "clock_khz": d.clock_khz,
        "copy_bytes_per_second": gpu.copy.as_ref().and_then(|copy| copy.as_ref().ok()),
    })
}
