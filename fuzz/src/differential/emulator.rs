//! Kernels in the emulator, which checks every access, beside the definition; those for shortest paths beside the algorithm of Bellman and Ford.

use std::sync::{Arc, LazyLock};

use halotile::entropy::{Engine, Error, Kernel, Place};
use halotile::exec::Device;
use halotile::exec::emulator::{EmulatedDevice, Order};
use halotile::grid::Grid;
use halotile::numbers::Real;

use super::POOL;
use super::entropy::Question;
use super::paths::paths_emulated;
use crate::case::Case;

/// The kernels that run on a device, and none for the one that the library chooses.
static KERNELS: LazyLock<Vec<Option<Kernel>>> = LazyLock::new(|| {
    let kernels = halotile_lab::entropy::kernels().filter(|kernel| kernel.place() == Place::Device);
    kernels.map(Some).chain([None]).collect()
});

/// One or two emulated devices and any kernel that does this kind of work.
pub fn emulator(input: &[u8]) {
    let mut case = Case::new(input);
    if case.seldom(8) {
        return paths_emulated(&mut case);
    }
    let double = case.seldom(4);
    let kernel = case.one(&KERNELS);
    let order = if case.flip() { Order::Forward } else { Order::Reverse };
    let device = |i| Arc::new(EmulatedDevice::new(i, None).with_order(order)) as Arc<dyn Device>;
    let engine = Engine::Devices((0..case.number(1, 2)).map(device).collect());
    let plain = case.flip();
    let question = Question::draw(&mut case, (8, 40), 7, plain);
    let within = halotile_lab::bench::tolerance(kernel, double);
    let run = || match double {
        true => asked::<f64>(&question, &engine, kernel, within),
        false => asked::<f32>(&question, &engine, kernel, within),
    };
    POOL.run(run);
}

fn asked<T: Real + Into<f64>>(question: &Question, engine: &Engine, kernel: Option<Kernel>, within: f64) {
    let (rows, cols) = (question.cells.rows(), question.cells.cols());
    let mut outs: Vec<Grid<T>> = question.measures.iter().map(|_| Grid::zeros(rows, cols).expect("a shape")).collect();
    let views = outs.iter_mut().map(Grid::view_mut).collect();
    match question.entropy().kernel(kernel).measure_into(engine, question.cells.view(), views, &()) {
        Ok(_) => question.compare(&outs, &question.expected(), within),
        Err(Error::KernelMisfit { .. }) if kernel.is_some() => {}
        Err(error) => panic!("{error}: {question:?}"),
    }
}
