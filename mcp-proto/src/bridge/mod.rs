//! The bridge between clients of one era and a server of either.
//!
//! A [`Bridge`] connects [forwarding](crate::server::Registry::forward) servers, which have the
//! clients, with one [forwarding](crate::client::Config::forwards) client, which has the server. It
//! has no connection of its own. [`TABLE`] decides how each message is forwarded; within one era
//! all messages pass unchanged.
//!
//! | input | output |
//! |---|---|
//! | `handle_request` | a call, or an answer by [`TABLE`]; before the server is known it waits |
//! | `handle_notification` | the same notification upstream; nothing, if the machines send their own; `notifications/initialized` sends the requests for input that have waited, and at a modern server subscribes to changes of lists |
//! | `handle_cancelled` | the call is cancelled, with the reason; requests to the client are withdrawn; no answer |
//! | `handle_input_answered` | the answer of a legacy client goes to the server that has asked |
//! | `handle_session_ended` | the subscriptions of the session end; requests for input to it are answered with an error |
//! | `handle_timeout` | what is due by the rows below |
//! | `take_over` | nothing until `Connected`, which renews the subscriptions |
//! | `handle_client_event`: a response | `Respond`; or requests to the client; or nothing, if it is the bridge's own |
//! | a request of the server | `RequestInput` for a legacy client; an `input_required` result for a modern one |
//! | a notification of the server | `Notify` about the request that it is about; else `NotifySession` for the sessions, `Notify` for subscriptions |
//! | `Connected` | the subscriptions of earlier connections, then the waiting requests, are sent |
//! | a modern server ends the subscription of a legacy client | `subscriptions/listen` again, after 1 s to 30 s |
//! | a subscription begins again, `ChangesMissed` | a notification of each possible change; resources in pieces |
//! | `NoStream` | subscriptions of modern clients end, also at the server; of later ones nothing is honoured |
//! | `Closed` | waiting requests, and those whose clients are asked, are answered with -32603; subscriptions of modern clients end |
//! | `Limits::input_timeout` without a retry of a modern client | the call is cancelled |
//! | `Limits::input_timeout` without the `notifications/initialized` of a legacy client | the server that has asked this client gets an error |
//! | a task of a modern server, in answer to a call | `has_tasks` until its TTL has passed |
//!
//! | state of a request | leaves by |
//! |---|---|
//! | waiting for the server to be known | `Connected`, `Closed`, cancellation |
//! | called | a response, cancellation |
//! | asking its legacy client, for a modern server | the last answer, which calls again; a refusal; cancellation; `Closed` |
//! | parked: answered with `input_required`, the call goes on | the retry; `Limits::input_timeout`; `Closed` |
//! | listening, at a legacy server | cancellation, `NoStream`, `Closed`, a connection to a modern server |
//!
//! An answer goes only to the request whose call it answers. A server's request for input goes to
//! the client of the call that it names. A legacy server on a byte stream names no call. In this
//! case the request goes to the only call that may ask, or to the only session. If several calls
//! may ask and all are of one byte stream or session, the request goes to its client. A modern
//! client is asked in answer to its newest call, and in answer to another call if this one ends
//! first. Otherwise the request is refused.
//!
//! [Specification: Versioning](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning)

mod action;
mod calls;
mod cancellations;
mod early_inputs;
mod events;
mod inputs;
mod kept_tasks;
mod listen_retry;
mod listeners;
mod machine;
mod missed_changes;
mod missed_resources;
mod null_members;
mod openings;
mod own_calls;
mod param_headers;
mod parked;
mod resources;
mod rounds;
mod sessions;
mod subscription_load;
mod subscriptions;
mod table;
mod translate;
mod upstream;

pub use action::{BridgeAction, ClientRequest, Config, Ticket};
pub use machine::Bridge;
pub use table::{BridgeMessage, BridgeStep, Code, ERRORS, Fault, TABLE};
