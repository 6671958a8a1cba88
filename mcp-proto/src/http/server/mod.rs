//! The server's half of Streamable HTTP.
//!
//! | file | owns |
//! |---|---|
//! | `admit`, `refused`, `security` | the steps that need only the head |
//! | `action` | the actions of exchanges and of the endpoint |
//! | `exchange` | one request and its answer |
//! | `endpoint`, `listeners`, `sessions` | what exchanges share |
//! | `shares`, `rates`, `alarms` | the limits of each holder, and the reports of those that are reached |
//! | `connection`, `request`, `intake`, `outgoing`, `watch` | one socket |
//! | `protected` | the metadata of a protected server, and checks of tokens |
//! | `proxies` | addresses of clients behind trusted proxies |
//! | `admission` | a request that another HTTP stack reads |
//! | `config`, `route` | the settings, and the responses for other paths |
//! | `status` | the status of an error |
//! | `unsent` | messages that are encoded when they are sent |
//!
//! The page of [`http`](crate::http) has the steps and their answers. `sessions` is only for legacy
//! clients.

mod action;
mod admission;
mod admit;
pub(crate) mod alarms;
mod config;
mod connection;
mod endpoint;
pub(crate) mod exchange;
pub(crate) mod intake;
mod listeners;
mod outgoing;
mod protected;
mod proxies;
mod rates;
mod refused;
mod request;
mod route;
mod security;
mod sessions;
pub(crate) mod shares;
pub mod status;
mod unsent;
mod watch;

pub use action::{EndpointAction, ExchangeAction};
pub use admission::Admission;
pub use config::{Authorization, Authorize, Config, Sessions, Shared};
pub use connection::Connection;
pub use endpoint::Endpoint;
pub use exchange::Exchange;
use exchange::RequestCache;
pub use proxies::{ProxyNetwork, ProxyNetworkError};
pub use request::Activity;
pub use route::{RouteResponse, Routes};
pub use status::status;
