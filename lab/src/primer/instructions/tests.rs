//! Every instruction in the emulator, against its oracle; and that a wrong end is found.

use super::*;
use crate::primer::predict;
use halotile::exec::emulator::EmulatedDevice;

fn all(rounds: usize) -> Vec<Probe> {
    probes(&Ask { size: [rounds, 0, 0], elements: Elements::U32, seed: 11 }).collect()
}

fn emulator() -> Arc<dyn Device> {
    Arc::new(EmulatedDevice::new(0, None))
}

#[test]
fn chains_end_where_their_definitions_do() {
    let device = emulator();
    for rounds in [1, 3] {
        for case in all(rounds) {
            let mut run = case.start(&device, 1).unwrap();
            for _ in 0..2 {
                run.run().unwrap();
                let found = run.check().unwrap();
                assert!(found.is_ok(), "{case:?}: {found:?}");
            }
            assert_eq!(run.check().unwrap().unwrap().contains("2^-20"), matches!(case.of.oracle, Oracle::Near(_)));
        }
    }
}

#[test]
fn numbers_stay_in_range_however_long_it_goes_on() {
    for case in all(1 << 11) {
        for chain in 0..OPS_CHAINS {
            let number = |bits: u64| {
                if case.of.wide { f64::from_bits(bits) } else { f64::from(f32::from_bits(bits as u32)) }
            };
            match case.ends(chain) {
                Ends::Near(ends) => assert!(ends.iter().all(|x| (0.1..10.0).contains(x)), "{case:?}: {ends:?}"),
                Ends::Exact(ends) if ["f32", "f64"].contains(&case.of.of) => {
                    assert!(ends.iter().all(|&[x, _]| (1e-3..1e3).contains(&number(x).abs())), "{case:?}");
                }
                Ends::Exact(ends) if case.of.of == "f16x2" => {
                    let finite = |x: u64| [x, x >> 16].iter().all(|half| half & 0x7C00 != 0x7C00);
                    assert!(ends.iter().all(|&[x, _]| finite(x)), "{case:?}");
                }
                Ends::Exact(_) => {}
            }
        }
    }
}

#[test]
fn every_lane_and_chain_has_an_end_of_its_own_where_an_instruction_keeps_them_apart() {
    for name in ["add", "add3", "mul", "mad", "div", "funnel", "lop3", "prmt", "shuffle", "atom.shared"] {
        for case in all(1).iter().filter(|case| case.of.name == name) {
            let ends = (0..OPS_CHAINS).flat_map(|chain| match case.ends(chain) {
                Ends::Exact(warp) => warp,
                Ends::Near(_) => panic!("{name} is exact"),
            });
            let different: std::collections::HashSet<_> = ends.collect();
            // Divisions of integers come together, those of f32 seldom.
            assert!(different.len() > if name == "div" { 2 } else { 100 }, "{case:?}: {}", different.len());
        }
    }
}

#[test]
fn a_wrong_end_is_found() {
    let device = emulator();
    for case in all(2) {
        let launch = Launch::new(&device, case.of, case.of.latency, [1, WARP], 1).unwrap();
        // Nothing has run: all bits are ones.
        assert!(launch.check(&case).unwrap().is_some(), "{case:?}");
        let starts: Vec<u64> = [0, 1].iter().flat_map(|&of| case.starts(0).map(|state| state[of])).collect();
        let [starts, operands] = [&starts[..], &case.of.operands].map(|words| case.of.upload(&device, words).unwrap());
        launch.run(&case, &starts, &operands).unwrap();
        assert_eq!(launch.check(&case).unwrap(), None, "{case:?}");
        // A bit of the x of lane 7, one of its exponent if it is a float.
        let mut ends = case.of.download(&launch.ends).unwrap();
        ends[7] ^= 1 << if case.of.wide { 53 } else { 24 };
        let wrong = Launch { ends: case.of.upload(&device, &ends).unwrap(), ..launch };
        let told = wrong.check(&case).unwrap().unwrap();
        assert!(told.contains(": chain 0 of thread 7 ends with "), "{told}");
    }
}

#[test]
fn what_all_add_to_one_word_is_counted() {
    let device = emulator();
    let case = all(1).into_iter().find(|case| case.of.common).unwrap();
    let launch = Launch::new(&device, case.of, case.of.latency, [1, WARP], 1).unwrap();
    let zeros = case.of.upload(&device, &[0; 64]).unwrap();
    let launch =
        Launch { ends: zeros, words: Some(Buffer::from_slice(&device, &[32u32 * 8 * (3 + 5)]).unwrap()), ..launch };
    assert_eq!(launch.check(&case).unwrap(), None);
    let launch = Launch { words: Some(Buffer::from_slice(&device, &[32u32 * 8 * (3 + 5) + 3]).unwrap()), ..launch };
    assert!(launch.check(&case).unwrap().unwrap().ends_with("the word is 0x803 in the end, not 0x800"));
}

#[test]
fn results_of_the_special_function_unit_may_be_near_and_no_more() {
    let ends = Ends::Near(vec![1.5; 32]);
    let bits = |x: f32| u64::from(x.to_bits());
    assert_eq!(ends.refuse(3, [bits(1.5 + f32::EPSILON), 0]), None);
    assert!(ends.refuse(3, [bits(1.50001), 0]).unwrap().starts_with("1.50001"));
    assert!(ends.refuse(3, [bits(f32::NAN), 0]).is_some());
}

#[test]
fn the_emulator_counts_the_passes_that_conflicts_are_named_by() {
    for case in all(1).iter().filter(|case| case.of.name == "ld.shared") {
        let ways: f64 = case.of.of.split(' ').next().unwrap().parse().unwrap();
        let passes = predict(case).unwrap().shared_loads.unwrap();
        assert_eq!(passes.per_access, ways, "{case:?}");
        assert_eq!(passes.accesses, 2 * 32 * 4 * 16, "{case:?}");
        assert_eq!(case.per_clock(90), Some(32.0 / ways));
    }
}

#[test]
fn spans_are_from_the_first_start_to_the_last_end_of_a_block() {
    let device = emulator();
    let all = all(1);
    let mut launch = Launch::new(&device, all[0].of, all[0].of.rate, [2, 64], 1).unwrap();
    launch.clocks = Buffer::from_slice(&device, &[5u64, 90, 3, 70, 100, 110, 101, 130]).unwrap();
    assert_eq!(launch.spans().unwrap(), [87, 30]);
}

#[test]
fn readings_are_a_latency_and_operations_a_clock() {
    let device = emulator();
    let all = all(1);
    let shuffle = all.iter().find(|case| case.of.name == "shuffle").unwrap();
    let mut run = shuffle.start(&device, 1).unwrap();
    run.run().unwrap();
    let readings = run.readings().unwrap();
    let names: Vec<_> = readings.iter().map(|reading| (reading.name.as_str(), reading.unit.as_str())).collect();
    assert_eq!(names, [("per clock", "/clk/SM"), ("latency", "clocks")]);
    assert!(readings.iter().all(|reading| reading.value > 0.0 && reading.value.is_finite()), "{readings:?}");
}

#[test]
fn cases_are_told_apart_and_count_operations() {
    let all = all(512);
    let names: std::collections::HashSet<_> = all.iter().map(|case| (case.of.name, case.of.of)).collect();
    assert_eq!(names.len(), all.len());
    let kernels: std::collections::HashSet<_> =
        all.iter().flat_map(|case| [case.of.rate.name, case.of.latency.name]).collect();
    assert!(kernels.iter().all(|kernel| halotile_lab_kernels::find(kernel).is_some()));
    // Shared loads of six degrees have one pair of kernels, constant loads of both kinds another.
    assert_eq!(kernels.len(), 2 * (all.len() - 5 - 1));
    let limits = emulator().limits();
    let find = |name, of| all.iter().find(|case| (case.of.name, case.of.of) == (name, of)).unwrap();
    let instructions = f64::from(limits.multiprocessors) * 1024.0 * 4.0 * 16.0 * 512.0;
    assert_eq!(find("add", "f32").work(&limits), Work::Operations(instructions));
    assert_eq!(find("add", "f16x2").work(&limits), Work::Operations(2.0 * instructions));
    assert_eq!(find("popc", "u32").work(&limits), Work::Operations(instructions / 2.0));
    assert_eq!(find("fma", "f32").per_clock(90), Some(128.0));
    assert_eq!(find("add-min", "i32").per_clock(80), None);
}
