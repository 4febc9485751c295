//! Constant memory: small tables in the module (`constant!`), or a few numbers that the host sets for a launch,
//! read fastest by a warp when all its lanes read the same element.

use crate::backend;
use crate::scalar::Scalar;

/// A table in constant memory, declared by [`constant!`](crate::constant!).
pub trait Symbol {
    /// The element type.
    type Item: Scalar;
    /// The PTX name.
    const NAME: &'static str;
    /// The values; zeros where the host sets them.
    const VALUES: &'static [Self::Item];
    /// Address of the first element in the constant window.
    #[cfg(target_arch = "nvptx64")]
    fn address() -> u64;
}

/// Element `index` of the table `S`.
#[inline(always)]
#[track_caller]
pub fn load<S: Symbol>(index: u32) -> S::Item {
    backend::constant_load::<S>(index)
}
