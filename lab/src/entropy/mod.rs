//! Moving-window entropy step by step: the rungs of the ladders, beside the library's kernels that they lead to.

use halotile::entropy::Kernel;

pub mod ladder;

/// All kernels: the library's, then the rungs.
///
/// ```
/// let names: Vec<_> = halotile_lab::entropy::kernels().map(|kernel| kernel.name()).collect();
/// assert!(names.contains(&"sliding") && names.contains(&"v7"));
/// ```
pub fn kernels() -> impl Iterator<Item = Kernel> {
    Kernel::ALL.iter().copied().chain(ladder::rungs().map(ladder::Rung::kernel))
}

/// The kernel or rung of this name.
///
/// ```
/// use halotile::entropy::Kernel;
/// assert_eq!(halotile_lab::entropy::kernel("sliding"), Some(Kernel::Sliding));
/// assert_eq!(halotile_lab::entropy::kernel("fastest"), None);
/// ```
pub fn kernel(name: &str) -> Option<Kernel> {
    kernels().find(|kernel| kernel.name() == name)
}

/// The kernel before this one on its ladder: what it changes something about. The ladder of v0 goes on through s1 to s4 to the library's two
/// fastest kernels for 5 × 5; the library's others are on none.
///
/// ```
/// use halotile::entropy::Kernel;
/// use halotile_lab::entropy::{before, kernel};
/// assert_eq!(before(Kernel::Tensor), Some(Kernel::Sliding));
/// assert_eq!(before(Kernel::Sliding), kernel("s4"));
/// assert_eq!(before(Kernel::Tiled), None);
/// ```
pub fn before(of: Kernel) -> Option<Kernel> {
    match of {
        Kernel::Sliding => kernel("s4"),
        Kernel::Tensor => Some(Kernel::Sliding),
        of => ladder::rung(of.name())?.before.and_then(kernel),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        for of in kernels() {
            assert_eq!(kernel(of.name()), Some(of));
        }
    }

    #[test]
    fn every_rung_but_the_first_of_a_ladder_has_one_before_it() {
        for rung in ladder::rungs() {
            if let Some(before) = rung.before {
                assert!(kernel(before).is_some(), "{}: there is no {before}", rung.name);
            }
        }
    }
}
