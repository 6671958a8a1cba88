//! The suite of all adapters on a third runtime: plain threads, which an example of `mcp-service`
//! has.

use std::future::{Future, pending};
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use mcp_proto::client::ServerInfo;
use mcp_proto::http;
use mcp_proto::server::Config;
use mcp_service::runtime::{self, BridgeTarget, Runtime as _};
use mcp_service::{Bridge, BridgeConfig, Catalog, Client, Command, HttpClientConfig, Spawned};
use mcp_tests::http::Stop;
use mcp_tests::runtimes::{self, Adapter, Runtime, Suite};
use threads::Threads;

#[path = "../../mcp-proto/service/examples/thread_runtime/runtime.rs"]
mod threads;

fn main() -> ExitCode {
    runtimes::main(&[Suite::of::<OfService, StandardLibrary>()], &[])
}

struct StandardLibrary;

impl Runtime for StandardLibrary {
    const NAME: &'static str = "standard_library";

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        threads::block_on(future)
    }

    fn spawn(future: Spawned) {
        thread::spawn(|| threads::block_on(future));
    }
}

/// The functions of `mcp_service::runtime`, as they are.
struct OfService;

impl OfService {
    fn runtime() -> Threads {
        Threads(Instant::now())
    }
}

impl Adapter for OfService {
    const HAS_TLS: bool = cfg!(feature = "tls");
    const HAS_SIGNALS: bool = false;

    async fn serve(stream: UnixStream, catalog: Catalog, config: Config) -> io::Result<()> {
        let threads = Self::runtime();
        let stream = threads.unix_stream(stream)?;
        runtime::serve(&threads, catalog, config, stream, pending()).await
    }

    async fn serve_stdio(catalog: Catalog) -> io::Result<()> {
        runtime::serve_stdio(&Self::runtime(), catalog, Config::default(), pending()).await
    }

    async fn serve_http<R: Runtime>(
        listener: TcpListener,
        catalog: Catalog,
        config: http::Config,
        stop: Stop,
    ) -> io::Result<()> {
        socket2::SockRef::from(&listener).listen(1024)?;
        runtime::serve_http(&Self::runtime(), listener, catalog, config, stop).await;
        Ok(())
    }

    fn bridge(target: BridgeTarget, config: BridgeConfig) -> Bridge {
        runtime::bridge(&Self::runtime(), target, config)
    }

    async fn connect(client: Client, stream: UnixStream) -> io::Result<ServerInfo> {
        let threads = Self::runtime();
        let stream = threads.unix_stream(stream)?;
        runtime::connect(&threads, &client, stream).await
    }

    async fn connect_command(client: Client, command: Command) -> io::Result<ServerInfo> {
        runtime::connect_command(&Self::runtime(), &client, command).await
    }

    async fn connect_http(client: Client, config: HttpClientConfig) -> io::Result<ServerInfo> {
        runtime::connect_http(&Self::runtime(), &client, config).await
    }
}
