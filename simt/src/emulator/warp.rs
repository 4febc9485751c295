//! Warp operations of the emulator.
//!
//! A lane that reaches a warp operation waits. When all lanes that its mask names wait in the same operation
//! with the same mask, each gets its result and continues. Shuffles follow PTX's `shfl.sync` word
//! for word, corner cases included.

use std::panic::Location;

use super::fault::{Absence, FaultKind, LaunchError, SourceLocation, SyncPoint};
use super::machine::{Machine, Slot, State, Wait, count};
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
#[inline(always)]
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
#[inline(always)]
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
    let slots = slots_of(machine, warp);
    let mut progressed = false;
    for (lane, slot) in (0..).zip(slots) {
        let State::Waiting(wait) = slot.state.get() else { continue };
        // Checked once, from the first lane of its mask.
        if matches!(wait.sync_point, SyncPoint::Barrier | SyncPoint::BarrierCount) || wait.mask.trailing_zeros() != lane
        {
            continue;
        }
        let is_here =
            |there: &Slot| matches!(there.state.get(), State::Waiting(there) if same_sync_point(&wait, &there));
        // `take_part` has seen to it that the warp has these lanes.
        if lanes_of(wait.mask).all(|lane| is_here(&slots[lane as usize])) {
            complete(machine, warp, &wait)?;
            progressed = true;
        }
    }
    Ok(progressed)
}

/// The lanes of a warp.
fn slots_of(machine: &Machine, warp: u32) -> &[Slot] {
    let first = warp as usize * 32;
    &machine.slots[first..machine.slots.len().min(first + 32)]
}

/// Whether all lanes of a warp can continue. Where some wait, or have ended, the others may have synchronised in a branch of their own.
pub(super) fn all_ready(machine: &Machine, warp: u32) -> bool {
    slots_of(machine, warp).iter().all(|slot| matches!(slot.state.get(), State::Ready))
}

/// The lanes of a mask, from the first on.
fn lanes_of(mask: u32) -> impl Iterator<Item = u32> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}

/// All lanes of `wait.mask` are in the operation.
fn complete(machine: &Machine, warp: u32, wait: &Wait) -> Result<(), LaunchError> {
    let slots = slots_of(machine, warp);
    // What a lane of the mask has come with.
    let operands = |lane: u32| match slots[lane as usize].state.get() {
        State::Waiting(there) => there,
        State::Ready | State::Done => *wait,
    };
    match wait.sync_point {
        SyncPoint::SyncWarp => {
            if !machine.clocks.join(warp, wait.mask) {
                // Stamps hold no more epochs. One more phase also separates other warps, which loses races and invents none.
                machine.new_phase();
            }
        }
        SyncPoint::Ballot => {
            let votes = lanes_of(wait.mask).map(|lane| operands(lane).value << lane).sum();
            for lane in lanes_of(wait.mask) {
                slots[lane as usize].result.set((votes, true));
            }
        }
        SyncPoint::Mma | SyncPoint::MmaBits => {
            let fragments = std::array::from_fn(|lane| slots[lane].fragments.get());
            let products = if wait.sync_point == SyncPoint::Mma {
                mma::multiply_add_u8(&fragments)
            } else {
                mma::multiply_add_b1(&fragments)
            };
            for (slot, [d0, d1, d2, d3]) in slots.iter().zip(products) {
                slot.fragments.set([d0, d1, d2, d3, 0, 0, 0, 0, 0, 0]);
            }
        }
        _ => {
            for lane in lanes_of(wait.mask) {
                let there = operands(lane);
                let (source, inside) = source_lane(there.sync_point, lane, there.lanes, there.width);
                if wait.mask >> source & 1 == 0 {
                    let Wait { sync_point, mask, at, .. } = there;
                    let kind = FaultKind::ShuffleSource { sync_point, mask, source_lane: source };
                    let fault = machine.fault_of(warp * 32 + lane, Some(SourceLocation::from(at)), kind);
                    return Err(LaunchError::Fault(Box::new(fault)));
                }
                slots[lane as usize].result.set((operands(source).value, inside));
            }
        }
    }
    for lane in lanes_of(wait.mask) {
        slots[lane as usize].state.set(State::Ready);
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
