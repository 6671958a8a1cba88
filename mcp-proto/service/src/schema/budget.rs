//! JSON values that count the visits of the validator.
//!
//! The validator has no bound, and some schemas make it visit a value very often. So the values
//! count visits. When the [`Steps`] are spent, every value reads as `null` without children, and
//! the validator soon ends. Its result is void then, and so is each error that it created after
//! that. An error has a copy of its value, which is used as the mark.
//!
//! A string costs one step for [`BYTES_PER_STEP`] bytes. With patterns, it costs its bytes times
//! the bytes of the largest compiled pattern, divided by [`PRODUCT_PER_STEP`]. The slowest engine
//! visits each state of a pattern for each byte. This took at most 0.2 ns for each unit of the
//! product, so a step takes about 1 µs at most. A name costs as much for each pattern of names.

use alloc::borrow::Cow;
use alloc::borrow::ToOwned;
use alloc::string::String;
use core::slice;
use core::sync::atomic::{AtomicUsize, Ordering};

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, cmp, unique};
use serde_json::{Map, Number, Value, map};

/// Bytes of a string that cost one more step.
const BYTES_PER_STEP: usize = 64;

/// Bytes of a string, times bytes of a compiled pattern, that cost one more step.
const PRODUCT_PER_STEP: usize = 4096;

/// The patterns of a schema.
#[derive(Clone, Copy, Default)]
pub(super) struct Patterns {
    /// An upper bound of the bytes of each compiled pattern; 0 if there is none.
    pub(super) size: usize,
    /// The most patterns that one keyword applies to a name.
    pub(super) per_name: usize,
}

impl Patterns {
    /// The steps of a string, for each pattern.
    fn string_steps(self, text: &str) -> usize {
        let steps = text.len().saturating_mul(self.size) / PRODUCT_PER_STEP;
        steps.max(text.len() / BYTES_PER_STEP)
    }

    fn name_steps(self, name: &str) -> usize {
        match self.per_name {
            0 => name.len() / BYTES_PER_STEP,
            count => self.string_steps(name).saturating_mul(count),
        }
    }
}

/// The visits that are left.
pub(super) struct Steps {
    left: AtomicUsize,
    patterns: Patterns,
}

impl Steps {
    pub(super) fn new(count: usize, patterns: Patterns) -> Self {
        Self { left: AtomicUsize::new(count), patterns }
    }

    /// Takes steps; returns false if there were not enough.
    fn take(&self, count: usize) -> bool {
        let take = |left: usize| Some(left.saturating_sub(count));
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok_and(|left| left > count)
    }

    pub(super) fn are_spent(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}

/// Returns whether an error was made before the steps were spent.
pub(super) fn is_sound(error: &jsonschema::ValidationError<'_>) -> bool {
    **error.instance() == Value::Bool(true)
}

/// The JSON representation for the validator.
pub(super) struct Counting;

/// A value, and the visits that are left.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    value: &'a Value,
    steps: &'a Steps,
}

impl<'a> Counted<'a> {
    pub(super) fn new(value: &'a Value, steps: &'a Steps) -> Self {
        Self { value, steps }
    }

    /// The value; `null` when the steps are spent.
    fn visit(&self) -> &'a Value {
        if self.steps.take(1) { self.value } else { &Value::Null }
    }
}

/// Number of values in a value, including itself. Recursive: the depth is at most 128.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(size).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(size).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// The name of a member, as a value.
pub(super) struct Name {
    value: Value,
    steps: Steps,
}

impl Default for Name {
    fn default() -> Self {
        Self { value: Value::Null, steps: Steps::new(usize::MAX, Patterns::default()) }
    }
}

impl Json for Counting {
    type Node<'a> = Counted<'a>;
    type PreparedKey = String;
    type StringBuffer = Name;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Name, string: &str, f: impl FnOnce(Counted<'_>) -> T) -> T {
        buffer.value = Value::String(string.to_owned());
        f(Counted::new(&buffer.value, &buffer.steps))
    }
}

impl<'a> Node<'a, Counting> for Counted<'a> {
    type Object = Members<'a>;
    type Array = Elements<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Members<'a>> {
        let members = self.visit().as_object()?;
        Some(Members { members, steps: self.steps })
    }

    fn as_array(&self) -> Option<Elements<'a>> {
        let elements = self.visit().as_array()?;
        Some(Elements { elements, steps: self.steps })
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.visit().as_str()?;
        let steps = self.steps.patterns.string_steps(text);
        self.steps.take(steps).then_some(Cow::Borrowed(text))
    }

    fn as_number(&self) -> Option<&'a Number> {
        self.visit().as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        self.visit().as_bool()
    }

    fn is_null(&self) -> bool {
        self.visit().is_null()
    }

    fn json_type(&self) -> JsonType {
        match self.visit() {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        !self.steps.are_spent()
            && self.steps.take(size(self.value))
            && cmp::equal(self.value, expected)
    }

    /// The value for an error: false if the steps were spent.
    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(Value::Bool(!self.steps.are_spent()))
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(core::ptr::from_ref(self.value) as usize))
    }

    fn container_identity(&self) -> Option<NodeIdentity> {
        if self.value.is_object() || self.value.is_array() { self.identity() } else { None }
    }
}

/// The members of an object.
pub(super) struct Members<'a> {
    members: &'a Map<String, Value>,
    steps: &'a Steps,
}

impl<'a> Object<'a, Counting> for Members<'a> {
    type Node = Counted<'a>;
    type MemberName = &'a str;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        self.members.len()
    }

    fn get(&self, key: &String) -> Option<Counted<'a>> {
        let enough = self.steps.take(1);
        self.members.get(key).filter(|_| enough).map(|value| Counted::new(value, self.steps))
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter { members: self.members.iter(), steps: self.steps }
    }
}

/// The members of an object, as an iterator.
pub(super) struct MembersIter<'a> {
    members: map::Iter<'a>,
    steps: &'a Steps,
}

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, Counted<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.members.next()?;
        let enough = self.steps.take(1 + self.steps.patterns.name_steps(name));
        enough.then_some((name, Counted::new(value, self.steps)))
    }
}

/// The elements of an array.
pub(super) struct Elements<'a> {
    elements: &'a [Value],
    steps: &'a Steps,
}

impl<'a> Array<'a, Counting> for Elements<'a> {
    type Node = Counted<'a>;
    type ElementsIter = ElementsIter<'a>;

    fn len(&self) -> usize {
        self.elements.len()
    }

    fn elements(&self) -> ElementsIter<'a> {
        ElementsIter { elements: self.elements.iter(), steps: self.steps }
    }

    fn is_unique(&self) -> bool {
        let size = self.elements.iter().map(size).sum();
        self.steps.take(size) && unique::is_unique(self.elements)
    }
}

/// The elements of an array, as an iterator.
pub(super) struct ElementsIter<'a> {
    elements: slice::Iter<'a, Value>,
    steps: &'a Steps,
}

impl<'a> Iterator for ElementsIter<'a> {
    type Item = Counted<'a>;

    fn next(&mut self) -> Option<Counted<'a>> {
        let value = self.elements.next()?;
        self.steps.take(1).then(|| Counted::new(value, self.steps))
    }
}
