//! The rungs that are plans over several devices and the CPU.

use super::Rung;

/// A rung that is a plan.
#[derive(Debug)]
pub(crate) enum PlanRung {}

pub(super) static RUNGS: &[Rung] = &[];
