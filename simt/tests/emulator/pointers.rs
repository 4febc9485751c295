//! Buffers of pointers, and constants that the host sets.

use simt::constant::Symbol;
use simt::emulator::{self, FaultKind, Options};
use simt::global::{In, Out, Pointers};
use simt::launch::{Arg, BufferArg, Constant, LaunchConfig};
use simt::{constant, kernel, thread};

use crate::support::{Device, planted};

#[kernel]
unsafe fn row_sums(rows: Pointers<In<f32>>, sums: Pointers<Pointers<Out<f32>>>, cols: u32) {
    let row = rows.load(thread::index_x() as usize);
    let mut sum = 0.0;
    for c in 0..cols {
        sum += row.load(c as usize); // planted: beyond
    }
    let height = sums.numbers::<u64>().load(1) as usize;
    sums.load(0).load(thread::index_x() as usize).store(height - 1, sum); // planted: follow
}

/// Three rows of four, the pointers to them in reverse; a structure of a pointer and the height 1, its rows one element each.
struct Rows {
    device: Device,
    data: emulator::Buffer,
    out: emulator::Buffer,
    out_rows: emulator::Buffer,
    arguments: Vec<Arg>,
}

fn of(arg: Arg) -> BufferArg {
    match arg {
        Arg::Buffer(buffer) => buffer,
        other => panic!("{other:?}"),
    }
}

fn rows(cols: u32) -> Rows {
    let mut device = Device::new();
    let data = device.upload(&(1..=12u8).map(f32::from).collect::<Vec<_>>());
    let pointers = device.upload(&[2, 1, 0].map(|row: u64| data.address() + row * 16));
    let out = device.fresh::<f32>(3);
    let out_rows = device.upload(&[0, 1, 2].map(|row: u64| out.address() + row * 4));
    let structure = device.upload(&[out_rows.address(), 1]);
    let arguments = vec![
        Arg::Pointers { array: of(pointers.arg::<u64>(false)), into: [Some(of(data.arg::<f32>(false))), None] },
        Arg::Pointers {
            array: of(structure.arg::<u64>(false)),
            into: [Some(of(out_rows.arg::<u64>(false))), Some(of(out.arg::<f32>(true)))],
        },
        cols.into(),
    ];
    Rows { device, data, out, out_rows, arguments }
}

#[test]
fn pointers_are_followed() {
    let Rows { mut device, out, arguments, .. } = rows(4);
    device.launch(row_sums::ENTRY, LaunchConfig::linear(1, 3), &arguments);
    assert_eq!(device.download::<f32>(out), [42.0, 26.0, 10.0]);
}

#[test]
fn what_a_pointer_leads_to_ends_with_its_buffer() {
    let Rows { mut device, arguments, .. } = rows(9);
    let fault = device.fault(row_sums::ENTRY, LaunchConfig::linear(1, 3), &arguments);
    assert_eq!(fault.at.as_ref().unwrap().line, planted(include_str!("pointers.rs"), "beyond"));
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{fault}");
}

#[test]
fn a_pointer_elsewhere_is_found() {
    let Rows { mut device, data, out_rows, arguments, .. } = rows(4);
    // A live buffer, and not the one that the argument names.
    let before = data.address();
    device.memory.write(out_rows, 8, &before.to_ne_bytes());
    let fault = device.fault(row_sums::ENTRY, LaunchConfig::linear(1, 3), &arguments);
    assert_eq!(fault.at.as_ref().unwrap().line, planted(include_str!("pointers.rs"), "follow"));
    assert_eq!(
        fault.kind.to_string(),
        format!("pointer 1 of global sums is {before:#x}, which is not in the buffer that its pointers lead into")
    );
}

#[test]
fn a_race_behind_pointers_is_found() {
    let Rows { mut device, out, out_rows, arguments, .. } = rows(4);
    device.memory.write(out_rows, 8, &out.address().to_ne_bytes());
    let fault = device.fault(row_sums::ENTRY, LaunchConfig::linear(1, 3), &arguments);
    assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
}

#[test]
fn arguments_are_checked() {
    let Rows { mut device, data, mut arguments, .. } = rows(4);
    arguments[0] = data.arg::<f32>(false);
    let error = device.try_launch(row_sums::ENTRY, LaunchConfig::linear(1, 3), &arguments).unwrap_err();
    assert_eq!(error.to_string(), "kernel row_sums takes Pointers<In<f32>> for rows, not In<f32>");
    let Arg::Pointers { array, into: [_, Some(target)] } = arguments[1] else { panic!("{arguments:?}") };
    for into in [[Some(target), None], [Some(array), Some(BufferArg { writable: false, ..target })]] {
        arguments = rows(4).arguments;
        arguments[1] = Arg::Pointers { array, into };
        let error = device.try_launch(row_sums::ENTRY, LaunchConfig::linear(1, 3), &arguments).unwrap_err();
        assert!(error.to_string().contains("takes Pointers<Pointers<Out<f32>>> for sums, not Pointers<"), "{error}");
    }
}

constant! {
    static POINTERS_TEST_SET: [f32; 3];
}

#[kernel]
unsafe fn copy_constant(out: Out<f32>) {
    out.store(thread::index_x() as usize, constant::load::<POINTERS_TEST_SET>(thread::index_x()));
}

#[test]
fn constants_are_set_for_one_launch() {
    let mut device = Device::new();
    let out = device.fresh::<f32>(3);
    let arguments = [out.arg::<f32>(true)];
    let bytes = [1.5f32, -2.0].map(f32::to_ne_bytes).concat();
    let constants = [Constant { name: POINTERS_TEST_SET::NAME, bytes }];
    let options = Options { constants: &constants, ..Options::default() };
    let config = LaunchConfig::linear(1, 3);
    emulator::launch(&mut device.memory, &copy_constant::ENTRY, &config, &arguments, &options).unwrap();
    assert_eq!(device.download::<f32>(out), [1.5, -2.0, 0.0]);
    device.launch(copy_constant::ENTRY, config, &arguments);
    assert_eq!(device.download::<f32>(out), [0.0; 3]);
}
