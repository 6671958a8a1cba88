//! Verbs for authors of servers: resources, routes, callers, middleware, filters, state, mounts.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

mod callers;
mod filters;
mod methods;
mod middleware;
mod mounts;
mod remote_tools;
mod resources;
mod routes;
mod state;
