//! Algorithms from outside the library among its own: values that are compared, copied and shown like the variants of an enum, by their names.

use std::fmt;
use std::hash::{Hash, Hasher};

/// What is known by its name, and by nothing else.
pub trait Named {
    /// The name.
    fn name(&self) -> &'static str;
}

/// An algorithm from outside the library: it is its name. Two of one name are the same.
pub struct Custom<A: ?Sized + 'static>(&'static A);

impl<A: ?Sized> Custom<A> {
    /// The algorithm under its name.
    pub const fn new(algorithm: &'static A) -> Self {
        Self(algorithm)
    }

    /// The algorithm.
    pub fn algorithm(self) -> &'static A {
        self.0
    }
}

impl<A: ?Sized> Clone for Custom<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: ?Sized> Copy for Custom<A> {}

impl<A: ?Sized + Named> PartialEq for Custom<A> {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl<A: ?Sized + Named> Eq for Custom<A> {}

impl<A: ?Sized + Named> Hash for Custom<A> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name().hash(state);
    }
}

impl<A: ?Sized + Named> fmt::Debug for Custom<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Custom").field(&self.0.name()).finish()
    }
}
