//! The state of one launch, and the way from a lane to it.
//!
//! Lanes take turns on one host thread, so all mutable state is in cells. While a lane runs,
//! a thread-local pointer leads to its machine; outside a launch there is none, and every `simt` operation
//! panics with that. The numbers that each access needs (the lane's stamp, the floors) are precomputed.

use std::cell::{Cell, RefCell};
use std::panic::{Location, resume_unwind};
use std::ptr;
use std::time::Instant;

use corosensei::Yielder;

use super::fault::{Fault, FaultKind, SourceLocation, Space, SyncPoint};
use super::mma::Fragments;
use super::options::{Options, Report};
use super::order::{Fences, WarpClocks};
use super::shadow::{Shadow, Stamp};
use super::shared::Window;
use super::tally::Tally;
use super::texture::TextureImage;
use crate::launch::{Arg, BufferArg, Constant, KernelEntry, LaunchConfig};

pub(super) mod access;

thread_local! {
    static CURRENT: Cell<*const Machine> = const { Cell::new(ptr::null()) };
}

/// A buffer of the launch.
pub(super) struct Bound {
    pub space: Space,
    /// The parameter's name.
    pub name: &'static str,
    pub argument: BufferArg,
    /// The buffer that its pointers lead into, if it holds some.
    pub pointee: Option<BufferArg>,
    /// The argument's first byte, and where it is in its allocation.
    pub data: *mut u8,
    pub start: usize,
    /// Of the allocation: a bit for each byte that was written.
    pub written: *mut u64,
    /// Of the allocation; null when the launch does not write it or races are not looked for.
    pub shadow: *mut Shadow,
}

/// A texture of the launch.
pub(super) struct BoundTexture {
    pub handle: u64,
    pub image: TextureImage,
    pub bound: Bound,
}

/// A lane that waits at a synchronisation point: the operation, and its operands.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    pub sync_point: SyncPoint,
    /// The lanes of the synchronisation point; all ones at a barrier.
    pub mask: u32,
    pub at: &'static Location<'static>,
    /// A predicate, or the word to shuffle.
    pub value: u32,
    /// Of a shuffle: the index, delta or lane mask, and the width.
    pub lanes: u32,
    pub width: u32,
}

/// Where a lane is.
#[derive(Clone, Copy)]
pub(super) enum State {
    Ready,
    Waiting(Wait),
    Done,
}

/// One lane of the running block.
pub(super) struct Slot {
    pub state: Cell<State>,
    /// Of its coroutine, once that has begun.
    pub yielder: Cell<*const Yielder<(), ()>>,
    /// The result of the synchronisation point.
    pub result: Cell<(u32, bool)>,
    /// Its operand of a matrix product, and then, in the first four words, the result.
    pub fragments: Cell<Fragments>,
}

/// Counters; see [`Report`].
#[derive(Default)]
pub(super) struct Counts {
    pub global_loads: Cell<u64>,
    pub global_stores: Cell<u64>,
    pub shared_loads: Cell<u64>,
    pub shared_stores: Cell<u64>,
    pub atomics: Cell<u64>,
    pub constant_loads: Cell<u64>,
    pub texture_fetches: Cell<u64>,
    pub barriers: Cell<u64>,
    pub warp_operations: Cell<u64>,
}

#[inline(always)]
pub(super) fn count(counter: &Cell<u64>) {
    counter.set(counter.get() + 1);
}

/// One launch.
pub(super) struct Machine {
    pub kernel: KernelEntry,
    pub arguments: Vec<Arg>,
    pub config: LaunchConfig,
    pub buffers: Vec<Bound>,
    pub textures: Vec<BoundTexture>,
    pub constants: Vec<Constant>,
    pub shared: Window,
    pub counts: Counts,
    pub slots: Vec<Slot>,
    pub clocks: WarpClocks,
    pub fences: Fences,
    /// Where accesses are counted warp by warp.
    pub tally: Option<RefCell<Tally>>,
    pub started: Instant,
    races: bool,
    uninitialised: bool,
    /// Index in the block of each thread.
    thread_indices: Vec<[u32; 3]>,
    /// The first phase of the launch, and of each block so far with the block.
    launch_floor: Stamp,
    blocks: RefCell<Vec<(u64, [u32; 3])>>,
    /// The running block.
    pub block: Cell<[u32; 3]>,
    first_phase: Cell<u64>,
    block_floor: Cell<Stamp>,
    phase: Cell<u64>,
    /// The running lane.
    thread: Cell<u32>,
    pub thread_index: Cell<[u32; 3]>,
    stamp: Cell<Stamp>,
    /// Accesses left until the limit.
    budget: Cell<u64>,
    spin_limit: u64,
    fault: RefCell<Option<Fault>>,
    panic: RefCell<Option<(String, Option<SourceLocation>)>>,
}

/// The payload that unwinds a lane after a fault.
struct Faulted;

/// The parts of a machine.
pub(super) struct Parts {
    pub kernel: KernelEntry,
    pub arguments: Vec<Arg>,
    pub config: LaunchConfig,
    pub buffers: Vec<Bound>,
    pub textures: Vec<BoundTexture>,
    pub constants: Vec<Constant>,
    pub shared: Window,
    pub first_phase: u64,
}

impl Machine {
    pub fn new(parts: Parts, options: &Options<'_>) -> Self {
        let Parts { kernel, arguments, config, buffers, textures, constants, shared, first_phase } = parts;
        let threads = config.threads();
        let [width, height, _] = config.block;
        let slot = |_| Slot {
            state: Cell::new(State::Ready),
            yielder: Cell::new(ptr::null()),
            result: Cell::new((0, false)),
            fragments: Cell::default(),
        };
        Self {
            kernel,
            arguments,
            config,
            buffers,
            textures,
            constants,
            shared,
            counts: Counts::default(),
            slots: (0..threads).map(slot).collect(),
            clocks: WarpClocks::new(threads.div_ceil(32)),
            fences: Fences::default(),
            tally: options.accesses.then(RefCell::default),
            started: Instant::now(),
            races: options.races,
            uninitialised: options.uninitialised,
            thread_indices: (0..threads).map(|i| [i % width, i / width % height, i / width / height]).collect(),
            launch_floor: Stamp::floor(first_phase),
            blocks: RefCell::default(),
            block: Cell::default(),
            first_phase: Cell::new(first_phase),
            block_floor: Cell::default(),
            // `begin_block` goes to the next.
            phase: Cell::new(first_phase),
            thread: Cell::new(0),
            thread_index: Cell::default(),
            stamp: Cell::default(),
            budget: Cell::new(0),
            spin_limit: options.spin_limit,
            fault: RefCell::default(),
            panic: RefCell::default(),
        }
    }

    /// Runs `f` with the machine whose lane is running.
    #[inline(always)]
    #[track_caller]
    pub fn with<R>(f: impl FnOnce(&Self) -> R) -> R {
        // SAFETY: `f` cannot keep it.
        f(unsafe { Self::current() })
    }

    /// The machine whose lane is running, for operations at which a lane waits. They are compiled into the kernel, closures often not: where a lane goes on
    /// by returning from a function, the processor has predicted another lane's return, which takes longer than the change of lanes.
    ///
    /// # Safety
    /// It is not kept beyond the operation.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn current<'a>() -> &'a Self {
        let current = CURRENT.get();
        if current.is_null() {
            outside();
        }
        // SAFETY: `run_lanes` sets it to a machine that it borrows, and resets it before it returns.
        unsafe { &*current }
    }

    /// Runs `f`, which resumes lanes of this machine.
    pub fn run_lanes<R>(&self, f: impl FnOnce() -> R) -> R {
        /// Also on unwinding. A kernel could launch another one, on the host; hence not just null.
        struct Restore(*const Machine);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restore = Restore(CURRENT.replace(self));
        f()
    }

    pub fn begin_block(&self, block: [u32; 3]) {
        self.block.set(block);
        self.new_phase();
        let phase = self.phase.get();
        self.first_phase.set(phase);
        self.block_floor.set(Stamp::floor(phase));
        if self.races {
            self.blocks.borrow_mut().push((phase, block));
        }
        self.fences.begin_block();
        self.shared.clear();
        for slot in &self.slots {
            slot.state.set(State::Ready);
        }
    }

    /// From here on, everything before in the block is ordered.
    pub fn new_phase(&self) {
        self.phase.set(self.phase.get() + 1);
        self.clocks.reset();
    }

    pub fn phase(&self) -> u64 {
        self.phase.get()
    }

    /// Makes `thread` the running lane.
    #[inline(always)]
    pub fn enter(&self, thread: u32) {
        self.thread.set(thread);
        self.thread_index.set(self.thread_indices[thread as usize]);
        self.stamp.set(Stamp::new(self.phase.get(), thread, self.clocks.epoch(thread)));
        self.budget.set(self.spin_limit);
    }

    #[inline(always)]
    pub fn thread(&self) -> u32 {
        self.thread.get()
    }

    pub fn thread_indices(&self, thread: u32) -> [u32; 3] {
        self.thread_indices[thread as usize]
    }

    /// The running lane waits; it continues here when a synchronisation point has made it ready.
    #[inline(always)]
    pub fn wait(&self, wait: Wait) -> (u32, bool) {
        let slot = self.slot();
        slot.state.set(State::Waiting(wait));
        let yielder = slot.yielder.get();
        // SAFETY: set by the coroutine of this very lane, on whose stack we are, when it began.
        unsafe { &*yielder }.suspend(());
        slot.result.get()
    }

    /// The running lane's slot.
    pub fn slot(&self) -> &Slot {
        &self.slots[self.thread.get() as usize]
    }

    /// Ends the running lane, and with it the launch.
    #[cold]
    pub fn fault(&self, kind: FaultKind, at: &Location<'_>) -> ! {
        *self.fault.borrow_mut() = Some(self.fault_of(self.thread.get(), Some(at.into()), kind));
        resume_unwind(Box::new(Faulted))
    }

    /// A fault of any lane.
    pub fn fault_of(&self, thread: u32, at: Option<SourceLocation>, kind: FaultKind) -> Fault {
        Fault {
            kernel: self.kernel.name,
            block: self.block.get(),
            thread: self.thread_indices(thread),
            warp: thread / 32,
            lane: thread % 32,
            at,
            kind,
        }
    }

    /// The fault behind the `payload` with which the running lane unwound.
    pub fn take_fault(&self, payload: &(dyn std::any::Any + Send)) -> Fault {
        let panic = self.panic.borrow_mut().take();
        if let Some(fault) = self.fault.borrow_mut().take() {
            return fault;
        }
        let (message, at) = panic.unwrap_or_else(|| (message_of(payload), None));
        self.fault_of(self.thread.get(), at, FaultKind::Panic { message })
    }

    /// A device fence of the running lane.
    pub fn fence(&self) {
        if self.races {
            self.fences.fence(self.stamp.get());
        }
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        let c = &self.counts;
        [
            &c.global_loads,
            &c.global_stores,
            &c.shared_loads,
            &c.shared_stores,
            &c.atomics,
            &c.constant_loads,
            &c.texture_fetches,
            &c.barriers,
            &c.warp_operations,
        ]
        .iter()
        .map(|counter| counter.get())
        .sum()
    }

    pub fn report(&self, blocks: u64) -> Report {
        let c = &self.counts;
        Report {
            blocks,
            threads: blocks * u64::from(self.config.threads()),
            global_loads: c.global_loads.get(),
            global_stores: c.global_stores.get(),
            shared_loads: c.shared_loads.get(),
            shared_stores: c.shared_stores.get(),
            atomics: c.atomics.get(),
            constant_loads: c.constant_loads.get(),
            texture_fetches: c.texture_fetches.get(),
            barriers: c.barriers.get(),
            warp_operations: c.warp_operations.get(),
            static_shared_bytes: self.shared.static_bytes(),
            accesses: self.tally.as_ref().map(|tally| tally.borrow().accesses()),
        }
    }
}

#[cold]
#[track_caller]
fn outside() -> ! {
    panic!("a simt operation was called outside a launch: only a kernel that an executor runs may call it")
}

/// Hides panics of kernels from the terminal: they become faults. Installed once, in front of the existing hook.
pub(super) fn quiet_kernel_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let current = CURRENT.get();
            if current.is_null() {
                return previous(info);
            }
            // SAFETY: as in `Machine::with`; the panic is on the thread and stack of the running lane.
            let machine = unsafe { &*current };
            *machine.panic.borrow_mut() = Some((message_of(info.payload()), info.location().map(Into::into)));
        }));
    });
}

fn message_of(payload: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "without a message".to_owned()
    }
}
