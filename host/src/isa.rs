//! The instruction sets that engines on the CPU have code for, and proof that one is there.

/// An instruction set that this machine has. Values exist only after detection, which is what makes
/// it sound to call code compiled for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Isa(Kind);

/// The instruction sets, as something to match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "found on x86-64 only"))]
pub enum Kind {
    /// Whatever the target's baseline has.
    Portable,
    /// 32 bytes a register.
    Avx2,
    /// 64 bytes a register, masks, and permutations of 16-bit words across a whole register.
    Avx512,
}

impl Isa {
    /// All sets that this machine has, worst first.
    pub fn available() -> Vec<Isa> {
        #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut, reason = "nothing to detect"))]
        let mut sets = vec![Isa(Kind::Portable)];
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
