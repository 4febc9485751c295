//! Every rung of the ladders that is a kernel agrees with the oracle, in the emulator, on the cases that it takes.

use std::sync::Arc;

use halotile::entropy::{Base, Engine, Entropy, Error, Kernel, Place, Real};
use halotile::exec::Device;
use halotile::exec::emulator::{EmulatedDevice, Order};
use halotile::grid::Grid;
use halotile_lab::entropy::kernels;
use halotile_tests::runner::{check, compare, tolerance};

use crate::TABLE;

/// Cases of the table that have 5 × 5 windows, up to 16 levels and no nodata.
const LEAST: usize = 50;

fn kernel(name: &str) -> Kernel {
    halotile_lab::entropy::kernel(name).unwrap_or_else(|| panic!("there is no rung {name}"))
}

fn emulated(order: Order) -> Engine {
    Engine::Devices(vec![Arc::new(EmulatedDevice::new(0, None).with_order(order)) as Arc<dyn Device>])
}

fn whole_table<T: Real + Into<f64>>(kernel: Kernel) {
    let engine = emulated(Order::Forward);
    let (mut done, mut wrong) = (0, Vec::new());
    for checked in TABLE.iter() {
        match check::<T>(&engine, Some(kernel), checked) {
            Ok(Some(_)) => done += 1,
            Ok(None) => {}
            Err(error) => wrong.push(format!("{error:#}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), TABLE.len(), wrong.join("\n"));
    assert!(done >= LEAST, "only {done} cases fit {kernel}");
}

/// Blocks and lanes in another order: a kernel that depends on it has a race.
fn orders<T: Real + Into<f64> + PartialEq>(kernel: Kernel) {
    let cells = Grid::from_fn(37, 300, |r, c| ((r * 7 + c * c) % 16) as u8).unwrap();
    let run = |order| {
        let mut out = Grid::<T>::zeros(37, 300).unwrap();
        Entropy::new().kernel(kernel).compute_into(&emulated(order), cells.view(), out.view_mut(), &()).unwrap();
        out
    };
    let forward = run(Order::Forward);
    assert!(run(Order::Reverse) == forward && run(Order::Shuffled(5)) == forward, "{kernel}");
    let expected = halotile::reference::entropy(cells.view(), 5, None);
    compare(&forward, &expected, false, tolerance::<T>(Some(kernel))).unwrap();
}

macro_rules! rungs {
    ($($name:ident)*) => {
        const TESTED: &[&str] = &[$(stringify!($name)),*];
        mod rung {
            $(
                #[test]
                fn $name() {
                    let kernel = super::kernel(stringify!($name));
                    if kernel.is_f64() {
                        super::whole_table::<f64>(kernel);
                        super::orders::<f64>(kernel);
                    } else {
                        super::whole_table::<f32>(kernel);
                        super::orders::<f32>(kernel);
                    }
                }
            )*
        }
    };
}
rungs!(v0 v1 v2 v3 v4 v5 v6 v7 v8 v9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 s1 s2 s3 s4);

#[test]
fn every_kernel_of_a_ladder_has_its_test() {
    for kernel in kernels().filter(|kernel| matches!(kernel, Kernel::Custom(_)) && kernel.place() == Place::Device) {
        // Block shapes of one kernel are tested together.
        let name = kernel.name().split('-').next().unwrap_or_default();
        assert!(TESTED.contains(&name), "{kernel} has no test");
    }
}

/// One kernel in seven shapes of blocks gives one result.
#[test]
fn shapes_of_blocks_change_no_bit() {
    let cells = Grid::from_fn(41, 530, |r, c| ((r * r + 5 * c) % 16) as u8).unwrap();
    let run = |kernel: Kernel| {
        let mut out = Grid::<f32>::zeros(41, 530).unwrap();
        let entropy = Entropy::new().kernel(kernel);
        entropy.compute_into(&emulated(Order::Forward), cells.view(), out.view_mut(), &()).unwrap();
        out
    };
    let expected = run(kernel("b8"));
    let shapes: Vec<_> = kernels().filter(|kernel| kernel.name().starts_with("b9")).collect();
    assert_eq!(shapes.len(), 7);
    for kernel in shapes {
        assert!(run(kernel) == expected, "{kernel}");
    }
}

/// Several launches, and a share of the rows for each device, change no bit.
#[test]
fn bands_and_devices_change_no_bit() {
    fn run<T: Real + PartialEq>(name: &str, memory: usize) {
        let cells = Grid::from_fn(61, 90, |r, c| ((r * r + 5 * c) % 16) as u8).unwrap();
        let run = |engine: &Engine| {
            let mut out = Grid::<T>::zeros(61, 90).unwrap();
            let entropy = Entropy::new().kernel(kernel(name));
            let report = entropy.compute_into(engine, cells.view(), out.view_mut(), &()).unwrap();
            (report.bands, out)
        };
        let (_, whole) = run(&emulated(Order::Forward));
        let device = |i| Arc::new(EmulatedDevice::new(i, Some(memory))) as Arc<dyn Device>;
        let (bands, several) = run(&Engine::Devices((0..3).map(device).collect()));
        assert!(bands > 3, "{name}: {bands} bands");
        assert!(several == whole, "{name}");
    }
    for name in ["v0", "v5", "v7", "v8", "v9", "b8", "s1", "s4"] {
        run::<f32>(name, 9_000);
    }
    for name in ["b0", "b5", "b6", "b7"] {
        run::<f64>(name, 20_000);
    }
}

#[test]
fn units_scale_the_result() {
    let cells = Grid::from_fn(20, 50, |r, c| ((r * r + 3 * c) % 13) as u8).unwrap();
    let nats = halotile::reference::entropy(cells.view(), 5, None);
    let bits = Grid::from_fn(20, 50, |r, c| nats.row(r)[c] / std::f64::consts::LN_2).unwrap();
    for kernel in ["v0", "v7", "b8", "s1", "s2", "s3", "s4"].map(kernel) {
        let mut out = Grid::<f32>::zeros(20, 50).unwrap();
        let entropy = Entropy::new().kernel(kernel).base(Base::Two);
        entropy.compute_into(&emulated(Order::Forward), cells.view(), out.view_mut(), &()).unwrap();
        compare(&out, &bits, false, 1e-5).unwrap();
    }
}

#[test]
fn what_a_rung_does_not_do_has_a_reason() {
    let reason = |name: &str, entropy: Entropy, levels: usize, cols: usize| {
        let cells = Grid::from_fn(2, cols, |r, c| ((r + c) % levels) as u8).unwrap();
        let mut out = Grid::<f32>::zeros(2, cols).unwrap();
        let entropy = entropy.kernel(kernel(name));
        match entropy.compute_into(&emulated(Order::Forward), cells.view(), out.view_mut(), &()) {
            Err(Error::KernelMisfit { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(reason("v3", Entropy::new().size(7), 16, 30), "it takes windows of 5 x 5, not 7 x 7");
    assert_eq!(reason("v3", Entropy::new(), 17, 30), "it takes up to 16 levels, and there are 17");
    assert_eq!(reason("v3", Entropy::new().nodata(3), 16, 30), "it does not know nodata");
    assert_eq!(
        reason("v8", Entropy::new(), 16, 131_073),
        "its texture takes up to 131072 columns, and there are 131073"
    );
}

/// s4 has a table for each lane: more than some devices give a block.
#[test]
fn a_rung_says_how_much_shared_memory_it_needs() {
    let cells = Grid::from_fn(9, 40, |r, c| ((r + c) % 16) as u8).unwrap();
    let run = |name: &str| {
        let device = EmulatedDevice::new(0, None).with_shared_per_block(64 * 1024);
        let engine = Engine::Devices(vec![Arc::new(device) as Arc<dyn Device>]);
        let mut out = Grid::<f32>::zeros(9, 40).unwrap();
        Entropy::new().kernel(kernel(name)).compute_into(&engine, cells.view(), out.view_mut(), &())
    };
    let Err(Error::KernelMisfit { reason, .. }) = run("s4") else { panic!("s4 ran") };
    assert_eq!(reason, "it needs 102528 bytes of shared memory a block, and there are 65536");
    run("s3").unwrap();
    assert_eq!(kernel("s4").block_of(99 * 1024), Some((256, 102_528)));
}
