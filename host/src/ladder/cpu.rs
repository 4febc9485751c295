//! The rungs that are functions on the CPU.

use super::Rung;

/// A rung that is a function on the CPU.
#[derive(Debug)]
pub(crate) enum CpuRung {}

pub(super) static RUNGS: &[Rung] = &[];
