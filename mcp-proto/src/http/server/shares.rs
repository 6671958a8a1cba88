//! Shares of a limit: the amount that each holder uses of a limit of the endpoint, and the items of
//! each holder.
//!
//! In: items that holders acquire and release. Out: the holders above their fair share, the largest
//! first. Sessions, listeners and connections use this, and each decides itself which item of such
//! a holder ends first.
//!
//! The *fair share* is the limit divided by the number of holders. If the limit is full, at least
//! one holder is above its fair share, once the request counts as part of the requester's amount.
//! So there is always a holder that can lose an item, and a holder within its share never loses an
//! item.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::{IpAddr, Ipv6Addr};

use super::Config;
use super::proxies::trusts;

/// The party that is charged for sessions, listeners and connections.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Holder {
    /// All clients that the server cannot distinguish. They have no limit of their own.
    Unknown,
    /// An IPv4 address, or the network of an IPv6 address: its first 64 bits.
    Address(IpAddr),
    /// A principal that `Config::authorize` has named.
    Principal(Arc<str>),
}

impl Holder {
    /// The holder that a request is charged to: its principal, otherwise its address, unless that
    /// is the address of a proxy.
    pub fn new(config: &Config, principal: Option<&Arc<str>>, peer: Option<IpAddr>) -> Self {
        match (principal, peer) {
            (Some(principal), _) => Self::Principal(principal.clone()),
            (None, Some(peer))
                if !config.behind_proxy && !trusts(&config.trusted_proxies, peer) =>
            {
                Self::Address(network(peer))
            }
            (None, _) => Self::Unknown,
        }
    }

    /// Returns whether limits per holder apply.
    pub fn is_known(&self) -> bool {
        *self != Self::Unknown
    }
}

/// The part of an address that identifies one client. A site gets an IPv6 network of 64 bits or
/// more, so it may use as many addresses as it likes.
fn network(peer: IpAddr) -> IpAddr {
    const MASK: u128 = !(u64::MAX as u128);
    match peer.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & MASK).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// The most holders that are checked to make room for one item.
const MAX_CANDIDATES: usize = 16;

/// The amounts and the items of all holders.
#[derive(Debug)]
pub struct Shares<K> {
    accounts: BTreeMap<Holder, HolderShare<K>>,
    /// The holders, ordered by their amounts.
    ranking: BTreeSet<(usize, Holder)>,
    total: usize,
}

#[derive(Debug)]
struct HolderShare<K> {
    amount: usize,
    items: BTreeSet<K>,
}

impl<K> Default for Shares<K> {
    fn default() -> Self {
        Self { accounts: BTreeMap::new(), ranking: BTreeSet::new(), total: 0 }
    }
}

impl<K: Ord> Shares<K> {
    /// Charges an amount to a holder.
    pub fn charge(&mut self, holder: &Holder, amount: usize) {
        self.change(holder, |before| before.saturating_add(amount));
    }

    /// Credits an amount to a holder.
    pub fn credit(&mut self, holder: &Holder, amount: usize) {
        self.change(holder, |before| before.saturating_sub(amount));
    }

    fn change(&mut self, holder: &Holder, change: impl FnOnce(usize) -> usize) {
        let before = self.amount(holder);
        let after = change(before);
        self.total = self.total.saturating_sub(before).saturating_add(after);
        self.ranking.remove(&(before, holder.clone()));
        if after == 0 {
            self.accounts.remove(holder);
            return;
        }
        self.ranking.insert((after, holder.clone()));
        let none = || HolderShare { amount: 0, items: BTreeSet::new() };
        self.accounts.entry(holder.clone()).or_insert_with(none).amount = after;
    }

    /// Adds an item of a holder that is charged for something.
    pub fn insert(&mut self, holder: &Holder, item: K) {
        if let Some(account) = self.accounts.get_mut(holder) {
            account.items.insert(item);
        }
    }

    /// Removes an item of a holder.
    pub fn remove(&mut self, holder: &Holder, item: &K) {
        if let Some(account) = self.accounts.get_mut(holder) {
            account.items.remove(item);
        }
    }

    /// The items of a holder, in order.
    pub fn items(&self, holder: &Holder) -> impl DoubleEndedIterator<Item = &K> {
        self.accounts.get(holder).into_iter().flat_map(|account| &account.items)
    }

    /// The amount of a holder.
    pub fn amount(&self, holder: &Holder) -> usize {
        self.accounts.get(holder).map_or(0, |account| account.amount)
    }

    /// The sum of the amounts of all holders.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The holders that would be above their fair share of `max` if `requester` got `amount` more,
    /// the largest first. Among equals `requester` comes first.
    pub fn above_fair_share(&self, requester: &Holder, amount: usize, max: usize) -> Vec<Holder> {
        let others = self.ranking.iter().rev().filter(|(_, holder)| holder != requester);
        let count = self.accounts.len() + usize::from(!self.accounts.contains_key(requester));
        let fair = max / count.max(1);
        let sum = self.amount(requester).saturating_add(amount);
        let requester = core::iter::once((sum, requester)).filter(|(amount, _)| *amount > fair);
        let others = others.take(MAX_CANDIDATES).map(|(amount, holder)| (*amount, holder));
        let others = others.take_while(|(amount, _)| *amount > fair);
        let mut candidates: Vec<(usize, &Holder)> = requester.chain(others).collect();
        // A stable sort: `requester` stays first among equals.
        candidates.sort_by_key(|(amount, _)| Reverse(*amount));
        candidates.into_iter().map(|(_, holder)| holder.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Holder {
        Holder::new(&Config::default(), None, Some(text.parse().unwrap()))
    }

    #[test]
    fn second_hour_20_an_ipv6_network_is_one_holder() {
        assert_eq!(address("2001:db8::1"), address("2001:db8::ffff:1"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
        assert_eq!(address("::ffff:192.0.2.1"), address("192.0.2.1"));
        assert_ne!(address("192.0.2.1"), address("192.0.2.2"));
    }

    #[test]
    fn second_hour_20_behind_a_proxy_only_principals_are_holders() {
        let config = Config { behind_proxy: true, ..Config::default() };
        let peer = Some("192.0.2.1".parse().unwrap());
        assert_eq!(Holder::new(&config, None, peer), Holder::Unknown);
        let alice: Arc<str> = "alice".into();
        let holder = Holder::new(&config, Some(&alice), peer);
        assert_eq!(holder, Holder::Principal(alice));
    }

    #[test]
    fn whoever_holds_most_comes_first_and_nobody_within_a_fair_share() {
        let [a, b, c] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(address);
        let mut shares = Shares::<u8>::default();
        shares.charge(&a, 7);
        shares.charge(&b, 2);
        assert_eq!(shares.above_fair_share(&b, 6, 9), [b.clone(), a.clone()]);
        let above = shares.above_fair_share(&c, 1, 9);
        assert_eq!(above.iter().collect::<Vec<_>>(), [&a]);
        shares.credit(&a, 7);
        assert_eq!((shares.total(), shares.amount(&a)), (2, 0));
        assert_eq!(shares.above_fair_share(&b, 1, 2), [b]);
    }
}
