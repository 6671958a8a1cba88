//! One document from a URL: the keys of an issuer.

use alloc::format;
use alloc::vec::Vec;
use core::future::poll_fn;
use core::task::{Context, Poll, ready};
use std::io;

use super::Runtime;
use super::dial::Dialer;
use super::stream::write_all;
use crate::loopback_host::is_loopback_host;
use crate::{Connector, HttpClientConfig, KeySource, Socket};
use mcp_proto::Limits;
use mcp_proto::frame::http1::{IncomingResponse, RequestHead, ResponseReader};
use mcp_proto::http::{Scheme, Url};

/// The longest document, in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// Fetches the document at a URL, on a connection of its own. Redirections are not followed.
///
/// Fails for an `http` URL unless its host is a loopback one, since others could change the
/// document. Fails unless the status is 200, and if the document is longer than 256 KiB. Fails with
/// [`Unsupported`](io::ErrorKind::Unsupported) for an `https` URL without the feature `tls`. There
/// is no timeout; dropping the future cancels the request.
pub async fn get<R: Runtime>(runtime: &R, url: &Url) -> io::Result<Vec<u8>> {
    if url.scheme() == Scheme::Http && !is_loopback_host(url.host()) {
        let reason = "an http URL must have a loopback host; use https for other hosts";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    let request = RequestHead::new("GET", url.target(), url.authority()).and_then(|mut head| {
        head.push("Accept", b"application/json, application/jwk-set+json")?;
        head.push("Accept-Encoding", b"identity")?;
        head.push("User-Agent", concat!("mcp-proto/", env!("CARGO_PKG_VERSION")).as_bytes())?;
        Ok(head)
    });
    let request = request.map_err(|refusal| io::Error::other(format!("{refusal}")))?;
    let mut text = Vec::new();
    request.encode(None, &mut text);
    let mut reader = ResponseReader::new(&Limits::default());
    reader.expect("GET").map_err(|error| io::Error::other(format!("{error}")))?;

    let mut dialer = Dialer::new(runtime, &HttpClientConfig::new(url.clone()))?;
    let mut socket = dialer.connect(url).await?;
    write_all(&mut socket, &text).await?;
    let mut document = Document { reader, body: Vec::new() };
    poll_fn(|context| document.poll(&mut *socket, context)).await?;
    Ok(document.body)
}

/// The keys of an issuer at a URL, for [`JwtVerifier::new`](crate::JwtVerifier::new): `jwks_uri` of
/// the metadata of the issuer. `runtime` gives the runtime on which they are fetched. A token whose
/// key cannot be fetched gets 503; see [`get`] for the errors.
pub fn jwks<R: Runtime>(
    runtime: impl Fn() -> R + Send + Sync + 'static,
    url: Url,
) -> impl KeySource + 'static {
    move || {
        let (runtime, url) = (runtime(), url.clone());
        async move {
            get(&runtime, &url).await.map_err(|error| {
                // A server may have several issuers. The query may be secret.
                let shown = url.as_str().split('?').next().unwrap_or_default();
                io::Error::new(error.kind(), format!("{shown}: {error}"))
            })
        }
    }
}

/// A document that is being read.
struct Document {
    reader: ResponseReader,
    body: Vec<u8>,
}

impl Document {
    fn poll(&mut self, socket: &mut dyn Socket, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.reader.poll() {
                Some(IncomingResponse::Head { head, .. }) if head.status() != 200 => {
                    let status = head.status();
                    return Poll::Ready(Err(io::Error::other(format!("the status is {status}"))));
                }
                Some(IncomingResponse::Head { .. }) => {}
                Some(IncomingResponse::Body(data)) => self.body.extend_from_slice(&data),
                Some(IncomingResponse::End) => return Poll::Ready(Ok(())),
                Some(IncomingResponse::Refused(refusal)) => {
                    return Poll::Ready(Err(io::Error::other(format!("{refusal}"))));
                }
                Some(IncomingResponse::Truncated | IncomingResponse::Closed) => {
                    return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                }
                None => match ready!(socket.poll_read(context))? {
                    data if data.is_empty() => self.reader.end(),
                    data => self.reader.push(data),
                },
            }
            if self.body.len() > MAX_BYTES {
                return Poll::Ready(Err(io::Error::other("the document is too long")));
            }
        }
    }
}
