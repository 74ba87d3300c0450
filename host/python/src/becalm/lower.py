"""How values become the component's: settings and documents, on their way in.

Settings are walked by the component's own types, because wasmtime does not check numbers: it would make 8 of 2**32 + 8.
"""

from typing import Any

from wasmtime.component import (
    F64,
    U32,
    U64,
    Bool,
    EnumType,
    ListType,
    OptionType,
    Record,
    RecordType,
    String,
    ValType,
    Variant,
)

from .documents import Document, Request, Text
from .errors import SettingsError


def lower(value_type: ValType, value: Any, field: str = "") -> Any:
    """The value as wasmtime wants it for this type; `field` is its path in the settings.

    Raises `SettingsError` where the type cannot hold it.
    """
    match value_type:
        case RecordType():
            return lower_record(value_type, value, field)
        case ListType():
            element = value_type.element
            return [lower(element, item, f"{field}[{index}]") for index, item in enumerate(value)]
        case OptionType():
            return None if value is None else lower(value_type.payload, value, field)
        case EnumType() if value in value_type.names:
            return value
        case String() if isinstance(value, str):
            return value
        case Bool() if isinstance(value, bool):
            return value
        case F64() if isinstance(value, (int, float)):
            return float(value)
        case U32() if is_unsigned(value, bits=32):
            return value
        case U64() if is_unsigned(value, bits=64):
            return value
    # The value itself is not named: it may be the API key.
    kind = type(value_type).__name__
    raise SettingsError(field, f"this {type(value).__name__} cannot be made a {kind}")


def lower_record(record_type: RecordType, value: Any, field: str) -> Record:
    record = Record()
    for name, part_type in record_type.fields:
        part = getattr(value, name.replace("-", "_"))
        setattr(record, name, lower(part_type, part, f"{field}.{name}" if field else name))
    return record


def is_unsigned(value: object, bits: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**bits


def lower_document(document: Document) -> Record:
    record = Record()
    setattr(record, "id", document.id)
    setattr(record, "input", lower_input(document))
    return record


def lower_input(document: Document) -> Variant:
    match document.input:
        case Text(text):
            return Variant("text", text)
        case Request(body):
            return Variant("request", body)
    raise TypeError(f"the input of {document.id!r} is neither Text nor Request")
