//! Wrappers of a service: the methods of [`Drive`](mcp_service::Drive) that they leave as they are.

/// Defines methods of [`Drive`](mcp_service::Drive) that call the same method of `self.service`.
///
/// ```
/// # use mcp_service::{Drive, Service};
/// # use mcp_proto::{Bytes, Instant};
/// struct Counting {
///     service: Service,
///     count: usize,
/// }
///
/// impl Drive for Counting {
///     fn handle_bytes(&mut self, now: Instant, data: Bytes) {
///         self.count += data.len();
///         self.service.handle_bytes(now, data);
///     }
///
///     mcp_tests::pass_to_service! {
///         handle_eof handle_stop turn output handle_written handle_write_closed poll_timeout
///         wants_read is_write_blocked is_closed flush_deadline is_aborted
///     }
/// }
/// ```
#[macro_export]
macro_rules! pass_to_service {
    ($($method:ident)+) => { $($crate::pass_to_service! { @ $method })+ };
    (@ handle_bytes) => {
        fn handle_bytes(&mut self, now: mcp_proto::Instant, data: mcp_proto::Bytes) {
            self.service.handle_bytes(now, data);
        }
    };
    (@ handle_eof) => {
        fn handle_eof(&mut self, now: mcp_proto::Instant) {
            self.service.handle_eof(now);
        }
    };
    (@ handle_stop) => {
        fn handle_stop(&mut self, now: mcp_proto::Instant) {
            self.service.handle_stop(now);
        }
    };
    (@ turn) => {
        fn turn(&mut self, now: mcp_proto::Instant, waker: &std::task::Waker) {
            self.service.turn(now, waker);
        }
    };
    (@ output) => {
        fn output(&self) -> &[u8] {
            self.service.output()
        }
    };
    (@ handle_written) => {
        fn handle_written(&mut self, count: usize) {
            self.service.handle_written(count);
        }
    };
    (@ handle_write_closed) => {
        fn handle_write_closed(&mut self) -> bool {
            self.service.handle_write_closed()
        }
    };
    (@ poll_timeout) => {
        fn poll_timeout(&self) -> Option<mcp_proto::Instant> {
            self.service.poll_timeout()
        }
    };
    (@ wants_read) => {
        fn wants_read(&self) -> bool {
            self.service.wants_read()
        }
    };
    (@ is_write_blocked) => {
        fn is_write_blocked(&self) -> bool {
            self.service.is_write_blocked()
        }
    };
    (@ is_closed) => {
        fn is_closed(&self) -> bool {
            self.service.is_closed()
        }
    };
    (@ flush_deadline) => {
        fn flush_deadline(&self) -> Option<mcp_proto::Instant> {
            self.service.flush_deadline()
        }
    };
    (@ is_aborted) => {
        fn is_aborted(&self) -> bool {
            self.service.is_aborted()
        }
    };
}
