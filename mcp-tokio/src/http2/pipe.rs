//! A pipe for one request, which its client takes for a connection.
//!
//! In: a request by HTTP/1.1. Out: the response, on the same pipe. Bodies are streamed in both
//! directions, except for short bodies of requests. A pipe whose request fails ends, as a
//! connection to the server would.
//!
//! A server that ends a connection names the last stream that it has processed: "requests on
//! streams with higher numbers are guaranteed to be safe to retry". They are sent again on another
//! connection, and so are requests on refused streams.
//!
//! [RFC 9113, section 8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)

use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use h2::Reason;
use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::http::request::Parts;
use hyper::http::uri::{Authority, Scheme};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, Uri, Version};
use hyper_util::rt::TokioIo;
use mcp_proto::http::Url;
use mcp_service::Socket;
use tokio::io::duplex;
use tokio::time::sleep;

use super::request_body::RequestBody;
use super::server::{Http2Server, Reached};
use super::shared::SharedConnection;
use crate::Stream;

/// The most unread bytes in a pipe, in each direction.
const PIPE_BYTES: usize = 64 * 1024;

/// The most times that a request is sent again.
const MAX_RETRIES: u32 = 4;

/// The pause before the second retry; the next ones are twice and three times as long. A server may
/// refuse streams because of its load.
const PAUSE: Duration = Duration::from_millis(50);

/// Error of a request that has no response.
type ForwardError = Box<dyn Error + Send + Sync>;

/// A pipe for one request. Dropping it drops the request, which resets its stream.
pub(super) fn pipe(
    shared: Arc<SharedConnection>,
    server: Arc<Http2Server>,
    url: Url,
) -> Box<dyn Socket> {
    let (ours, theirs) = duplex(PIPE_BYTES);
    tokio::spawn(async move {
        let route = Route { shared: Mutex::new(shared), server, url };
        let route = &route;
        let service = service_fn(move |request| route.forward(request));
        let mut builder = http1::Builder::new();
        builder.keep_alive(false).auto_date_header(false);
        // An error closes the pipe, which the reader at its other end detects.
        let _ = builder.serve_connection(TokioIo::new(theirs), service).await;
        route.shared().end_request();
    });
    Box::new(Stream(ours))
}

/// The way of a request to its server.
struct Route {
    /// The only reference of this request: references are counted.
    shared: Mutex<Arc<SharedConnection>>,
    server: Arc<Http2Server>,
    url: Url,
}

impl Route {
    async fn forward(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Incoming>, ForwardError> {
        let (head, body) = request.into_parts();
        let head = translated(head)?;
        let mut body = RequestBody::new(body).await?;
        let mut retries = 0;
        loop {
            let again = body.again().filter(|_| retries < MAX_RETRIES);
            let mut sender = self.shared().sender();
            let error = match sender.send_request(Request::from_parts(head.clone(), body)).await {
                Ok(mut response) => {
                    *response.version_mut() = Version::HTTP_11;
                    return Ok(response);
                }
                Err(error) => error,
            };
            body = again.filter(|_| is_unprocessed(&error)).ok_or(error)?;
            sleep(PAUSE * retries).await;
            retries += 1;
            *self.shared() = match self.server.reach_again(&self.url).await? {
                Reached::Http2(shared) => shared,
                Reached::Http1(_) => return Err("the server has no HTTP/2 any more".into()),
            };
        }
    }

    fn shared(&self) -> MutexGuard<'_, Arc<SharedConnection>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The head of a request for HTTP/2. hyper leaves out fields of the connection, such as
/// `Connection`.
///
/// [RFC 9113, section 8.3.1](https://www.rfc-editor.org/rfc/rfc9113#section-8.3.1)
fn translated(mut head: Parts) -> Result<Parts, ForwardError> {
    let host = head.headers.remove(HOST).ok_or("a request has no host")?;
    let mut uri = std::mem::take(&mut head.uri).into_parts();
    uri.scheme = Some(Scheme::HTTPS);
    uri.authority = Some(Authority::try_from(host.as_bytes())?);
    head.uri = Uri::from_parts(uri)?;
    head.version = Version::HTTP_2;
    Ok(head)
}

/// Returns whether the server cannot have processed the request: it was not sent, its stream was
/// refused, or its stream is after the last one that a `GOAWAY` names.
fn is_unprocessed(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<h2::Error>());
    error.is_canceled()
        || cause.filter(|cause| cause.is_remote()).is_some_and(|cause| {
            let is_refused = cause.reason() == Some(Reason::REFUSED_STREAM);
            cause.is_go_away() || cause.is_reset() && is_refused
        })
}
