//! Every measure of the CPU engine and of kernels in the emulator agrees with its definition, as `halotile_tests::measures` compares them.

use halotile::entropy::{Engine, Kernel};
use halotile_tests::measures;

use crate::agreement::emulated;

/// Every measure in windows of every shape, through the library's own door.
#[test]
fn on_every_engine() {
    let [one, two] = [1, 2].map(emulated);
    let counts = |done: Vec<measures::Compared>| done.into_iter().map(|(compared, _)| compared).collect::<Vec<_>>();
    let columns = (&one, Some(Kernel::ColumnsMeasures), 7_000_000);
    let done =
        counts(measures::check::<f32>(&[(&Engine::Cpu, None, usize::MAX), (&two, None, 10_000), columns]).unwrap());
    assert!(done[0] > 500_000 && done[1] > 10_000 && done[2] > 500_000, "{done:?}");
    let columns = (&two, Some(Kernel::ColumnsMeasuresF64), 10_000);
    let done =
        counts(measures::check::<f64>(&[(&Engine::Cpu, None, usize::MAX), (&one, None, 10_000), columns]).unwrap());
    assert!(done[0] > 500_000 && done[1] > 10_000 && done[2] > 10_000, "{done:?}");
    assert!(measures::check_large::<f32>().unwrap() > 10_000);
    assert!(measures::check_large::<f64>().unwrap() > 10_000);
    let columns = (&one, Some(Kernel::ColumnsSums), 30_000_000);
    let done = counts(measures::check_sums::<f32>(&[columns, (&one, None, 1_000_000)]).unwrap());
    assert!(done[0] > 500_000 && done[1] > 50_000, "{done:?}");
    let columns = (&two, Some(Kernel::ColumnsSumsF64), 30_000_000);
    assert!(counts(measures::check_sums::<f64>(&[columns]).unwrap())[0] > 500_000);
}

/// Those that come from one sum, by the kernels on the tensor cores, and chosen without a name.
#[test]
fn of_one_sum_on_the_tensor_cores() {
    let [one, two] = [1, 2].map(emulated);
    let wide =
        [Kernel::Tensor, Kernel::TensorCounted, Kernel::Band, Kernel::BandCounted].map(|kernel| (kernel, 1_600_000));
    let named = wide.into_iter().chain([(Kernel::Footprint, 400_000)]);
    let mut runs: Vec<_> = named.map(|(kernel, updates)| (&one, Some(kernel), updates)).collect();
    runs.push((&two, None, 200_000));
    for (run, (compared, worst)) in runs.iter().zip(measures::check_one_sum(420, 2, &runs).unwrap()) {
        assert!(compared > 10_000 && worst < 1e-6, "{:?}: {compared}, {worst}", run.1);
    }
}
