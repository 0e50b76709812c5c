//! MPI, loaded at run time. The launcher's library is opened by name, so neither the build nor a
//! run without MPI needs it.
//!
//! Three binary interfaces exist, with different constants: the MPI-5 standard,
//! MPICH and its family (Intel, Cray, MVAPICH), and Open MPI, whose handles are addresses
//! of exported objects. Handles are machine words here; MPICH passes its 32-bit handles in the same
//! registers. Status objects have different layouts, so they are never used. The symbols of a
//! library identify its interface, because its file may have any name.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem;

type Handle = usize;

/// The binary interface of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    /// MPI-5 standard.
    Standard,
    /// MPICH 3 and later.
    Mpich,
    /// Open MPI 4 and 5.
    OpenMpi,
}

/// The supported version of the standard's interface.
const STANDARD_VERSION: c_int = 1;

#[derive(Clone, Copy, Debug)]
struct Constants {
    world: Handle,
    byte: Handle,
    errors_return: Handle,
    funneled: c_int,
    status_ignore: usize,
}

macro_rules! functions {
    ($($name:ident: $symbol:literal = fn($($kind:ty),*);)*) => {
        #[derive(Debug)]
        struct Functions {
            $($name: unsafe extern "C" fn($($kind),*) -> c_int,)*
        }

        impl Functions {
            fn load(library: &Library) -> Result<Functions, String> {
                Ok(Functions {
                    $($name: {
                        let symbol = library.symbol($symbol).ok_or(concat!($symbol, " is missing"))?;
                        // SAFETY: the MPI standard gives this function these parameters, and words
                        // and pointers are what its handles are in all three interfaces.
                        unsafe { mem::transmute::<*mut c_void, unsafe extern "C" fn($($kind),*) -> c_int>(symbol) }
                    },)*
                })
            }
        }
    };
}

functions! {
    init_thread: "MPI_Init_thread" = fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int);
    finalize: "MPI_Finalize" = fn();
    rank: "MPI_Comm_rank" = fn(Handle, *mut c_int);
    size: "MPI_Comm_size" = fn(Handle, *mut c_int);
    set_error_handler: "MPI_Comm_set_errhandler" = fn(Handle, Handle);
    error_string: "MPI_Error_string" = fn(c_int, *mut c_char, *mut c_int);
    version: "MPI_Get_library_version" = fn(*mut c_char, *mut c_int);
    probe: "MPI_Iprobe" = fn(c_int, c_int, Handle, *mut c_int, usize);
    send: "MPI_Isend" = fn(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle);
    receive: "MPI_Irecv" = fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle);
    test: "MPI_Test" = fn(*mut Handle, *mut c_int, usize);
}

#[derive(Debug)]
struct Library(*mut c_void);

impl Library {
    fn open(name: &str) -> Result<Library, String> {
        let text = CString::new(name).map_err(|_| "its name contains a zero byte".to_owned())?;
        // SAFETY: the name ends with a zero. The library's own initialisation is run, as for any
        // program that is linked with it.
        let handle = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if !handle.is_null() {
            return Ok(Library(handle));
        }
        // SAFETY: the call has failed just now on this thread, so there is a text, which ends with
        // a zero.
        let why = unsafe {
            let text = libc::dlerror();
            match text.is_null() {
                true => "it cannot be opened".to_owned(),
                false => CStr::from_ptr(text).to_string_lossy().into_owned(),
            }
        };
        Err(why)
    }

    fn symbol(&self, name: &str) -> Option<*mut c_void> {
        let name = CString::new(name).ok()?;
        // SAFETY: the library stays open as long as the process, and the name ends with a zero.
        let symbol = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!symbol.is_null()).then_some(symbol)
    }

    /// The version of the standard's interface; `None` for another interface.
    fn standard_version(&self) -> Option<c_int> {
        let symbol = self.symbol("MPI_Abi_get_version")?;
        // SAFETY: the standard gives this function these parameters.
        let get_version =
            unsafe { mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int>(symbol) };
        let (mut major, mut minor) = (-1, -1);
        // SAFETY: it may be called before MPI is started, and both are live words. A library with
        // another interface leaves -1 in them.
        let code = unsafe { get_version(&mut major, &mut minor) };
        (code == 0 && major >= 0).then_some(major)
    }
}

/// A started MPI library. It belongs to the thread that opened it, and is never unloaded.
#[derive(Debug)]
pub struct Mpi {
    functions: Functions,
    constants: Constants,
    /// Which interface it has.
    pub abi: Abi,
    // A pointer inside keeps the value on its thread.
    library: Library,
}

/// An MPI library that is open but not started. A process may start only one: two hang.
#[derive(Debug)]
pub struct LoadedMpi(Mpi);

/// A message in transfer. MPI may use its bytes until [`Mpi::has_ended`] returns true.
#[derive(Debug)]
pub struct Transfer {
    request: Handle,
    bytes: Vec<u8>,
    ended: bool,
}

impl Transfer {
    /// The bytes of a completed message.
    pub fn into_bytes(mut self) -> Vec<u8> {
        match self.ended {
            true => mem::take(&mut self.bytes),
            false => Vec::new(),
        }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        if !self.ended {
            // MPI may still access them.
            mem::forget(mem::take(&mut self.bytes));
        }
    }
}

impl LoadedMpi {
    /// Starts MPI. Blocks until all processes of the launcher have started it.
    ///
    /// # Errors
    /// MPI's error message.
    pub fn start(self) -> Result<Mpi, String> {
        let mpi = self.0;
        let constants = mpi.constants;
        let mut provided = 0;
        // SAFETY: no arguments are passed, which the standard allows, and the last one is a live
        // word.
        let code = unsafe {
            (mpi.functions.init_thread)(
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                constants.funneled,
                &mut provided,
            )
        };
        mpi.check(code)?;
        if provided < constants.funneled {
            mpi.finish();
            return Err("this MPI library was built without support for threads".into());
        }
        // SAFETY: both are predefined handles of this library.
        let code = unsafe { (mpi.functions.set_error_handler)(constants.world, constants.errors_return) };
        mpi.check(code)?;
        Ok(mpi)
    }
}

impl Mpi {
    /// Opens a library.
    ///
    /// # Errors
    /// Why it cannot be opened, or the symbol that it lacks.
    pub fn open(name: &str) -> Result<LoadedMpi, String> {
        let library = Library::open(name)?;
        let address = |symbol: &str| {
            let address = library.symbol(symbol).map(|symbol| symbol as usize);
            address.ok_or_else(|| format!("{symbol} is missing"))
        };
        // Check for the standard's interface first, because such a library may depend on another
        // one with its own interface.
        let (abi, constants) = if let Some(version) = library.standard_version() {
            if version != STANDARD_VERSION {
                return Err(format!(
                    "its MPI standard ABI is version {version}; fathom supports version {STANDARD_VERSION}"
                ));
            }
            let constants = Constants {
                world: 0x101,
                byte: 0x247,
                errors_return: 0x143,
                funneled: 1024,
                status_ignore: 0,
            };
            (Abi::Standard, constants)
        } else if address("ompi_mpi_comm_world").is_ok() {
            let constants = Constants {
                world: address("ompi_mpi_comm_world")?,
                byte: address("ompi_mpi_byte")?,
                errors_return: address("ompi_mpi_errors_return")?,
                funneled: 1,
                status_ignore: 0,
            };
            (Abi::OpenMpi, constants)
        } else {
            let constants = Constants {
                world: 0x4400_0000,
                byte: 0x4c00_010d,
                errors_return: 0x5400_0001,
                funneled: 1,
                status_ignore: 1,
            };
            (Abi::Mpich, constants)
        };
        Ok(LoadedMpi(Mpi {
            functions: Functions::load(&library)?,
            constants,
            abi,
            library,
        }))
    }

    fn check(&self, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        let (mut text, mut length) = ([0 as c_char; 8192], 0);
        // SAFETY: the buffer is longer than any of these texts (MPI_MAX_ERROR_STRING is at most
        // 1024 in all three), and was zero before.
        let status = unsafe { (self.functions.error_string)(code, text.as_mut_ptr(), &mut length) };
        Err(match status {
            0 => c_text(&text),
            _ => format!("error {code}"),
        })
    }

    /// The rank of this process.
    pub fn rank(&self) -> u32 {
        let mut rank = 0;
        // SAFETY: a predefined handle and a live word.
        unsafe { (self.functions.rank)(self.constants.world, &mut rank) };
        rank.max(0) as u32
    }

    /// The number of processes.
    pub fn size(&self) -> u32 {
        let mut size = 1;
        // SAFETY: as above.
        unsafe { (self.functions.size)(self.constants.world, &mut size) };
        size.max(1) as u32
    }

    /// Name and version of the library.
    pub fn version(&self) -> String {
        let (mut text, mut length) = ([0 as c_char; 8193], 0);
        // SAFETY: the buffer has the length that the interfaces ask for at most (8192), and one
        // zero more.
        unsafe { (self.functions.version)(text.as_mut_ptr(), &mut length) };
        let text = c_text(&text);
        let first = text.split(['\n', ',']).next().unwrap_or(&text);
        first.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// True if a message with this tag from rank `from` is waiting.
    ///
    /// # Errors
    /// MPI's error message; with fault tolerance, that the process has failed.
    pub fn has_message(&self, from: u32, tag: u16) -> Result<bool, String> {
        let mut flag = 0;
        // SAFETY: a predefined handle, a live word, and the constant that means no status.
        let code = unsafe {
            (self.functions.probe)(
                from as c_int,
                c_int::from(tag),
                self.constants.world,
                &mut flag,
                self.constants.status_ignore,
            )
        };
        self.check(code).map(|()| flag != 0)
    }

    /// Starts sending `bytes`.
    ///
    /// # Errors
    /// MPI's error message.
    pub fn send(&self, to: u32, tag: u16, bytes: Vec<u8>) -> Result<Transfer, String> {
        let mut transfer = Transfer {
            request: 0,
            bytes,
            ended: false,
        };
        let length = c_int::try_from(transfer.bytes.len()).map_err(|_| "the message is too long".to_owned())?;
        // SAFETY: the bytes stay where they are until the transfer has ended, or are never given
        // back; the request is a live word.
        let code = unsafe {
            (self.functions.send)(
                transfer.bytes.as_ptr().cast(),
                length,
                self.constants.byte,
                to as c_int,
                c_int::from(tag),
                self.constants.world,
                &mut transfer.request,
            )
        };
        self.check(code)?;
        Ok(transfer)
    }

    /// Starts receiving a message of this length.
    ///
    /// # Errors
    /// MPI's error message.
    pub fn receive(&self, from: u32, tag: u16, length: usize) -> Result<Transfer, String> {
        let mut transfer = Transfer {
            request: 0,
            bytes: vec![0; length],
            ended: false,
        };
        let length = c_int::try_from(length).map_err(|_| "the message is too long".to_owned())?;
        // SAFETY: as for sending; the buffer is that long.
        let code = unsafe {
            (self.functions.receive)(
                transfer.bytes.as_mut_ptr().cast(),
                length,
                self.constants.byte,
                from as c_int,
                c_int::from(tag),
                self.constants.world,
                &mut transfer.request,
            )
        };
        self.check(code)?;
        Ok(transfer)
    }

    /// True once a message has been received, or MPI no longer needs its bytes.
    ///
    /// # Errors
    /// MPI's error message.
    pub fn has_ended(&self, transfer: &mut Transfer) -> Result<bool, String> {
        if transfer.ended {
            return Ok(true);
        }
        let mut flag = 0;
        // SAFETY: the request was made by this library and has not ended yet; the other is a live
        // word.
        let code = unsafe { (self.functions.test)(&mut transfer.request, &mut flag, self.constants.status_ignore) };
        self.check(code)?;
        transfer.ended = flag != 0;
        Ok(transfer.ended)
    }

    /// Finalizes MPI. Blocks until the other processes do.
    pub fn finish(self) {
        let _ = &self.library;
        // SAFETY: it was started by this thread, and nothing is called after it.
        unsafe { (self.functions.finalize)() };
    }
}

fn c_text(text: &[c_char]) -> String {
    let bytes: Vec<u8> = text
        .iter()
        .take_while(|letter| **letter != 0)
        .map(|letter| *letter as u8)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
