//! Warp operations of the emulator.
//!
//! A lane that reaches a warp operation waits. When all lanes that its mask names wait in the same operation
//! with the same mask, each gets its result and continues. Shuffles follow PTX's `shfl.sync` word
//! for word, corner cases included.

use std::panic::Location;

use super::fault::{Absence, FaultKind, LaunchError, SourceLocation, SyncPoint};
use super::machine::{Machine, State, Wait, count};
use super::mma;

pub(super) fn same_sync_point(a: &Wait, b: &Wait) -> bool {
    a.sync_point == b.sync_point && a.mask == b.mask
}

/// The lanes that a warp has, as bits.
fn existing(machine: &Machine, warp: u32) -> u32 {
    let lanes = (machine.slots.len() as u32 - warp * 32).min(32);
    u32::MAX >> (32 - lanes)
}

/// The running lane takes part in a warp operation.
pub(super) fn take_part(machine: &Machine, wait: Wait) -> (u32, bool) {
    count(&machine.counts.warp_operations);
    let Wait { sync_point, mask, at, .. } = wait;
    let thread = machine.thread();
    if mask >> (thread % 32) & 1 == 0 {
        machine.fault(FaultKind::NotInMask { sync_point, mask }, at);
    }
    let missing = mask & !existing(machine, thread / 32);
    if missing != 0 {
        let lane = missing.trailing_zeros();
        machine.fault(FaultKind::WarpMask { sync_point, mask, lane, absence: Absence::Nonexistent }, at);
    }
    machine.wait(wait)
}

/// The running lane shuffles.
pub(super) fn shuffle(
    machine: &Machine,
    sync_point: SyncPoint,
    mask: u32,
    (value, lanes, width): (u32, u32, u32),
    at: &'static Location<'static>,
) -> (u32, bool) {
    if !width.is_power_of_two() || width > 32 {
        machine.fault(FaultKind::ShuffleWidth { sync_point, width }, at);
    }
    take_part(machine, Wait { sync_point, mask, at, value, lanes, width })
}

/// Continues those lanes of a warp whose operation is complete. False: none.
pub(super) fn complete_ready(machine: &Machine, warp: u32) -> Result<bool, LaunchError> {
    let mut progressed = false;
    for lane in 0..32 {
        let Some(wait) = waiting(machine, warp, lane) else { continue };
        // Checked once, from the first lane of its mask.
        if matches!(wait.sync_point, SyncPoint::Barrier | SyncPoint::BarrierCount) || wait.mask.trailing_zeros() != lane
        {
            continue;
        }
        let mut waits = [None; 32];
        let all = lanes_of(wait.mask).all(|lane| {
            let there = waiting(machine, warp, lane).filter(|there| same_sync_point(&wait, there));
            waits[lane as usize] = there;
            there.is_some()
        });
        if all {
            complete(machine, warp, &wait, &waits)?;
            progressed = true;
        }
    }
    Ok(progressed)
}

fn waiting(machine: &Machine, warp: u32, lane: u32) -> Option<Wait> {
    match machine.slots.get((warp * 32 + lane) as usize)?.state.get() {
        State::Waiting(wait) => Some(wait),
        State::Ready | State::Done => None,
    }
}

/// Whether all lanes of a warp can continue. Where some wait, or have ended, the others may have synchronised in a branch of their own.
pub(super) fn all_ready(machine: &Machine, warp: u32) -> bool {
    let mut slots = machine.slots.iter().skip(warp as usize * 32).take(32);
    slots.all(|slot| matches!(slot.state.get(), State::Ready))
}

fn lanes_of(mask: u32) -> impl Iterator<Item = u32> {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

fn complete(machine: &Machine, warp: u32, wait: &Wait, waits: &[Option<Wait>; 32]) -> Result<(), LaunchError> {
    let result: [(u32, bool); 32] = match wait.sync_point {
        SyncPoint::SyncWarp => {
            if !machine.clocks.join(warp, wait.mask) {
                // Stamps hold no more epochs. One more phase also separates other warps, which loses races and invents none.
                machine.new_phase();
            }
            [(0, true); 32]
        }
        SyncPoint::Ballot => {
            let bit = |lane: u32| waits[lane as usize].map_or(0, |there| there.value << lane);
            [(lanes_of(wait.mask).map(bit).sum(), true); 32]
        }
        SyncPoint::Mma | SyncPoint::MmaBits => {
            let slots = &machine.slots[(warp * 32) as usize..][..32];
            let fragments = std::array::from_fn(|lane| slots[lane].fragments.get());
            let products = if wait.sync_point == SyncPoint::Mma {
                mma::multiply_add_u8(&fragments)
            } else {
                mma::multiply_add_b1(&fragments)
            };
            for (slot, [d0, d1, d2, d3]) in slots.iter().zip(products) {
                slot.fragments.set([d0, d1, d2, d3, 0, 0, 0, 0, 0, 0]);
            }
            [(0, true); 32]
        }
        _ => {
            let mut result = [(0, false); 32];
            for lane in lanes_of(wait.mask) {
                let Some(there) = waits[lane as usize] else { continue };
                let (source, inside) = source_lane(there.sync_point, lane, there.lanes, there.width);
                let Some(from) = waits[source as usize] else {
                    let Wait { sync_point, mask, at, .. } = there;
                    let kind = FaultKind::ShuffleSource { sync_point, mask, source_lane: source };
                    let fault = machine.fault_of(warp * 32 + lane, Some(SourceLocation::from(at)), kind);
                    return Err(LaunchError::Fault(Box::new(fault)));
                };
                result[lane as usize] = (from.value, inside);
            }
            result
        }
    };
    for lane in lanes_of(wait.mask) {
        let slot = &machine.slots[(warp * 32 + lane) as usize];
        slot.result.set(result[lane as usize]);
        slot.state.set(State::Ready);
    }
    Ok(())
}

/// The lane that `lane` reads, and whether it is inside the segment: the pseudocode of `shfl.sync`. `b` counts
/// modulo 32, and a butterfly may reach a segment below.
fn source_lane(sync_point: SyncPoint, lane: u32, b: u32, width: u32) -> (u32, bool) {
    let b = b % 32;
    let segment = 32 - width;
    let first = lane & segment;
    let last = first | (31 & !segment);
    let (source, inside) = match sync_point {
        // Wrapping, as the hardware's signed numbers: below lane 0 is outside.
        SyncPoint::ShuffleUp => (lane.wrapping_sub(b), lane >= first + b),
        SyncPoint::ShuffleDown => (lane + b, lane + b <= last),
        SyncPoint::ShuffleXor => (lane ^ b, lane ^ b <= last),
        _ => (first | (b & !segment), true),
    };
    if inside { (source, true) } else { (lane, false) }
}
