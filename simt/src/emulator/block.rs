//! Runs one block.
//!
//! ```text
//! repeat
//!     for each warp
//!         repeat: run each ready lane until it waits or ends
//!         while some warp operation has all its lanes: do it, make them ready
//!     when all lanes have ended: done
//!     when all lanes wait at the same barrier: make them ready
//!     otherwise no lane can continue: that is a fault
//! ```

use super::fault::{Absence, FaultKind, LaunchError, SourceLocation, SyncPoint};
use super::lane::Lanes;
use super::machine::{Machine, State, Wait};
use super::options::Order;
use super::warp;

/// The order in which lanes run.
pub(super) struct Schedule {
    warps: Vec<u32>,
    lanes: Vec<u32>,
}

impl Schedule {
    pub fn new(order: Order, threads: u32) -> Self {
        let list = |len: u32| order.indices(len.into()).map(|index| index as u32).collect();
        Self { warps: list(threads.div_ceil(32)), lanes: list(threads.min(32)) }
    }
}

pub(super) fn run(machine: &Machine, lanes: &mut Lanes<'_>, schedule: &Schedule) -> Result<(), LaunchError> {
    loop {
        for &warp in &schedule.warps {
            loop {
                for lane in &schedule.lanes {
                    let thread = warp * 32 + lane;
                    if machine.slots.get(thread as usize).is_some_and(|s| matches!(s.state.get(), State::Ready)) {
                        lanes.resume(thread)?;
                    }
                }
                let progressed = warp::complete_ready(machine, warp)?;
                if let Some(tally) = &machine.tally
                    && (!progressed || warp::all_ready(machine, warp))
                {
                    tally.borrow_mut().synchronise();
                }
                if !progressed {
                    break;
                }
            }
        }
        if machine.slots.iter().all(|slot| matches!(slot.state.get(), State::Done)) {
            return Ok(());
        }
        if !pass_barrier(machine) {
            return Err(deadlock(machine));
        }
    }
}

/// Whether two lanes are at the same barrier. One line may have several `Location`s, hence by value.
fn same_barrier(a: &Wait, b: &Wait) -> bool {
    a.sync_point == b.sync_point && (std::ptr::eq(a.at, b.at) || a.at == b.at)
}

fn is_barrier(sync_point: SyncPoint) -> bool {
    matches!(sync_point, SyncPoint::Barrier | SyncPoint::BarrierCount)
}

/// Lets the block continue if all its lanes are at one barrier.
fn pass_barrier(machine: &Machine) -> bool {
    let State::Waiting(first) = machine.slots[0].state.get() else { return false };
    if !is_barrier(first.sync_point) {
        return false;
    }
    let mut total = 0;
    for slot in &machine.slots {
        match slot.state.get() {
            State::Waiting(wait) if same_barrier(&first, &wait) => total += wait.value,
            _ => return false,
        }
    }
    machine.new_phase();
    for slot in &machine.slots {
        slot.result.set((total, true));
        slot.state.set(State::Ready);
    }
    true
}

/// The fault of a block in which no lane can continue.
fn deadlock(machine: &Machine) -> LaunchError {
    let waiting = |thread: u32| match machine.slots[thread as usize].state.get() {
        State::Waiting(wait) => Some(wait),
        State::Ready | State::Done => None,
    };
    let threads = 0..machine.slots.len() as u32;
    // A warp operation that waits may be what keeps lanes from a barrier, so it is checked first.
    let in_warp = threads.clone().find_map(|t| waiting(t).filter(|wait| !is_barrier(wait.sync_point)).map(|w| (t, w)));
    let in_block = || threads.clone().find_map(|thread| waiting(thread).map(|wait| (thread, wait)));
    let (thread, wait) = in_warp.or_else(in_block).expect("a lane that has not ended, and is not ready, waits");
    let fault = if is_barrier(wait.sync_point) {
        let here = |&other: &u32| waiting(other).is_some_and(|there| same_barrier(&wait, &there));
        let other = threads.clone().find(|other| !here(other)).expect("otherwise the barrier was passed");
        FaultKind::Barrier {
            sync_point: wait.sync_point,
            thread: machine.thread_indices(other),
            absence: absence(waiting(other)),
        }
    } else {
        let here =
            |&lane: &u32| waiting(thread / 32 * 32 + lane).is_some_and(|there| warp::same_sync_point(&wait, &there));
        let named = (0..32).filter(|lane| wait.mask >> lane & 1 != 0);
        let lane = named.into_iter().find(|lane| !here(lane)).expect("otherwise the operation was complete");
        FaultKind::WarpMask {
            sync_point: wait.sync_point,
            mask: wait.mask,
            lane,
            absence: absence(waiting(thread / 32 * 32 + lane)),
        }
    };
    LaunchError::Fault(Box::new(machine.fault_of(thread, Some(SourceLocation::from(wait.at)), fault)))
}

fn absence(wait: Option<Wait>) -> Absence {
    wait.map_or(Absence::Left, |Wait { sync_point, mask, at, .. }| Absence::Waits {
        sync_point,
        mask: (!is_barrier(sync_point)).then_some(mask),
        at: at.into(),
    })
}
