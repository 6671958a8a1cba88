//! The trace that a request belongs to, as members of `_meta` in both eras.
//!
//! In: the members of a received request, or the values of an application. Out: a [`TraceContext`],
//! or the members for a request to send. The values are forwarded unchanged and not interpreted.
//!
//! [Specification: OpenTelemetry trace context](https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta)

use alloc::string::String;
use alloc::vec::Vec;

use crate::json::Raw;
use crate::json::write::List;
use crate::message::{Member, Params};

/// The trace that a request belongs to, in the words of [W3C Trace Context] and [W3C Baggage].
///
/// [W3C Trace Context]: https://www.w3.org/TR/trace-context/
/// [W3C Baggage]: https://www.w3.org/TR/baggage/
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct TraceContext {
    /// The trace and the span of the sender, such as
    /// `00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01`.
    pub traceparent: Option<String>,
    /// Vendor-specific data of the trace.
    pub tracestate: Option<String>,
    /// Application data of the trace.
    pub baggage: Option<String>,
}

impl TraceContext {
    /// The keys of `_meta`.
    pub const KEYS: [&str; 3] = ["traceparent", "tracestate", "baggage"];

    /// The trace with this `traceparent`.
    pub fn new(traceparent: impl Into<String>) -> Self {
        Self { traceparent: Some(traceparent.into()), ..Self::default() }
    }

    /// The value of one of [`TraceContext::KEYS`], for the `Extractor` of a propagator.
    pub fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => self.traceparent.as_deref(),
            "tracestate" => self.tracestate.as_deref(),
            "baggage" => self.baggage.as_deref(),
            _ => None,
        }
    }

    /// Sets the value of one of [`TraceContext::KEYS`], and ignores other keys; for the `Injector`
    /// of a propagator.
    pub fn set(&mut self, key: &str, value: impl Into<String>) {
        let place = match key {
            "traceparent" => &mut self.traceparent,
            "tracestate" => &mut self.tracestate,
            "baggage" => &mut self.baggage,
            _ => return,
        };
        *place = Some(value.into());
    }

    /// Returns whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads the trace context of a request; members that are not strings are ignored.
    pub(crate) fn read(params: &Params) -> Option<Self> {
        // Most requests have no trace.
        if !params.has_any(&[Member::MetaTraceparent, Member::MetaTracestate, Member::MetaBaggage])
        {
            return None;
        }
        let text = |member| params.raw(member).and_then(Raw::string).map(Into::into);
        let trace = Self {
            traceparent: text(Member::MetaTraceparent),
            tracestate: text(Member::MetaTracestate),
            baggage: text(Member::MetaBaggage),
        };
        (!trace.is_empty()).then_some(trace)
    }

    /// Writes the members of `_meta`.
    pub(crate) fn write(&self, meta: &mut List<'_, Vec<u8>>) {
        for key in Self::KEYS {
            if let Some(value) = self.get(key) {
                meta.text(key, value);
            }
        }
    }
}
