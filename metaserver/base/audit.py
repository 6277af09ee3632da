"""Audit log entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A change: `actor` did `action` to `subject` at `at` (Unix seconds)."""

    id: int = 0
    at: float
    actor: str
    action: str
    subject: str
    detail: Mapping[str, Any] = {}
    request_id: str = ""
