//! The server of the library with a heap of its own: at the serial line of a machine without an
//! operating system, and on a host at standard input, where it says how much of the heap it took.

#![cfg_attr(target_os = "none", no_std, no_main)]

use bare_metal::heap::Heap;

#[cfg(target_os = "none")]
mod boot;

#[global_allocator]
static HEAP: Heap<{ 32 * 1024 }> = Heap::new();

#[cfg(target_os = "none")]
fn serve(serial: &mut boot::Serial) -> ! {
    let mut buffer = [0; 64];
    if let Ok(mut server) = bare_metal::Server::new() {
        loop {
            let received = serial.read(&mut buffer);
            server.handle_bytes(received, |answer| serial.write(answer));
        }
    }
    boot::halt();
}

#[cfg(target_os = "none")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    boot::halt();
}

#[cfg(not(target_os = "none"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::io::{self, Read, Write};

    // What these take is on the same heap, and not the server's.
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let (used, blocks) = (HEAP.used(), HEAP.blocks());
    let mut server = bare_metal::Server::new()?;
    let mut buffer = [0; 64];
    let mut written = Ok(());
    loop {
        let count = input.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        server.handle_bytes(&buffer[..count], |answer| {
            if written.is_ok() {
                written = output.write_all(answer);
            }
        });
        written?;
        written = output.flush();
    }
    drop(server);
    let (peak, kept) = (HEAP.peak() - used, HEAP.blocks() - blocks);
    writeln!(output, "heap: {peak} bytes at most, {kept} blocks left")?;
    Ok(())
}
