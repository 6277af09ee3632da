"""The service's site: pages, JSON, XML-RPC."""

from __future__ import annotations

from aiohttp import web

from metaserver.operations.service import Service


def make_service_app(service: Service) -> web.Application:
    """Return the site of a running service."""
    raise NotImplementedError(service)
