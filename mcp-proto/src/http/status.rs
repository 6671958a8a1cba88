//! The status that answers each rung: one pure table.

use crate::error::Rung;
use crate::version::Era;

/// The status of a response with the error of a request that failed at `rung`.
///
/// | rung | status |
/// |---|---|
/// | host, origin | 403 |
/// | media | 415 |
/// | accept | 406 |
/// | json, shape, era, resumption, envelope, version, headers, param-headers, capability | 400 |
/// | session | 404 |
/// | method | 404 for modern clients, 200 for legacy ones |
/// | params, result | 200 |
/// | capacity | 503 |
///
/// Errors that handlers make have no rung, and stay on 200.
///
/// [Specification: Streamable HTTP](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)
pub fn status(rung: Rung, era: Era) -> u16 {
    match (rung, era) {
        (Rung::Host | Rung::Origin, _) => 403,
        (Rung::Media, _) => 415,
        (Rung::Accept, _) => 406,
        (
            Rung::Json
            | Rung::Shape
            | Rung::Era
            | Rung::Resumption
            | Rung::Envelope
            | Rung::Version
            | Rung::Headers
            | Rung::ParamHeaders
            | Rung::Capability,
            _,
        ) => 400,
        (Rung::Session, _) | (Rung::Method, Era::Modern) => 404,
        (Rung::Method, Era::Legacy) | (Rung::Params | Rung::Result, _) => 200,
        (Rung::Capacity, _) => 503,
    }
}
