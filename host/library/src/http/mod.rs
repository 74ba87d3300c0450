//! The network side of the sandbox: what the guest may reach (`access`), where wasmtime hands its requests over
//! (`hooks`, `link`), who carries them (`sender`; by default the client in `pool`, over `lines`), how that fails
//! (`transport_error`), what must not come back (`redaction`, of a `secret`), and how long they take (`meter`).

mod access;
#[cfg(feature = "pool")]
mod client_errors;
mod hooks;
#[cfg(feature = "pool")]
mod lines;
mod link;
mod meter;
#[cfg(feature = "pool")]
mod pool;
mod redaction;
mod secret;
mod sender;
mod transport_error;

pub use self::access::Access;
pub(crate) use self::hooks::Hooks;
#[cfg(feature = "pool")]
pub use self::lines::Route;
pub(crate) use self::link::add_to_linker;
pub use self::meter::Metered;
#[cfg(feature = "pool")]
pub use self::pool::Pool;
pub use self::sender::{Answered, Body, Sender, Timeouts, body};
pub use self::transport_error::TransportError;
