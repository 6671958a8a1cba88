//! Typed values that an HTTP request carries to its handlers.
//!
//! In: values from `authorize`, or from a layer in front of the server. Out: the same values, by
//! type. An empty set allocates nothing, and a copy shares the values.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::any::{Any, TypeId};
use core::fmt;

use crate::frame::http1::Head;

/// Values by type, at most one per type, such as the claims of a token.
///
/// A value is dropped with its request, while the sessions of the server may be locked. So its drop
/// must not use the server.
///
/// ```
/// use mcp_proto::server::Extensions;
///
/// #[derive(Debug, PartialEq)]
/// struct Scopes(Vec<String>);
///
/// let extensions = Extensions::default().with(Scopes(vec!["files:read".into()]));
/// assert_eq!(extensions.get::<Scopes>().map(|scopes| scopes.0.len()), Some(1));
/// assert_eq!(extensions.get::<u32>(), None);
/// ```
#[derive(Clone, Default)]
pub struct Extensions(Option<Arc<Values>>);

type Values = BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>;

impl Extensions {
    /// Adds a value, in place of an earlier one of the same type.
    pub fn insert<T: Any + Send + Sync>(&mut self, value: T) {
        let values = self.0.get_or_insert_default();
        Arc::make_mut(values).insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// Returns the set with this value, in place of an earlier one of the same type.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.insert(value);
        self
    }

    /// Adds all values of another set; they replace values of the same types.
    pub fn extend(&mut self, others: Self) {
        match (&mut self.0, others.0) {
            (_, None) => {}
            (values @ None, others) => *values = others,
            (Some(values), Some(others)) => {
                let others = others.iter().map(|(id, value)| (*id, value.clone()));
                Arc::make_mut(values).extend(others);
            }
        }
    }

    /// The value of this type, if there is one.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.as_ref()?.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// The length of the request's head, if the head is among the values.
    pub(crate) fn head_bytes(&self) -> usize {
        self.get().map_or(0, |head: &Head| head.text().len())
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|values| values.is_empty())
    }
}

/// Two sets are equal if they share their values.
impl PartialEq for Extensions {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

impl Eq for Extensions {}

/// Shows only the number of values, because they may be secrets.
impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.as_ref().map_or(0, |values| values.len());
        write!(f, "Extensions({count})")
    }
}
