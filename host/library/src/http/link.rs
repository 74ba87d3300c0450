//! `wasi:http` for the guest: wasmtime's own, but for one thing. Its `handle` never takes the options of a request out of its
//! table (48.0.8 reads them with `get`), so that 200 bytes stay for each, and a session traps after a million requests.

use wasmtime::component::{Linker, Resource};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi_http::p2::bindings::LinkOptions;
use wasmtime_wasi_http::p2::bindings::http::outgoing_handler::Host as _;
use wasmtime_wasi_http::p2::bindings::http::types::{self, ErrorCode, Host as _};
use wasmtime_wasi_http::p2::types::{HostFutureIncomingResponse, HostOutgoingRequest};
use wasmtime_wasi_http::{RequestOptions, WasiHttp, WasiHttpView};

/// Adds `wasi:http/types` and `wasi:http/outgoing-handler`.
pub(crate) fn add_to_linker<View: WasiHttpView + 'static>(linker: &mut Linker<View>) -> Result<()> {
    types::add_to_linker::<_, WasiHttp>(linker, &LinkOptions::default().into(), View::http)?;
    linker.instance(OUTGOING_HANDLER)?.func_wrap("handle", handle)
}

type Arguments = (Resource<HostOutgoingRequest>, Option<Resource<RequestOptions>>);
type Handled = Result<Resource<HostFutureIncomingResponse>, ErrorCode>;

fn handle<View: WasiHttpView>(
    mut store: StoreContextMut<'_, View>,
    (request, options): Arguments,
) -> Result<(Handled,)> {
    let mut http = store.data_mut().http();
    let index = options.as_ref().map(Resource::rep);
    let handled = http.handle(request, options);
    if let Some(index) = index {
        // Once wasmtime does it itself there is nothing left to delete, and nothing else that could be.
        let _ = http.table.delete(Resource::<RequestOptions>::new_own(index));
    }
    match handled {
        Ok(response) => Ok((Ok(response),)),
        Err(error) => Ok((Err(http.convert_error_code(error)?),)),
    }
}

/// Any version that is compatible finds it.
const OUTGOING_HANDLER: &str = "wasi:http/outgoing-handler@0.2.4";
