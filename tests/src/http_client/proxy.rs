//! Proxy between a client and a server, whose connections can be cut.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Passes bytes on, in both directions, until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    /// Address at which it listens.
    pub address: SocketAddr,
    open: Arc<Open>,
}

#[derive(Default, Debug)]
struct Open {
    streams: Mutex<Vec<TcpStream>>,
    is_over: AtomicBool,
}

impl Proxy {
    /// Starts one in front of a server.
    pub fn start(server: SocketAddr) -> io::Result<Self> {
        Self::start_with(server, |_| Ok(()))
    }

    /// The same, which passes on what comes after `greet`, if that does not fail.
    pub(super) fn start_with(
        server: SocketAddr,
        greet: impl Fn(&mut TcpStream) -> io::Result<()> + Send + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let open = Arc::new(Open::default());
        let accepting = open.clone();
        thread::spawn(move || {
            while let Ok((mut client, _)) = listener.accept() {
                if accepting.is_over.load(Ordering::SeqCst) {
                    return;
                }
                // A connection that fails concerns nobody else.
                let _ = greet(&mut client).and_then(|()| accepting.pass_on(client, server));
            }
        });
        Ok(Self { address, open })
    }

    /// Cuts all connections that are open.
    pub fn cut(&self) {
        self.open.cut();
    }
}

impl Open {
    fn pass_on(&self, client: TcpStream, server: SocketAddr) -> io::Result<()> {
        let server = TcpStream::connect(server)?;
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.extend([client.try_clone()?, server.try_clone()?]);
        drop(streams);
        for (mut from, mut to) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
            thread::spawn(move || {
                let _ = io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
        }
        Ok(())
    }

    fn cut(&self) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in streams.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.open.is_over.store(true, Ordering::SeqCst);
        self.open.cut();
        // Whoever accepts looks up.
        let _ = TcpStream::connect(self.address);
    }
}
