//! fixed-http [WORKERS]: hyper alone. It reads a request and gives the answer that it gives to all
//! of them, on one thread or on so many workers.

use std::error::Error;
use std::io;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use mcp_bench::listening::{listen, serve_hyper};
use tokio::runtime::Builder;

const ANSWER: &[u8] = concat!(
    r#"{"jsonrpc":"2.0","id":1000000,"result":{"content":[{"type":"text","#,
    r#""text":"Pack my box with five dozen jugs. P"}],"isError":false}}"#,
)
.as_bytes();

fn main() -> Result<(), Box<dyn Error>> {
    let mut runtime = match std::env::args().nth(1) {
        None => Builder::new_current_thread(),
        Some(workers) => {
            let mut runtime = Builder::new_multi_thread();
            runtime.worker_threads(workers.parse()?);
            runtime
        }
    };
    let runtime = runtime.enable_all().build()?;
    Ok(runtime.block_on(async { tokio::spawn(serve()).await? })?)
}

async fn serve() -> io::Result<()> {
    serve_hyper(listen().await?, service_fn(answer)).await
}

async fn answer(request: Request<Incoming>) -> hyper::Result<Response<Full<Bytes>>> {
    request.into_body().collect().await?;
    let mut response = Response::new(Full::new(Bytes::from_static(ANSWER)));
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    Ok(response)
}
