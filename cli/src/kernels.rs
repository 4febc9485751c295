//! `halotile kernels`: the names that `--kernel` of `halotile entropy` takes, and what each is.
//!
//! They have a page of their own, because there are so many that no help would be readable with them. `halotile help kernels` and the man page have the
//! same list.

use std::fmt::Write as _;
use std::io::Write;

use halotile::entropy::{Kernel, Place};
use halotile::io::write_failed;
use halotile_lab::entropy::{kernels, ladder};

use crate::outcome::Done;

pub fn run() -> anyhow::Result<Done> {
    let mut out = std::io::stdout();
    let written = writeln!(out, "{}", list()).and_then(|()| out.flush());
    written.map_err(|error| write_failed("standard output", error))?;
    Ok(Done::Success)
}

/// A line a kernel.
pub fn list() -> String {
    let mut text = "auto               any       the fastest that fits\n".to_owned();
    let mut rungs = false;
    for kernel in kernels() {
        let (name, place) = (kernel.name(), place(kernel));
        // A string takes whatever is written to it.
        let _ = match ladder::rung(name) {
            Some(rung) => {
                if !std::mem::replace(&mut rungs, true) {
                    text += "\nSteps of the ladders, for 5 x 5 windows of up to 16 classes, and what each changes:\n";
                }
                writeln!(text, "{name:18} {place:9} {}", rung.idea)
            }
            None => writeln!(text, "{name:18} {place:9} {}", kernel.about().unwrap_or_default()),
        };
    }
    text.trim_end().to_owned()
}

fn place(kernel: Kernel) -> &'static str {
    match kernel.place() {
        Place::Device => "device",
        Place::Cpu => "CPU",
        Place::Both => "both",
    }
}
