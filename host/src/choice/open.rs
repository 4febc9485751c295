//! Opening of devices, and the fall back to the CPU where the choice was the library's.

use std::fmt;
use std::sync::Arc;

use super::{Devices, Recommendation, gpu};
use crate::engine::Engine;
use crate::exec::emulator::EmulatedDevice;
use crate::exec::{Device, DeviceError};

/// How a caller opens one device. The methods that are provided open it for this call and do no more, as `()` does.
pub trait Opener {
    /// Opens a GPU.
    ///
    /// # Errors
    /// [`DeviceError::Absent`] where it is not there, and what else the driver says.
    fn gpu(&self, ordinal: usize) -> Result<Arc<dyn Device>, DeviceError> {
        gpu::open(ordinal)
    }

    /// Makes an emulated device.
    ///
    /// # Errors
    /// Those of the caller: the emulator has none.
    fn emulated(&self, ordinal: usize) -> Result<Arc<dyn Device>, DeviceError> {
        Ok(Arc::new(EmulatedDevice::new(ordinal, None)))
    }
}

impl Opener for () {}

/// Why an engine was chosen that the caller did not name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Automatic {
    /// The reason, for people.
    pub why: String,
    /// True where it is the CPU because the work is done sooner there, whether there is a GPU or not: no news to most users.
    pub cpu_is_faster: bool,
}

/// An engine whose devices are open.
#[derive(Clone)]
#[non_exhaustive]
pub struct Opened {
    /// The engine.
    pub engine: Engine,
    /// What it is called: `cpu`, or the names of its devices.
    pub name: String,
    /// Why it was chosen, if the caller did not name it.
    pub automatic: Option<Automatic>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opened({:?}, {:?})", self.name, self.automatic)
    }
}

impl Opened {
    /// The CPU engine.
    pub fn cpu() -> Self {
        Self { engine: Engine::Cpu, name: "cpu".to_owned(), automatic: None }
    }

    fn devices(devices: Vec<Arc<dyn Device>>) -> Self {
        let names: Vec<_> = devices.iter().map(|device| device.name()).collect();
        Self { engine: Engine::Devices(devices), name: names.join(", "), automatic: None }
    }

    /// GPUs by their ordinals, at least one.
    ///
    /// # Errors
    /// Says why one of them cannot be opened.
    pub fn gpus(ordinals: &[usize], opener: &dyn Opener) -> Result<Self, DeviceError> {
        ordinals.iter().map(|&ordinal| opener.gpu(ordinal)).collect::<Result<_, _>>().map(Self::devices)
    }

    /// All GPUs of this machine.
    ///
    /// # Errors
    /// As [`gpus`](Self::gpus), and where there is none.
    pub fn all_gpus(opener: &dyn Opener) -> Result<Self, DeviceError> {
        Self::gpus(&Vec::from_iter(0..gpu::count()?), opener)
    }

    /// What is asked for by name; `None` for [`Devices::Auto`], which takes a [`Recommendation`]. Nothing here falls back to another engine.
    ///
    /// ```
    /// use halotile::choice::{Devices, Opened};
    /// let opened = Opened::named(&Devices::Emulator(2), &())?.expect("devices were named");
    /// assert_eq!((&*opened.name, opened.automatic), ("emulator:0, emulator:1", None));
    /// # Ok::<(), halotile::exec::DeviceError>(())
    /// ```
    ///
    /// # Errors
    /// A device that is not there.
    pub fn named(devices: &Devices, opener: &dyn Opener) -> Result<Option<Self>, DeviceError> {
        match devices {
            Devices::Auto => Ok(None),
            Devices::Cpu => Ok(Some(Self::cpu())),
            Devices::Cuda(ordinals) => Self::gpus(ordinals, opener).map(Some),
            Devices::Emulator(count) => {
                let devices = (0..*count).map(|ordinal| opener.emulated(ordinal)).collect::<Result<_, _>>()?;
                Ok(Some(Self::devices(devices)))
            }
        }
    }

    /// What a recommendation says: the CPU, or the GPU `ordinal`; the CPU too where that cannot be opened.
    pub fn recommended(recommendation: Recommendation, ordinal: usize, opener: &dyn Opener) -> Self {
        let Recommendation { gpu, why } = recommendation;
        if !gpu {
            return Self { automatic: Some(Automatic { why, cpu_is_faster: true }), ..Self::cpu() };
        }
        match Self::gpus(&[ordinal], opener) {
            Ok(opened) => opened.because(why),
            Err(error) => Self::cpu().because(error.to_string()),
        }
    }

    /// The same, chosen for a caller who named nothing, for this reason.
    pub fn because(self, why: String) -> Self {
        Self { automatic: Some(Automatic { why, cpu_is_faster: false }), ..self }
    }

    /// The CPU engine, after the work has failed on devices for this reason. `None` where these were asked for, or where it was the CPU.
    pub fn fall_back(&self, why: String) -> Option<Self> {
        let had_devices = matches!(self.engine, Engine::Devices(_));
        (self.automatic.is_some() && had_devices).then(|| Self::cpu().because(why))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A machine with so many GPUs, which are emulated, that notes what it was asked for.
    struct Machine {
        gpus: usize,
        asked: RefCell<Vec<String>>,
    }

    impl Machine {
        fn new(gpus: usize) -> Self {
            Self { gpus, asked: RefCell::default() }
        }
    }

    impl Opener for Machine {
        fn gpu(&self, ordinal: usize) -> Result<Arc<dyn Device>, DeviceError> {
            self.asked.borrow_mut().push(format!("gpu {ordinal}"));
            if ordinal < self.gpus { ().emulated(ordinal) } else { Err(DeviceError::Absent(format!("no {ordinal}"))) }
        }

        fn emulated(&self, ordinal: usize) -> Result<Arc<dyn Device>, DeviceError> {
            self.asked.borrow_mut().push(format!("emulated {ordinal}"));
            ().emulated(ordinal)
        }
    }

    fn recommendation(gpu: bool) -> Recommendation {
        Recommendation { gpu, why: "estimated".to_owned() }
    }

    #[test]
    fn what_is_named_is_opened_in_its_order_and_never_replaced() {
        let machine = Machine::new(3);
        let opened = Opened::named(&Devices::Cuda(vec![2, 0]), &machine).unwrap().unwrap();
        assert_eq!((&*opened.name, &opened.automatic), ("emulator:2, emulator:0", &None));
        assert!(opened.fall_back("x".to_owned()).is_none());
        let error = Opened::named(&Devices::Cuda(vec![1, 3]), &machine).unwrap_err();
        assert_eq!(error.to_string(), "no 3");
        assert_eq!(*machine.asked.borrow(), ["gpu 2", "gpu 0", "gpu 1", "gpu 3"]);

        let machine = Machine::new(0);
        assert_eq!(Opened::named(&Devices::Emulator(2), &machine).unwrap().unwrap().name, "emulator:0, emulator:1");
        assert_eq!(Opened::named(&Devices::Cpu, &machine).unwrap().unwrap().name, "cpu");
        assert!(Opened::named(&Devices::Auto, &machine).unwrap().is_none());
        assert_eq!(*machine.asked.borrow(), ["emulated 0", "emulated 1"]);
    }

    #[test]
    fn a_recommendation_opens_a_gpu_or_says_why_not() {
        let machine = Machine::new(2);
        let cpu = Opened::recommended(recommendation(false), 1, &machine);
        let expected = Automatic { why: "estimated".to_owned(), cpu_is_faster: true };
        assert_eq!((&*cpu.name, cpu.automatic.as_ref()), ("cpu", Some(&expected)));
        assert!(machine.asked.borrow().is_empty() && cpu.fall_back("x".to_owned()).is_none());

        let gpu = Opened::recommended(recommendation(true), 1, &machine);
        let expected = Automatic { cpu_is_faster: false, ..expected };
        assert_eq!((&*gpu.name, gpu.automatic.as_ref()), ("emulator:1", Some(&expected)));
        let after = gpu.fall_back("it is too small".to_owned()).unwrap();
        let expected = Automatic { why: "it is too small".to_owned(), ..expected };
        assert_eq!((&*after.name, after.automatic.as_ref()), ("cpu", Some(&expected)));

        let none = Opened::recommended(recommendation(true), 2, &machine);
        assert_eq!((&*none.name, none.automatic.map(|a| a.why)), ("cpu", Some("no 2".to_owned())));
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn without_cuda_the_error_names_the_feature() {
        let error = Opened::named(&Devices::Cuda(vec![0]), &()).unwrap_err();
        assert!(matches!(error, DeviceError::Absent(_)) && error.to_string().ends_with("the cargo feature cuda"));
        assert!(Opened::all_gpus(&()).is_err());
        let opened = Opened::recommended(recommendation(true), 0, &());
        assert_eq!((&*opened.name, opened.automatic.map(|a| a.why)), ("cpu", Some(error.to_string())));
    }
}
