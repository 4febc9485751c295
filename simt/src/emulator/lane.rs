//! A lane is a coroutine with a stack of its own, so that it can stop in the middle of a kernel.
//!
//! Making a stack costs more than running most lanes, so stacks are kept, also from launch to launch, and a lane that runs
//! through leaves its stack to the next: a kernel without barriers uses one stack.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult};

use super::fault::LaunchError;
use super::machine::{Machine, State};

type LaneCoroutine = Coroutine<(), (), (), DefaultStack>;

/// How many stacks are kept: those of a large block on each of a few devices.
const KEPT: usize = 4096;

/// Stacks that no launch uses.
static STACKS: Mutex<Vec<DefaultStack>> = Mutex::new(Vec::new());

fn bytes(stack: &DefaultStack) -> usize {
    stack.base().get() - stack.limit().get()
}

fn kept() -> MutexGuard<'static, Vec<DefaultStack>> {
    STACKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lanes of the running block that have begun and not ended.
pub(super) struct Lanes<'a> {
    machine: &'a Machine,
    waiting: Vec<Option<LaneCoroutine>>,
    stacks: Vec<DefaultStack>,
    stack_bytes: usize,
}

impl<'a> Lanes<'a> {
    pub fn new(machine: &'a Machine, stack_bytes: usize) -> Self {
        let waiting = machine.slots.iter().map(|_| None).collect();
        Self { machine, waiting, stacks: Vec::new(), stack_bytes }
    }

    /// Runs a lane until it waits or ends. It unwinds where the lane does.
    pub fn resume(&mut self, thread: u32) -> Result<(), LaunchError> {
        let slot = thread as usize;
        // Not in its place before it waits: most lanes of kernels without barriers never do.
        let mut begun = None;
        if self.waiting[slot].is_none() {
            begun = Some(self.start(thread)?);
        }
        self.machine.enter(thread);
        let lane = begun.as_mut().or(self.waiting[slot].as_mut()).expect("it waited, or has begun");
        match lane.resume(()) {
            CoroutineResult::Yield(()) if begun.is_some() => self.waiting[slot] = begun,
            CoroutineResult::Yield(()) => {}
            CoroutineResult::Return(()) => {
                self.machine.slots[slot].state.set(State::Done);
                self.stacks.extend(begun.or_else(|| self.waiting[slot].take()).map(LaneCoroutine::into_stack));
            }
        }
        Ok(())
    }

    fn start(&mut self, thread: u32) -> Result<LaneCoroutine, LaunchError> {
        let stack = match self.stacks.pop().or_else(|| kept().pop().filter(|kept| bytes(kept) >= self.stack_bytes)) {
            Some(stack) => stack,
            None => DefaultStack::new(self.stack_bytes)
                .map_err(|error| LaunchError::Stack { kernel: self.machine.kernel.name, reason: error.to_string() })?,
        };
        let machine: *const Machine = self.machine;
        let body = move |yielder: &corosensei::Yielder<(), ()>, ()| {
            // SAFETY: `Lanes` borrows the machine, and ends every coroutine before it is gone.
            let machine = unsafe { &*machine };
            machine.slots[thread as usize].yielder.set(yielder);
            // SAFETY: the launch has checked the arguments against the parameters. What else the kernel
            // is promised (lengths, alignment, shape) is checked at each access.
            unsafe { (machine.kernel.call)(&machine.arguments) }
        };
        // SAFETY: the closure holds one pointer, good as said above.
        Ok(unsafe { LaneCoroutine::with_stack_unchecked(stack, body) })
    }
}

impl Drop for Lanes<'_> {
    fn drop(&mut self) {
        for (thread, lane) in self.waiting.iter_mut().enumerate() {
            let Some(mut lane) = lane.take() else { continue };
            // The one that unwound has ended.
            if !lane.done() {
                self.machine.enter(thread as u32);
                // Panics of a kernel's destructors are ignored after a fault.
                let _ = self.machine.run_lanes(|| catch_unwind(AssertUnwindSafe(|| lane.force_unwind())));
            }
            self.stacks.push(lane.into_stack());
        }
        let mut kept = kept();
        let room = KEPT.saturating_sub(kept.len());
        self.stacks.truncate(room);
        kept.append(&mut self.stacks);
    }
}
