//! The library's errors as Python's.
//!
//! What is wrong with an argument is a `ValueError`, what is wrong with a type a `TypeError`, want of memory a `MemoryError`. What devices
//! say is a `halotile.DeviceError`. The library's messages end in advice to users of the program where that has options; here it is
//! put in the words of arguments.

use halotile::apsp::MatrixError;
use halotile::classes::ClassesError;
use halotile::entropy::Error as EntropyError;
use halotile::exec::DeviceError as LibraryDeviceError;
use halotile::grid::ShapeError;
use halotile::io::FormatError;
use pyo3::create_exception;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(halotile, DeviceError, PyRuntimeError, "The device asked for is not there, or failed.");
create_exception!(
    halotile,
    NegativeCycleError,
    PyValueError,
    "A cycle of the graph has a negative length, so that there are no shortest paths."
);

/// An error of the library on its way to Python.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error(transparent)]
    Classes(#[from] ClassesError),
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    #[error(transparent)]
    Paths(#[from] halotile::apsp::Error),
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    Device(#[from] LibraryDeviceError),
    #[error("{0}")]
    Value(String),
}

impl Fault {
    /// True where the work was stopped, which says nothing of the arguments.
    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Classes(error) => matches!(error, ClassesError::Cancelled(_)),
            Self::Entropy(error) => matches!(error, EntropyError::Cancelled(_)),
            Self::Paths(error) => matches!(error, halotile::apsp::Error::Cancelled(_)),
            Self::Format(error) => error.is_cancelled(),
            _ => false,
        }
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        use halotile::apsp::Error as Paths;
        let text = fault.to_string();
        match fault {
            Fault::Shape(ShapeError::Memory { .. })
            | Fault::Entropy(EntropyError::Shape(ShapeError::Memory { .. }) | EntropyError::Memory { .. })
            | Fault::Matrix(MatrixError::Memory { .. })
            | Fault::Paths(Paths::Matrix(MatrixError::Memory { .. }) | Paths::Memory { .. }) => {
                PyMemoryError::new_err(text)
            }
            Fault::Device(_)
            | Fault::Entropy(EntropyError::Device(_) | EntropyError::NoKernel { .. })
            | Fault::Paths(Paths::Device(_)) => DeviceError::new_err(text),
            Fault::Paths(Paths::Cycle(cycle)) => NegativeCycleError::new_err(cycle.to_string()),
            Fault::Classes(error) => PyValueError::new_err(of_classes(&error)),
            _ => PyValueError::new_err(in_arguments(&text)),
        }
    }
}

/// Says which arguments help.
fn of_classes(error: &ClassesError) -> String {
    let text = error.to_string();
    let advice = match error {
        ClassesError::TooMany { .. } => "merge some with classes=, or sort them with bins=",
        ClassesError::Fraction { .. } => "give bins=, or nodata= if this is it",
        _ => return in_arguments(&text),
    };
    format!("{}; {advice}", text.rsplit_once("; ").map_or(text.as_str(), |(fault, _)| fault))
}

/// What the library says of options of the program, said of arguments.
fn in_arguments(text: &str) -> String {
    text.replace("read the weights as f32 (--weight f32)", "give weight=\"f32\"")
        .replace(
            "ask for more levels or for none, or name the nodata value if this is it",
            "give more levels= or none, or nodata= if this is it",
        )
        .replace("list it, or add a line *,nodata", "give it a class, or all others none by \"*\": None")
}
