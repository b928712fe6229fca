"""A client of an Everloop server: one method a route, errors by code, runs and logs followed over restarts."""

from everloop.client.async_client import AsyncClient
from everloop.client.client import Client
from everloop.client.connection import Connection, resolve
from everloop.client.errors import InvalidAnswer, RemoteError, Unreachable
from everloop.client.operations import OPERATIONS, Operation

__all__ = [
    "OPERATIONS",
    "AsyncClient",
    "Client",
    "Connection",
    "InvalidAnswer",
    "Operation",
    "RemoteError",
    "Unreachable",
    "resolve",
]
