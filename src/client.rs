//! COPY FROM STDIN: the client's data as a stream.
//!
//! The protocol's part is C's (`referee/client.c`), where COPY's own words can be used. The data is taken out of
//! messages of any size as it comes, while the threads parse what came before. Whatever else the client says is left
//! where it is until they have done so: it may be that it has given up, but an error in what it sent before comes
//! first, and then nobody has read what came behind.

#![expect(unsafe_code, reason = "receives messages through PostgreSQL's C interface")]

use std::ffi::c_char;
use std::io;
use std::os::fd::RawFd;

use pgrx::pg_sys;

use crate::stream::{Ahead, Supply};

unsafe extern "C-unwind" {
    fn fastcsv_shim_begin_client(state: pg_sys::CopyFromState) -> pg_sys::StringInfo;
    fn fastcsv_shim_ask_client() -> pg_sys::StringInfo;
    fn fastcsv_shim_client_socket() -> i32;
    fn fastcsv_shim_receive(message: pg_sys::StringInfo, buffer: *mut c_char, size: i64, ahead: bool) -> i64;
}

/// The client that has sent a COPY FROM STDIN.
pub(crate) struct Client {
    /// Its last message, in PostgreSQL's memory.
    message: pg_sys::StringInfo,
}

impl Client {
    /// Tells the client to send its data, for a COPY that has been begun with a callback.
    ///
    /// # Safety
    /// The COPY must live as long as this, and there must be a client. Nothing with a destructor on the caller's
    /// frames; so for every read.
    pub(crate) unsafe fn begin(state: pg_sys::CopyFromState) -> Client {
        // SAFETY: the caller's promise.
        Client { message: unsafe { fastcsv_shim_begin_client(state) } }
    }

    /// Tells the client to send its data, before there is a COPY. The current memory context must live as long as this.
    ///
    /// # Safety
    /// There must be a client, that waits for an answer to a COPY FROM STDIN. As for [`Client::begin`].
    pub(crate) unsafe fn ask() -> Client {
        // SAFETY: the caller's promise.
        Client { message: unsafe { fastcsv_shim_ask_client() } }
    }
}

/// What receiving returns where it is no number of bytes, besides 0 at the end.
const NOTHING: i64 = -1;

impl Client {
    fn receive(&self, buffer: &mut [u8], ahead: bool) -> i64 {
        let size = i64::try_from(buffer.len()).unwrap_or(i64::MAX);
        // SAFETY: the COPY is alive (see `begin`), and the buffer is as long as that.
        unsafe { fastcsv_shim_receive(self.message, buffer.as_mut_ptr().cast(), size, ahead) }
    }
}

impl Supply for Client {
    /// As COPY: a client that goes away, gives up or says something else raises an error.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        Ok(usize::try_from(self.receive(buffer, false)).ok())
    }

    fn read_ahead(&mut self, buffer: &mut [u8]) -> io::Result<Ahead> {
        Ok(match self.receive(buffer, true) {
            0 => Ahead::End,
            NOTHING => Ahead::Nothing,
            length => usize::try_from(length).map_or(Ahead::Other, Ahead::Bytes),
        })
    }

    fn descriptor(&self) -> RawFd {
        // SAFETY: looks at the session's connection.
        unsafe { fastcsv_shim_client_socket() }
    }

    fn is_client(&self) -> bool {
        true
    }

    fn close(&mut self) {}
}
