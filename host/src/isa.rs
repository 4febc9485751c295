//! The instruction sets that engines on the CPU have code for, and proof that one is there.

/// An instruction set that this machine has. Values exist only after detection, which is what makes
/// it sound to call code compiled for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Isa(Kind);

/// The instruction sets, as something to match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "each architecture has its own")]
pub enum Kind {
    /// Whatever the compiler makes of loops with the target's baseline.
    Portable,
    /// AArch64: 16 bytes a register, lookups of bytes in 64.
    Neon,
    /// 32 bytes a register.
    Avx2,
    /// 64 bytes a register, masks, and permutations of 16-bit words across a whole register.
    Avx512,
}

impl Isa {
    /// All sets that this machine has, worst first.
    pub fn available() -> Vec<Isa> {
        #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(unused_mut, reason = "no other"))]
        let mut sets = vec![Isa(Kind::Portable)];
        // Part of the baseline.
        #[cfg(target_arch = "aarch64")]
        sets.push(Isa(Kind::Neon));
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                sets.push(Isa(Kind::Avx2));
            }
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
            {
                sets.push(Isa(Kind::Avx512));
            }
        }
        sets
    }

    /// The best of them.
    pub fn best() -> Isa {
        Self::available().pop().unwrap_or(Isa(Kind::Portable))
    }

    /// Which one it is.
    #[inline]
    pub fn kind(self) -> Kind {
        self.0
    }
}
