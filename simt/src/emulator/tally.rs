//! Combines the lanes' accesses into those of warps, while a launch runs; [`Accesses`] is the result.
//!
//! A lane runs until it has to wait, and only then the next begins. So a lane's accesses are kept, site by site and in their order, until all
//! lanes of its warp have reached the same point. Then the first accesses of all lanes at a site are one access of the warp, the second ones
//! another, and so on. Only one warp is in flight at a time.
//!
//! Memory: some 260 bytes for every access of a warp between two synchronisation points.

use std::collections::HashMap;
use std::panic::Location;

use super::accesses::{Accesses, Site, Totals};
use super::fault::{AccessKind, Space};
use super::wavefronts::WarpAccess;

/// The identity of a site.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub at: &'static Location<'static>,
    pub space: Space,
    pub access: AccessKind,
    pub bytes: u32,
}

/// The counts so far.
#[derive(Default)]
pub(super) struct Tally {
    known: HashMap<Key, usize>,
    sites: Vec<(Key, Gathered)>,
}

/// Of a site: totals, and the accesses of the present warp's lanes since they synchronised.
struct Gathered {
    totals: Totals,
    /// How often each lane accessed it.
    counts: [u32; 32],
    accesses: Vec<WarpAccess>,
}

impl Tally {
    /// Lane `lane` of the present warp accesses an address.
    pub fn record(&mut self, key: Key, lane: u32, address: u64) {
        let site = *self.known.entry(key).or_insert_with(|| {
            self.sites.push((key, Gathered { totals: Totals::default(), counts: [0; 32], accesses: Vec::new() }));
            self.sites.len() - 1
        });
        let Gathered { counts, accesses, .. } = &mut self.sites[site].1;
        let count = &mut counts[lane as usize];
        if *count as usize == accesses.len() {
            accesses.push(WarpAccess::NONE);
        }
        let access = &mut accesses[*count as usize];
        access.lanes |= 1 << lane;
        access.addresses[lane as usize] = address;
        *count += 1;
    }

    /// The lanes of the present warp have synchronised, or have ended.
    pub fn synchronise(&mut self) {
        for (key, site) in &mut self.sites {
            site.counts = [0; 32];
            for access in site.accesses.drain(..) {
                let mut totals = Totals { accesses: 1, ..Totals::default() };
                if key.space == Space::Shared {
                    let (wavefronts, ideal) = access.wavefronts(key.bytes);
                    (totals.wavefronts, totals.ideal_wavefronts, totals.max_wavefronts) =
                        (wavefronts.into(), ideal.into(), wavefronts);
                } else {
                    let sectors = access.sectors();
                    (totals.sectors, totals.max_sectors) = (sectors.into(), sectors);
                }
                site.totals += totals;
            }
        }
    }

    /// The result.
    pub fn accesses(&self) -> Accesses {
        let site = |(key, gathered): &(Key, Gathered)| {
            let Key { at, space, access, bytes } = *key;
            Site { location: at.into(), space, access, bytes, totals: gathered.totals }
        };
        let mut sites: Vec<_> = self.sites.iter().collect();
        sites.sort_by_key(|(key, _)| key.at);
        Accesses { sites: sites.into_iter().map(site).collect() }
    }
}
