//! What all tests need: a device, copies to and from it, launches, and the lines of planted mistakes.

use bytemuck::Pod;
use simt::emulator::{self, Buffer, Fault, LaunchError, Memory, Options, Order, Report};
use simt::launch::{Arg, KernelEntry, LaunchConfig};

/// A device with buffers that remember nothing but where they are.
pub struct Device {
    pub memory: Memory,
}

impl Device {
    pub fn new() -> Self {
        Self { memory: Memory::new(None) }
    }

    pub fn upload<T: Pod>(&mut self, values: &[T]) -> Buffer {
        let buffer = self.memory.alloc(size_of_val(values)).unwrap();
        self.memory.write(buffer, 0, bytemuck::cast_slice(values));
        buffer
    }

    /// A buffer for this many elements that nothing has written.
    pub fn fresh<T: Pod>(&mut self, len: usize) -> Buffer {
        self.memory.alloc(len * size_of::<T>()).unwrap()
    }

    pub fn download<T: Pod>(&self, buffer: Buffer) -> Vec<T> {
        self.memory.bytes(buffer).chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
    }

    pub fn launch(&mut self, kernel: KernelEntry, config: LaunchConfig, arguments: &[Arg]) -> Report {
        self.try_launch(kernel, config, arguments).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn try_launch(
        &mut self,
        kernel: KernelEntry,
        config: LaunchConfig,
        arguments: &[Arg],
    ) -> Result<Report, LaunchError> {
        emulator::launch(&mut self.memory, &kernel, &config, arguments, &Options::default())
    }

    /// The fault of a launch that must have one, the same in each order of lanes.
    pub fn fault(&mut self, kernel: KernelEntry, config: LaunchConfig, arguments: &[Arg]) -> Fault {
        for lane_order in [Order::Reverse, Order::Shuffled(7)] {
            let options = Options { lane_order, ..Options::default() };
            let result = emulator::launch(&mut self.memory, &kernel, &config, arguments, &options);
            let error = result.expect_err("the fault shows in each order");
            assert!(error.fault().is_some(), "{error}");
        }
        let error = self.try_launch(kernel, config, arguments).expect_err("a fault is planted");
        error.fault().unwrap_or_else(|| panic!("{error}")).clone()
    }
}

pub fn config(grid: [u32; 3], block: [u32; 3], shared_bytes: u32) -> LaunchConfig {
    LaunchConfig { grid, block, shared_bytes }
}

/// The number of the line of `source` that has the comment `// planted: NAME`.
pub fn planted(source: &str, name: &str) -> u32 {
    let comment = format!("// planted: {name}");
    let line = source.lines().position(|line| line.trim_end().ends_with(&comment));
    line.unwrap_or_else(|| panic!("no {comment}")) as u32 + 1
}

/// All orders in which a right kernel gives the same.
pub const ORDERS: [(Order, Order); 5] = [
    (Order::Forward, Order::Forward),
    (Order::Reverse, Order::Forward),
    (Order::Forward, Order::Reverse),
    (Order::Shuffled(1), Order::Shuffled(2)),
    (Order::Shuffled(3), Order::Reverse),
];

/// A file of these tests: its name as faults give it, and its text, in which mistakes are planted.
pub struct Source {
    pub file: &'static str,
    pub text: &'static str,
}

impl Source {
    /// The line with the comment `// planted: NAME`.
    pub fn line(&self, name: &str) -> u32 {
        planted(self.text, name)
    }

    /// Launches a kernel of one `Out<u32>` of 100 zeros that must fail on the planted line; returns the message without
    /// what is before "line:column: ".
    pub fn message(&self, kernel: KernelEntry, config: LaunchConfig, planted: &str) -> String {
        let mut device = Device::new();
        let output = device.upload(&[0u32; 100]);
        self.message_of(&mut device, kernel, config, &[output.arg::<u32>(true)], planted)
    }

    /// The same on a device that is there, with any arguments.
    pub fn message_of(
        &self,
        device: &mut Device,
        kernel: KernelEntry,
        config: LaunchConfig,
        arguments: &[Arg],
        planted: &str,
    ) -> String {
        let fault = device.fault(kernel, config, arguments);
        let place = fault.at.clone().expect("a place");
        assert_eq!((place.file.as_str(), place.line), (self.file, self.line(planted)), "{fault}");
        fault.kind.to_string()
    }
}
