//! The server of the library with a heap of its own: on bare metal, where whoever has loaded it reads
//! what it has said, and on a host, where it prints that.

#![cfg_attr(target_os = "none", no_std, no_main)]

use bare_metal::heap::Heap;

#[global_allocator]
static HEAP: Heap<{ 32 * 1024 }> = Heap::new();

/// What some device has received.
const INPUT: &[u8] = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"#,
    r#""name":"add","arguments":{"a":2,"b":3},"_meta":{"#,
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    "\n",
)
.as_bytes();

#[cfg(target_os = "none")]
mod start {
    use core::hint::{black_box, spin_loop};
    use core::panic::PanicInfo;

    use super::INPUT;

    /// Where the loader jumps to, with a stack.
    // SAFETY: nothing else has this name.
    #[unsafe(no_mangle)]
    extern "C" fn _start() -> ! {
        loop {
            // A device would send the answers.
            let _ = black_box(bare_metal::serve(black_box(INPUT), |answer| _ = black_box(answer)));
        }
    }

    #[panic_handler]
    fn panic(_: &PanicInfo<'_>) -> ! {
        loop {
            spin_loop();
        }
    }
}

#[cfg(not(target_os = "none"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::io::{self, Write};

    // What is written meanwhile would be on the same heap.
    let mut answers = [0; 1024];
    let (mut left, before) = (&mut answers[..], HEAP.blocks());
    bare_metal::serve(INPUT, |answer| drop(left.write_all(answer)))?;
    let (unwritten, peak, kept) = (left.len(), HEAP.peak(), HEAP.blocks() - before);
    io::stdout().write_all(&answers[..answers.len() - unwritten])?;
    writeln!(io::stdout(), "heap: {peak} bytes at most, {kept} blocks left")?;
    Ok(())
}
