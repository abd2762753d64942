"""A type of msgspec's -> its wire schema as plain data, and a message that has every field.

Invariant: what comes out holds names of the wire only (tags, field names, literals). Python's names of
classes and modules are not in it, so that renaming them changes nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

_SCALARS = {
    inspect.AnyType: ("any", 1),
    inspect.NoneType: ("none", None),
    inspect.BoolType: ("bool", True),
    inspect.IntType: ("int", 7),
    inspect.FloatType: ("float", 2.5),
    inspect.StrType: ("str", "text"),
    inspect.BytesType: ("bytes", b"\x00\x01"),
    inspect.RawType: ("any", 1),
    inspect.CustomType: ("any", 1),
}
_ARRAYS = (inspect.ListType, inspect.SetType, inspect.FrozenSetType, inspect.VarTupleType)


def schema_of(kind: Any) -> Any:
    """The schema of everything that the type reads, nested records written out."""
    return _schema(inspect.type_info(kind))


def samples_of(kind: Any) -> Iterator[tuple[str, Any]]:
    """For each record of the union: its tag (empty without one), and plain data with every field."""
    info = inspect.type_info(kind)
    for member in info.types if isinstance(info, inspect.UnionType) else (info,):
        yield str(getattr(member, "tag", None) or ""), _sample(member)


def plain(value: Any) -> Any:
    """A value as JSON has it; bytes as base64."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=str)


def _schema(info: inspect.Type) -> Any:
    if isinstance(info, inspect.Metadata):
        return _schema(info.type)
    if isinstance(info, inspect.UnionType):
        members = [_schema(member) for member in info.types]
        if all(isinstance(member, dict) and "tag" in member for member in members):
            return {"one of": {member["tag"]: member for member in members}}
        return {"one of": sorted(members, key=str)}
    if isinstance(info, inspect.StructType):
        return _struct(info)
    if isinstance(info, inspect.NamedTupleType):
        return {"tuple": [_field(field, field.name) for field in info.fields]}
    if isinstance(info, inspect.LiteralType):
        return {"literal": sorted(info.values)}
    if isinstance(info, inspect.EnumType):
        return {"literal": sorted(member.value for member in info.cls)}
    if isinstance(info, inspect.DictType):
        return {"map": [_schema(info.key_type), _schema(info.value_type)]}
    if isinstance(info, inspect.TupleType):
        return {"items": [_schema(item) for item in info.item_types]}
    if isinstance(info, _ARRAYS):
        return {"array": _schema(info.item_type)}
    name = _SCALARS[type(info)][0]
    bounds = {
        key: value
        for key in ("gt", "ge", "lt", "le", "pattern", "min_length", "max_length")
        if (value := getattr(info, key, None)) is not None
    }
    return {name: bounds} if bounds else name


def _struct(info: inspect.StructType) -> dict[str, Any]:
    fields = [_field(field, field.encode_name) for field in info.fields]
    found: dict[str, Any] = {"array" if info.array_like else "record": fields}
    if info.tag is not None:
        found["tag"] = info.tag
        if not info.array_like:
            found["tag field"] = info.tag_field
    if info.forbid_unknown_fields:
        found["unknown fields"] = "refused"
    if info.cls.__struct_config__.omit_defaults:
        found["defaults"] = "left out"
    return found


def _field(field: Any, name: str) -> dict[str, Any]:
    found = {"name": name, "type": _schema(field.type)}
    if field.default is not msgspec.NODEFAULT:
        found["default"] = plain(field.default)
    elif getattr(field, "default_factory", msgspec.NODEFAULT) is not msgspec.NODEFAULT:
        found["default"] = plain(field.default_factory())
    return found


def _sample(info: inspect.Type) -> Any:
    if isinstance(info, inspect.Metadata):
        return _sample(info.type)
    if isinstance(info, inspect.UnionType):
        return _sample(next(one for one in info.types if not isinstance(one, inspect.NoneType)))
    if isinstance(info, inspect.StructType):
        if info.array_like:
            return [*([info.tag] if info.tag is not None else []), *_samples(info.fields)]
        tag = {} if info.tag is None else {info.tag_field: info.tag}
        names = [field.encode_name for field in info.fields]
        return tag | dict(zip(names, _samples(info.fields), strict=True))
    if isinstance(info, inspect.NamedTupleType):
        return _samples(info.fields)
    if isinstance(info, inspect.LiteralType):
        return info.values[0]
    if isinstance(info, inspect.EnumType):
        return next(iter(info.cls)).value
    if isinstance(info, inspect.DictType):
        return {_sample(info.key_type): _sample(info.value_type)}
    if isinstance(info, inspect.TupleType):
        return [_sample(item) for item in info.item_types]
    if isinstance(info, _ARRAYS):
        return [_sample(info.item_type)]
    least = getattr(info, "ge", None)
    return _SCALARS[type(info)][1] if least is None or least <= 7 else least


def _samples(fields: Any) -> list[Any]:
    """Texts and numbers that tell the fields apart."""
    found = [_sample(field.type) for field in fields]
    return [
        getattr(field, "encode_name", field.name)
        if value == "text"
        else value + place
        if type(value) is int and value == 7
        else value
        for place, (field, value) in enumerate(zip(fields, found, strict=True))
    ]
