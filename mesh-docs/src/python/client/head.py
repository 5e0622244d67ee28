"""A client of a Mesh server.

`mesh-server types --lang python` writes this module beside the types of a schema. It is equal for all schemas and needs
nothing but Python 3.10 or later.
"""

# The classes of this module use private members of one another, and JSON has no types.
# pyright: reportPrivateUsage=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import base64
import builtins
import contextlib
import dataclasses
import datetime as _datetime
import decimal as _decimal
import difflib
import enum
import functools
import hashlib
import hmac
import http.client
import importlib
import io
import itertools
import json
import mimetypes
import os
import secrets
import select
import socket
import ssl
import tempfile
import threading
import time
import types
import typing
import unicodedata
import urllib.parse
import uuid as _uuid
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, BinaryIO, Concatenate, Final, Generic, Literal, NoReturn, ParamSpec, TypeVar, Union, overload

__all__ = [
    "AsyncClient",
    "Client",
    "Condition",
    "FieldError",
    "File",
    "MeshError",
    "Order",
    "Page",
    "Param",
    "ReadStep",
    "Session",
    "ShapeError",
    "Step",
    "StepResult",
    "StepResults",
    "Stream",
    "Uploaded",
    "aggregate",
    "alias",
    "bucket",
    "count",
    "list_step",
    "nested",
    "one_step",
    "param",
    "relevance",
]

E = TypeVar("E")
"""The entity that a condition, an order or a selection belongs to."""
SameEntity = TypeVar("SameEntity")
"""The entity that all arguments of a call belong to."""
R = TypeVar("R")
"""The type of a record in results."""
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
T = TypeVar("T")
V = TypeVar("V")
P = ParamSpec("P")

RecordId = Union[str, int, _uuid.UUID, tuple[Union[str, int, bool], ...]]
"""The id of a record. That of several fields is a tuple of their values, in the order of the schema's `idField`."""

DecimalValue = Union[_decimal.Decimal, int, float, str]
DatetimeValue = Union[_datetime.datetime, str]
DateValue = Union[_datetime.date, str]
UuidValue = Union[_uuid.UUID, str]
BytesValue = Union[bytes, str]
"""Bytes, or their base64 text."""
Scalar = Union[str, int, float, bool]


class _Unset:
    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final[Any] = _Unset()
"""The default of arguments that are not sent."""
