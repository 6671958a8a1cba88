//! Limits of a machine.

use crate::time::Duration;

/// The maximum length of a message, whatever its limit is: positions in messages have 32 bits.
pub(crate) const MAX_MESSAGE_BYTES: usize = u32::MAX as usize - 1;

/// The limits of a machine. Memory and waits stay within them, whatever a peer sends.
///
/// ```
/// let mut limits = mcp_proto::Limits::default();
/// limits.max_line_bytes = 1024 * 1024;
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum length of a line, in bytes without its newline; default 16 MiB. A longer line is
    /// answered with -32600 and skipped. Never more than 4 GiB. Over HTTP a client applies this
    /// limit to an answer as JSON, and [`max_sse_event_bytes`](Self::max_sse_event_bytes) to an
    /// answer as an event; a longer answer fails its call.
    pub max_line_bytes: usize,
    /// The maximum length of the head of an HTTP request, and of the trailer of its body, in bytes;
    /// default 32 KiB. A longer head is answered with 431, and a request line over half of it with
    /// 414. Never more than 64 KiB, nor less than 64 bytes.
    pub max_head_bytes: usize,
    /// The maximum number of header fields of an HTTP request, and of trailer fields; default 100.
    /// More are answered with 431.
    pub max_fields: usize,
    /// The maximum length of the body of an HTTP request, in bytes; default 4 MiB. A longer body is
    /// answered with 413, at once if its length is announced. Never more than 4 GiB.
    pub max_body_bytes: usize,
    /// The maximum length of a server-sent event that a client reads, in bytes of its lines without
    /// line ends and comments; default 16 MiB. A longer event is reported and skipped. If the event
    /// is the answer to a call, the call fails. Never more than 4 GiB.
    pub max_sse_event_bytes: usize,
    /// The maximum nesting of arrays and objects in a message; default 128. A greater value counts
    /// as 128. A deeper message is answered with -32600.
    pub max_depth: usize,
    /// The maximum number of requests in flight, and of unanswered messages of batches; default
    /// 1024. Further requests and batches get -32603, a longer batch -32600.
    ///
    /// In a client: the maximum number of open calls and subscriptions, and of pending requests for
    /// input. A further call fails, and a further request is refused, as for `max_in_flight_bytes`.
    /// Over HTTP a notification fails while as many wait to be accepted by the server.
    pub max_in_flight: usize,
    /// The maximum bytes of messages whose requests are in flight, and of the input that legacy
    /// clients have sent for them; default 64 MiB. A single request is always accepted, whatever
    /// its size. A further request that exceeds the limit is answered with -32603. So is a request
    /// whose input exceeds the limit. If only one request is in flight, its own bytes do not
    /// count.
    ///
    /// In a client: the maximum bytes of pending requests for input. A legacy server that exceeds
    /// the limit is answered with an error; with a modern server the call ends.
    ///
    /// In a bridge: the maximum bytes, for each connection to a server, of what waits for the input
    /// of clients. Modern clients: their calls, unless only one waits; beyond the limit the request
    /// of the legacy server is answered with an error. Legacy clients: their first answers, and the
    /// states of the modern server; beyond the limit the call ends.
    pub max_in_flight_bytes: usize,
    /// The maximum bytes of the answers to one batch; default 1 MiB. A result beyond the limit is
    /// replaced by -32603. Later requests of the batch are answered with -32603, and not executed.
    pub max_batch_bytes: usize,
    /// The maximum bytes that an endpoint stores for all its clients; default 256 MiB. They are
    /// requests being read and in flight, unread answers, subscriptions of sessions, and events
    /// kept for resumption.
    ///
    /// Above the limit, the oldest of the kept events are dropped. Everything else may use three
    /// quarters of the limit: new work beyond that is answered with -32603 (over HTTP 503) before
    /// anything is executed. A subscription of a session is refused above half of the limit. An
    /// executed request whose result does not fit is answered with -32603 as well.
    ///
    /// Heads, bodies, requests and answers of modern clients up to 4 KiB do not count. Clones of a
    /// `Config` share one count. The process needs about twice as much memory, because handlers
    /// decode their arguments.
    ///
    /// In a bridge: the maximum bytes of what waits for the input of clients, on all connections to
    /// the server, with a count of its own. Three quarters are for calls, answers and states; a
    /// response that comes while its call waits may use the whole limit, and is dropped above it.
    pub max_endpoint_bytes: usize,
    /// The maximum bytes of parameters of calls and notifications that a client queues; default 16
    /// MiB. A client queues them while the era of the server is unknown, or while the server does
    /// not read its input. A single call or notification is always accepted, whatever its size. A
    /// further one that exceeds the limit fails.
    pub max_unsent_bytes: usize,
    /// The maximum length of a request id or progress token, in bytes as sent; default 1 KiB. A
    /// request with a longer id or token is answered with -32600.
    pub max_id_bytes: usize,
    /// The maximum bytes of `clientInfo` and of `capabilities`, each, that a legacy session stores;
    /// default 16 KiB. An `initialize` with more is answered with -32602. So is a request through a
    /// bridge with longer capabilities, which its connection to the server would keep.
    pub max_client_bytes: usize,
    /// The maximum number of open subscriptions of a connection on stdio, of a legacy session, and
    /// of a `subscriptions/listen` over HTTP; default 1024. Each URI counts as one, and so does a
    /// `subscriptions/listen` without URIs. A further subscription is answered with -32603.
    ///
    /// An HTTP endpoint as a whole allows 8 times `max_connections`, and at least this number,
    /// counted as for `max_subscriptions_per_holder`. Above that, the holder with the most
    /// subscriptions loses its newest `subscriptions/listen`, or the new one is refused.
    pub max_subscriptions: usize,
    /// The maximum number of subscriptions of one holder in all its `subscriptions/listen` over
    /// HTTP; default 32,768. A URI counts once for each 128 bytes. For holders see
    /// `max_sessions_per_holder`. A further subscription is answered with -32603 and 503.
    pub max_subscriptions_per_holder: usize,
    /// The maximum bytes of the URIs of all subscriptions that count for `max_subscriptions`;
    /// default 1 MiB. A subscription that exceeds the limit is answered with -32603.
    pub max_subscription_bytes: usize,
    /// The maximum number of pages of a list that a client fetches; default 1024. A longer list is
    /// an error.
    pub max_pages: usize,
    /// The maximum bytes of the items of a list that a client fetches; default 64 MiB. The last
    /// page may exceed the limit. A longer list is an error.
    pub max_list_bytes: usize,
    /// The maximum number of times that a request may ask for input; default 10. After that a
    /// server answers a legacy request with -32603, and a client ends the call. A client counts the
    /// rounds of a call and of its task together.
    pub max_input_rounds: usize,
    /// The longest time that a legacy client may take to give all inputs of one round; default 5
    /// minutes. After that the request is answered with -32603. `Duration::MAX` disables the
    /// timeout.
    pub input_timeout: Duration,
    /// The longest time that a handler may take to answer; default 1 hour. After that the request
    /// is answered with -32603, and the handler is notified of the cancellation. `Duration::MAX`
    /// disables the timeout. A forwarded subscription has no timeout.
    pub handler_timeout: Duration,
    /// The longest time that requests in flight may continue after the end of input; default 2 s.
    /// Then they are cancelled and the connection closes.
    pub drain: Duration,
    /// The longest time that the head of an HTTP request may take from its first byte on; default
    /// 10 s. Then it is answered with 408.
    pub head_timeout: Duration,
    /// The longest time that the body of an HTTP request may take; default 30 s. Then it is
    /// answered with 408.
    pub body_timeout: Duration,
    /// The longest time that a `Verifier` may take for the token of an HTTP request; default 10 s.
    /// Then it is answered with 503.
    pub verify_timeout: Duration,
    /// The longest time that an HTTP connection may be open with nothing in flight; default 75 s.
    /// Then it is closed. With zero it is closed after its answers, and its first request may take
    /// `head_timeout` to begin.
    pub connection_idle_timeout: Duration,
    /// The longest time that an HTTP response may be silent; default 15 s. Then the response
    /// becomes a stream of events, unless it is one already, and a comment is sent to keep the
    /// connection alive. A stream has no session id and no status of an error, so with zero no
    /// legacy client gets a session. Below 1 ms further comments come every second.
    pub keep_alive: Duration,
    /// The maximum number of HTTP connections that an adapter serves at a time; default 16,384, at
    /// least 1. To accept a further one, the adapter ends the longest idle connection of the holder
    /// with the most; see `max_sessions_per_holder`. If none is idle, a connection ends that sends
    /// a body, or else one with a stream that answers no request. A connection that owes a response
    /// never ends for this. If none can end, the new one waits.
    pub max_connections: usize,
    /// The maximum number of open connections of an HTTP client; default 32, at least 4. Further
    /// requests are queued: answers and notifications first, for which a quarter of the connections
    /// is reserved, then calls in order. Streams that stay open take at most half of the
    /// connections; a further `subscriptions/listen` fails. Requests of a sign-in have one more
    /// connection.
    pub max_client_connections: usize,
    /// The maximum number of sessions of legacy HTTP clients; default 10,000. For a further one,
    /// the endpoint ends the longest idle session of the holder with the most; see
    /// `max_sessions_per_holder`. If none is idle, a session ends that has an open stream, but no
    /// request in flight. If none can end, `initialize` is answered with 503.
    pub max_sessions: usize,
    /// The maximum number of sessions of one holder; default 2,500. A holder is a principal, or,
    /// unless `http::Config::behind_proxy`, an address that an adapter passes (of IPv6 its first 64
    /// bits). Limits per holder do not apply to other clients. For a further session, the endpoint
    /// ends one of the holder, as for `max_sessions`. If none can end, `initialize` is answered
    /// with 503.
    pub max_sessions_per_holder: usize,
    /// The maximum number of `initialize` requests of a holder at once; default 1,000. After that
    /// one more is allowed per `initialize_interval`. Others are answered with 503.
    pub max_initialize_burst: usize,
    /// The time after which a holder may send another `initialize`, once it has sent
    /// `max_initialize_burst` of them; default 10 ms, which is 100 per second.
    pub initialize_interval: Duration,
    /// The longest time that a session may be idle, without an open stream, a request in flight or
    /// a POST; default 30 minutes. After that it ends.
    pub session_idle_timeout: Duration,
    /// The longest time between the answer to `initialize` and the client's next request; default
    /// 60 s. After that its session ends.
    pub session_init_timeout: Duration,
    /// The maximum number of events of a stream that are kept for a client that is disconnected or
    /// reconnects; default 256. Above the limit, the oldest notifications are dropped, then the
    /// oldest requests to the client, but never an answer. A connected client misses no event while
    /// fewer than 2,048 wait to be sent to it.
    pub max_replay_events: usize,
    /// The maximum bytes of the events that are kept on all streams of a session; default 1 MiB.
    /// Above the limit, events are dropped in the same order as for `max_replay_events`. A longer
    /// answer is sent to a connected client, but not kept: a client that reconnects gets -32603.
    pub max_replay_bytes: usize,
    /// The time for which the events of a complete stream are kept; default 60 s.
    pub replay_timeout: Duration,
    /// The time that a legacy HTTP client should wait before it reconnects for an answer whose
    /// stream was closed, for example by `http::Endpoint::close_stream`; default 1 s.
    pub retry: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_line_bytes: 16 * 1024 * 1024,
            max_head_bytes: 32 * 1024,
            max_fields: 100,
            max_body_bytes: 4 * 1024 * 1024,
            max_sse_event_bytes: 16 * 1024 * 1024,
            max_depth: 128,
            max_in_flight: 1024,
            max_in_flight_bytes: 64 * 1024 * 1024,
            max_batch_bytes: 1024 * 1024,
            max_endpoint_bytes: 256 * 1024 * 1024,
            max_unsent_bytes: 16 * 1024 * 1024,
            max_id_bytes: 1024,
            max_client_bytes: 16 * 1024,
            max_subscriptions: 1024,
            max_subscriptions_per_holder: 32 * 1024,
            max_subscription_bytes: 1024 * 1024,
            max_pages: 1024,
            max_list_bytes: 64 * 1024 * 1024,
            max_input_rounds: 10,
            input_timeout: Duration::from_secs(5 * 60),
            handler_timeout: Duration::from_secs(60 * 60),
            drain: Duration::from_secs(2),
            head_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            verify_timeout: Duration::from_secs(10),
            connection_idle_timeout: Duration::from_secs(75),
            keep_alive: Duration::from_secs(15),
            max_connections: 16 * 1024,
            max_client_connections: 32,
            max_sessions: 10_000,
            max_sessions_per_holder: 2_500,
            max_initialize_burst: 1_000,
            initialize_interval: Duration::from_millis(10),
            session_idle_timeout: Duration::from_secs(30 * 60),
            session_init_timeout: Duration::from_secs(60),
            max_replay_events: 256,
            max_replay_bytes: 1024 * 1024,
            replay_timeout: Duration::from_secs(60),
            retry: Duration::from_secs(1),
        }
    }
}

impl Limits {
    /// The maximum number of subscriptions of all `subscriptions/listen` of an HTTP endpoint.
    pub(crate) fn max_endpoint_subscriptions(&self) -> usize {
        self.max_connections.saturating_mul(8).max(self.max_subscriptions)
    }
}
