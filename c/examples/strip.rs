// Prints the visible text of the reply on the standard input.
//
//     rustc -L ../dist strip.rs && printf '<think>6 x 7</think>42' | LD_LIBRARY_PATH=../dist ./strip

use std::ffi::{c_char, c_void, CStr};
use std::io::{Read, Write};

#[repr(C)]
struct Text {
    data: *const c_char,
    size: usize,
}

#[repr(C)]
struct Error {
    text: [c_char; 512],
}

#[link(name = "sotto")]
extern "C" {
    fn sotto_reader_new(options: *const c_char, error: *mut Error) -> *mut c_void;
    fn sotto_reader_free(reader: *mut c_void);
    fn sotto_strip(reader: *const c_void, replies: *const Text, count: usize, error: *mut Error) -> *mut Text;
    fn sotto_free(result: *mut c_void);
}

/// A reader with the dialect that most models use. Threads may share it.
struct Reader(*mut c_void);

unsafe impl Send for Reader {}
unsafe impl Sync for Reader {}

impl Reader {
    fn new() -> Result<Reader, String> {
        let mut error = Error { text: [0; 512] };
        let reader = unsafe { sotto_reader_new(std::ptr::null(), &mut error) };
        if reader.is_null() {
            return Err(error.message());
        }
        Ok(Reader(reader))
    }

    fn strip(&self, reply: &[u8]) -> Result<Vec<u8>, String> {
        let text = Text { data: reply.as_ptr() as *const c_char, size: reply.len() };
        let mut error = Error { text: [0; 512] };
        unsafe {
            let result = sotto_strip(self.0, &text, 1, &mut error);
            if result.is_null() {
                return Err(error.message());
            }
            let visible = std::slice::from_raw_parts((*result).data as *const u8, (*result).size).to_vec();
            sotto_free(result as *mut c_void);
            Ok(visible)
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        unsafe { sotto_reader_free(self.0) }
    }
}

impl Error {
    fn message(&self) -> String {
        unsafe { CStr::from_ptr(self.text.as_ptr()) }.to_string_lossy().into_owned()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut reply = Vec::new();
    std::io::stdin().read_to_end(&mut reply)?;
    let visible = Reader::new()?.strip(&reply)?;
    std::io::stdout().write_all(&visible)?;
    Ok(())
}
