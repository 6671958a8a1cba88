//! The binding of a server to Streamable HTTP, in both eras at one endpoint.
//!
//! In: HTTP requests. Out: HTTP responses, and events for the application. Three levels can each be
//! used separately:
//!
//! | with | use |
//! |---|---|
//! | a socket | [`Connection`]: bytes in, bytes out |
//! | an HTTP stack, such as hyper, a function as a service, a WASM host | [`Exchange`]: a head and a body in, a head and data out; [`Admission`], if the head comes first |
//! | a proxy that routes by headers | [`headers`](crate::headers), and [`frame::http1`](crate::frame::http1) |
//!
//! Exchanges share the sessions of legacy clients and the listeners of modern ones in an
//! [`Endpoint`], which an exchange visits. Of the modern requests only `subscriptions/listen`
//! visits the endpoint, because the others share nothing with each other.
//!
//! A [`Client`] connects to a [`Url`].
//!
//! # Which answer
//!
//! The first step that fails answers:
//!
//! | step | fails if | answer |
//! |---|---|---|
//! | path | it is not [`Config::path`], unless that is empty; the query is ignored | 404 |
//! | host | it is not among [`Config::allowed_hosts`] | 403, an error without id |
//! | origin | there is one, and it is not allowed | 403, an error without id |
//! | auth | [`Config::verifier`] or [`Config::authorize`] refuses | 401 or 403, with `WWW-Authenticate`; 503 while a token cannot be verified |
//! | http-method | it is not POST, nor GET or DELETE where there are sessions | 405, with `Allow` |
//! | media | a POST is no `application/json`, or has a content coding | 415 |
//! | accept | not all types that an answer may have are acceptable | 406 |
//! | json, shape | [`message::parse`](crate::message::parse) | 400 |
//! | era | [`negotiate::TABLE`](crate::negotiate::TABLE) | 400 |
//! | scope | a tool requires scopes that the token lacks | 403, with `WWW-Authenticate` |
//! | session, resumption | legacy: there is no such session, or no such event | 404, 400 |
//! | all others | [`status()`] | |
//!
//! [Specification: Streamable HTTP](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)

pub mod client;
mod media;
pub(crate) mod server;

pub use client::Client;
pub use server::{
    Activity, Admission, Authorization, Authorize, Config, Connection, Endpoint, EndpointAction,
    Exchange, ExchangeAction, ProxyNetwork, ProxyNetworkError, RouteResponse, Routes, Sessions,
    Shared, status,
};

pub use crate::challenge::{Challenge, Unauthorized};
pub use crate::error::UrlError;
pub use crate::frame::http1::{Head, ResponseHead};
pub use crate::url::{Scheme, Url};
