//! From numbers in files to weights of a type, and what is said of those that are none.

use crate::apsp::{EdgeWeight, Weight};
use crate::io::{Problem, Value};

/// Why a number is no weight of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WeightError {
    /// The type is of whole numbers.
    Fraction,
    /// It is too large, or no number.
    Large,
}

/// A weight that files can have.
pub(super) trait FileWeight: EdgeWeight {
    /// From a number of a binary file; what is too large is found by [`EdgeWeight::allowed`].
    fn from_i32(value: i32) -> Self;
    /// From any number.
    fn from_value(value: Value) -> Result<Self, WeightError>;
    /// What is said of a number that is too large.
    fn too_large(value: Value) -> Problem;
}

/// What to do where whole numbers are not enough.
pub(super) const AS_F32: &str = "read the weights as f32 (--weight f32)";

impl FileWeight for i32 {
    #[inline(always)]
    fn from_i32(value: i32) -> Self {
        value
    }

    #[inline(always)]
    fn from_value(value: Value) -> Result<Self, WeightError> {
        match value {
            Value::Whole(whole) => i32::try_from(whole).ok().filter(|w| w.allowed()).ok_or(WeightError::Large),
            Value::Real(real) if real.is_finite() && real.fract() != 0.0 => Err(WeightError::Fraction),
            Value::Real(_) => Err(WeightError::Large),
        }
    }

    fn too_large(value: Value) -> Problem {
        let most = i32::MOST;
        Problem::new(format!("the weight {} is not from -{most} to {most}", value.show()), AS_F32)
    }
}

impl FileWeight for f32 {
    #[inline(always)]
    fn from_i32(value: i32) -> Self {
        value as f32
    }

    #[inline(always)]
    fn from_value(value: Value) -> Result<Self, WeightError> {
        let weight = match value {
            Value::Whole(whole) => whole as f32,
            Value::Real(real) => real as f32,
        };
        if weight.is_finite() { Ok(weight) } else { Err(WeightError::Large) }
    }

    fn too_large(value: Value) -> Problem {
        Problem::new(format!("the weight {} is none that an f32 holds", value.show()), "make the weights smaller")
    }
}

/// What comes of a number that is no weight of the type that a file is being read as.
pub(super) enum Rejected {
    /// The file is to be read as f32.
    RetryAsF32,
    /// The file is in error.
    Problem(Problem),
}

/// A number as a weight, where `asked` is what the caller wants.
#[inline(always)]
pub(super) fn weight<T: FileWeight>(value: Value, asked: Weight) -> Result<T, Rejected> {
    T::from_value(value).map_err(|error| reject::<T>(value, error, asked))
}

#[cold]
fn reject<T: FileWeight>(value: Value, error: WeightError, asked: Weight) -> Rejected {
    match error {
        // Whatever whole numbers do not hold and f32 does, so that the order of the weights makes no difference.
        _ if asked == Weight::Auto && f32::from_value(value).is_ok() => Rejected::RetryAsF32,
        WeightError::Fraction => {
            Rejected::Problem(Problem::new(format!("the weight {} is not a whole number", value.show()), AS_F32))
        }
        WeightError::Large => Rejected::Problem(T::too_large(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_weights_where_the_type_has_them() {
        let most = i128::from((1 << 30) - 2);
        assert_eq!(i32::from_value(Value::Whole(most)), Ok(1_073_741_822));
        assert_eq!(i32::from_value(Value::Whole(-most)), Ok(-1_073_741_822));
        assert_eq!(i32::from_value(Value::Whole(most + 1)), Err(WeightError::Large));
        assert_eq!(i32::from_value(Value::Whole(-most - 1)), Err(WeightError::Large));
        assert_eq!(i32::from_value(Value::Whole(1 << 40)), Err(WeightError::Large));
        assert_eq!(i32::from_value(Value::from(3.0)), Ok(3));
        assert_eq!(i32::from_value(Value::from(3.5)), Err(WeightError::Fraction));
        assert_eq!(i32::from_value(Value::from(1e300)), Err(WeightError::Large));
        assert_eq!(i32::from_value(Value::from(f64::NAN)), Err(WeightError::Large));
        assert_eq!(f32::from_value(Value::Whole(1 << 40)), Ok(1_099_511_627_776.0));
        assert_eq!(f32::from_value(Value::from(2.5)), Ok(2.5));
        for none in [1e39, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert_eq!(f32::from_value(Value::from(none)), Err(WeightError::Large), "{none}");
        }
    }
}
