//! Serial numbers of the requests in flight, by their ids.
//!
//! In: ids and serial numbers. Out: the serial number of an id, if the id is in flight.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use core::cmp::Ordering;

use crate::message::RequestId;
use crate::seq_map::{insert_at, remove_at};

/// Serial numbers by id: a sorted queue of up to [`MAX_RECENT`] ids, and a tree. A full queue is
/// emptied into the tree, so few ids of short calls ever are in the tree. With all new ids in the
/// tree, a call beside 1,000 others cost 8 % more. With a vector of 1,000 ids, a call moved 48 KB
/// and cost three times as much.
#[derive(Debug, Default)]
pub(super) struct Ids {
    recent: VecDeque<(RequestId, u64)>,
    #[expect(clippy::box_collection, reason = "8 bytes in place of 24 where there is none")]
    older: Option<Box<BTreeMap<RequestId, u64>>>,
}

/// The most ids in the sorted queue.
const MAX_RECENT: usize = 64;

impl Ids {
    /// Creates an empty table with room for `capacity` ids.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { recent: VecDeque::with_capacity(capacity), older: None }
    }

    pub(super) fn insert(&mut self, id: &RequestId, serial: u64) {
        match self.find(id) {
            Ok(at) => {
                if let Some((_, before)) = self.recent.get_mut(at) {
                    *before = serial;
                }
            }
            Err(_) if self.find_older(id).is_some() => {
                self.older.get_or_insert_default().insert(id.clone(), serial);
            }
            Err(at) if self.recent.len() < MAX_RECENT => {
                insert_at(&mut self.recent, at, (id.clone(), serial));
            }
            Err(_) => {
                self.older.get_or_insert_default().extend(self.recent.drain(..));
                self.recent.push_back((id.clone(), serial));
            }
        }
    }

    pub(super) fn remove(&mut self, id: &RequestId) -> bool {
        match self.find(id) {
            Ok(at) => remove_at(&mut self.recent, at).is_some(),
            Err(_) => self.older.as_mut().is_some_and(|older| older.remove(id).is_some()),
        }
    }

    pub(super) fn get(&self, id: &RequestId) -> Option<u64> {
        match self.find(id) {
            Ok(at) => self.recent.get(at).map(|(_, serial)| *serial),
            Err(_) => self.find_older(id),
        }
    }

    fn find_older(&self, id: &RequestId) -> Option<u64> {
        let older = self.older.as_ref()?;
        // Most clients count their requests.
        let (last, _) = older.last_key_value()?;
        if id > last { None } else { older.get(id).copied() }
    }

    pub(super) fn len(&self) -> usize {
        self.recent.len() + self.older.as_ref().map_or(0, |older| older.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Most new ids are greater than all others, and most requests are answered in order.
    #[inline]
    fn find(&self, id: &RequestId) -> Result<usize, usize> {
        let count = self.recent.len();
        match self.recent.back().map(|(last, _)| id.cmp(last)) {
            None | Some(Ordering::Greater) => Err(count),
            Some(Ordering::Equal) => Ok(count - 1),
            Some(Ordering::Less) if self.recent.front().is_some_and(|(first, _)| first == id) => {
                Ok(0)
            }
            Some(Ordering::Less) => self.recent.binary_search_by(|(other, _)| other.cmp(id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_however_many_there_are() {
        // A linear congruential generator: any order will do.
        let mut seed = 7_u64;
        let mut next = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            i64::try_from((seed >> 33) % below).unwrap()
        };
        let mut ids = Ids::default();
        let mut model = BTreeMap::new();
        for serial in 0..20_000 {
            let number = next(300);
            let id = RequestId::number(number);
            if next(3) > 0 {
                ids.insert(&id, serial);
                model.insert(number, serial);
            } else {
                assert_eq!(ids.remove(&id), model.remove(&number).is_some());
            }
            let other = next(300);
            assert_eq!(ids.get(&RequestId::number(other)), model.get(&other).copied());
            assert_eq!((ids.len(), ids.is_empty()), (model.len(), model.is_empty()));
        }
        assert!(model.len() > MAX_RECENT, "the tree is used");
    }
}
