//! hyper alone: it reads a request and gives the answer that it gives to all of them.

use std::io;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use mcp_bench::listening::{listen, serve_hyper};

const ANSWER: &[u8] = concat!(
    r#"{"jsonrpc":"2.0","id":1000000,"result":{"content":[{"type":"text","#,
    r#""text":"Pack my box with five dozen jugs. P"}],"isError":false}}"#,
)
.as_bytes();

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    serve_hyper(listen().await?, service_fn(answer)).await
}

async fn answer(request: Request<Incoming>) -> hyper::Result<Response<Full<Bytes>>> {
    request.into_body().collect().await?;
    let mut response = Response::new(Full::new(Bytes::from_static(ANSWER)));
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    Ok(response)
}
