//! Loops that are written out: what is indexed by a constant can stay in registers, which have no addresses.

/// `$body` once for each of the numbers, with `$i` a constant.
///
/// ```
/// let mut squares = [0; 3];
/// simt::unroll!(I in 2 0 1 => {
///     squares[I] = I * I;
/// });
/// assert_eq!(squares, [0, 1, 4]);
/// ```
#[macro_export]
macro_rules! unroll {
    ($i:ident in $($n:literal)* => $body:block) => {{
        $({
            const $i: usize = $n;
            $body
        })*
    }};
}

/// `$body` four times, with `$i` the constants 0 to 3.
#[macro_export]
macro_rules! four {
    ($i:ident => $body:block) => {
        $crate::unroll!($i in 0 1 2 3 => $body)
    };
}

/// `$body` eight times, with `$i` the constants 0 to 7.
#[macro_export]
macro_rules! eight {
    ($i:ident => $body:block) => {
        $crate::unroll!($i in 0 1 2 3 4 5 6 7 => $body)
    };
}
