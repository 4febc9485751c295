//! The program that libFuzzer searches with: one for all targets, so that there is one thing to build. HALOTILE_FUZZ names the target.
//!
//! `cargo xtask fuzz` builds it with the compiler pass that counts coverage and starts it.
#![no_main]

use std::sync::OnceLock;

use halotile_fuzz::{Target, use_this_thread};

static TARGET: OnceLock<&Target> = OnceLock::new();

fn target() -> &'static Target {
    use_this_thread();
    let name = std::env::var("HALOTILE_FUZZ").unwrap_or_default();
    Target::find(&name).unwrap_or_else(|| panic!("HALOTILE_FUZZ={name:?} names no target"))
}

libfuzzer_sys::fuzz_target!(init: { TARGET.get_or_init(target); }, |input: &[u8]| {
    TARGET.get_or_init(target).check(input);
});
