//! A connection to the simulated authorization server.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::task::{Context, Poll, Waker};
use std::io;

use bytes::Bytes;

use super::super::auth_server::AuthServer;
use crate::{Reader, Socket, Writer};
use mcp_proto::Limits;
use mcp_proto::frame::http1::{
    Head, HttpVersion, Incoming, RequestKind, RequestReader, ResponseHead,
};
use mcp_proto::http::Url;

/// The client's end of the connection. It answers a request as soon as the request is complete.
pub(super) struct AuthSocket {
    server: AuthServer,
    url: Url,
    requests: RequestReader,
    head: Option<Head>,
    body: Vec<u8>,
    answers: VecDeque<Bytes>,
    reader: Option<Waker>,
}

impl AuthSocket {
    pub(super) fn new(server: AuthServer, url: Url) -> Self {
        Self {
            server,
            url,
            requests: RequestReader::new(&Limits::default()),
            head: None,
            body: Vec::new(),
            answers: VecDeque::new(),
            reader: None,
        }
    }

    fn answer(&mut self, head: &Head) -> io::Result<()> {
        let url = self.url.join(head.target()).map_err(io::Error::other)?;
        let body = String::from_utf8_lossy(&self.body).into_owned();
        let answer = self.server.answer_to(head, &url, &body);
        let mut response = ResponseHead::new(answer.status);
        response.length = u64::try_from(answer.body.len()).ok();
        response.push("Content-Type", "application/json");
        if let Some(location) = answer.location {
            response.push("Location", location);
        }
        if let Some(nonce) = answer.nonce {
            response.push("DPoP-Nonce", nonce);
        }
        let kind = RequestKind { is_head: false, version: HttpVersion::Http11, keep_alive: true };
        let mut text = Vec::new();
        response.encode(kind, &mut text);
        text.extend_from_slice(answer.body.as_bytes());
        self.answers.push_back(text.into());
        self.body.clear();
        Ok(())
    }
}

impl Reader for AuthSocket {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        if let Some(answer) = self.answers.pop_front() {
            return Poll::Ready(Ok(answer));
        }
        self.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Writer for AuthSocket {
    fn poll_write(&mut self, _: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.requests.push(Bytes::copy_from_slice(data));
        while let Some(incoming) = self.requests.poll() {
            match incoming {
                Incoming::Head { head, .. } => self.head = Some(head),
                Incoming::Body(data) => self.body.extend_from_slice(&data),
                Incoming::End => {
                    if let Some(head) = self.head.take() {
                        self.answer(&head)?;
                    }
                }
                _ => return Poll::Ready(Err(io::ErrorKind::InvalidData.into())),
            }
        }
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(data.len()))
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Socket for AuthSocket {
    fn is_quiet(&self) -> bool {
        self.answers.is_empty()
    }
}
