//! The instructions: their kernels, the numbers that chains begin with and meet, and what each does, by the definition.
//!
//! An oracle does two instructions of a lane, as a kernel's `pair` does. Operands keep numbers within range for any number of rounds: what one
//! adds another takes away, and factors come to 1, nearly.

use std::fmt;

use halotile_lab_kernels::primer::instructions::atomic::*;
use halotile_lab_kernels::primer::instructions::float::*;
use halotile_lab_kernels::primer::instructions::integer::*;
use halotile_lab_kernels::primer::instructions::memory::*;
use halotile_lab_kernels::primer::instructions::special::*;
use halotile_lab_kernels::primer::instructions::threads::*;
use simt::launch::KernelEntry;
use simt::math::{add_f16x2, fma_f16x2};

use super::Warp;
use super::published::Published;
use crate::primer::data::random;
use halotile::exec::{Buffer, Device, DeviceError};

/// An instruction.
#[derive(Debug)]
pub(super) struct Instruction {
    pub(super) name: &'static str,
    pub(super) of: &'static str,
    pub(super) idea: &'static str,
    pub(super) rate: &'static KernelEntry,
    pub(super) latency: &'static KernelEntry,
    /// Numbers of 64 bits.
    pub(super) wide: bool,
    /// Operations of a lane that one is.
    pub(super) operations: f64,
    /// All chains add to one word.
    pub(super) common: bool,
    /// By how much fewer rounds are enough.
    pub(super) slow: u32,
    pub(super) published: Published,
    pub(super) starts: Starts,
    /// a, b; and c, d, with which they take turns.
    pub(super) operands: [u64; 4],
    pub(super) oracle: Oracle,
}

/// Two instructions, by the definition.
pub(super) enum Oracle {
    /// From x, y and a, b of a lane.
    Words(fn([u32; 2], [u32; 2]) -> [u32; 2]),
    /// The same of 64 bits.
    Wide(fn([u64; 2], [u64; 2]) -> [u64; 2]),
    /// Of a warp.
    Warp(fn(&mut Warp, [u64; 2])),
    /// f of f(x) · a + b, nearly.
    Near(fn(f64) -> f64),
}

impl fmt::Debug for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Words(_) => "Words",
            Self::Wide(_) => "Wide",
            Self::Warp(_) => "Warp",
            Self::Near(_) => "Near",
        })
    }
}

/// What chains begin with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Starts {
    /// Any words.
    Any,
    /// Any odd words.
    Odd,
    /// Words with a sign, of so many bits.
    Bits(u32),
    /// Any x, and 0 for y.
    Zero,
    /// Numbers from 1 to 2, of either sign, two in a word.
    Halves,
    /// Numbers from .. to.
    F32(f32, f32),
    /// Numbers from 1 to 2.
    F64,
    /// Words of a table whose lanes are so many banks apart.
    Shared(u32),
    /// The same index for all lanes.
    Uniform,
    /// An index for each lane.
    Divergent,
}

impl Starts {
    /// x and y of a lane.
    pub(super) fn of(self, seed: u64, chain: usize, lane: usize) -> [u64; 2] {
        let any = [0, 1].map(|of| random(seed, (chain * 32 + lane) * 2 + of));
        let word = |word: u32| [u64::from(word), 0];
        // From 0 to 1.
        let fraction = |any: u64| (any >> 40) as f32 / (1 << 24) as f32;
        match self {
            Self::Any => any.map(|any| any >> 32),
            Self::Odd => any.map(|any| any >> 32 | 1),
            Self::Bits(bits) => any.map(|any| u64::from(((any >> 32) as i32 >> (32 - bits)).cast_unsigned())),
            Self::Zero => [any[0] >> 32, 0],
            Self::Halves => any.map(|any| any & 0x83FF_83FF | 0x3C00_3C00),
            Self::F32(from, to) => any.map(|any| u64::from((from + fraction(any) * (to - from)).to_bits())),
            Self::F64 => any.map(|any| any >> 12 | 1.0f64.to_bits()),
            Self::Shared(apart) => word((lane as u32 * apart + 7 * chain as u32) % OPS_SHARED),
            Self::Uniform => word(chain as u32),
            Self::Divergent => word((lane + chain) as u32 % OPS_CONSTANT as u32),
        }
    }
}

impl Instruction {
    /// Bytes of a number.
    pub(super) fn bytes(&self) -> usize {
        if self.wide { size_of::<u64>() } else { size_of::<u32>() }
    }

    /// A buffer of numbers.
    pub(super) fn upload(&self, device: &std::sync::Arc<dyn Device>, words: &[u64]) -> Result<Buffer, DeviceError> {
        if self.wide {
            return Buffer::from_slice(device, words);
        }
        Buffer::from_slice(device, &words.iter().map(|&word| word as u32).collect::<Vec<_>>())
    }

    /// What is in one.
    pub(super) fn download(&self, buffer: &Buffer) -> Result<Vec<u64>, DeviceError> {
        if self.wide {
            return buffer.to_vec();
        }
        Ok(buffer.to_vec::<u32>()?.into_iter().map(u64::from).collect())
    }
}

const fn f32s(of: [f32; 4]) -> [u64; 4] {
    let [a, b, c, d] = of;
    [a.to_bits() as u64, b.to_bits() as u64, c.to_bits() as u64, d.to_bits() as u64]
}

const fn f64s(of: [f64; 4]) -> [u64; 4] {
    let [a, b, c, d] = of;
    [a.to_bits(), b.to_bits(), c.to_bits(), d.to_bits()]
}

const fn i32s(of: [i32; 4]) -> [u64; 4] {
    let [a, b, c, d] = of;
    [a as u32 as u64, b as u32 as u64, c as u32 as u64, d as u32 as u64]
}

fn f32(bits: u32) -> f32 {
    f32::from_bits(bits)
}

fn f64(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// What there is to say of most.
const PLAIN: Instruction = Instruction {
    name: "",
    of: "",
    idea: "",
    rate: &primer_ops_i32_add::ENTRY,
    latency: &primer_ops_i32_add_latency::ENTRY,
    wide: false,
    operations: 1.0,
    common: false,
    slow: 1,
    published: Published::Nowhere,
    starts: Starts::Any,
    operands: [0; 4],
    oracle: Oracle::Words(|state, _| state),
};

/// A line: name, type, kernels, idea; what is not as in [`PLAIN`]; the oracle.
macro_rules! table {
    ($($name:literal $of:literal $rate:ident $latency:ident $idea:literal {$($field:ident: $value:expr),*} $kind:ident($oracle:expr);)*) => {
        &[$(Instruction {
            name: $name,
            of: $of,
            idea: $idea,
            rate: &$rate::ENTRY,
            latency: &$latency::ENTRY,
            oracle: Oracle::$kind($oracle),
            $($field: $value,)*
            ..PLAIN
        }),*]
    };
}

const SUMS: [f64; 4] = [1.25, -1.2, -0.3, 0.260_000_1];
const FACTORS: [f64; 4] = [1.25, 0.8, 0.7, 1.428_6];
const LINES: [f64; 4] = [-1.000_000_1, 0.3, -0.999_999_9, 0.7];

/// SUMS and the others in f32.
const fn narrow(of: [f64; 4]) -> [u64; 4] {
    f32s([of[0] as f32, of[1] as f32, of[2] as f32, of[3] as f32])
}

/// Two words in turn.
fn in_turn([x, y]: [u32; 2], f: impl Fn(u32, u32) -> u32) -> [u32; 2] {
    let x = f(x, y);
    [x, f(y, x)]
}

fn picked(low: u32, high: u32, selector: u32) -> u32 {
    let bytes = [low.to_le_bytes(), high.to_le_bytes()].concat();
    u32::from_le_bytes([0, 4, 8, 12].map(|shift| bytes[(selector >> shift & 7) as usize]))
}

fn shifted(low: u32, high: u32, by: u32) -> u32 {
    if by == 0 { low } else { low >> by | high << (32 - by) }
}

fn left(value: u32, by: u32) -> u32 {
    if by < 32 { value << by } else { 0 }
}

fn least([x, limit]: [u32; 2], plus: u32) -> u32 {
    let sum = x.wrapping_add(plus);
    if (sum as i32) < limit as i32 { sum } else { limit }
}

fn clamped(x: u32, [most, least]: [u32; 2]) -> u32 {
    let x = if (x as i32) < most as i32 { x } else { most };
    if (x as i32) > least as i32 { x } else { least }
}

/// The lanes whose x is below their y.
fn voted(warp: &mut Warp) {
    let lanes = (0..32).filter(|&lane| warp[lane][0] < warp[lane][1]).map(|lane| 1 << lane).sum();
    warp.iter_mut().for_each(|state| state[0] = lanes);
}

fn shuffled(warp: &mut Warp, mask: u64) {
    let before = *warp;
    warp.iter_mut().enumerate().for_each(|(lane, state)| state[0] = before[lane ^ mask as usize][0]);
}

/// Two additions to a word: what it held before comes back, and is added next.
fn added([x, word]: [u32; 2]) -> [u32; 2] {
    let (word, x) = (word.wrapping_add(x), word);
    [word, word.wrapping_add(x)]
}

/// Two loads from a table.
fn loaded(x: u32, step: usize, len: usize) -> u32 {
    ((x as usize + 2 * step) % len) as u32
}

/// All of them, in the order of the page.
pub(super) const TABLE: &[Instruction] = table! {
    "add" "f32" primer_ops_f32_add primer_ops_f32_add_latency "x + a"
        {published: Published::F32, starts: Starts::F32(1.0, 2.0), operands: narrow(SUMS)}
        Words(|[x, y], [a, b]| [(f32(x) + f32(a) + f32(b)).to_bits(), y]);
    "mul" "f32" primer_ops_f32_mul primer_ops_f32_mul_latency "x · a"
        {published: Published::F32, starts: Starts::F32(1.0, 2.0), operands: narrow(FACTORS)}
        Words(|[x, y], [a, b]| [(f32(x) * f32(a) * f32(b)).to_bits(), y]);
    "fma" "f32" primer_ops_f32_fma primer_ops_f32_fma_latency "x · a + b, rounded once"
        {published: Published::F32, starts: Starts::F32(1.0, 2.0), operands: narrow(LINES)}
        Words(|[x, y], [a, b]| [f32(x).mul_add(f32(a), f32(b)).mul_add(f32(a), f32(b)).to_bits(), y]);
    "div" "f32" primer_ops_f32_div primer_ops_f32_div_latency "a / x as IEEE 754 has it: a reciprocal, five multiply-adds, and a way out"
        {slow: 4, starts: Starts::F32(1.0, 2.0), operands: f32s([3.0, 1.5, 1.7, 3.4])}
        Words(|[x, y], [a, b]| [(f32(b) / (f32(a) / f32(x))).to_bits(), y]);
    "add" "f64" primer_ops_f64_add primer_ops_f64_add_latency "x + a"
        {wide: true, published: Published::F64, starts: Starts::F64, operands: f64s(SUMS)}
        Wide(|[x, y], [a, b]| [(f64(x) + f64(a) + f64(b)).to_bits(), y]);
    "mul" "f64" primer_ops_f64_mul primer_ops_f64_mul_latency "x · a"
        {wide: true, published: Published::F64, starts: Starts::F64, operands: f64s(FACTORS)}
        Wide(|[x, y], [a, b]| [(f64(x) * f64(a) * f64(b)).to_bits(), y]);
    "fma" "f64" primer_ops_f64_fma primer_ops_f64_fma_latency "x · a + b, rounded once"
        {wide: true, published: Published::F64, starts: Starts::F64, operands: f64s(LINES)}
        Wide(|[x, y], [a, b]| [f64(x).mul_add(f64(a), f64(b)).mul_add(f64(a), f64(b)).to_bits(), y]);
    "add" "f16x2" primer_ops_f16x2_add primer_ops_f16x2_add_latency "x + a, two a lane"
        {operations: 2.0, published: Published::F16, starts: Starts::Halves, operands: [0x3D00_3C00, 0xBC00_BE00, 0xB800_3400, 0x3400_3400]}
        Words(|[x, y], [a, b]| [add_f16x2(add_f16x2(x, a), b), y]);
    "fma" "f16x2" primer_ops_f16x2_fma primer_ops_f16x2_fma_latency "x · a + b, two a lane"
        {operations: 2.0, published: Published::F16, starts: Starts::Halves, operands: [0xBC00_B800, 0x3400_3E00, 0xBBFF_3A00, 0x3800_3400]}
        Words(|[x, y], [a, b]| [fma_f16x2(fma_f16x2(x, a, b), a, b), y]);
    "add" "i32" primer_ops_i32_add primer_ops_i32_add_latency "x + y, on whichever pipe the assembler chooses"
        {published: Published::Word}
        Words(|state, _| in_turn(state, u32::wrapping_add));
    "add3" "i32" primer_ops_i32_add3 primer_ops_i32_add3_latency "x + y + a in one instruction"
        {published: Published::Word, operands: [0x9E37_79B9, 0x85EB_CA6B, 0xC2B2_AE35, 0x27D4_EB2F]}
        Words(|[x, y], [a, b]| {
            let x = x.wrapping_add(y).wrapping_add(a);
            [x, y.wrapping_add(x).wrapping_add(b)]
        });
    "mul" "i32" primer_ops_i32_mul primer_ops_i32_mul_latency "x · y, the lower half"
        {published: Published::Word, starts: Starts::Odd}
        Words(|state, _| in_turn(state, u32::wrapping_mul));
    "mad" "i32" primer_ops_i32_mad primer_ops_i32_mad_latency "x · a + b, the lower half"
        {published: Published::Word, operands: [0x9E37_79B9, 0x85EB_CA6B, 0xC2B2_AE35, 0x27D4_EB2F]}
        Words(|[x, y], [a, b]| [x.wrapping_mul(a).wrapping_add(b).wrapping_mul(a).wrapping_add(b), y]);
    "div" "u32" primer_ops_u32_div primer_ops_u32_div_latency "a / x: some twenty instructions, two conversions and a reciprocal among them"
        {slow: 8, starts: Starts::Any, operands: [4_000_000_007, 3_999_999_979, 3_000_000_019, 4_294_967_291]}
        Words(|[x, y], [a, b]| [b / ((a / (x | 1)) | 1), y]);
    "min, max" "i32" primer_ops_i32_min primer_ops_i32_min_latency "the lesser, the larger, in turn"
        {published: Published::Word, operands: i32s([1 << 30, -1 << 30, 3 << 28, -1 << 29])}
        Words(|[x, y], operands| [clamped(x, operands), y]);
    "add-min" "i32" primer_ops_i32_add_min primer_ops_i32_add_min_latency "min(x + a, y): one instruction since compute capability 9.0, two before"
        {published: Published::AddMin, starts: Starts::Bits(24), operands: i32s([7, -3, 11, -5])}
        Words(|[x, y], [a, b]| [least([least([x, y], a), y], b), y]);
    "shl" "u32" primer_ops_shl primer_ops_shl_latency "a << x; to the right it is the same instruction"
        {published: Published::Word, operands: [3, 5, 9, 17]}
        Words(|[x, y], [a, b]| [left(b, left(a, x)), y]);
    "funnel" "u32" primer_ops_funnel primer_ops_funnel_latency "32 of 64 bits, from any of them on"
        {published: Published::Word, operands: [5, 13, 27, 9]}
        Words(|[x, y], [a, b]| {
            let x = shifted(x, y, a);
            [x, shifted(y, x, b)]
        });
    "lop3" "u32" primer_ops_lop3 primer_ops_lop3_latency "x & a | !x & y: any function of three bits is one instruction"
        {published: Published::Word, operands: [0x9E37_79B9, 0x85EB_CA6B, 0xC2B2_AE35, 0x27D4_EB2F]}
        Words(|[x, y], [a, b]| {
            let x = x & a | !x & y;
            [x, y & b | !y & x]
        });
    "prmt" "u32" primer_ops_prmt primer_ops_prmt_latency "four of eight bytes"
        {operands: [0x2013, 0x1302, 0x3021, 0x0312]}
        Words(|[x, y], [a, b]| {
            let x = picked(x, y, a);
            [x, picked(y, x, b)]
        });
    "popc" "u32" primer_ops_popc primer_ops_popc_latency "the ones of x"
        {slow: 2, published: Published::Special}
        Words(|[x, y], _| [x.count_ones().count_ones(), y]);
    "cvt" "f32 > i32" primer_ops_f32_to_i32 primer_ops_f32_to_i32_latency "with a logic operation in each step, whose latency is part of this one"
        {slow: 2, starts: Starts::F32(1e6, 8e6), operands: [0x007F_FFFF, 0x4A80_0000, 0x003F_FFFF, 0x4B00_0000]}
        Words(|[x, y], [mask, rest]| {
            let step = |x| f32(x) as i32 as u32 & mask | rest;
            [step(step(x)), y]
        });
    "cvt" "i32 > f32" primer_ops_i32_to_f32 primer_ops_i32_to_f32_latency "its bits are the next integer"
        {}
        Words(|[x, y], _| [((x as i32 as f32).to_bits() as i32 as f32).to_bits(), y]);
    "cvt" "f32 > f64" primer_ops_f32_to_f64 primer_ops_f32_to_f64_latency "its upper word is the next number"
        {slow: 2, published: Published::Conversion64, starts: Starts::F32(-1000.0, 1000.0)}
        Words(|[x, y], _| {
            let step = |x| (f64::from(f32(x)).to_bits() >> 32) as u32;
            [step(step(x)), y]
        });
    "rcp" "f32" primer_ops_rcp primer_ops_rcp_latency "1 / x · a + b: the latency is that of both instructions"
        {slow: 2, published: Published::Special, starts: Starts::F32(0.5, 2.0), operands: f32s([0.5, 1.0, 0.75, 1.0])}
        Near(f64::recip);
    "rsqrt" "f32" primer_ops_rsqrt primer_ops_rsqrt_latency "1 / √x"
        {slow: 2, published: Published::Special, starts: Starts::F32(0.5, 2.0), operands: f32s([1.0, 0.0, 1.0, 0.0])}
        Near(|x| x.sqrt().recip());
    "sqrt" "f32" primer_ops_sqrt primer_ops_sqrt_latency "√x"
        {slow: 2, starts: Starts::F32(0.5, 2.0), operands: f32s([1.0, 0.0, 1.0, 0.0])}
        Near(f64::sqrt);
    "lg2" "f32" primer_ops_lg2 primer_ops_lg2_latency "log₂ x · a + b: the latency is that of both instructions"
        {slow: 2, published: Published::Special, starts: Starts::F32(1.0, 4.0), operands: f32s([0.25, 2.0, 0.375, 3.0])}
        Near(f64::log2);
    "ex2" "f32" primer_ops_ex2 primer_ops_ex2_latency "2 to the x · a + b: the latency is that of both instructions"
        {slow: 2, published: Published::Special, starts: Starts::F32(0.0, 1.0), operands: f32s([-0.5, 1.0, -0.25, 1.0])}
        Near(f64::exp2);
    "sin" "f32" primer_ops_sin primer_ops_sin_latency "sin x · a + b, a multiplication by 1 / 2π before it: the latency is that of three instructions"
        {slow: 2, published: Published::Special, starts: Starts::F32(0.0, 2.0), operands: f32s([0.5, 1.0, 0.25, 1.0])}
        Near(f64::sin);
    "shuffle" "u32" primer_ops_shuffle primer_ops_shuffle_latency "a word of another lane"
        {published: Published::Shuffle, operands: [1, 2, 16, 8]}
        Warp(|warp, masks| masks.into_iter().for_each(|mask| shuffled(warp, mask)));
    "vote" "warp" primer_ops_vote primer_ops_vote_latency "a comparison and a ballot, of one pipe: half its rate, and both latencies"
        {published: Published::Word}
        Warp(|warp, _| (0..2).for_each(|_| voted(warp)));
    "barrier" "block" primer_ops_barrier primer_ops_barrier_latency "all warps of the block meet; the latency is that of a single one"
        {slow: 4, published: Published::Barrier}
        Words(|state, _| state);
    "ld.shared" "1 way" primer_ops_ld_shared primer_ops_ld_shared_latency "every lane another bank"
        {published: Published::Shared(1), starts: Starts::Shared(1)}
        Words(|[x, y], _| [loaded(x, OPS_SHARED_STEP as usize, OPS_SHARED as usize), y]);
    "ld.shared" "2 ways" primer_ops_ld_shared primer_ops_ld_shared_latency "two lanes a bank: two passes"
        {slow: 2, published: Published::Shared(2), starts: Starts::Shared(2)}
        Words(|[x, y], _| [loaded(x, OPS_SHARED_STEP as usize, OPS_SHARED as usize), y]);
    "ld.shared" "4 ways" primer_ops_ld_shared primer_ops_ld_shared_latency "four lanes a bank: four passes"
        {slow: 4, published: Published::Shared(4), starts: Starts::Shared(4)}
        Words(|[x, y], _| [loaded(x, OPS_SHARED_STEP as usize, OPS_SHARED as usize), y]);
    "ld.shared" "8 ways" primer_ops_ld_shared primer_ops_ld_shared_latency "eight lanes a bank: eight passes"
        {slow: 8, published: Published::Shared(8), starts: Starts::Shared(8)}
        Words(|[x, y], _| [loaded(x, OPS_SHARED_STEP as usize, OPS_SHARED as usize), y]);
    "ld.shared" "16 ways" primer_ops_ld_shared primer_ops_ld_shared_latency "sixteen lanes a bank: sixteen passes"
        {slow: 16, published: Published::Shared(16), starts: Starts::Shared(16)}
        Words(|[x, y], _| [loaded(x, OPS_SHARED_STEP as usize, OPS_SHARED as usize), y]);
    "ld.shared" "32 ways" primer_ops_ld_shared primer_ops_ld_shared_latency "all lanes one bank: thirty-two passes"
        {slow: 32, published: Published::Shared(32), starts: Starts::Shared(32)}
        Words(|[x, y], _| [loaded(x, OPS_SHARED_STEP as usize, OPS_SHARED as usize), y]);
    "ld.const" "uniform" primer_ops_ld_const primer_ops_ld_const_latency "one word for all lanes; an address is computed in each step"
        {slow: 2, starts: Starts::Uniform}
        Words(|[x, y], _| [loaded(x, OPS_CONSTANT_STEP, OPS_CONSTANT), y]);
    "ld.const" "divergent" primer_ops_ld_const primer_ops_ld_const_latency "a word for each lane, one after the other"
        {slow: 32, starts: Starts::Divergent}
        Words(|[x, y], _| [loaded(x, OPS_CONSTANT_STEP, OPS_CONSTANT), y]);
    "atom.shared" "own words" primer_ops_atom_shared primer_ops_atom_shared_latency "an addition to a word of shared memory that no other thread uses"
        {slow: 4}
        Words(|state, _| added(state));
    "atom.global" "own words" primer_ops_atom_global primer_ops_atom_global_latency "an addition to a word of global memory that no other thread uses"
        {slow: 32}
        Words(|state, _| added(state));
    "atom.global" "one word" primer_ops_atom_one primer_ops_atom_one_latency "all threads add to the same word of global memory"
        {slow: 256, common: true, starts: Starts::Zero, operands: [3, 0, 5, 0]}
        Words(|_, _| [0; 2]);
};
