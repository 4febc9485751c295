//! Decoded blocks that are kept, up to so many bytes: the ones used last.
//!
//! The crate `lru` keeps the order; what it counts is entries, so bytes are counted here. A block that would not fit is not kept.

use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

/// A block's number, and the band that its cells are of.
pub(crate) type Key = (usize, usize);

/// What a block costs beside its bytes.
const ENTRY: usize = 128;

/// Decoded blocks.
pub(crate) struct Cache {
    most: usize,
    entries: Mutex<Entries>,
}

struct Entries {
    blocks: LruCache<Key, Arc<Vec<u8>>>,
    bytes: usize,
}

impl Cache {
    /// One for `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, entries: Mutex::new(Entries { blocks: LruCache::unbounded(), bytes: 0 }) }
    }

    /// A block, if it is kept.
    pub(crate) fn get(&self, key: Key) -> Option<Arc<Vec<u8>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).blocks.get(&key).cloned()
    }

    /// Keeps a block.
    pub(crate) fn put(&self, key: Key, block: &Arc<Vec<u8>>) {
        let size = block.len() + ENTRY;
        if size > self.most {
            return;
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = &mut *entries;
        if let Some(same) = entries.blocks.pop(&key) {
            entries.bytes -= same.len() + ENTRY;
        }
        while entries.bytes + size > self.most {
            let Some((_, oldest)) = entries.blocks.pop_lru() else { break };
            entries.bytes -= oldest.len() + ENTRY;
        }
        entries.bytes += size;
        entries.blocks.put(key, block.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_longest_goes() {
        let cache = Cache::new(3 * (100 + ENTRY));
        let block = |byte| Arc::new(vec![byte; 100]);
        for i in 0..3 {
            cache.put((i, 0), &block(i as u8));
        }
        assert!(cache.get((0, 0)).is_some());
        cache.put((3, 0), &block(3));
        // The same again takes no room.
        cache.put((3, 0), &block(3));
        let entries: Vec<bool> = (0..4).map(|i| cache.get((i, 0)).is_some()).collect();
        assert_eq!(entries, [true, false, true, true]);
        cache.put((4, 0), &Arc::new(vec![0; 1000]));
        assert!(cache.get((4, 0)).is_none() && cache.get((0, 0)).is_some());
        assert!(cache.get((0, 1)).is_none());
    }
}
