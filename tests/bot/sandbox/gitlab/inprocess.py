"""Lets python-gitlab call a forge of this process without a socket."""

from __future__ import annotations

from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import gitlab
import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPResponse

from bot.sandbox.serve import SandboxForge


class ForgeAdapter(BaseAdapter):
    """Sends requests to a forge's own API."""

    def __init__(self, forge: SandboxForge) -> None:
        super().__init__()
        self._forge = forge

    def send(  # type: ignore[override]  # what else requests passes is about sockets
        self, request: requests.PreparedRequest, **_more: Any
    ) -> requests.Response:
        """Answer a request."""
        parts = urlsplit(str(request.url))
        address = parts.path + (f"?{parts.query}" if parts.query else "")
        body = request.body or b""
        raw = body if isinstance(body, bytes) else str(body).encode()
        status, headers, content = self._forge.answer(
            str(request.method), address, {k: str(v) for k, v in request.headers.items()}, raw
        )
        made = requests.Response()
        made.status_code = status
        made.headers = CaseInsensitiveDict(headers)
        made.raw = HTTPResponse(BytesIO(content), preload_content=False)
        made.url = str(request.url)
        made.request = request
        made.reason = str(status)
        made.encoding = "utf-8"
        return made

    def close(self) -> None:
        """Nothing is open."""


def client(forge: SandboxForge, token: str | None, **more: Any) -> gitlab.Gitlab:
    """python-gitlab for the holder of a token; without one, for nobody."""
    session = requests.Session()
    session.mount(forge.web_url, ForgeAdapter(forge))
    return gitlab.Gitlab(forge.web_url, private_token=token, session=session, **more)
