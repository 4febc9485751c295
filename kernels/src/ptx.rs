//! The PTX of all kernels as it is committed, a text an architecture. It is for GPUs alone: without the feature `ptx` none of it is embedded.

/// The texts.
#[cfg(feature = "ptx")]
pub(crate) const TEXTS: &[&str] = &[
    include_str!("../ptx/halotile.sm_75.ptx"),
    include_str!("../ptx/halotile.sm_80.ptx"),
    include_str!("../ptx/halotile.sm_90.ptx"),
];

/// No texts.
#[cfg(not(feature = "ptx"))]
pub(crate) const TEXTS: &[&str] = &[];
