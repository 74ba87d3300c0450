"""One run of the component, with a memory of its own: what it may reach outside, and how its functions are called."""

from typing import Any

from wasmtime import Engine, Store, WasiConfig
from wasmtime.component import Component, Func, Linker, ValType


class Instance:
    """Of the outside it has clocks, random numbers and HTTP; no files, no environment. One thread at a time."""

    def __init__(self, engine: Engine, linker: Linker, component: Component) -> None:
        self._component = component
        self._store = Store(engine)
        self._store.set_wasi(WasiConfig())
        self._store.set_wasi_http()
        self._instance = linker.instantiate(self._store, component)

    def call(self, name: str, *arguments: Any) -> Any:
        """Other Python threads run on while this waits: ctypes lets go of the interpreter's lock."""
        return self._function(name)(self._store, *arguments)

    def settings_type(self) -> ValType:
        """What the component calls settings."""
        return dict(self._function("analyze-batch").type(self._store).params)["settings"]

    def close(self) -> None:
        """Ends requests that are on the wire."""
        self._store.close()

    def _function(self, name: str) -> Func:
        analyzer = self._component.get_export_index(ANALYZER)
        index = self._component.get_export_index(name, analyzer)
        function = None if index is None else self._instance.get_func(self._store, index)
        if function is None:
            raise LookupError(f"the component has no {name} in {ANALYZER}")
        return function

    def __enter__(self) -> "Instance":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


ANALYZER = "becalm:batch/analyzer@0.2.0"
