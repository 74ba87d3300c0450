"""Where the component runs: found and compiled once, with an instance of its own for every batch and every session."""

import os
from collections.abc import Iterable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from wasmtime import Engine
from wasmtime.component import Component, Linker

from .documents import Document
from .errors import SettingsError
from .instance import Instance
from .lift import lift_report, lift_session, lift_settings
from .limits import Rate
from .lower import lower, lower_document
from .outcomes import Report
from .session import Session
from .settings import Settings


class Sandbox:
    """The compiled component. Threads may share it."""

    def __init__(self, component: str | os.PathLike[str] | None = None) -> None:
        """Takes the component's file, else `BECALM_COMPONENT_FILE`, else the one inside this package.

        Raises `FileNotFoundError` where there is none.
        """
        self._engine = Engine()
        self._component = Component(self._engine, read_component(component))
        self._linker = Linker(self._engine)
        self._linker.add_wasip2()
        self._linker.add_wasi_http()

    def settings(
        self, model: str, *, base_url: str | None = None, api_key: str | None = None, rates: Iterable[Rate] = ()
    ) -> Settings:
        """The component's defaults for this model, as the endpoint calls it. All else is changed with `dataclasses.replace`.

        `base_url` is up to and without `/chat/completions`; default: `OPENAI_BASE_URL`. `api_key` goes out as a bearer token;
        default: `OPENAI_API_KEY`, and none if that is missing or empty. `rates` are the limits that are known, at most 16;
        default: none, that is learnt.

        Raises `SettingsError` where no endpoint is named, and for a key that cannot be sent.
        """
        base_url = base_url or os.environ.get("OPENAI_BASE_URL")
        if not base_url:
            raise SettingsError("endpoint.base-url", NO_ENDPOINT)
        api_key = os.environ.get("OPENAI_API_KEY") if api_key is None else api_key
        settings = self.default_settings().to(base_url, model, api_key)
        return replace(settings, limits=replace(settings.limits, rates=tuple(rates)))

    def default_settings(self) -> Settings:
        """The component's defaults; they lack an endpoint and a model, see `settings` and `Settings.to`."""
        with self._instance() as instance:
            return lift_settings(instance.call("default-settings"))

    def analyze_batch(self, documents: Iterable[Document], settings: Settings) -> Report:
        """One outcome per document, in their order. Returns when all have one.

        For small batches: Ctrl-C is heard at the end only, and loses the report, as a report of more than 128 MiB does
        (`wasmtime.WasmtimeError`). A session has neither limit.

        Raises `SettingsError`, before anything is sent.
        """
        lowered = [lower_document(document) for document in documents]
        with self._instance() as instance:
            lowered_settings = lower(instance.settings_type(), settings)
            return lift_report(instance.call("analyze-batch", lowered, lowered_settings))

    def open(self, settings: Settings) -> Session:
        """A session, to be used in a `with` statement. Nothing is sent before it is iterated over.

        Raises `SettingsError`.
        """
        instance = self._instance()
        lowered_settings = lower(instance.settings_type(), settings)
        opened = instance.call("[static]session.open", lowered_settings)
        return Session(instance, lift_session(opened), settings.limits.max_in_flight)

    def _instance(self) -> Instance:
        return Instance(self._engine, self._linker, self._component)


def read_component(given: str | os.PathLike[str] | None) -> bytes:
    named = given or os.environ.get("BECALM_COMPONENT_FILE")
    if named:
        return Path(named).read_bytes()
    packaged = files("becalm") / "becalm.wasm"
    if packaged.is_file():
        return packaged.read_bytes()
    raise FileNotFoundError(
        "this package came without its component\n"
        "hint: becalm component -o becalm.wasm, and name that file in BECALM_COMPONENT_FILE"
    )


NO_ENDPOINT = (
    "no endpoint is named\n"
    "hint: name it with base_url or OPENAI_BASE_URL, such as https://api.example.com/v1"
)
