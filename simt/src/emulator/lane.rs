//! A lane is a coroutine with a stack of its own, so that it can stop in the middle of a kernel.
//!
//! Making a stack costs more than running most lanes, so stacks are kept, by thread, and a lane that runs
//! through leaves its stack to the next: a kernel without barriers uses one stack.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult};

use super::fault::LaunchError;
use super::machine::{Machine, State};

type LaneCoroutine = Coroutine<(), (), (), DefaultStack>;

/// No more stacks are kept than a block has lanes.
const KEPT: usize = 1024;

thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
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
        let mut stacks = STACKS.take();
        stacks.retain(|stack| stack.base().get() - stack.limit().get() >= stack_bytes);
        let waiting = machine.slots.iter().map(|_| None).collect();
        Self { machine, waiting, stacks, stack_bytes }
    }

    /// Runs a lane until it waits or ends.
    pub fn resume(&mut self, thread: u32) -> Result<(), LaunchError> {
        let machine = self.machine;
        let slot = thread as usize;
        let mut lane = match self.waiting[slot].take() {
            Some(lane) => lane,
            None => self.start(thread)?,
        };
        machine.enter(thread);
        match machine.run_lane(|| catch_unwind(AssertUnwindSafe(|| lane.resume(())))) {
            Ok(CoroutineResult::Yield(())) => self.waiting[slot] = Some(lane),
            Ok(CoroutineResult::Return(())) => {
                machine.slots[slot].state.set(State::Done);
                self.stacks.push(lane.into_stack());
            }
            Err(payload) => {
                self.stacks.push(lane.into_stack());
                return Err(LaunchError::Fault(Box::new(machine.take_fault(&*payload))));
            }
        }
        Ok(())
    }

    fn start(&mut self, thread: u32) -> Result<LaneCoroutine, LaunchError> {
        let stack = match self.stacks.pop() {
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
            self.machine.enter(thread as u32);
            // Panics of a kernel's destructors are ignored after a fault.
            let _ = self.machine.run_lane(|| catch_unwind(AssertUnwindSafe(|| lane.force_unwind())));
            self.stacks.push(lane.into_stack());
        }
        self.stacks.truncate(KEPT);
        // When a thread ends, its thread-local storage may be gone; then the stacks are freed too.
        let stacks = std::mem::take(&mut self.stacks);
        let _ = STACKS.try_with(|store| store.replace(stacks));
    }
}
