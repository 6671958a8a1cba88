//! The way from a virtual machine monitor to `main`, and the serial line.
//!
//! A monitor that boots by PVH (QEMU with `-kernel`, Firecracker, Cloud Hypervisor, Xen) finds the
//! entry point in an ELF note. It enters in 32-bit mode, without paging. `pvh_start` maps the first
//! GiB of memory to itself, but not the first 2 MiB, in front of the stack: a stack that is used up
//! is a fault, and so is a null pointer. There is no table of handlers, so that a fault resets the
//! machine.

use core::arch::{asm, global_asm};
use core::hint::spin_loop;

global_asm!(
    r#"
    .pushsection .note.pvh, "a", @note
    .balign 4
    .long 4, 8, 18                   # sizes of name and value; XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .quad pvh_start
    .popsection

    .pushsection .tables, "aw", @nobits
    .balign 4096
level_4: .skip 4096
level_3: .skip 4096
level_2: .skip 4096
    .popsection

    .pushsection .rodata
    .balign 8
segments:
    .quad 0
    .quad 0x00209a0000000000         # 8: code of 64 bits
segments_end:
segments_pointer:
    .word segments_end - segments - 1
    .long segments
    .popsection

    .pushsection .text
    .code32
    .global pvh_start
pvh_start:
    cli
    cld
    movl $level_3 + 3, level_4       # 3: present, writable
    movl $level_2 + 3, level_3
    movl $1, %ecx                    # not the page at 0
0:  movl %ecx, %eax
    shl $21, %eax
    orl $0x83, %eax                  # present, writable, 2 MiB
    movl %eax, level_2(, %ecx, 8)
    incl %ecx
    cmpl $512, %ecx
    jne 0b
    movl $level_4, %eax
    movl %eax, %cr3
    movl %cr4, %eax
    orl $0x20, %eax                  # PAE
    movl %eax, %cr4
    movl $0xc0000080, %ecx           # EFER
    rdmsr
    orl $0x100, %eax                 # LME
    wrmsr
    movl %cr0, %eax
    orl $0x80000000, %eax            # PG
    movl %eax, %cr0
    lgdtl segments_pointer
    ljmpl $8, $long_mode
    .code64
long_mode:
    xorl %eax, %eax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    movw %ax, %fs
    movw %ax, %gs
    movq $stack_end, %rsp
    xorl %ebp, %ebp
    callq {start}
    ud2
    .popsection
    "#,
    start = sym start,
    options(att_syntax)
);

extern "C" fn start() -> ! {
    super::serve(&mut Serial::open())
}

/// Stops the processor for good.
pub(crate) fn halt() -> ! {
    loop {
        // SAFETY: without interrupts it never returns, and touches no memory.
        unsafe { asm!("cli", "hlt", options(nomem, nostack)) };
    }
}

/// The first serial line of a PC, a 16550, at 115,200 baud with 8 data bits and no parity.
///
/// A monitor keeps what is not read yet. A cable does not: there, have interrupts fill a buffer, or
/// the hardware control the flow.
pub(crate) struct Serial;

impl Serial {
    const BASE: u16 = 0x3f8;
    const DATA: u16 = Self::BASE;
    const INTERRUPTS: u16 = Self::BASE + 1;
    const FIFO: u16 = Self::BASE + 2;
    const FORMAT: u16 = Self::BASE + 3;
    const MODEM: u16 = Self::BASE + 4;
    const STATUS: u16 = Self::BASE + 5;
    const RECEIVED: u8 = 0x01;
    const CAN_SEND: u8 = 0x20;

    fn open() -> Self {
        let settings = [
            (Self::INTERRUPTS, 0),
            // The divisor of the clock, 1, is behind bit 7 of the format.
            (Self::FORMAT, 0x80),
            (Self::DATA, 1),
            (Self::INTERRUPTS, 0),
            (Self::FORMAT, 0x03),
            // None: to switch it on drops what has come already.
            (Self::FIFO, 0),
            (Self::MODEM, 0x03),
        ];
        for (port, value) in settings {
            write_port(port, value);
        }
        Self
    }

    /// Waits for a byte. Returns it, and those behind it that are there already.
    pub(crate) fn read<'a>(&mut self, buffer: &'a mut [u8]) -> &'a [u8] {
        let mut count = 0;
        for place in &mut *buffer {
            while !Self::is(Self::RECEIVED) {
                if count > 0 {
                    return &buffer[..count];
                }
                spin_loop();
            }
            *place = read_port(Self::DATA);
            count += 1;
        }
        buffer
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            while !Self::is(Self::CAN_SEND) {
                spin_loop();
            }
            write_port(Self::DATA, *byte);
        }
    }

    fn is(status: u8) -> bool {
        read_port(Self::STATUS) & status != 0
    }
}

fn read_port(port: u16) -> u8 {
    let value;
    // SAFETY: only ports of the serial line are read, which changes no memory.
    unsafe { asm!("in al, dx", in("dx") port, out("al") value, options(nomem, nostack)) };
    value
}

fn write_port(port: u16, value: u8) {
    // SAFETY: only ports of the serial line are written, which changes no memory.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack)) };
}
