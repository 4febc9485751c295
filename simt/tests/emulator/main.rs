//! The emulator, through the public interface: kernels as users write them.
//!
//! `works` and its fellows run right kernels and compare with direct models; `faults*` plant one mistake each and
//! ask for the report, with the line that it names; `clean` has right kernels that a careless detector would accuse; `accesses`
//! has kernels whose bank conflicts are known.

mod accesses;
mod clean;
mod faults;
mod faults_meetings;
mod launches;
mod memory;
mod mma;
mod pointers;
mod races;
mod speed;
mod support;
mod warps;
mod works;

/// The kernels of these tests run in the emulator only.
static MODULE: simt::launch::Module = simt::launch::Module::EMULATED;
