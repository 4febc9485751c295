//! One kernel that uses every operation of `simt` which a result can depend on.
//!
//! The emulator claims to do what the GPU does. This kernel is how that is tested: run on both, its output must be
//! equal word for word. It computes nothing of use.

use simt::global::{In, Out, Pointers};
use simt::math::{
    add_f16x2, and_or, byte_permute, dot4, exp_f64, fma_f16x2, funnel_shift_right, fused_multiply_add_f64, ln_f64,
    shift_left_clamped,
};
use simt::private::Private;
use simt::texture::{Texture1d, Texture2d};
use simt::{clock, constant, kernel, shared, thread, warp};

/// Words that each thread writes.
pub const WORDS: usize = 48;
/// Width of the two-dimensional texture; it has 5 rows, the other one 70 elements.
pub const TEXTURE_WIDTH: u32 = 50;
/// Threads of a block; any number of blocks.
pub const THREADS: u32 = 96;

constant! {
    static SELFTEST_WORDS: [u32; 5] = [1, 0x8000_0000, 3, 0xFFFF_FFFF, 5];
    static SELFTEST_REALS: [f64; 3] = [0.1, -2.5e300, 1.0 / 3.0];
    /// Set by the host.
    pub static SELFTEST_SET: [u64; 2];
}

shared! {
    static SELFTEST_STATIC: [u16; 96];
    static SELFTEST_COUNTERS: [u32; 8];
}

/// Writes [`WORDS`] words a thread, thread t of the launch at element t · `WORDS`.
///
/// `input` has a word for each thread; `counters` starts as zeros; `rows` leads to two arrays of pointers, each to 3 rows of 5
/// words; textures are fetched in and out of bounds. Dynamic shared memory: 8 bytes a thread.
///
/// # Safety
/// `input` has a word for each thread of the launch, `output` [`WORDS`] of them, `counters` 6 words, `rows` what is said
/// above; blocks have [`THREADS`] threads and the dynamic shared memory above.
#[kernel(threads = 96)]
pub unsafe fn selftest(
    input: In<u32>,
    output: Out<u32>,
    counters: Out<u32>,
    rows: Pointers<Pointers<In<u32>>>,
    line: Texture1d<f32>,
    plane: Texture2d<u8>,
    words_plane: Texture2d<u32>,
) {
    let t = thread::thread_idx_x();
    let global = thread::index_x() as usize;
    let lane = warp::lane_id();
    let value = input.load(global);
    let mut words = [0u32; WORDS];

    words[0] = thread::block_idx_x() << 16 | t;
    words[1] = thread::block_dim_x() << 16 | thread::grid_dim_x();
    words[2] = lane;

    let pair = u64::from(value) << 32 | u64::from(!value);
    words[3] = warp::warp_shuffle_idx(warp::FULL, value, value, 32).0;
    words[4] = warp::warp_shuffle_idx(warp::FULL, value, t, 8).0;
    let (up, inside) = warp::warp_shuffle_up(warp::FULL, value, 3, 16);
    words[5] = up ^ u32::from(inside);
    let (down, inside) = warp::warp_shuffle_down(warp::FULL, value, 5, 32);
    words[6] = down ^ u32::from(inside);
    let (across, inside) = warp::warp_shuffle_xor(warp::FULL, pair, 21, 32);
    words[7] = (across >> 32) as u32 ^ u32::from(inside);
    words[8] = across as u32;
    words[9] = warp::warp_shuffle_xor(warp::FULL, value as f32, 1, 2).0.to_bits();
    words[10] = warp::warp_vote_ballot(warp::FULL, value & 4 != 0);
    words[11] = u32::from(warp::warp_vote_all(warp::FULL, value > 2));
    words[12] = u32::from(warp::warp_vote_any(warp::FULL, value > 0xF000_0000));
    // Only the even lanes take part.
    if lane.is_multiple_of(2) {
        words[13] = warp::warp_shuffle_xor(0x5555_5555, value, 2, 32).0;
        words[14] = warp::warp_vote_ballot(0x5555_5555, value & 1 != 0);
    }

    words[15] = shift_left_clamped(value, value % 40);
    words[16] = funnel_shift_right(value, !value, t);
    words[17] = byte_permute(value, value.wrapping_mul(77), 0x1B47 ^ (t & 7));
    words[18] = dot4(value, value.rotate_left(9), t);
    words[19] = and_or(value, 0x00FF_F000, t);
    words[20] = constant::load::<SELFTEST_WORDS>(t % 5);
    let real = constant::load::<SELFTEST_REALS>(t % 3).to_bits();
    words[21] = (real >> 32) as u32;
    words[22] = real as u32;

    // Static shared memory, 16 bits a word; written, met, read elsewhere.
    let halves = shared::array::<SELFTEST_STATIC>();
    halves.store(t, value as u16);
    let tallies = shared::array::<SELFTEST_COUNTERS>();
    if t < 8 {
        tallies.store(t, 0);
    }
    words[23] = thread::sync_threads_count(value & 8 != 0);
    words[24] = u32::from(halves.load((t + 37) % THREADS));

    // Dynamic shared memory as 64-bit and, cast, as 32-bit words.
    let wide = shared::dynamic::<u64>();
    wide.store(t, pair);
    tallies.atomic_add(value % 4, value);
    tallies.atomic_max(4, value);
    tallies.atomic_min(5, 0);
    tallies.atomic_or(6, value);
    thread::sync_threads();
    words[25] = wide.cast::<u32>().load(t ^ 1);
    words[26] = (wide.slice(t, THREADS - t).load(0) >> 32) as u32;
    let mut i = 0;
    while i < 6 {
        words[27 + i as usize] = tallies.load(i);
        i += 1;
    }

    words[47] = tallies.load(6);

    // Global atomics: what each thread gets back depends on the order, so only the end result counts.
    counters.atomic_add(0, value);
    counters.atomic_max(1, value);
    counters.atomic_exchange(2, 7);
    if counters.atomic_compare_exchange(3, 0, 9) == 9 {
        counters.atomic_add(0, 0);
    }
    // Both halves or none: words 4 and 5.
    counters.cast::<u64>().atomic_compare_exchange(2, 0, 0x0123_4567_89AB_CDEF);

    // Clocks do not run backwards.
    let (cycles, nanoseconds) = (clock::cycles(), clock::nanoseconds());
    thread::block_fence();
    thread::device_fence();
    warp::sync_warp(warp::FULL);
    words[33] = u32::from(clock::cycles() >= cycles) + 2 * u32::from(clock::nanoseconds() >= nanoseconds);

    words[34] = line.fetch(t as i32 - 7).to_bits();
    words[35] = u32::from(plane.fetch(t as i32 - 20, thread::block_idx_x() as i32 * 3 - 1));
    words[36] = words_plane.fetch((t % 60) as i32, (t / 16) as i32);

    // Two pointers one after the other, and one of them as the number that it is.
    let row = rows.load((t % 2) as usize).load((t % 3) as usize);
    words[37] = row.load((t % 5) as usize);
    words[38] = rows.numbers::<u64>().load(1).wrapping_sub(rows.numbers::<u64>().load(0)) as u32;
    let set = constant::load::<SELFTEST_SET>(t % 2);
    words[39] = (set >> 32) as u32 ^ set as u32;
    let logarithm = ln_f64(f64::from(value) * 1e-3).to_bits();
    words[40] = (logarithm >> 32) as u32;
    words[41] = logarithm as u32;
    // Thread-private, indexed by values known only at run time.
    let mut own = Private::<u16, 7>::new(3);
    own.write(&[1, 2, 3, 5, 8, 13, 21]);
    own.store(value % 7, value as u16);
    words[42] = u32::from(own.load(t % 7));
    let exponential = exp_f64(f64::from(value.cast_signed()) * 3.5e-7).to_bits();
    words[43] = (exponential >> 32) as u32 ^ exponential as u32;
    words[44] = add_f16x2(value, value.rotate_left(11));
    words[45] = fma_f16x2(value, value.rotate_left(7), value.rotate_left(23));
    let product = fused_multiply_add_f64(f64::from(value), 1e-3, f64::from(t)).to_bits();
    words[46] = (product >> 32) as u32 ^ product as u32;

    let mut i = 0;
    while i < WORDS {
        output.store(global * WORDS + i, words[i]);
        i += 1;
    }
}

/// The kernels of this family, for lookup by name.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[simt::launch::KernelEntry] = &[selftest::ENTRY];
